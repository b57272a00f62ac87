"""Whole layers on the golden model, against dense matrices in float64 and against merges in plain Python."""

import numpy as np
import pytest

from sim.config import load_config
from sim.golden.execute import execute, reduce_traces, stored
from sim.golden.numbers import bf16_to_fp32, fp32_to_bf16
from sim.graph import EdgeRules, adjacency, graph_from_edges, load_graph
from sim.program.gcn import compile_gcn_epoch, compile_gcn_layer, shard_adjacency
from sim.program.items import Merge, Product, Program, Reduce
from testbenches.sim.golden import reference
from testbenches.sim.program.test_gcn import dense_of, directed_graph

TINY = load_config("tiny")
FP32 = TINY.replace(**{"nme.element": "fp32"})


def floats(bits):
    return bits.view(np.float32).astype(np.float64)


def inputs(n_nodes, fan_in, fan_out, seed=3):
    rng = np.random.default_rng(seed)
    shapes = {"h0": (n_nodes, fan_in), "w0": (fan_in, fan_out)}
    return {name: rng.standard_normal(shape).astype(np.float32).view(np.uint32) for name, shape in shapes.items()}


def rounded(bits):
    """Give what an engine with bf16 elements reads, as float64."""
    return floats(bf16_to_fp32(fp32_to_bf16(bits)))


@pytest.mark.parametrize(("fan_in", "fan_out"), [(5, 7), (16, 33), (17, 3), (40, 40)])
@pytest.mark.parametrize("config", [FP32, TINY], ids=["fp32", "bf16"])
def test_a_layer_is_a_graph_convolution(fan_in, fan_out, config):
    weighted = directed_graph(n_nodes=37, n_edges=150)
    tensors = inputs(weighted.n_nodes, fan_in, fan_out)
    out = execute(compile_gcn_layer(weighted, fan_in, fan_out, config), tensors, config)
    matrix = dense_of(weighted)
    h, w = floats(tensors["h0"]), floats(tensors["w0"])
    want = np.maximum(matrix @ h @ w, 0)
    # bf16 keeps 8 places: operands of either product are off by 2**-9 of their size.
    bound = 3 * 2.0**-8 * (np.abs(matrix) @ np.abs(h) @ np.abs(w)) + 1e-6
    assert (np.abs(floats(out["h1"]) - want) <= bound).all()
    assert (out["h1"] >> 31 == 0).all()  # max(-0, +0) is +0 too


@pytest.mark.parametrize(("fan_in", "fan_out"), [(16, 9), (17, 9)], ids=["reduce first", "update first"])
def test_each_step_rounds_where_the_contract_says(fan_in, fan_out):
    """With the rounding of operands modelled, only the order of fp32 additions is left."""
    weighted = directed_graph(n_nodes=37, n_edges=150)
    tensors = inputs(weighted.n_nodes, fan_in, fan_out)
    out = execute(compile_gcn_layer(weighted, fan_in, fan_out, FP32), tensors, FP32)
    matrix = dense_of(weighted)
    if fan_in == 16:
        sums = matrix @ floats(tensors["h0"])
        assert np.allclose(floats(out["a0"]), sums, rtol=1e-5, atol=1e-5)
        assert np.allclose(floats(out["z0"]), rounded(out["a0"]) @ rounded(tensors["w0"]), rtol=1e-5, atol=1e-5)
    else:
        assert np.allclose(floats(out["x0"]), rounded(tensors["h0"]) @ rounded(tensors["w0"]), rtol=1e-5, atol=1e-5)
        assert np.allclose(floats(out["z0"]), matrix @ floats(out["x0"]), rtol=1e-5, atol=1e-5)
    assert np.array_equal(floats(out["h1"]), np.maximum(floats(out["z0"]), 0))


@pytest.mark.parametrize("config", [FP32, TINY], ids=["fp32", "bf16"])
@pytest.mark.parametrize("features", [6, 70])
def test_partial_sums_merge_by_rising_dimm(config, features):
    config = config.replace(**{"nme.interval": 5, "partition.block_vertices": 1})
    weighted = directed_graph(n_nodes=23, n_edges=120)
    shards = shard_adjacency(weighted, config)
    tensors = inputs(weighted.n_nodes, features, 1)
    items = (
        Reduce(layer=0, direction="forward", shards=shards, features=features, source="h0", result="p"),
        Merge(layer=0, direction="forward", shards=shards, features=features, source="p", result="a"),
    )
    out = execute(Program(name="reduce", items=items), tensors, config)
    element = config.nme.element
    values = stored(tensors["h0"], config.nme)
    weights = stored(shards.edge_weight.view(np.uint32), config.nme)
    source_of_edge = shards.sources[np.cumsum(shards.edge_last) - shards.edge_last]
    merged = [[0.0] * features for _ in range(weighted.n_nodes)]
    assert len(np.unique(shards.dimm)) == 4
    for shard in np.lexsort((shards.interval_index, shards.dimm)).tolist():
        partial = {}
        for e in range(*shards.edge_start[shard : shard + 2].tolist()):
            row = [reference.value(bits, element) for bits in values[source_of_edge[e]].tolist()]
            weight = reference.value(weights[e], element)
            vertex = int(shards.interval_index[shard] * 5 + shards.edge_destination[e])
            before = partial.get(vertex, [0.0] * features)
            partial[vertex] = [
                reference.add(total, reference.multiply(weight, x)) for total, x in zip(before, row, strict=True)
            ]
        for vertex, sums in partial.items():
            merged[vertex] = [reference.add(a, b) for a, b in zip(merged[vertex], sums, strict=True)]
    assert out["a"].tolist() == [[reference.bits_of(x) for x in row] for row in merged]


def test_vertices_without_edges_are_zero():
    graph = graph_from_edges("drawn", np.array([0]), np.array([3]), 6, EdgeRules())
    weighted = adjacency(graph, "none")
    out = execute(compile_gcn_layer(weighted, 4, 4, TINY), inputs(6, 4, 4), TINY)
    assert not np.delete(out["a0"], 3, axis=0).any()
    assert out["a0"][3].any()


@pytest.mark.parametrize("fan_in", [4, 40])
def test_empty_graph_and_one_vertex(fan_in):
    for n_nodes in (0, 1):
        weighted = adjacency(load_graph(f"empty:n={n_nodes}"), "gcn")
        out = execute(compile_gcn_layer(weighted, fan_in, 3, TINY), inputs(n_nodes, fan_in, 3), TINY)
        assert out["h1"].shape == (n_nodes, 3)
        if n_nodes:
            # Its own loop weighs 1: the layer is relu(h W) with rounded operands.
            tensors = inputs(1, fan_in, 3)
            want = np.maximum(rounded(tensors["h0"]) @ rounded(tensors["w0"]), 0)
            assert np.allclose(floats(out["h1"]), want, rtol=2.0**-7, atol=1e-5)


def test_stored():
    bits = np.array([0x00000001, 0x80000001, 0x7F800001, 0x3F808000, 0x3F818000, 0xFFFFFFFF], np.uint32)
    assert stored(bits, FP32.nme).tolist() == [0, 0x80000000, 0x7FC00000, 0x3F808000, 0x3F818000, 0x7FC00000]
    assert stored(bits, TINY.nme).tolist() == [0, 0x8000, 0x7FC0, 0x3F80, 0x3F82, 0x7FC0]


def test_traces_by_slice_and_dimm():
    weighted = directed_graph()
    shards = shard_adjacency(weighted, TINY)
    item = Reduce(layer=0, direction="forward", shards=shards, features=134, source="h0", result="p")
    traces = reduce_traces(item, inputs(weighted.n_nodes, 134, 1), TINY)
    assert set(traces) == {(part, dimm) for part in range(3) for dimm in np.unique(shards.dimm).tolist()}
    beats = {part: len(traces[part, 0].vectors) // len(traces[2, 0].vectors) for part in range(3)}
    assert beats == {0: 8, 1: 8, 2: 1}  # 64, 64 and 6 features of 8 lanes


def test_backward_items_are_refused():
    weighted = directed_graph()
    program = compile_gcn_epoch(weighted, weighted.transposed(), (4, 4, 2), TINY)
    tensors = inputs(weighted.n_nodes, 4, 4) | {"w1": np.zeros((4, 2), np.uint32)}
    with pytest.raises(ValueError, match="layer 1 backward: vector: the golden executor runs forward passes only"):
        execute(program, tensors, TINY)
    assert isinstance(program.items[2], Product)


def test_the_tensors_given_are_left_alone():
    weighted = directed_graph()
    tensors = inputs(weighted.n_nodes, 4, 4)
    before = {name: bits.copy() for name, bits in tensors.items()}
    execute(compile_gcn_layer(weighted, 4, 4, TINY), tensors, TINY)
    assert tensors.keys() == before.keys()
    assert all(np.array_equal(tensors[name], before[name]) for name in before)
