"""Tables as people see them: every number stands in them, in three digits and with its unit."""

import io
import math
import re

import pytest
from rich.console import Console

from sim.config import load_config
from sim.graph import adjacency, load_graph, statistics
from sim.program.counters import MATRIX_COUNTERS, REDUCE_COUNTERS
from sim.program.gcn import compile_gcn_epoch
from sim.report.tables import WIDE, counter_table, estimate_table, graph_table, with_unit
from sim.system.estimate import UNITS, Estimate, estimate


def shown(table):
    """Render a table; return its rows as lists of cells, title and rules left out."""
    console = Console(record=True, width=200, file=io.StringIO())
    console.print(table)
    text = console.export_text()
    rows = [re.split(r"\s*[│┃]\s*", line.strip("│┃ ")) for line in text.splitlines() if "│" in line or "┃" in line]
    return text.splitlines()[0].strip(), [[cell.strip() for cell in row] for row in rows]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0 s"), (1.0, "1 s"), (1.25e-3, "1.25 ms"), (999.4e-6, "999 µs"), (999.6e-6, "1 ms"), (0.9996, "1 s"),
        (0.0123456, "12.3 ms"), (5e-9, "5 ns"), (1.5e-12, "1.5 ps"), (1e-15, "1e-15 s"), (59.96, "60 s"),
        (123.4, "123 s"), (1234.0, "1,230 s"), (86_400.0, "86,400 s"), (-2.5e-6, "-2.5 µs"), (99.96e-3, "100 ms"),
        (math.inf, "inf s"), (math.nan, "nan s"),
    ],
)  # fmt: skip
def test_with_unit(value, text):
    assert with_unit(value, "s") == text


@pytest.mark.parametrize("exponent", range(-12, 7))
@pytest.mark.parametrize("digits", [1.0, 1.005, 2.345, 9.994, 9.996])
def test_with_unit_reads_back_to_three_digits(exponent, digits):
    value = digits * 10.0**exponent
    number, unit = with_unit(value, "J").split(" ")
    factor = {"J": 1, "mJ": 1e-3, "µJ": 1e-6, "nJ": 1e-9, "pJ": 1e-12}[unit]
    assert float(number.replace(",", "")) * factor == pytest.approx(value, rel=0.0051)
    assert "e" not in number


def test_graph_table():
    title, rows = shown(graph_table("karate", statistics(load_graph("karate"))))
    assert title == "graph karate"
    cells = {row[0]: row[1] for row in rows}
    assert cells["nodes"] == "34"
    assert cells["edges"] == "156"
    assert cells["symmetric"] == "yes"
    assert cells["mean degree"] == "4.588"
    assert cells["in degree quantiles"].startswith("0%: 1, 25%: 2, 50%: 3")
    assert len(rows) == 1 + len(statistics(load_graph("karate")).__dataclass_fields__)


@pytest.mark.parametrize("meanings", [REDUCE_COUNTERS, MATRIX_COUNTERS], ids=["nme", "cae"])
def test_counter_table(meanings):
    counters = {name: 1000 * i for i, name in enumerate(meanings)}
    title, rows = shown(counter_table("an engine", counters, meanings))
    assert title == "an engine"
    cells = {row[0]: row[1:] for row in rows}
    total = sum(counters.values())
    for name, cycles in counters.items():
        assert cells[name][0] == f"{cycles:,}"
        assert float(cells[name][1].rstrip("%")) == pytest.approx(100 * cycles / total, abs=0.05)
        assert cells[name][2] == meanings[name]
    assert cells["all"][:2] == [f"{total:,}", "100.0%"]


def test_counter_table_of_nothing():
    _, rows = shown(counter_table("idle", dict.fromkeys(REDUCE_COUNTERS, 0), REDUCE_COUNTERS))
    assert rows[1][:3] == ["busy", "0", ""]


def test_estimate_table():
    config = load_config("tiny")
    weighted = adjacency(load_graph("karate"), "gcn")
    result = estimate(compile_gcn_epoch(weighted, weighted.transposed(), (34, 16, 2), config), config)
    title, rows = shown(estimate_table("one epoch", result))
    assert title == "one epoch"
    assert rows[0] == ["phase", "time", "bound by", *UNITS, "energy", "kind"]
    assert len(rows) == len(result.phases) + 2
    for row, phase in zip(rows[1:-1], result.phases, strict=True):
        assert row == [
            phase.name, with_unit(phase.seconds, "s"), UNITS[phase.unit][0],
            *(with_unit(phase.unit_seconds[unit], "s") for unit in UNITS),
            with_unit(phase.energy_joules, "J"), phase.kind,
        ]  # fmt: skip
    assert rows[-1][:3] == ["epoch", with_unit(result.epoch_seconds, "s"), UNITS[result.bottleneck][0]]
    assert rows[-1][-2:] == [with_unit(result.energy_joules, "J"), f"{result.modelled_share:.0%} modelled"]


@pytest.mark.parametrize("width", [64, 80, WIDE - 1, WIDE, 120])
def test_no_figure_is_cut_off_in_a_narrow_window(width):
    config = load_config("gnnear")
    weighted = adjacency(load_graph("karate"), "gcn")
    result = estimate(compile_gcn_epoch(weighted, weighted.transposed(), (34, 256, 2), config), config)
    console = Console(record=True, width=width, file=io.StringIO())
    console.print(estimate_table("one epoch", result, width=console.width))
    text = console.export_text()
    assert "…" not in text
    for phase in result.phases:
        assert with_unit(phase.seconds, "s") in text
        assert with_unit(phase.energy_joules, "J") in text
        assert all(with_unit(seconds, "s") in text for seconds in phase.unit_seconds.values()) or width < WIDE


def test_estimate_table_of_nothing():
    _, rows = shown(estimate_table("no work", Estimate(phases=())))
    assert rows[-1][:3] == ["epoch", "0 s", "none"]
