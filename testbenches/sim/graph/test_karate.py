"""Zachary's karate club against what is published about it."""

import numpy as np

from sim.graph import load_graph
from sim.graph.karate import CLUBS


def test_counts_degrees_and_clubs():
    graph = load_graph("karate")
    assert (graph.n_nodes, graph.n_edges, graph.n_classes) == (34, 2 * 78, 2)
    assert graph.is_symmetric()
    assert graph.notes == ()
    # Degrees, as in Zachary's matrix.
    assert graph.in_degrees().tolist() == [
        *(16, 9, 10, 6, 3, 4, 4, 4, 5, 2, 3, 1, 2, 5, 2, 2, 2),
        *(2, 2, 3, 2, 2, 2, 5, 3, 3, 2, 4, 3, 4, 4, 6, 12, 17),
    ]
    assert np.trace(np.linalg.matrix_power(_dense(graph), 3)) // 6 == 45  # triangles
    assert CLUBS == ("Mr. Hi", "Officer")
    hi = [0, 1, 2, 3, 4, 5, 6, 7, 8, 10, 11, 12, 13, 16, 17, 19, 21]
    assert np.flatnonzero(graph.labels == 0).tolist() == hi


def test_features_and_split():
    graph = load_graph("karate")
    assert np.array_equal(graph.features, np.eye(34, dtype=np.float32))
    assert np.flatnonzero(graph.train_mask).tolist() == [0, 33]
    assert (graph.test_mask == ~graph.train_mask).all()


def _dense(graph):
    matrix = np.zeros((34, 34), np.int64)
    matrix[np.repeat(np.arange(34), graph.in_degrees()), graph.indices] = 1
    return matrix
