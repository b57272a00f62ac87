"""Layout, schedule and shards against shift formulas and a plain reference over lists of edges."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sim.config import load_config
from sim.program.partition import duplicated_sources, home_dimm, schedule_slots, shard_graph
from testbenches.sim.program.strategies import csr, edge_lists, machine, machines, relaxed, sharded


def test_home_dimm_is_the_shift_formula_of_the_artifact():
    config = load_config("gnnear")
    v = np.arange(1 << 14)
    log2_ranks = 1
    channel = (v >> (4 + log2_ranks)) % 4
    dimm = (v >> (6 + log2_ranks)) % 4
    assert np.array_equal(home_dimm(v, config.dram, config.partition), channel * 4 + dimm)
    # Vectors of 128 features: twice the vertices in a block.
    half = config.replace(**{"partition.block_vertices": 64})
    channel, dimm = (v >> (5 + log2_ranks)) % 4, (v >> (7 + log2_ranks)) % 4
    assert np.array_equal(home_dimm(v, half.dram, half.partition), channel * 4 + dimm)


def test_home_dimm_of_sizes_that_are_no_powers_of_two():
    dram, partition = machine(channels=3, dimms_per_channel=2, block_vertices=5)
    for v in range(100):
        block = v // 5
        assert home_dimm(np.array([v]), dram, partition)[0] == block % 3 * 2 + block // 3 % 2


@pytest.mark.parametrize("n_intervals", [0, 1, 2, 3, 4, 5, 7, 8, 9, 31, 100])
def test_schedule_slots(n_intervals):
    slots = schedule_slots(n_intervals).tolist()
    span = -(-n_intervals // 4)
    assert slots == [i // span + 4 * (i % span) for i in range(n_intervals)]
    assert len(set(slots)) == n_intervals


def test_schedule_rotates_over_the_ranges():
    order = np.argsort(schedule_slots(16)).tolist()
    assert order == [0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15]


def reference_duplicates(out_degrees, dram, partition):
    chosen = set()
    for channel in range(dram.channels):
        members = [v for v in range(len(out_degrees)) if v // partition.block_vertices % dram.channels == channel]
        members.sort(key=lambda v: (-out_degrees[v], v))
        chosen |= set(members[: int(len(members) * partition.duplicated_share)])
    return chosen


@given(st.lists(st.integers(0, 6), max_size=40), machines())
@relaxed
def test_duplicated_sources(degrees, drawn):
    dram, partition, _ = drawn
    chosen = duplicated_sources(np.array(degrees, np.int64), dram, partition)
    assert set(np.flatnonzero(chosen).tolist()) == reference_duplicates(degrees, dram, partition)


def reference_shards(triples, n_nodes, dram, partition, interval):
    """Give {(interval, DIMM): [(source, slot, weight), ...]} in the order in which an engine sees the edges."""
    degrees = [0] * n_nodes
    for source, _, _ in triples:
        degrees[source] += 1
    duplicates = reference_duplicates(degrees, dram, partition)
    shards = {}
    for source, destination, weight in triples:
        block = source // partition.block_vertices
        channel, dimm = block % dram.channels, block // dram.channels % dram.dimms_per_channel
        index = destination // interval
        if source in duplicates:
            dimm = index % dram.dimms_per_channel
        shards.setdefault((index, channel * dram.dimms_per_channel + dimm), []).append((source, destination, weight))
    for edges in shards.values():
        edges.sort(key=lambda edge: edge[:2])  # stable: repeated edges keep their order
    return {
        key: [(source, destination - key[0] * interval, weight) for source, destination, weight in shards[key]]
        for key in sorted(shards)
    }


@given(edge_lists(), machines())
@relaxed
def test_shards(edge_list, drawn):
    (edges, n_nodes), (dram, partition, interval) = edge_list, drawn
    shards, triples = sharded(edges, n_nodes, dram, partition, interval)
    expected = reference_shards(triples, n_nodes, dram, partition, interval)

    assert len(shards) == len(expected)
    assert list(zip(shards.interval_index.tolist(), shards.dimm.tolist(), strict=True)) == list(expected)
    assert shards.n_intervals == -(-n_nodes // interval)
    span = max(1, -(-shards.n_intervals // 4))
    assert (shards.source_start[0], shards.edge_start[0]) == (0, 0)
    assert (shards.source_start[-1], shards.edge_start[-1]) == (len(shards.sources), len(edges))
    for shard, ((index, _), want) in enumerate(expected.items()):
        part = slice(*shards.edge_start[shard : shard + 2])
        sources = shards.sources[slice(*shards.source_start[shard : shard + 2])].tolist()
        # Each source stands once, and its final edge is marked: that is how an engine knows the source of an edge.
        assert sources == sorted({source for source, _, _ in want})
        got, source = [], iter(sources)
        current = next(source)
        for slot, last, weight in zip(
            shards.edge_destination[part].tolist(),
            shards.edge_last[part].tolist(),
            shards.edge_weight[part].tolist(),
            strict=True,
        ):
            got.append((current, slot, weight))
            current = next(source, None) if last else current
        assert current is None
        assert got == want
        assert shards.slot[shard] == index // span + 4 * (index % span)
        assert shards.destinations(np.array([shard]))[0] == min(interval, n_nodes - index * interval)


@given(edge_lists(), machines())
@relaxed
def test_each_dimm_runs_its_shards_by_slot(edge_list, drawn):
    (edges, n_nodes), (dram, partition, interval) = edge_list, drawn
    shards, _ = sharded(edges, n_nodes, dram, partition, interval)
    seen = []
    for dimm in range(dram.dimms):
        order = shards.of_dimm(dimm).tolist()
        assert all(shards.dimm[order] == dimm)
        assert sorted(shards.slot[order].tolist()) == shards.slot[order].tolist()
        seen += order
    assert sorted(seen) == list(range(len(shards)))


def test_duplicated_share_of_nothing_and_of_everything():
    edges = [(u, v) for u in range(12) for v in range(12)]
    none, _ = sharded(edges, 12, *machine(duplicated_share=0.0), 3)
    homes = home_dimm(none.sources, *machine())
    assert np.array_equal(np.repeat(none.dimm, np.diff(none.source_start)), homes)
    everything, _ = sharded(edges, 12, *machine(duplicated_share=1.0), 3)
    # One shard for each channel and interval, and interval i on DIMM i % 2 of both channels.
    assert everything.dimm.tolist() == [0, 2, 1, 3, 0, 2, 1, 3]


def test_vertex_ids_beyond_32_bits_do_not_overflow_the_keys():
    # home * n_nodes + u must not wrap: many vertices on the last of many DIMMs.
    dram, partition = machine(channels=64, dimms_per_channel=16, block_vertices=1, duplicated_share=0.0)
    n_nodes = 1 << 22
    edges_from = np.array([0, 1023, n_nodes - 1], np.int64)
    indptr = np.zeros(n_nodes + 1, np.int64)
    indptr[1:] = 3
    shards = shard_graph(indptr, edges_from, np.ones(3, np.float32), interval=4096, dram=dram, partition=partition)
    assert shards.sources.tolist() == [0, 1023, n_nodes - 1]
    assert shards.dimm.tolist() == [0, 1023]


def test_the_arrays_given_are_left_alone():
    indptr, indices, weights, _ = csr([(0, 1), (2, 1), (1, 0)], 3)
    for array in (indptr, indices, weights):
        array.flags.writeable = False
    dram, partition = machine()
    assert shard_graph(indptr, indices, weights, interval=2, dram=dram, partition=partition).n_nodes == 3
