"""Self-loops, repeats and direction: each option does what it says, and says what it did."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sim.graph import EdgeRules, GraphError, graph_from_edges
from testbenches.sim.graph.strategies import dense, edges, relaxed


@relaxed
@given(edges(), st.sampled_from(["keep", "drop"]), st.sampled_from(["merge", "keep"]), st.booleans(), st.randoms())
def test_rules_against_a_dense_matrix_in_any_order(drawn, self_loops, repeats, undirected, random):
    sources, destinations, n_nodes = drawn
    rules = EdgeRules(self_loops=self_loops, repeats=repeats, undirected=undirected)
    graph = graph_from_edges("drawn", sources, destinations, n_nodes, rules)
    expected = np.zeros((n_nodes, n_nodes))
    np.add.at(expected, (destinations, sources), 1)
    if self_loops == "drop":
        np.fill_diagonal(expected, 0)
    if repeats == "merge":
        expected = np.minimum(expected, 1)
    if undirected:
        expected = np.maximum(expected, expected.T)
    assert (dense(graph.indptr, graph.indices) == expected).all()

    order = list(range(len(sources)))
    random.shuffle(order)
    shuffled = graph_from_edges("drawn", sources[order], destinations[order], n_nodes, rules)
    assert shuffled.content_hash() == graph.content_hash()
    assert shuffled.notes == graph.notes


def test_notes_tell_the_counts():
    sources, destinations = np.array([0, 0, 0, 1, 1]), np.array([0, 1, 1, 2, 0])
    rules = EdgeRules(self_loops="drop", undirected=True)
    graph = graph_from_edges("noted", sources, destinations, 3, rules, notes=("before",))
    assert graph.notes == ("before", "dropped 1 self-loops", "merged 1 repeated edges", "added 1 reverse edges")


def test_nothing_done_is_not_noted():
    rules = EdgeRules(self_loops="drop", undirected=True)
    assert graph_from_edges("quiet", np.array([0, 1]), np.array([1, 0]), 2, rules).notes == ()


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"self_loops": "dorp"}, "Did you mean 'drop'"),
        ({"repeats": "marge"}, "Did you mean 'merge'"),
        ({"undirected": "true"}, "must be true or false"),
    ],
)
def test_other_values_are_refused(values, message):
    with pytest.raises(GraphError, match=message):
        EdgeRules(**values)
