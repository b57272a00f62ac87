"""The streams of a Near-Memory Engine, taken apart with `struct` and compared with the edges they were made from."""

import struct

import numpy as np
import pytest
from hypothesis import given

from sim.config import load_config
from sim.program.commands import EDGE_RECORD, REDUCE_COMMAND, ReduceCode, ReduceOpcode
from sim.program.reduce_trace import (
    ReduceTrace,
    beats_of,
    decode_work,
    feature_slices,
    ranges,
    reduce_trace,
    shard_work,
)
from testbenches.sim.program.strategies import edge_lists, machine, machines, relaxed, sharded

BF16 = load_config("tiny").nme.model_copy(update={"pes": 1, "lanes_per_pe": 3, "max_beats": 2, "interval": 9})
FP32 = BF16.model_copy(update={"element": "fp32"})
EDGES = [(0, 1), (5, 1), (0, 2), (5, 8), (5, 8), (7, 7), (11, 9), (3, 4)]


def example(config, features=5, weighted=True):
    shards, _ = sharded(EDGES, 12, *machine(), 9)
    dtype = np.uint16 if config.element == "bf16" else np.uint32
    values = np.arange(12 * features, dtype=dtype).reshape(12, features) + dtype(100)
    weights = np.arange(len(EDGES), dtype=dtype) + dtype(50000) if weighted else None
    order = np.arange(len(shards))[::-1].copy()
    return shards, order, values, weights, reduce_trace(shards, order, values, config, weights=weights)


@pytest.mark.parametrize("config", [BF16, FP32], ids=["bf16", "fp32"])
@pytest.mark.parametrize("weighted", [True, False], ids=["multiply-add", "add"])
def test_streams(config, weighted):
    shards, order, values, weights, trace = example(config, weighted=weighted)
    commands, edges, vectors = [], [], []
    for tag, shard in enumerate(order.tolist()):
        s, e = slice(*shards.source_start[shard : shard + 2]), slice(*shards.edge_start[shard : shard + 2])
        destinations = min(9, 12 - 9 * int(shards.interval_index[shard]))
        opcode = 2 if weighted else 1
        commands.append(struct.pack("<BxHHHII", opcode, 2, destinations, tag, s.stop - s.start, e.stop - e.start))
        for i in range(e.start, e.stop):
            weight = int(weights[i]) if weighted else 0
            edges.append(struct.pack("<HBxI", int(shards.edge_destination[i]), int(shards.edge_last[i]), weight))
        for source in shards.sources[s].tolist():
            row = [*values[source].tolist(), 0]
            for beat in (row[:3], row[3:]):
                vectors.append(struct.pack("<3H" if config.element == "bf16" else "<3I", *beat))
    assert [record.tobytes() for record in trace.commands] == commands
    assert [record.tobytes() for record in trace.edges] == edges
    assert [record.tobytes() for record in trace.vectors] == vectors


def test_tags_wrap():
    shards, *_ = example(BF16)
    order = np.zeros(65537, np.int64)
    trace = reduce_trace(shards, order, np.zeros((12, 1), np.uint16), BF16, weights=None)
    assert REDUCE_COMMAND.decode(trace.commands)["tag"][[0, 65535, 65536]].tolist() == [0, 65535, 0]


def test_an_engine_without_shards_gets_empty_streams():
    shards, *_ = example(BF16)
    trace = reduce_trace(shards, np.zeros(0, np.int64), np.zeros((12, 5), np.uint16), BF16, weights=None)
    assert (trace.commands.shape, trace.edges.shape, trace.vectors.shape) == ((0, 16), (0, 8), (0, 6))


@pytest.mark.parametrize(
    ("values", "weights", "match"),
    [
        (np.zeros((12, 0), np.uint16), None, "vectors of 0 features: one pass takes 1 to 6"),
        (np.zeros((12, 7), np.uint16), None, "vectors of 7 features: one pass takes 1 to 6"),
        (np.zeros((12, 6), np.uint32), None, "must be bits of bf16"),
        (np.zeros((12, 6), np.float32), None, "must be bits of bf16"),
        (np.zeros((12, 6), np.uint16), np.zeros(8, np.uint32), r"must be bits of bf16 \(uint16\), not .*uint32"),
    ],
)
def test_refusals(values, weights, match):
    shards, *_ = example(BF16)
    with pytest.raises(ValueError, match=match):
        reduce_trace(shards, np.arange(len(shards)), values, BF16, weights=weights)


@given(edge_lists(), machines())
@relaxed
def test_work_without_bytes_is_the_work_of_the_bytes(edge_list, drawn):
    (edges, n_nodes), (dram, partition, interval) = edge_list, drawn
    shards, _ = sharded(edges, n_nodes, dram, partition, interval)
    config = BF16.model_copy(update={"interval": interval})
    for dimm in range(dram.dimms):
        order = shards.of_dimm(dimm)
        values = np.zeros((n_nodes, 4), np.uint16)
        trace = reduce_trace(shards, order, values, config, weights=np.zeros(len(edges), np.uint16))
        for direct, decoded in zip(shard_work(shards, order, 2), decode_work(trace, config), strict=True):
            assert np.array_equal(direct, decoded)


def test_commands_are_judged_in_the_order_of_the_codes():
    good = {"opcode": 2, "beats": 2, "destinations": 9, "sources": 1, "edges": 1}
    faults = [
        ({"opcode": 0}, ReduceCode.BAD_OPCODE), ({"opcode": 5}, ReduceCode.BAD_OPCODE),
        ({"opcode": 255}, ReduceCode.BAD_OPCODE),
        ({"beats": 0}, ReduceCode.BAD_BEATS), ({"beats": 3}, ReduceCode.BAD_BEATS),
        ({"destinations": 0}, ReduceCode.BAD_DESTINATIONS), ({"destinations": 10}, ReduceCode.BAD_DESTINATIONS),
        ({"sources": 0}, ReduceCode.NO_SOURCES), ({"edges": 0}, ReduceCode.NO_EDGES),
    ]  # fmt: skip
    rows = [(good, ReduceCode.OK), (good | {"opcode": 1, "beats": 1, "destinations": 1}, ReduceCode.OK)]
    rows += [(good | {"opcode": opcode}, ReduceCode.OK) for opcode in ReduceOpcode]
    rows += [(good | fault, code) for fault, code in faults]
    rows += [(good | fault | later, code) for fault, code in faults for later, second in faults if code < second]
    commands = REDUCE_COMMAND.encode(len(rows), {name: [row[name] for row, _ in rows] for name in good})
    trace = ReduceTrace(commands=commands, edges=EDGE_RECORD.encode(6, {}), vectors=np.zeros((11, 6), np.uint8))
    assert decode_work(trace, BF16).code.tolist() == [code for _, code in rows]


@pytest.mark.parametrize(("features", "lanes", "beats"), [(1, 8, 1), (8, 8, 1), (9, 8, 2), (256, 128, 2), (0, 8, 0)])
def test_beats_of(features, lanes, beats):
    assert beats_of(features, lanes) == beats


@pytest.mark.parametrize("features", [1, 5, 6, 7, 12, 13, 100])
def test_feature_slices_cover_each_feature_once(features):
    slices = feature_slices(features, BF16)
    assert [i for part in slices for i in range(features)[part]] == list(range(features))
    assert all(0 < part.stop - part.start <= 6 for part in slices)
    assert len(slices) == -(-features // 6)


def test_ranges():
    assert ranges(np.array([5, 0, 9, 2]), np.array([2, 0, 1, 3])).tolist() == [5, 6, 9, 2, 3, 4]
    assert ranges(np.zeros(0, np.int64), np.zeros(0, np.int64)).tolist() == []
