"""Planted communities: probabilities, labels, split, features, edges of the range."""

import numpy as np
import pytest

from sim.graph import GraphError, load_graph, statistics
from testbenches.sim.graph.strategies import dense


def test_shares_of_edges_are_the_probabilities():
    graph = load_graph("sbm:nodes=600,blocks=3,p_in=0.2,p_out=0.05,seed=4")
    matrix = dense(graph.indptr, graph.indices)
    assert (matrix == matrix.T).all()
    assert matrix.max() == 1
    assert not np.diag(matrix).any()
    same = graph.labels[:, None] == graph.labels[None, :]
    upper = np.triu(np.ones_like(same), 1)
    # 60,000 pairs inside, 120,000 across: 5 standard deviations are 0.0082 and 0.0031.
    assert abs(matrix[same & upper].mean() - 0.2) < 0.0082
    assert abs(matrix[~same & upper].mean() - 0.05) < 0.0031
    # No pair is left out: first and last of every range do occur.
    ends = np.zeros((600, 600))
    for seed in range(60):
        again = load_graph(f"sbm:nodes=7,blocks=2,p_in=0.3,p_out=0.3,seed={seed}")
        ends[:7, :7] += dense(again.indptr, again.indices)
    assert (ends[:7, :7] + 60 * np.eye(7) > 0).all()


@pytest.mark.parametrize(("p_in", "p_out"), [(0, 0), (1, 0), (0, 1), (1, 1), (1e-300, 1e-300)])
def test_certain_edges(p_in, p_out):
    graph = load_graph(f"sbm:nodes=11,blocks=3,p_in={p_in},p_out={p_out}")
    same = graph.labels[:, None] == graph.labels[None, :]
    expected = np.where(same, round(p_in), round(p_out)) * (1 - np.eye(11))
    assert (dense(graph.indptr, graph.indices) == expected).all()


def test_labels_split_and_features():
    spec = "sbm:nodes=100,blocks=3,p_in=0.1,p_out=0.01,features=8,signal=3,train_per_class=10"
    graph = load_graph(spec)
    assert np.bincount(graph.labels).tolist() == [34, 33, 33]
    assert (np.diff(graph.labels) >= 0).all()
    assert np.bincount(graph.labels[graph.train_mask]).tolist() == [10, 10, 10]
    total = graph.train_mask.astype(int) + graph.val_mask + graph.test_mask
    assert (total == 1).all()
    assert abs(int(graph.val_mask.sum()) - int(graph.test_mask.sum())) <= 3
    assert graph.features.shape == (100, 8)
    # The nearest mean of the training nodes tells the class: the features carry the label.
    means = np.stack([graph.features[graph.train_mask & (graph.labels == k)].mean(0) for k in range(3)])
    nearest = ((graph.features[:, None] - means) ** 2).sum(2).argmin(1)
    assert (nearest == graph.labels)[graph.test_mask].mean() > 0.9
    assert load_graph(spec).content_hash() == graph.content_hash()
    assert load_graph(f"{spec},seed=1").content_hash() != graph.content_hash()


@pytest.mark.parametrize(("nodes", "blocks"), [(0, 1), (1, 1), (0, 4), (3, 5)])
def test_few_nodes(nodes, blocks):
    graph = load_graph(f"sbm:nodes={nodes},blocks={blocks},p_in=1,p_out=1,features=2")
    found = statistics(graph)
    assert (found.nodes, found.edges, found.classes) == (nodes, nodes * (nodes - 1), blocks)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("nodes=-1,blocks=1,p_in=0,p_out=0", "nodes=-1"),
        ("nodes=9,blocks=0,p_in=0,p_out=0", "blocks=0"),
        ("nodes=9,blocks=1,p_in=1.1,p_out=0", r"p_in=1\.1"),
        ("nodes=9,blocks=1,p_in=0,p_out=-0.1", r"p_out=-0\.1"),
        ("nodes=9,blocks=1,p_in=nan,p_out=0", "p_in=nan"),
        ("nodes=9,blocks=1,p_in=0,p_out=0,seed=-1", "seed and"),
        ("nodes=9,blocks=1,p_in=0,p_out=0,train_per_class=-1", "train_per_class"),
        ("nodes=9,blocks=1,p_in=0,p_out=0,features=-1", "features=-1"),
        ("nodes=9,blocks=1,p_in=0,p_out=0,signal=inf", "signal=inf"),
    ],
)
def test_arguments_out_of_range_are_refused(options, message):
    with pytest.raises(GraphError, match=message):
        load_graph(f"sbm:{options}")
