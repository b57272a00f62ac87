"""Made graphs: counts, seeds, shapes, and none or one node."""

import numpy as np
import pytest

from sim.graph import GraphError, load_graph
from testbenches.sim.graph.strategies import dense


def matrix_of(spec):
    graph = load_graph(spec)
    return dense(graph.indptr, graph.indices)


@pytest.mark.parametrize("name", ["star", "ring", "complete", "empty"])
@pytest.mark.parametrize("n", [0, 1])
def test_none_and_one_node_have_no_edges(name, n):
    graph = load_graph(f"{name}:n={n}")
    assert (graph.n_nodes, graph.n_edges) == (n, 0)
    assert graph.name == f"{name}:n={n}"


@pytest.mark.parametrize("n", [2, 3, 4, 9])
def test_regular_graphs(n):
    star = np.zeros((n, n))
    star[0, 1:] = star[1:, 0] = 1
    assert (matrix_of(f"star:n={n}") == star).all()
    ring = np.zeros((n, n))
    for node in range(n):
        ring[node, (node + 1) % n] = ring[(node + 1) % n, node] = 1
    assert (matrix_of(f"ring:n={n}") == ring).all()
    assert (matrix_of(f"complete:n={n}") == 1 - np.eye(n)).all()
    assert not matrix_of(f"empty:n={n}").any()
    assert load_graph(f"ring:n={n}").notes == load_graph(f"star:n={n}").notes == ()


@pytest.mark.parametrize(
    ("spec", "nodes", "edges"),
    [
        ("rmat:scale=0", 1, 16),
        ("rmat:scale=0,repeats=merge", 1, 1),
        ("rmat:scale=0,self_loops=drop", 1, 0),
        ("rmat:scale=6,edge_factor=0", 64, 0),
        ("rmat:scale=8,edge_factor=4,seed=3", 256, 1024),
        ("uniform:nodes=0,edges=0", 0, 0),
        ("uniform:nodes=1,edges=3", 1, 3),
        ("uniform:nodes=100,edges=1000,seed=3", 100, 1000),
    ],
)
def test_random_graphs_have_as_many_edges_as_asked_for(spec, nodes, edges):
    graph = load_graph(spec)
    assert (graph.n_nodes, graph.n_edges) == (nodes, edges)


@pytest.mark.parametrize("spec", ["rmat:scale=7", "rmat:scale=7,permute=true", "uniform:nodes=100,edges=900"])
def test_a_seed_gives_the_same_graph_and_another_seed_another(spec):
    assert load_graph(f"{spec},seed=1").content_hash() == load_graph(f"{spec},seed=1").content_hash()
    assert load_graph(f"{spec},seed=1").content_hash() != load_graph(f"{spec},seed=2").content_hash()


@pytest.mark.parametrize(
    ("spec", "indptr", "indices"),
    [
        ("uniform:nodes=9,edges=5,seed=1", [0, 0, 1, 3, 3, 3, 3, 3, 4, 5], [4, 0, 8, 4, 6]),
        ("rmat:scale=3,edge_factor=1,seed=1", [0, 4, 6, 8, 8, 8, 8, 8, 8], [0, 2, 4, 4, 0, 1, 0, 2]),
        ("rmat:scale=3,edge_factor=1,seed=1,permute=true", [0, 0, 2, 2, 6, 6, 8, 8, 8], [1, 3, 1, 2, 2, 3, 3, 5]),
        ("sbm:nodes=5,blocks=2,p_in=.5,p_out=.3,seed=1", [0, 1, 2, 5, 6, 8], [2, 2, 0, 1, 4, 4, 2, 3]),
    ],
)
def test_seeds_are_stable_over_releases(spec, indptr, indices):
    # Drawn once and written down: a change of NumPy's or of our stream must not pass unseen.
    graph = load_graph(spec)
    assert graph.indptr.tolist() == indptr
    assert graph.indices.tolist() == indices


def test_rmat_quadrants_have_their_probabilities():
    a, b, c = 0.5, 0.3, 0.15
    graph = load_graph(f"rmat:scale=2,edge_factor=50000,seed=5,a={a},b={b},c={c}")
    expected = np.array([[a, b], [c, 1 - a - b - c]])
    drawn = dense(graph.indptr, graph.indices).T / graph.n_edges  # row: source, column: destination
    # Two levels are drawn independently; 5 standard deviations of a share of 200,000 draws are below 0.006.
    assert np.abs(drawn - np.kron(expected, expected)).max() < 0.006


def test_rmat_is_skewed_and_permuting_moves_the_hubs():
    plain, permuted = load_graph("rmat:scale=10"), load_graph("rmat:scale=10,permute=true")
    assert plain.in_degrees().argmax() == 0
    assert plain.in_degrees().max() > 30 * plain.n_edges / plain.n_nodes
    assert sorted(plain.in_degrees()) == sorted(permuted.in_degrees())
    assert permuted.in_degrees().argmax() != 0


def test_uniform_is_uniform():
    shares = matrix_of("uniform:nodes=5,edges=100000,seed=2") / 100_000
    assert np.abs(shares - 1 / 25).max() < 0.004  # 6 standard deviations


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("rmat:scale=-1", "scale=-1"),
        ("rmat:scale=41", "scale=41"),
        ("rmat:scale=40", "edge_factor=16"),
        ("rmat:scale=3,edge_factor=-1", "edge_factor=-1"),
        ("rmat:scale=3,seed=-1", "seed=-1"),
        ("rmat:scale=3,a=0.9", "no probabilities"),
        ("rmat:scale=3,b=-0.1", "no probabilities"),
        ("rmat:scale=3,c=nan", "no probabilities"),
        ("uniform:nodes=0,edges=1", "edges need nodes"),
        ("uniform:nodes=-1,edges=0", "nodes=-1"),
        ("uniform:nodes=1,edges=-1", "edges=-1"),
        ("uniform:nodes=1,edges=1,seed=-1", "seed=-1"),
        ("star:n=-1", "n=-1"),
        ("ring:n=-1", "n=-1"),
        ("complete:n=-1", "n=-1"),
        ("complete:n=10000000", "n=10000000"),
        ("empty:n=-1", "n=-1"),
        (f"empty:n={10**30}", "n=10+ lies outside"),
    ],
)
def test_arguments_out_of_range_are_refused(spec, message):
    with pytest.raises(GraphError, match=message):
        load_graph(spec)
