"""Statistics against dense matrices and by hand."""

import dataclasses
import json

import numpy as np
from hypothesis import given

from sim.graph import graph_from_edges, load_graph, statistics
from testbenches.sim.graph.strategies import KEEP, dense, graphs, relaxed


@relaxed
@given(graphs())
def test_against_a_dense_matrix(graph):
    counts = dense(graph.indptr, graph.indices)
    others = counts * (1 - np.eye(len(counts)))
    found = statistics(graph)
    assert (found.nodes, found.edges) == (len(counts), counts.sum())
    assert found.max_in_degree == counts.sum(axis=1).max(initial=0)
    assert found.max_out_degree == counts.sum(axis=0).max(initial=0)
    assert found.self_loops == np.trace(counts)
    assert found.repeated_edges == (counts - np.minimum(counts, 1)).sum()
    assert found.isolated_nodes == ((others.sum(axis=0) + others.sum(axis=1)) == 0).sum()
    assert found.nodes_without_incoming == (counts.sum(axis=1) == 0).sum()
    assert found.nodes_without_outgoing == (counts.sum(axis=0) == 0).sum()
    assert found.symmetric == (counts == counts.T).all()
    if found.nodes:
        assert found.mean_degree == counts.sum() / len(counts)
        assert found.density == np.count_nonzero(counts) / len(counts) ** 2
        assert found.in_degree_quantiles["1"] == found.max_in_degree
        assert found.in_degree_quantiles["0"] == counts.sum(axis=1).min()
        assert found.out_degree_quantiles["1"] == found.max_out_degree


def test_by_hand():
    graph = graph_from_edges("hand", np.array([0, 0, 0, 3]), np.array([1, 1, 2, 3]), 5, KEEP)
    assert dataclasses.asdict(statistics(graph)) == {
        "nodes": 5,
        "edges": 4,
        "mean_degree": 0.8,
        "max_in_degree": 2,
        "max_out_degree": 3,
        "in_degree_quantiles": {"0": 0, "0.25": 0, "0.5": 1, "0.75": 1, "0.9": 2, "0.99": 2, "1": 2},
        "out_degree_quantiles": {"0": 0, "0.25": 0, "0.5": 0, "0.75": 1, "0.9": 3, "0.99": 3, "1": 3},
        "isolated_nodes": 2,
        "nodes_without_incoming": 2,
        "nodes_without_outgoing": 3,
        "self_loops": 1,
        "repeated_edges": 1,
        "symmetric": False,
        "density": 0.12,
        "features": 0,
        "classes": 0,
    }


def test_no_nodes_and_json():
    found = statistics(load_graph("empty:n=0"))
    assert (found.nodes, found.mean_degree, found.density, found.in_degree_quantiles) == (0, 0.0, 0.0, {})
    assert found.symmetric
    karate = statistics(load_graph("karate"))
    assert json.loads(json.dumps(dataclasses.asdict(karate)))["edges"] == 156
    assert (karate.features, karate.classes) == (34, 2)
