"""What single work items ask of the units, counted by hand and by brute force."""

import numpy as np
import pytest
from hypothesis import given

from sim.config import load_config
from sim.graph import EdgeRules, adjacency, graph_from_edges, load_graph
from sim.program.commands import MATRIX_COMMAND
from sim.program.gcn import shard_adjacency
from sim.program.items import Merge, Product, Reduce, Vector
from sim.program.reduce_trace import reduce_trace
from sim.system.work import PASSES, partial_vectors, work_of
from sim.timing.product import product_timing
from sim.timing.reduce import ReduceStalls, reduce_timing
from sim.timing.stalls import paced_pattern
from testbenches.sim.program.strategies import edge_lists, machines, relaxed, sharded

TINY = load_config("tiny")
KARATE = shard_adjacency(adjacency(load_graph("karate"), "gcn"), TINY)


def reduce_of(shards, features):
    return Reduce(layer=0, direction="forward", shards=shards, features=features, source="h0", result="p0")


def merge_of(shards, features):
    return Merge(layer=0, direction="forward", shards=shards, features=features, source="p0", result="a0")


def product_of(kind, rows, depth, columns):
    return Product(
        layer=0, direction="forward", kind=kind, rows=rows, depth=depth, columns=columns, left="l", right="r",
        result="z",
    )  # fmt: skip


def vector_of(operation, elements):
    return Vector(layer=0, direction="forward", operation=operation, elements=elements, source="s", result="t")


def windowed(durations, window):
    """Give the finish of the last shard; durations[engine] lists its shards in order of execution."""
    finish = {}
    for slot in range(len(durations[0])):
        for engine, cycles in enumerate(durations):
            own = finish.get((engine, slot - 1), 0)
            gate = max(finish.get((other, slot - window), 0) for other in range(len(durations)))
            finish[engine, slot] = max(own, gate) + cycles[slot]
    return max(finish.values(), default=0)


@pytest.mark.parametrize("features", [8, 30, 32, 70])
@pytest.mark.parametrize(("bandwidth", "period"), [(16e9, 1), (1e9, 4)])
def test_reduce_time_is_that_of_the_streams_under_the_window(features, bandwidth, period):
    """Each DIMM's shards by slot, cycle-exact, one beat a period; intervals without shards take no time."""
    config = TINY.replace(
        **{"dram.rank_bandwidth_bytes_per_s": bandwidth, "partition.window_shards": 2, "nme.interval": 4}
    )
    shards = shard_adjacency(adjacency(load_graph("karate"), "gcn"), config)
    span = -(-9 // 4)
    by_slot = sorted(range(9), key=lambda i: i // span + 4 * (i % span))
    total = 0
    for low in range(0, features, config.nme.max_features):
        width = min(config.nme.max_features, features - low)
        durations = []
        for dimm in range(4):
            order = shards.of_dimm(dimm)
            trace = reduce_trace(shards, order, np.zeros((34, width), np.uint16), config.nme,
                                 weights=np.zeros(len(shards.edge_weight), np.uint16))  # fmt: skip
            timing = reduce_timing(trace, config.nme, ReduceStalls(vectors=paced_pattern(period)))
            steps = np.diff(timing.status, prepend=timing.command[:1] - 1)  # shards overlap: what each adds
            cycles = dict(zip(shards.interval_index[order].tolist(), steps, strict=True))
            durations.append([int(cycles.get(interval, 0)) for interval in by_slot])
        total += windowed(durations, 2)
    assert work_of(reduce_of(shards, features), set(), config).nme_cycles == total > 0


def test_reduce_events_by_hand():
    work = work_of(reduce_of(KARATE, 134), set(), TINY)
    edges = 156 + 34  # karate's arcs and a loop for each vertex
    assert len(KARATE.edge_weight) == edges
    loads = len(KARATE.sources)
    # 64, 64 and 6 features of 2 B: each rank reads 64, 64 and 6 B, one burst of 64 B each time.
    assert work.events == {
        "dram_activate": loads * 2 * 3, "dram_read": loads * 2 * 3,
        "nme_multiply": edges * 134, "nme_add": edges * 134,
    }  # fmt: skip
    assert (work.array_cycles, work.vector_cycles, work.channel_bytes) == (0, 0, 0)
    # 256 features of 4 B in one pass: 512 B in each rank, 8 bursts.
    gnnear = load_config("gnnear")
    shards = shard_adjacency(adjacency(load_graph("karate"), "gcn"), gnnear)
    events = work_of(reduce_of(shards, 256), set(), gnnear).events
    assert events["dram_activate"] == len(shards.sources) * 2
    assert events["dram_read"] == len(shards.sources) * 2 * 8


@given(edge_lists(), machines())
@relaxed
def test_partial_vectors(edge_list, drawn):
    (edges, n_nodes), (dram, partition, interval) = edge_list, drawn
    shards, _ = sharded(edges, n_nodes, dram, partition, interval)
    pairs = [set() for _ in range(dram.dimms)]
    for shard in range(len(shards)):
        for slot in shards.edge_destination[slice(*shards.edge_start[shard : shard + 2])].tolist():
            pairs[shards.dimm[shard]].add((int(shards.interval_index[shard]), slot))
    counts = partial_vectors(shards).tolist()
    assert counts == [len(vertices) for vertices in pairs][: len(counts)]
    assert not any(pairs[len(counts) :])


def test_merge_by_hand():
    # Vertices 0 and 4 live on channel 0 (DIMM 0) and channel 1 (DIMM 2); nothing is duplicated.
    config = TINY.replace(**{"partition.duplicated_share": 0.0})
    edges = np.array([(0, 1), (0, 2), (4, 1), (4, 2), (4, 3)]).T
    graph = graph_from_edges("drawn", *edges, 5, EdgeRules())
    shards = shard_adjacency(adjacency(graph, "none"), config)
    work = work_of(merge_of(shards, 10), set(), config)
    assert partial_vectors(shards).tolist() == [2, 0, 3]
    stored = 5 * 10 * 2 // 2  # five vectors of ten bf16 elements over two channels
    assert work.vector_cycles == 5 * 3  # ten elements over four lanes
    assert work.channel_bytes == 3 * 10 * 4 + stored
    assert work.events["vector_add"] == 50
    assert work.events["channel_byte"] == 5 * 10 * 4 + 2 * stored
    assert [work.events[f"dram_{name}"] for name in ("read", "write", "activate")] == [0, 2, 1]


def test_product_by_hand():
    work = work_of(product_of("xw", 2, 4, 4), set(), TINY)
    # Command in cycle 0, shifts in 1 to 4, rows in 5 and 6; results in 6 + 17 + 2 and one later; status in 27.
    assert work.array_cycles == 28
    assert work.channel_bytes == 8 + 8  # 8 elements of 2 B read and 8 written, over two channels
    assert work.events == {
        "array_multiply": 32, "array_add": 32, "channel_byte": 32,
        "dram_read": 2, "dram_write": 2, "dram_activate": 2,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("kind", "on_chip", "elements"),
    [
        ("xw", set(), 6 * 10 + 6 * 14), ("xw", {"l"}, 6 * 14), ("xw", {"r"}, 6 * 10 + 6 * 14),
        ("dywt", set(), 6 * 10 + 6 * 14), ("dywt", {"l"}, 6 * 14),
        ("xtdy", set(), 6 * 10 + 10 * 14), ("xtdy", {"l"}, 10 * 14), ("xtdy", {"r"}, 6 * 10), ("xtdy", {"l", "r"}, 0),
    ],
)  # fmt: skip
def test_products_move_what_is_not_on_chip(kind, on_chip, elements):
    work = work_of(product_of(kind, 6, 10, 14), on_chip, TINY)
    assert work.channel_bytes == elements * 2 // 2
    assert work.events["array_multiply"] == 6 * 10 * 14


def test_tiles_of_a_product_run_back_to_back():
    whole = work_of(product_of("xw", 130, 9, 10), set(), TINY).array_cycles
    # 130 rows in three pieces of 43, 43 and 44; ten columns in 4, 4 and 2.
    tiles = {"rows": [43, 43, 44] * 3, "columns": [4] * 6 + [2] * 3, "depth": 9}
    assert whole == product_timing(MATRIX_COMMAND.encode(9, {"opcode": 1} | tiles), TINY.cae).cycles
    alone = [work_of(product_of("xw", rows, 9, 4), set(), TINY).array_cycles for rows in (43, 43, 44)]
    assert 3 * 3 * 130 < whole < 3 * sum(alone)


@pytest.mark.parametrize("operation", PASSES)
def test_vector_operations(operation):
    passes = {"relu": 1, "relu_gradient": 1, "loss": 4, "adam": 6}[operation]
    fresh, chained = (work_of(vector_of(operation, 1001), on_chip, TINY) for on_chip in (set(), {"s"}))
    assert fresh.vector_cycles == chained.vector_cycles == 251 * passes
    assert fresh.events["vector_add"] == 1001 * passes
    moved = 0 if operation == "adam" else 1001
    mask = 1001 if operation == "relu_gradient" else 0
    assert chained.channel_bytes == moved + mask
    assert fresh.channel_bytes == 2 * moved + mask


def test_nothing_to_do():
    empty = shard_adjacency(adjacency(load_graph("empty:n=0"), "gcn"), TINY)
    for item in (reduce_of(empty, 5), merge_of(empty, 5), product_of("xw", 0, 5, 5), vector_of("relu", 0)):
        work = work_of(item, set(), TINY)
        assert (work.nme_cycles, work.array_cycles, work.vector_cycles, work.channel_bytes) == (0, 0, 0, 0)
        assert not any(work.events.values())
