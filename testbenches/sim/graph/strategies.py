"""Graphs that nobody would think of."""

import numpy as np
from hypothesis import settings
from hypothesis import strategies as st

from sim.graph import EdgeRules, graph_from_edges

# The first example compiles the kernels, which no deadline should count.
relaxed = settings(deadline=None, max_examples=60)

KEEP = EdgeRules(repeats="keep")


@st.composite
def edges(draw, most_nodes=7, most_edges=24):
    """Draw (sources, destinations, n_nodes): few nodes, so that loops, repeats and isolated nodes are common."""
    n_nodes = draw(st.integers(0, most_nodes))
    node = st.integers(0, max(n_nodes - 1, 0))
    pairs = draw(st.lists(st.tuples(node, node), max_size=most_edges if n_nodes else 0))
    array = np.array(pairs, np.int64).reshape(-1, 2)
    return array[:, 0].copy(), array[:, 1].copy(), n_nodes


@st.composite
def graphs(draw):
    """Draw a graph that keeps loops and repeats."""
    return graph_from_edges("drawn", *draw(edges()), KEEP)


def dense(indptr, indices, values=None):
    """Give the N x N matrix whose row v, column u adds up what row v says of u."""
    n_nodes = indptr.size - 1
    matrix = np.zeros((n_nodes, n_nodes))
    rows = np.repeat(np.arange(n_nodes), np.diff(indptr))
    np.add.at(matrix, (rows, indices), 1.0 if values is None else values)
    return matrix
