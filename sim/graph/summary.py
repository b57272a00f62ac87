"""What a graph is like, in numbers."""

import dataclasses

import numpy as np

from sim.graph.csr import IntArray, simplify
from sim.graph.graph import Graph

DEGREE_QUANTILES = (0.0, 0.25, 0.5, 0.75, 0.9, 0.99, 1.0)


@dataclasses.dataclass(frozen=True, kw_only=True)
class GraphStatistics:
    """Numbers about a graph; `dataclasses.asdict` makes them ready for JSON.

    Attributes
    ----------
    nodes, edges : int
        Nodes, isolated ones included; directed edges, an undirected edge counting as two.
    mean_degree : float
        Edges per node, incoming and outgoing alike; 0 without nodes.
    max_in_degree, max_out_degree : int
        Largest degrees; 0 without nodes.
    in_degree_quantiles, out_degree_quantiles : dict of str to int
        Degrees that the given share of nodes, such as "0.9", do not exceed; empty without nodes.
    isolated_nodes : int
        Nodes without an edge to or from another node (self-loops do not count).
    nodes_without_incoming, nodes_without_outgoing : int
        Nodes with an empty row, and nodes that no row lists.
    self_loops, repeated_edges : int
        Edges u -> u; edges beyond the first from the same u to the same v.
    symmetric : bool
        Whether every edge has its reverse, as often.
    density : float
        Different edges by all that there could be, nodes^2.
    features, classes : int
        0 if there are none.
    """

    nodes: int
    edges: int
    mean_degree: float
    max_in_degree: int
    max_out_degree: int
    in_degree_quantiles: dict[str, int]
    out_degree_quantiles: dict[str, int]
    isolated_nodes: int
    nodes_without_incoming: int
    nodes_without_outgoing: int
    self_loops: int
    repeated_edges: int
    symmetric: bool
    density: float
    features: int
    classes: int


def _quantiles(degrees: IntArray) -> dict[str, int]:
    if not degrees.size:
        return {}
    values = np.quantile(degrees, DEGREE_QUANTILES, method="inverted_cdf")
    return {f"{share:g}": int(value) for share, value in zip(DEGREE_QUANTILES, values, strict=True)}


def statistics(graph: Graph) -> GraphStatistics:
    """Measure a graph.

    Parameters
    ----------
    graph : Graph
        Any; also without nodes.

    Returns
    -------
    GraphStatistics
        Time and memory are linear in nodes and edges.
    """
    n_nodes, n_edges = graph.n_nodes, graph.n_edges
    in_degrees, out_degrees = graph.in_degrees(), graph.out_degrees()
    _, _, _, n_repeats = simplify(graph.indptr, graph.indices, False, True)
    others_indptr, others, n_loops, _ = simplify(graph.indptr, graph.indices, True, False)
    isolated = (np.diff(others_indptr) == 0) & (np.bincount(others, minlength=n_nodes) == 0)
    return GraphStatistics(
        nodes=n_nodes,
        edges=n_edges,
        mean_degree=n_edges / n_nodes if n_nodes else 0.0,
        max_in_degree=int(in_degrees.max(initial=0)),
        max_out_degree=int(out_degrees.max(initial=0)),
        in_degree_quantiles=_quantiles(in_degrees),
        out_degree_quantiles=_quantiles(out_degrees),
        isolated_nodes=int(np.count_nonzero(isolated)),
        nodes_without_incoming=int(np.count_nonzero(in_degrees == 0)),
        nodes_without_outgoing=int(np.count_nonzero(out_degrees == 0)),
        self_loops=n_loops,
        repeated_edges=n_repeats,
        symmetric=graph.is_symmetric(),
        density=(n_edges - n_repeats) / n_nodes**2 if n_nodes else 0.0,
        features=graph.n_features,
        classes=graph.n_classes,
    )
