"""Rules that any timing of the reduce unit must keep, and runs counted by hand; the RTL's benches prove equality."""

import dataclasses
from collections import Counter
from dataclasses import fields
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sim.config import load_config
from sim.golden.reduce import reduce_streams
from sim.graph import adjacency, load_graph
from sim.program.commands import EDGE_RECORD, REDUCE_COMMAND
from sim.program.counters import REDUCE_COUNTERS
from sim.program.gcn import shard_adjacency
from sim.program.reduce_trace import ReduceTrace, decode_work, reduce_trace
from sim.timing.reduce import ReduceStalls, reduce_timing, shard_cycles
from sim.timing.stalls import STALL_KINDS, paced_pattern, stall_pattern
from testbenches.graphs import real_graph
from testbenches.nme.traces import random_trace
from testbenches.sim.golden.test_reduce import CONFIGS, random_streams, trace_of
from testbenches.sim.program.strategies import edge_lists, machines, relaxed, sharded

NME = CONFIGS["bf16"]

TINY = load_config("tiny")


def stalls_of(kind, seed):
    return ReduceStalls(
        **{part.name: stall_pattern(kind, seed=8 * seed + i) for i, part in enumerate(fields(ReduceStalls))}
    )


@pytest.mark.parametrize("kind", STALL_KINDS)
@pytest.mark.parametrize("seed", range(6))
def test_invariants(kind, seed):
    rng = np.random.default_rng(seed)
    trace = trace_of(*random_streams(rng, NME, 15, 0.5), NME)
    stalls = stalls_of(kind, seed)
    timing = reduce_timing(trace, NME, stalls)
    golden = reduce_streams(trace, NME)

    assert timing.counters.keys() == REDUCE_COUNTERS.keys()
    assert min(timing.counters.values()) >= 0
    assert sum(timing.counters.values()) == timing.status[-1] + 1
    assert timing.cycles == timing.status[-1] - timing.command[0] + 1
    sizes = {"command": 15, "vectors": len(trace.vectors), "edges": len(trace.edges),
             "partials": len(golden.partials), "status": 15}  # fmt: skip
    for name, size in sizes.items():
        cycles = getattr(timing, name)
        assert len(cycles) == size, name
        assert (np.diff(cycles) > 0).all(), name
    for name in ("partials", "status"):  # a sink takes nothing while it stalls
        pattern, cycles = getattr(stalls, name), getattr(timing, name)
        assert not pattern[cycles % len(pattern)].any()
    # Of each stream each shard has a slice. A shard drains between the status before and its own; it takes edges only
    # when the shard two before has reported, and vectors only after its command.
    work = decode_work(trace, NME)
    taken = work.code == 0
    ends = {"vectors": np.cumsum(work.sources * work.beats * taken), "edges": np.cumsum(work.edges * taken),
            "partials": np.cumsum(golden.partials_of)}  # fmt: skip
    for shard in range(15):
        of = {
            name: getattr(timing, name)[end[shard - 1] if shard else 0 : end[shard]].tolist()
            for name, end in ends.items()
        }
        after = timing.status[shard - 1] if shard else 0
        assert all(after < cycle < timing.status[shard] for cycle in of["partials"])
        assert all(timing.command[shard] < cycle for cycle in of["vectors"])
        assert all(timing.command[shard] + 1 < cycle for cycle in of["edges"])
        assert all(timing.status[shard - 2] < cycle for cycle in of["edges"] if shard > 1)
    assert (timing.status >= timing.command + 4).all()


@given(edge_lists(), machines(), st.integers(1, 3), st.sampled_from(STALL_KINDS))
@relaxed
def test_cycles_of_shards_are_those_of_their_streams(edge_list, drawn, beats, kind):
    (edges, n_nodes), (dram, partition, interval) = edge_list, drawn
    shards, _ = sharded(edges, n_nodes, dram, partition, interval)
    config = NME.model_copy(update={"interval": interval})
    stalls = stalls_of(kind, 1)
    for dimm in range(dram.dimms):
        order = shards.of_dimm(dimm)
        values = np.zeros((n_nodes, beats * config.lanes), np.uint16)
        trace = reduce_trace(shards, order, values, config, weights=np.zeros(len(edges), np.uint16))
        timing = reduce_timing(trace, config, stalls)
        cycles = shard_cycles(shards, order, beats, config, stalls)
        assert cycles.tolist() == [
            now - before for before, now in pairwise([*(timing.command[:1] - 1).tolist(), *timing.status.tolist()])
        ]
        assert cycles.sum() == timing.cycles


def one_shard(slots, lasts, beats=1, destinations=6):
    command = (2, beats, destinations, 0, sum(lasts), len(slots))
    return trace_of(
        [command], [(slot, last, 0) for slot, last in zip(slots, lasts, strict=True)],
        [(0,) * NME.lanes] * (beats * sum(lasts)), NME,
    )  # fmt: skip


def test_one_edge_by_hand():
    timing = reduce_timing(one_shard([2], [True]), NME)
    # Command in 0, vector in 1, edge in 2; read, multiply (1), add (3): the sum is written in the cycle of 7; the
    # partial sum is read in 8 and leaves in 9.
    assert (timing.command[0], timing.vectors[0], timing.edges[0]) == (0, 1, 2)
    assert timing.partials[0] == 2 + NME.pipeline_cycles + 2 == 9
    assert timing.status[0] == 10
    assert timing.cycles == 11
    assert timing.counters == {
        "busy": 1, "wait_edge": 0, "wait_vector": 0, "wait_hazard": 0, "wait_drain": 0, "flush": 5, "drain": 2,
        "wait_partials": 0, "wait_status": 1, "idle": 2,
    }  # fmt: skip


def test_one_beat_per_cycle_without_hazards():
    # Every source has three beats and as many as three edges: its successor is there when it is needed.
    slots = [0, 1, 2, 3, 4, 5, 0, 1, 2]
    timing = reduce_timing(one_shard(slots, [False, False, True] * 3, beats=3), NME)
    assert np.array_equal(np.diff(timing.edges), np.full(8, 3))
    assert timing.counters["busy"] == 27
    assert timing.counters["wait_vector"] == 2
    assert timing.counters["wait_hazard"] == timing.counters["wait_edge"] == 0


@pytest.mark.parametrize("distance", [1, 2, 3, 4, 5, 6])
def test_additions_to_one_place_keep_their_distance(distance):
    # Edges to slot 0, then distance - 1 edges elsewhere, then slot 0 again, all of one source.
    slots = [0, *range(1, distance), 0]
    config_distance = NME.hazard_cycles
    timing = reduce_timing(one_shard(slots, [False] * distance + [True]), NME)
    assert timing.edges[-1] - timing.edges[0] == max(distance, config_distance)
    assert timing.counters["wait_hazard"] == max(0, config_distance - distance)


def test_next_vector_loads_while_this_one_accumulates():
    # Two sources of 3 beats; the first has 4 edges: 12 cycles in which the second loads unseen.
    timing = reduce_timing(one_shard([0, 1, 2, 3, 4], [False, False, False, True, True], beats=3), NME)
    assert timing.vectors.tolist() == [1, 2, 3, 4, 5, 6]
    assert timing.edges.tolist() == [6, 9, 12, 15, 18]


def test_sources_that_no_edge_closes_load_and_are_given_up():
    # Four vectors of three beats, one edge that closes none. Two vectors load; the edge takes 4 to 6; the first is
    # given up in 7, the second, whole since 7, in 8; then each is given up in the cycle after its last beat.
    command = (2, 3, 6, 0, 4, 1)
    timing = reduce_timing(trace_of([command], [(5, False, 0)], [(0,) * NME.lanes] * 12, NME), NME)
    assert timing.edges.tolist() == [6]
    assert timing.vectors.tolist() == [1, 2, 3, 4, 5, 6, 8, 9, 10, 11, 12, 13]
    # The fourth is given up in 14, in which the shard leaves; all was written long ago, and the first sum read in 15.
    assert timing.partials.tolist() == [16, 17, 18]
    assert timing.status.tolist() == [19]
    assert (timing.counters["busy"], timing.counters["wait_vector"]) == (3 + 4, 2 + 2 + 2)


def shards_of(*shards, opcode=2, beats=1, destinations=6):
    """Make streams of shards, each given by its slots; every edge has a source of its own."""
    slots = [slot for shard in shards for slot in shard]
    return trace_of(
        [(opcode, beats, destinations, tag, len(shard), len(shard)) for tag, shard in enumerate(shards)],
        [(slot, True, 0) for slot in slots], [(0,) * NME.lanes] * (beats * len(slots)), NME,
    )  # fmt: skip


def test_no_cycle_between_shards_and_no_hazard_between_their_banks():
    """Shards of many edges to one slot: their ends touch, though both write the same slot."""
    timing = reduce_timing(shards_of([1] * 4, [1] * 4, [1] * 4), NME)
    steps = np.diff(timing.edges).tolist()
    assert steps == [NME.hazard_cycles] * 3 + [1] + [NME.hazard_cycles] * 3 + [1] + [NME.hazard_cycles] * 3
    assert timing.counters["wait_drain"] == timing.counters["wait_vector"] == 0


def test_two_shards_of_one_edge_by_hand():
    # The second command is taken with the first one's only vector, and its vector in 2; the second shard can enter
    # when the first leaves in 2 with its edge, so it runs in 3. It waits for the first one's status in 10 to leave;
    # its sum is read in 11.
    timing = reduce_timing(shards_of([0], [0]), NME)
    assert (timing.command.tolist(), timing.vectors.tolist(), timing.edges.tolist()) == ([0, 2], [1, 3], [2, 4])
    assert timing.partials.tolist() == [9, 12]
    assert timing.status.tolist() == [10, 13]
    assert timing.counters == {
        "busy": 2, "wait_edge": 0, "wait_vector": 0, "wait_hazard": 0, "wait_drain": 6, "flush": 1, "drain": 2,
        "wait_partials": 0, "wait_status": 1, "idle": 2,
    }  # fmt: skip


def test_a_drain_that_is_not_taken_holds_the_shard_after_the_next():
    """Two shards run while the first one's sums are not taken; the third does not start."""
    refuse = np.arange(1000) < 500
    timing = reduce_timing(shards_of(*[[0, 1, 2]] * 3), NME, ReduceStalls(partials=refuse))
    assert timing.edges[5] < 20
    assert timing.status[0] == 503
    assert timing.edges[6] == timing.status[0] + 1
    assert timing.counters["wait_drain"] == timing.status[0] - timing.edges[5] + timing.status[1] - timing.edges[8]


@pytest.mark.parametrize(("beats", "edges_of_source"), [(1, 1), (1, 2), (2, 1), (2, 2), (4, 3)])
def test_shards_like_coras_lose_at_most_two_percent(beats, edges_of_source):
    """Shards of 36 edges to 24 slots, as Cora's are on average, with all data at hand, follow without a gap."""
    nme = TINY.nme.replace(interval=128)
    n, n_edges = 100, 36
    commands = REDUCE_COMMAND.encode(
        n, {"opcode": 2, "beats": beats, "destinations": 128, "sources": n_edges // edges_of_source, "edges": n_edges}
    )
    count = np.arange(n * n_edges)
    edges = EDGE_RECORD.encode(
        len(count),
        {"destination": count % n_edges % 24, "last_of_source": count % edges_of_source == edges_of_source - 1},
    )
    vectors = np.zeros((len(count) // edges_of_source * beats, nme.lanes * nme.element_bytes), np.uint8)
    timing = reduce_timing(ReduceTrace(commands=commands, edges=edges, vectors=vectors), nme)
    assert set(np.diff(timing.edges).tolist()) == {beats}
    assert timing.counters["busy"] == beats * len(count)
    assert timing.counters["busy"] >= 0.98 * timing.cycles


def test_uneven_shards_of_a_real_graph_wait_for_the_drain():
    """Cora's shards as `gnnear` cuts them, with all data at hand: the share that docs/reduce.md states."""
    gnnear = load_config("gnnear")
    shards = shard_adjacency(adjacency(real_graph("cora"), "gcn"), gnnear)
    values = np.zeros((shards.n_nodes, 256), np.uint32)
    weights = np.zeros(len(shards.edge_weight), np.uint32)
    cycles = Counter()
    for dimm in range(gnnear.dram.dimms):
        trace = reduce_trace(shards, shards.of_dimm(dimm), values, gnnear.nme, weights=weights)
        cycles.update(reduce_timing(trace, gnnear.nme).counters)
    assert round(100 * cycles["wait_drain"] / cycles.total()) == 29
    n_edges = np.diff(shards.edge_start)
    assert (n_edges.min(), n_edges.max()) == (1, 221)


def test_refused_commands_cost_two_cycles_each():
    commands = REDUCE_COMMAND.encode(3, {"opcode": 0, "tag": [1, 2, 3]})
    trace = trace_of([], [], [], NME)
    timing = reduce_timing(type(trace)(commands=commands, edges=trace.edges, vectors=trace.vectors), NME)
    assert timing.command.tolist() == [0, 2, 4]
    assert timing.status.tolist() == [4, 6, 8]
    assert {name: cycles for name, cycles in timing.counters.items() if cycles} == {
        "wait_drain": 3, "drain": 3, "wait_status": 1, "idle": 2,
    }  # fmt: skip


def test_no_commands():
    timing = reduce_timing(trace_of([], [], [], NME), NME)
    assert timing.cycles == 0
    assert set(timing.counters.values()) == {0}


@pytest.mark.parametrize("seed", range(4))
def test_slower_memory_never_shortens(seed):
    trace = trace_of(*random_streams(np.random.default_rng(seed), NME, 8, 0.0), NME)
    cycles = [reduce_timing(trace, NME, ReduceStalls(vectors=paced_pattern(1 << power))).cycles for power in range(6)]
    assert cycles == sorted(cycles)
    # From where memory binds, each beat costs a period.
    assert cycles[-1] >= 32 * (len(trace.vectors) - 8)
    assert cycles[-1] > 1.8 * cycles[-2]


def test_latencies_count():
    edges = [0, 0, 1, 1, 2, 2]
    trace = one_shard(edges, [True] * 6)
    config = load_config("tiny").nme.model_copy(update={"lanes_per_pe": 3, "pes": 1, "max_beats": 3, "interval": 6})
    base = reduce_timing(trace, config).cycles
    for name in ("add_latency", "mul_latency"):
        slower = config.model_copy(update={name: getattr(config, name) + 1})
        assert reduce_timing(trace, slower).cycles > base


def test_work_that_does_not_fit_the_engine_is_refused():
    shards = shard_adjacency(adjacency(load_graph("karate"), "gcn"), TINY)
    order = shards.of_dimm(0)
    with pytest.raises(ValueError, match=f"vectors of 99 beats: the engine takes 1 to {TINY.nme.max_beats}"):
        shard_cycles(shards, order, 99, TINY.nme)
    with pytest.raises(ValueError, match="shards of 16 destinations: the output buffer holds 4"):
        shard_cycles(shards, order, 2, TINY.nme.replace(interval=4))


@pytest.mark.parametrize("stream", ["edges", "vectors"])
@pytest.mark.parametrize("change", [lambda beats: beats[:-1], lambda beats: np.concatenate([beats, beats])])
def test_streams_that_do_not_fit_the_commands_are_refused(stream, change):
    trace = random_trace(TINY.nme, seed=1, commands=3)
    wrong = dataclasses.replace(trace, **{stream: change(getattr(trace, stream))})
    for model in (reduce_streams, reduce_timing):
        with pytest.raises(ValueError, match=f"{stream}: the commands take .* beats, but the trace holds"):
            model(wrong, TINY.nme)
