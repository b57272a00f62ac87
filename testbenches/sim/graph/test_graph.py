"""The graph refuses what is not one, and its hash follows every part that a result can depend on."""

import dataclasses

import numpy as np
import pytest
from hypothesis import given

from sim.graph import Graph, GraphError
from testbenches.sim.graph.strategies import dense, graphs, relaxed

FIELDS = {
    "name": "small",
    "indptr": np.array([0, 1, 3, 3]),
    "indices": np.array([2, 0, 1]),
    "features": np.ones((3, 2), np.float32),
    "labels": np.array([0, 1, -1]),
    "n_classes": 2,
    "train_mask": np.array([True, False, False]),
    "val_mask": np.array([False, True, False]),
    "test_mask": np.array([False, False, False]),
}


def test_counts_and_degrees():
    graph = Graph(**FIELDS)
    assert (graph.n_nodes, graph.n_edges, graph.n_features) == (3, 3, 2)
    assert graph.in_degrees().tolist() == [1, 2, 0]
    assert graph.out_degrees().tolist() == [1, 1, 1]
    assert graph.in_degrees().dtype == graph.out_degrees().dtype == np.int64


def test_no_nodes_is_a_graph():
    graph = Graph(name="none", indptr=[0], indices=[])
    assert (graph.n_nodes, graph.n_edges) == (0, 0)
    assert graph.in_degrees().size == graph.out_degrees().size == 0
    assert graph.is_symmetric()
    assert graph.transposed().n_nodes == graph.symmetrised().n_nodes == 0
    assert len(graph.content_hash()) == 64


def test_arrays_are_converted_and_read_only_and_the_callers_stay_writable():
    indptr = np.array([0, 1, 3, 3], np.uint16)
    own = np.array([2, 0, 1])
    graph = Graph(**FIELDS | {"indptr": indptr, "indices": own, "features": np.ones((3, 2))})
    assert graph.indptr.dtype == np.int64
    assert graph.features.dtype == np.float32
    with pytest.raises(ValueError, match="read-only"):
        graph.indices[0] = 1
    own[0] = 2


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"indptr": np.array([], np.int64)}, "begin with 0"),
        ({"indptr": np.array([1, 1, 3, 3])}, "begin with 0"),
        ({"indptr": np.array([0, 3, 1, 3])}, "falls at row 1"),
        ({"indptr": np.array([0, 1, 2, 2])}, "ends at 2, but there are 3"),
        ({"indptr": np.array([0.0, 1.0, 3.0, 3.0])}, "float64, not int64"),
        ({"indptr": np.array([[0, 1], [3, 3]])}, "shape"),
        ({"indices": np.array([2, 0, 3])}, r"index 2 is 3, which lies outside 0\.\.2"),
        ({"indices": np.array([-1, 0, 1])}, "index 0 is -1"),
        ({"indices": np.array([2, 1, 0])}, "row 1 is not ascending"),
        ({"indices": np.array([2, 0, 2**63], np.uint64)}, "does not fit"),
        ({"features": np.ones((2, 2), np.float32)}, r"features has the shape \(2, 2\), not \(3, any\)"),
        ({"features": np.ones(3, np.float32)}, "shape"),
        ({"features": np.array([[1, 1], [1, np.nan], [1, 1]], np.float32)}, "node 1 are not finite"),
        ({"features": np.full((3, 2), np.inf, np.float32)}, "node 0 are not finite"),
        ({"features": np.array([["a", "b"]] * 3)}, "not float32"),
        ({"labels": np.array([0, 2, -1])}, "node 1 has the label 2"),
        ({"labels": np.array([0, 1, -2])}, "node 2 has the label -2"),
        ({"labels": np.array([0, 1])}, "shape"),
        ({"labels": None, "train_mask": None, "val_mask": None, "test_mask": None}, "2 classes need labels"),
        ({"labels": None, "n_classes": 0}, "train_mask holds a node without a label"),
        ({"test_mask": np.array([False, False, True])}, "test_mask holds a node without a label"),
        ({"val_mask": np.array([0, 1, 0])}, "int64, not bool"),
        ({"node_ids": np.array([1, 2])}, "node_ids"),
    ],
)
def test_what_is_no_graph_is_refused(change, message):
    with pytest.raises(GraphError, match=message):
        Graph(**FIELDS | change)


@pytest.mark.parametrize(
    "change",
    [
        {"indptr": np.array([0, 1, 2, 3])},
        {"indices": np.array([1, 0, 1])},
        {"features": np.zeros((3, 2), np.float32)},
        {"features": np.ones((3, 3), np.float32)},
        {"features": None},
        {"labels": np.array([1, 1, -1])},
        {"n_classes": 3},
        {"train_mask": np.array([False, True, False])},
        {"val_mask": None},
        {"test_mask": np.array([True, False, False])},
    ],
)
def test_the_hash_follows_the_contents(change):
    assert Graph(**FIELDS | change).content_hash() != Graph(**FIELDS).content_hash()


def test_the_hash_follows_nothing_else():
    change = {"name": "other", "notes": ("merged",), "node_ids": np.arange(3), "indices": np.array([2, 0, 1], np.int8)}
    assert Graph(**FIELDS | change).content_hash() == Graph(**FIELDS).content_hash()
    # The same bytes in another field are another graph.
    only_val, only_test = {"train_mask": None, "test_mask": None}, {"train_mask": None, "val_mask": None}
    only_test["test_mask"] = FIELDS["val_mask"]
    assert Graph(**FIELDS | only_val).content_hash() != Graph(**FIELDS | only_test).content_hash()


@relaxed
@given(graphs())
def test_transposed_and_symmetrised(graph):
    counts = dense(graph.indptr, graph.indices)
    reverse, both = graph.transposed(), graph.symmetrised()
    assert (dense(reverse.indptr, reverse.indices) == counts.T).all()
    assert (dense(both.indptr, both.indices) == np.maximum(counts, counts.T)).all()
    assert reverse.transposed().content_hash() == graph.content_hash()
    assert (reverse.in_degrees() == graph.out_degrees()).all()
    assert graph.is_symmetric() == (counts == counts.T).all()
    assert both.is_symmetric()


def test_transposing_keeps_what_is_known_of_the_nodes():
    graph = Graph(**FIELDS)
    reverse = graph.transposed()
    for field in dataclasses.fields(graph):
        if field.name not in ("indptr", "indices"):
            assert np.array_equal(getattr(reverse, field.name), getattr(graph, field.name))
