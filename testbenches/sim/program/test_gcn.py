"""The compiled programs: what is read was made before, and their algebra is that of a graph convolution.

A little interpreter in float64 with dense matrices runs all items of an epoch; its gradients are compared with finite
differences of the loss, so that a wrong order, a missing transposition or a wrong graph in any item is found.
"""

from itertools import pairwise

import numpy as np
import pytest

from sim.config import load_config
from sim.graph import EdgeRules, adjacency, graph_from_edges
from sim.program.gcn import compile_gcn_epoch, compile_gcn_layer, shard_adjacency, update_first
from sim.program.items import Merge, Product, Reduce, Vector

TINY = load_config("tiny")


def directed_graph(n_nodes=23, n_edges=60, seed=1):
    """Make a graph that is not symmetric, with loops, repeats and isolated vertices."""
    rng = np.random.default_rng(seed)
    sources, destinations = rng.integers(0, n_nodes - 3, (2, n_edges))
    return adjacency(graph_from_edges("drawn", sources, destinations, n_nodes, EdgeRules(repeats="keep")), "gcn")


def dense_of(weighted):
    matrix = np.zeros((weighted.n_nodes, weighted.n_nodes))
    rows = np.repeat(np.arange(weighted.n_nodes), np.diff(weighted.indptr))
    np.add.at(matrix, (rows, weighted.indices), weighted.weights.astype(np.float64))
    return matrix


def dense_of_shards(shards):
    """Give the matrix that the shards add up to, whatever DIMM their edges are on."""
    matrix = np.zeros((shards.n_nodes, shards.n_nodes))
    source_of_edge = np.cumsum(shards.edge_last) - shards.edge_last
    shard_of_edge = np.repeat(np.arange(len(shards)), np.diff(shards.edge_start))
    destination = shards.interval_index[shard_of_edge] * shards.interval + shards.edge_destination
    np.add.at(matrix, (destination, shards.sources[source_of_edge]), shards.edge_weight.astype(np.float64))
    return matrix


def run(program, tensors, labels):
    """Interpret a program in float64; optimiser items hand on the gradient instead of new weights."""
    values, gradients = dict(tensors), {}
    for item in program.items:
        match item:
            case Reduce():
                assert values[item.source].shape == (item.shards.n_nodes, item.features)
                values[item.result] = dense_of_shards(item.shards) @ values[item.source]
            case Merge():
                assert values[item.source].shape == (item.shards.n_nodes, item.features)
                values[item.result] = values[item.source]
            case Product():
                left, right = values[item.left], values[item.right]
                left = left.T if item.kind == "xtdy" else left
                right = right.T if item.kind == "dywt" else right
                assert left.shape == (item.rows, item.depth)
                assert right.shape == (item.depth, item.columns)
                values[item.result] = left @ right
            case Vector(operation="adam"):
                gradients[item.result] = values[item.source]
                assert values[item.source].size == item.elements
            case Vector():
                source = values[item.source]
                assert source.size == item.elements
                values[item.result] = {
                    "relu": lambda x=source: np.maximum(x, 0),
                    "relu_gradient": lambda x=source, layer=item.layer: x * (values[f"h{layer}"] > 0),
                    "loss": lambda x=source: softmax(x) - labels,
                }[item.operation]()
    return values, gradients


def softmax(x):
    e = np.exp(x - x.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def loss_of(matrix, h, weights, labels):
    for w in weights[:-1]:
        h = np.maximum(matrix @ h @ w, 0)
    return -(labels * np.log(softmax(matrix @ h @ weights[-1]))).sum()


@pytest.mark.parametrize("widths", [(9, 6, 3), (20, 6, 3), (20, 18, 5), (5, 4, 4, 2), (30, 7)], ids=str)
def test_epoch_computes_the_gradients_of_the_loss(widths):
    rng = np.random.default_rng(7)
    weighted = directed_graph()
    matrix = dense_of(weighted)
    assert not np.allclose(matrix, matrix.T)
    h0 = rng.standard_normal((weighted.n_nodes, widths[0]))
    weights = [rng.standard_normal(shape) / 3 for shape in pairwise(widths)]
    labels = np.eye(widths[-1])[rng.integers(0, widths[-1], weighted.n_nodes)]
    program = compile_gcn_epoch(weighted, weighted.transposed(), widths, TINY)
    tensors = {"h0": h0} | {f"w{layer}": w for layer, w in enumerate(weights)}
    values, gradients = run(program, tensors, labels)

    h = h0
    for w in weights[:-1]:
        h = np.maximum(matrix @ h @ w, 0)
    assert np.allclose(values[f"h{len(weights)}"], matrix @ h @ weights[-1])
    assert gradients.keys() == {f"w{layer}" for layer in range(len(weights))}
    for layer, w in enumerate(weights):
        gradient = gradients[f"w{layer}"]
        assert gradient.shape == w.shape
        for place in [(0, 0), tuple(rng.integers(0, w.shape)), (w.shape[0] - 1, w.shape[1] - 1)]:
            step = np.zeros_like(w)
            step[place] = 1e-6
            up, down = (
                loss_of(matrix, h0, [v + sign * step if i == layer else v for i, v in enumerate(weights)], labels)
                for sign in (1, -1)
            )
            assert gradient[place] == pytest.approx((up - down) / 2e-6, rel=1e-4, abs=1e-6)


@pytest.mark.parametrize("widths", [(9, 6, 3), (20, 6, 3)], ids=["reduce first", "update first"])
def test_every_tensor_is_made_before_it_is_read_and_made_once(widths):
    weighted = directed_graph()
    program = compile_gcn_epoch(weighted, weighted.transposed(), widths, TINY)
    made = {"h0", "w0", "w1"}
    for item in program.items:
        reads = [item.left, item.right] if isinstance(item, Product) else [item.source]
        assert set(reads) <= made, item.label
        assert item.result not in made or (isinstance(item, Vector) and item.operation == "adam"), item.label
        made.add(item.result)


def test_order_of_the_layers():
    weighted = directed_graph()
    names = {
        wide: [
            f"{item.layer} {item.direction} {item.operation if isinstance(item, Vector) else type(item).__name__}"
            for item in compile_gcn_epoch(weighted, weighted.transposed(), (wide, 6, 3), TINY).items
        ]
        for wide in (16, 17)
    }
    middle = ["0 forward relu", "1 forward Reduce", "1 forward Merge", "1 forward Product", "1 backward loss",
              "1 backward Reduce", "1 backward Merge", "1 backward Product", "1 backward Product",
              "1 backward relu_gradient", "1 backward adam"]  # fmt: skip
    assert names[16] == ["0 forward Reduce", "0 forward Merge", "0 forward Product", *middle,
                         "0 backward Product", "0 backward adam"]  # fmt: skip
    assert names[17] == ["0 forward Product", "0 forward Reduce", "0 forward Merge", *middle,
                         "0 backward Reduce", "0 backward Merge", "0 backward Product", "0 backward adam"]  # fmt: skip


def test_backward_reduces_the_transposed_graph():
    weighted = directed_graph()
    program = compile_gcn_epoch(weighted, weighted.transposed(), (20, 6, 3), TINY)
    matrix = dense_of(weighted)
    reduces = [item for item in program.items if isinstance(item, Reduce)]
    assert len(reduces) == 4
    for item in reduces:
        want = matrix if item.direction == "forward" else matrix.T
        assert np.array_equal(dense_of_shards(item.shards), want)


def test_gradient_products_have_the_shapes_of_training():
    weighted = directed_graph()
    items = compile_gcn_epoch(weighted, weighted.transposed(), (20, 6, 3), TINY).items
    shapes = [(i.layer, i.kind, i.rows, i.depth, i.columns) for i in items if isinstance(i, Product)]
    n = weighted.n_nodes
    assert shapes == [(0, "xw", n, 20, 6), (1, "xw", n, 6, 3),
                      (1, "xtdy", 6, n, 3), (1, "dywt", n, 3, 6), (0, "xtdy", 20, n, 6)]  # fmt: skip


def test_update_first_only_in_layer_0_and_only_where_wider():
    assert [update_first(layer, width, TINY) for layer in (0, 1) for width in (16, 17)] == [False, True, False, False]


def test_shards_of_the_configuration():
    weighted = directed_graph()
    shards = shard_adjacency(weighted, TINY.replace(**{"nme.interval": 5, "dram.channels": 1}))
    assert shards.interval == 5
    assert shards.dimm.max() < 2
    assert np.array_equal(dense_of_shards(shards), dense_of(weighted))


def test_names():
    weighted = directed_graph()
    assert compile_gcn_layer(weighted, 9, 6, TINY).name == "gcn layer, 9 to 6"
    program = compile_gcn_epoch(weighted, weighted.transposed(), (9, 6, 3), TINY)
    assert program.name == "gcn epoch, 9 - 6 - 3"
    assert program.items[0].label == "layer 0 forward: reduce"
