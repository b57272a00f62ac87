"""The table of a channel's engines holds every counter, of each engine and of all."""

import io
import re

import pytest
from rich.console import Console

from sim.config import load_config
from sim.graph import load_graph
from sim.program.counters import ENGINE_COUNTERS, REDUCE_COUNTERS
from sim.program.engine_work import decode_engine_work
from sim.report.channel_table import MANY, channel_table
from sim.system.channel import channel_figures, together
from sim.timing.nme import engine_timing
from testbenches.channel import ChannelReduce


def figures_of(dimms):
    channel = ChannelReduce(load_graph("karate"), load_config("tiny"), in_features=16, out_features=16, dimms=dimms)
    works = [decode_engine_work(program, channel.config) for program in channel.programs]
    return channel_figures(engine_timing(works, channel.config, with_bus=True), works, channel.config)


@pytest.mark.parametrize("dimms", [1, 2, MANY])
def test_rows_and_columns(dimms):
    figures = figures_of(dimms)
    console = Console(width=200, record=True, file=io.StringIO())
    console.print(channel_table("title", figures))
    text = console.export_text()
    rows = [[cell.strip() for cell in re.split("[│┃]", line)[1:-1]] for line in text.splitlines() if line[0] in "│┃"]
    header, *rows = rows
    assert header == ["figure", *(f"DIMM {d}" for d in range(dimms)), "all", *(["meaning"] if dimms < MANY else [])]
    cells = {name: row[: dimms + 1] for name, *row in rows}
    columns = [*figures, together(figures)]
    for name in ENGINE_COUNTERS:
        assert cells[name] == [f"{one.counters[name]:,}" for one in columns]
    for name in REDUCE_COUNTERS:
        assert cells[f"reduce: {name}"] == [f"{one.reduce_counters[name]:,}" for one in columns]
    assert cells["reads"] == [f"{one.commands['read']:,}" for one in columns]
    assert cells["row hits"] == [f"{one.row_hits:,}" for one in columns]
    assert cells["edges"] == [f"{one.edges:,}" for one in columns]
    assert cells["bandwidth"] == [f"{one.bandwidth_bytes_per_s / 1e9:.2f} GB/s" for one in columns]
    assert cells["drain busy"] == [f"{one.busy_shares['drain']:.1%}" for one in columns]
    assert cells["bound by"] == [one.bound for one in columns]
