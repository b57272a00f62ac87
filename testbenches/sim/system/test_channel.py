"""What a run of a channel's engines came to, against the RTL's devices and counts of the graph's own."""

import dataclasses

import numpy as np
import pytest

from sim.config import load_config
from sim.graph import adjacency, load_graph
from sim.program.engine_work import decode_engine_work
from sim.program.gcn import shard_adjacency
from sim.system.channel import BOUNDS, EngineFigures, channel_figures, together
from sim.timing.nme import engine_timing
from testbenches.channel import ChannelReduce

TINY = load_config("tiny")
KARATE = load_graph("karate")


@pytest.fixture(scope="module")
def run():
    """Simulate the Reduce of a graph that takes several refreshes."""
    graph = load_graph("rmat:scale=10,edge_factor=8")
    channel = ChannelReduce(graph, TINY, in_features=16, out_features=16)
    return graph, channel, channel.simulate()


def test_counters_add_up(run):
    _, channel, simulation = run
    assert simulation.equal, simulation.first_difference
    assert min(int(timing.command[0]) for timing in simulation.timings) > 0
    for one in channel.figures(simulation):
        assert sum(one.counters.values()) == one.run_cycles == simulation.cycles_rtl
        assert min(one.counters.values()) >= 0
        assert sum(one.reduce_counters.values()) == one.compute_cycles
        assert min(one.reduce_counters.values()) >= 0
        assert one.compute_cycles == pytest.approx(one.run_cycles * TINY.compute_ratio, abs=1)


def test_commands_and_open_rows_are_those_of_the_devices(run):
    """The devices count from reset to the end of the bench; between them lie loading, run and tail."""
    _, channel, simulation = run
    refreshes = 0
    for d, (one, timing) in enumerate(zip(channel.figures(simulation), simulation.timings, strict=True)):
        outputs = simulation.outputs
        assert one.commands["read"] == outputs[f"reads_{d}"]
        assert one.commands["write"] == outputs[f"writes_{d}"] == 0
        assert one.commands["activate"] == outputs[f"activates_{d}"]
        assert one.row_hits == outputs[f"reads_{d}"] - outputs[f"activates_{d}"]
        assert timing.bus_cycle[0] >= timing.command[0], "a command before the run"
        assert one.commands["refresh"] == outputs[f"refreshes_{d}"]
        refreshes += one.commands["refresh"]
        # Rows stay open in the cycles that the bench runs on, in the last of which the outputs are seen.
        run_end = max(int(t.status[-1]) for t in simulation.timings) + 1
        assert one.open_cycles == outputs[f"open_cycles_{d}"] - (simulation.cycles_simulated - 1 - run_end)
        assert one.bytes_moved == one.commands["read"] * 128
    assert refreshes > 0


def test_what_comes_before_the_run_is_left_out(run):
    _, channel, _ = run
    works = [decode_engine_work(program, channel.config) for program in channel.programs]
    interval = channel.config.dram.gates.refresh_interval
    loaded = 7 * interval
    timings = engine_timing(works, channel.config, loaded=loaded, with_bus=True)
    for one, timing in zip(channel_figures(timings, works, channel.config), timings, strict=True):
        assert timing.events["refresh"] >= 7
        assert one.commands["refresh"] <= one.run_cycles // interval + 1 < timing.events["refresh"]
        assert sum(one.counters.values()) == one.run_cycles
        assert one.counters["idle"] < loaded
        assert sum(one.reduce_counters.values()) == one.compute_cycles
        assert one.reduce_counters["idle"] < loaded * channel.config.compute_ratio


def test_work_is_that_of_the_graph(run):
    graph, channel, simulation = run
    shards = shard_adjacency(adjacency(graph, "gcn"), channel.config)
    every = together(channel.figures(simulation))
    assert every.edges == len(shards.edge_destination)
    assert every.vectors == len(shards.sources)
    of_edge = np.repeat(np.arange(len(shards)), np.diff(shards.edge_start))
    assert every.partial_sums == len(set(zip(of_edge.tolist(), shards.edge_destination.tolist(), strict=True)))
    assert every.engines == 2
    assert every.seconds == pytest.approx(simulation.cycles_rtl / 1.2e9, rel=1e-3)
    assert every.peak_bytes_per_s == pytest.approx(2 * 128 / 4 * 1.2e9, rel=1e-3)
    assert every.bandwidth_share == pytest.approx(every.commands["read"] * 4 / (2 * simulation.cycles_rtl))


def test_energy_is_counts_times_coefficients(run):
    _, channel, simulation = run
    energy = channel.config.dimm_memory.energy
    ns = channel.config.dram.timing.tck_ns
    for one in channel.figures(simulation):
        assert one.energy_joules["read"] == pytest.approx(one.commands["read"] * energy.read_pj * 1e-12)
        assert one.energy_joules["activate"] == pytest.approx(one.commands["activate"] * energy.activate_pj * 1e-12)
        assert one.energy_joules["refresh"] == pytest.approx(one.commands["refresh"] * energy.refresh_pj * 1e-12)
        closed = one.run_cycles - one.open_cycles
        standby_mw_ns = ns * (one.open_cycles * energy.active_standby_mw + closed * energy.precharge_standby_mw)
        assert one.energy_joules["standby"] == pytest.approx(standby_mw_ns * 1e-12)


def test_slices_do_not_count_twice():
    """96 features take two slices of 64."""
    narrow, wide = (
        together(channel.figures(channel.simulate()))
        for channel in (ChannelReduce(KARATE, TINY, in_features=n, out_features=n, model="sage-max") for n in (16, 96))
    )
    for name in ("edges", "vectors", "partial_sums"):
        assert getattr(narrow, name) == getattr(wide, name)
    assert wide.commands["read"] > narrow.commands["read"]


def test_an_engine_without_shards_is_idle():
    graph = load_graph("ring:n=3")  # all in one block of four vertices, on the first DIMM
    channel = ChannelReduce(graph, TINY, in_features=8, out_features=8, model="gin", dimms=4)
    works = [decode_engine_work(program, channel.config) for program in channel.programs]
    figures = channel_figures(engine_timing(works, channel.config, with_bus=True), works, channel.config)
    idle = [one for one in figures if not one.edges]
    assert idle
    for one in idle:
        assert (one.cycles, one.bound, one.bandwidth_bytes_per_s) == (0, "none", 0)
        assert one.counters["idle"] == one.run_cycles == figures[0].run_cycles > 0


def test_no_engine_has_anything_to_do():
    channel = ChannelReduce(load_graph("empty:n=3"), TINY, in_features=8, out_features=8, model="gin")
    works = [decode_engine_work(program, channel.config) for program in channel.programs]
    every = together(channel_figures(engine_timing(works, channel.config, with_bus=True), works, channel.config))
    assert (every.run_cycles, every.utilization, every.bound, every.bandwidth_share) == (0, 0, "none", 0)


def test_commands_must_have_been_kept():
    channel = ChannelReduce(KARATE, TINY, in_features=8, out_features=8)
    works = [decode_engine_work(program, channel.config) for program in channel.programs]
    with pytest.raises(ValueError, match="with_bus"):
        channel_figures(engine_timing(works, channel.config), works, channel.config)


@pytest.mark.parametrize(("counter", "bound"), [(name, bound) for bound, names in BOUNDS.items() for name in names])
def test_bound_is_the_greatest_share(run, counter, bound):
    _, channel, simulation = run
    one = channel.figures(simulation)[0]
    memory = counter in one.counters and bound in ("memory", "window")
    changed = dict.fromkeys(one.counters, 0), dict.fromkeys(one.reduce_counters, 0)
    changed[0]["transfer"] = 0 if bound == "memory" else 40
    changed[0 if memory else 1][counter] = 50
    figures: EngineFigures = dataclasses.replace(
        one, run_cycles=100, compute_cycles=100, counters=changed[0], reduce_counters=changed[1]
    )
    assert figures.bound == bound
    assert figures.busy_shares[bound] == 0.5
