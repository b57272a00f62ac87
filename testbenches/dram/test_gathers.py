"""Gathers of real graphs through the scheduler's RTL: equal to the timing model, with the data of the right places."""

import pytest

from sim.config import load_config
from sim.timing.stalls import STALL_KINDS
from testbenches.graphs import REAL_GRAPHS, real_graph
from testbenches.layer import Layer

GNNEAR = load_config("gnnear")


@pytest.mark.parametrize("stalls", STALL_KINDS)
@pytest.mark.parametrize("name", REAL_GRAPHS)
def test_real_graphs(name, stalls):
    layer = Layer(real_graph(name), GNNEAR, in_features=64, out_features=128)
    simulation = layer.simulate("dram", stalls=stalls, seed=1)
    assert simulation.equal, simulation.first_difference
    assert simulation.cycles_rtl == simulation.cycles_model == sum(simulation.counters.values())
    shards = layer.program.items[0].shards
    assert simulation.counters["read"] == 4 * len(shards.sources)  # a beat of 512 B in lines of two times 64 B
