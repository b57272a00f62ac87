"""Rows from edges, against SciPy and against dense matrices."""

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given

from sim.graph import GraphError
from sim.graph.csr import csr_from_edges, first_descent, simplify, symmetrise, transpose
from testbenches.sim.graph.strategies import dense, edges, relaxed


@relaxed
@given(edges())
def test_rows_equal_scipys(drawn):
    sources, destinations, n_nodes = drawn
    indptr, indices = csr_from_edges(sources, destinations, n_nodes)
    counts = np.zeros((n_nodes, n_nodes), np.int64)
    np.add.at(counts, (destinations, sources), 1)
    expected = scipy.sparse.csr_array(counts)
    assert indptr[-1] == len(sources)
    assert (dense(indptr, indices) == expected.toarray()).all()
    for row in range(n_nodes):
        assert (np.diff(indices[indptr[row] : indptr[row + 1]]) >= 0).all()
    assert indptr.dtype == indices.dtype == np.int64


@relaxed
@given(edges())
def test_transposing_reverses_and_twice_is_the_identity(drawn):
    indptr, indices = csr_from_edges(*drawn)
    reversed_indptr, reversed_indices = transpose(indptr, indices)
    assert (dense(reversed_indptr, reversed_indices) == dense(indptr, indices).T).all()
    assert first_descent(reversed_indptr, reversed_indices) == -1
    twice = transpose(reversed_indptr, reversed_indices)
    assert np.array_equal(twice[0], indptr)
    assert np.array_equal(twice[1], indices)


@relaxed
@given(edges())
def test_simplify_drops_and_merges_what_it_counts(drawn):
    indptr, indices = csr_from_edges(*drawn)
    counts = dense(indptr, indices)
    no_loops = counts * (1 - np.eye(len(counts)))
    for drop, merge in ((False, False), (False, True), (True, False), (True, True)):
        kept_indptr, kept_indices, dropped, merged = simplify(indptr, indices, drop, merge)
        expected = no_loops if drop else counts
        assert dropped == (counts.sum() - no_loops.sum() if drop else 0)
        assert merged == (expected.sum() - np.minimum(expected, 1).sum() if merge else 0)
        assert (dense(kept_indptr, kept_indices) == (np.minimum(expected, 1) if merge else expected)).all()


@relaxed
@given(edges())
def test_symmetrise_takes_the_more_frequent_direction_and_is_idempotent(drawn):
    once = symmetrise(*csr_from_edges(*drawn))
    counts = dense(*csr_from_edges(*drawn))
    assert (dense(*once) == np.maximum(counts, counts.T)).all()
    assert first_descent(*once) == -1
    twice = symmetrise(*once)
    assert all(np.array_equal(a, b) for a, b in zip(once, twice, strict=True))


def test_first_descent_names_the_row():
    indptr = np.array([0, 2, 2, 4])
    assert first_descent(indptr, np.array([1, 1, 0, 2])) == -1
    assert first_descent(indptr, np.array([1, 2, 2, 0])) == 2
    # The step down from one row to the next is no descent.
    assert first_descent(np.array([0, 1, 2]), np.array([1, 0])) == -1


@pytest.mark.parametrize(
    ("sources", "destinations", "n_nodes", "message"),
    [
        ([0, 3], [0, 0], 3, "edge 1: source 3 lies outside 0..2"),
        ([0, 0], [-1, 0], 3, "edge 0: destination -1 lies outside 0..2"),
        ([0], [0, 1], 3, "equally long"),
        ([0], [0], 0, "outside 0..-1"),
        ([], [], -1, "-1 nodes"),
        ([], [], 2**41, "nodes lie outside"),
    ],
)
def test_bad_edges_are_refused(sources, destinations, n_nodes, message):
    with pytest.raises(GraphError, match=message):
        csr_from_edges(np.array(sources, np.int64), np.array(destinations, np.int64), n_nodes)
