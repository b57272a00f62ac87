"""The table of the engine's units."""

from rich.console import Console

from sim.program.counters import CAE_COUNTERS
from sim.report.cae_table import by_unit, cae_table

UNITS = ("transfer", "product", "merge", "vector_0", "vector_11")


def every_counter():
    names = [f"{unit}_cycles_{name}" for unit in UNITS for name in CAE_COUNTERS[unit.partition("_")[0]]]
    return {name: number + 1 for number, name in enumerate(names)}


def test_counters_by_unit():
    units = by_unit(every_counter())
    assert tuple(units) == UNITS
    for unit, counters in units.items():
        assert list(counters) == list(CAE_COUNTERS[unit.partition("_")[0]])


def test_table_shows_what_was_counted():
    counters = every_counter()
    counters["merge_cycles_wait_hazard"] = 0
    console = Console(width=200, record=True)
    console.print(cae_table("a run", counters))
    text = console.export_text()
    assert "a run" in text
    for unit in UNITS:
        assert unit in text
    assert "wait_hazard" not in text
    total = sum(by_unit(counters)["transfer"].values())
    busy = next(line for line in text.splitlines() if "transfer" in line)
    assert f"{counters['transfer_cycles_busy'] / total:.1%}" in busy
    assert CAE_COUNTERS["transfer"]["busy"] in busy
