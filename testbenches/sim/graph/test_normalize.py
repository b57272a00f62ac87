"""Edge weights against dense matrices, bit for bit, with loops, repeats and isolated nodes."""

import numpy as np
import pytest
from hypothesis import given

from sim.graph import NORMALIZATIONS, EdgeRules, GraphError, adjacency, graph_from_edges, load_graph, row_normalized
from testbenches.sim.graph.strategies import KEEP, dense, graphs, relaxed


def rows_of(edges):
    return np.repeat(np.arange(edges.n_nodes), np.diff(edges.indptr))


@relaxed
@given(graphs())
def test_gcn_is_the_dense_formula(graph):
    counts = dense(graph.indptr, graph.indices)
    np.fill_diagonal(counts, 1)
    degrees = counts.sum(axis=1)
    found = adjacency(graph, "gcn")
    assert (dense(found.indptr, found.indices) == counts).all()
    rows = rows_of(found)
    expected = (1 / np.sqrt(degrees[rows] * degrees[found.indices])).astype(np.float32)
    assert np.array_equal(found.weights, expected)
    assert found.weights.dtype == np.float32
    inverse_root = np.diag(1 / np.sqrt(degrees))
    np.testing.assert_allclose(
        dense(found.indptr, found.indices, found.weights), inverse_root @ counts @ inverse_root, rtol=1e-6
    )


@relaxed
@given(graphs())
def test_mean_and_none(graph):
    found = adjacency(graph, "mean")
    degrees = graph.in_degrees()
    assert np.array_equal(found.weights, (1 / degrees[rows_of(found)]).astype(np.float32))
    matrix = dense(found.indptr, found.indices, found.weights)
    np.testing.assert_allclose(matrix.sum(axis=1), degrees > 0, rtol=1e-6)
    none = adjacency(graph, "none")
    assert (dense(none.indptr, none.indices, none.weights) == dense(graph.indptr, graph.indices)).all()
    for edges in (found, none):
        assert np.array_equal(edges.indices, graph.indices)
        assert edges.n_edges == graph.n_edges


@relaxed
@given(graphs())
def test_transposed_moves_each_weight_with_its_edge(graph):
    for normalization in NORMALIZATIONS:
        edges = adjacency(graph, normalization)
        reverse = edges.transposed()
        straight = dense(edges.indptr, edges.indices, edges.weights)
        np.testing.assert_allclose(dense(reverse.indptr, reverse.indices, reverse.weights), straight.T, rtol=1e-12)
        twice = reverse.transposed()
        assert np.array_equal(twice.indptr, edges.indptr)
        assert np.array_equal(twice.indices, edges.indices)
        assert np.array_equal(twice.weights, edges.weights)


def test_gcn_rows_stay_ascending_with_exactly_one_loop():
    sources, destinations = np.array([0, 1, 1, 2, 3, 0]), np.array([1, 1, 1, 1, 0, 0])
    found = adjacency(graph_from_edges("loops", sources, destinations, 5, KEEP), "gcn")
    assert found.indptr.tolist() == [0, 2, 5, 6, 7, 8]
    assert found.indices.tolist() == [0, 3, 0, 1, 2, 2, 3, 4]
    # Node 4 is isolated: its self-loop has the weight 1.
    assert found.weights[-1] == 1.0
    assert found.weights[2] == np.float32(1 / np.sqrt(3 * 2))


def test_gcn_does_not_depend_on_loops_that_are_there():
    with_loops = adjacency(load_graph("uniform:nodes=50,edges=400,repeats=merge"))
    without = adjacency(load_graph("uniform:nodes=50,edges=400,repeats=merge,self_loops=drop"))
    for field in ("indptr", "indices", "weights"):
        assert np.array_equal(getattr(with_loops, field), getattr(without, field))


def test_weights_do_not_depend_on_the_order_of_edges():
    random = np.random.default_rng(1)
    edges = random.integers(0, 40, (2, 300))
    shuffled = edges[:, random.permutation(300)]
    for normalization in NORMALIZATIONS:
        first = adjacency(graph_from_edges("a", *edges, 40, EdgeRules()), normalization)
        second = adjacency(graph_from_edges("b", *shuffled, 40, EdgeRules()), normalization)
        assert np.array_equal(first.weights, second.weights)


@pytest.mark.parametrize("normalization", NORMALIZATIONS)
def test_no_nodes_and_isolated_nodes(normalization):
    assert adjacency(load_graph("empty:n=0"), normalization).n_nodes == 0
    three = adjacency(load_graph("empty:n=3"), normalization)
    assert three.weights.tolist() == ([1.0] * 3 if normalization == "gcn" else [])


def test_arrays_are_read_only_and_other_names_refused():
    graph = load_graph("karate")
    with pytest.raises(ValueError, match="read-only"):
        adjacency(graph).weights[0] = 0
    with pytest.raises(GraphError, match=r"unknown normalization: 'gnc'\. Did you mean 'gcn'\?"):
        adjacency(graph, "gnc")


def test_row_normalized():
    features = np.array([[1, 1, 2], [0, 0, 0], [0, 0.5, 0]], np.float32)
    found = row_normalized(features)
    assert found.dtype == np.float32
    assert found.tolist() == [[0.25, 0.25, 0.5], [0, 0, 0], [0, 1, 0]]
    thirds = row_normalized(np.ones((1, 3), np.float32))
    assert (thirds == np.float32(1 / 3)).all()
