"""Made graphs: random ones by a seed, and regular ones for tests.

Random graphs draw from NumPy's PCG64 by its `Generator`, so a seed gives the same graph on every machine; a test holds
one small graph of each kind fast, should NumPy ever change a stream.
"""

import dataclasses

import numpy as np

from sim.graph.csr import MOST_NODES, IntArray
from sim.graph.errors import GraphError
from sim.graph.graph import Graph
from sim.graph.rules import EdgeRules, graph_from_edges
from sim.jit import njit

MOST_EDGES = 1 << 40
KEEP_ALL = EdgeRules(repeats="keep")
"""Random edges as they were drawn: exactly as many as asked for."""


def require(holds: bool, what: str) -> None:
    """Raise GraphError with `what` unless it holds."""
    if not holds:
        raise GraphError(what)


@njit
def _rmat_edges(
    random: np.random.Generator,
    scale: int,
    bounds: tuple[float, float, float],
    sources: IntArray,
    destinations: IntArray,
) -> None:
    """Draw edges quadrant by quadrant; `bounds` are a, a + b and a + b + c."""
    for edge in range(sources.size):
        source = destination = 0
        for _ in range(scale):
            draw = random.random()
            source = 2 * source + (draw >= bounds[1])
            destination = 2 * destination + (bounds[0] <= draw < bounds[1] or draw >= bounds[2])
        sources[edge] = source
        destinations[edge] = destination


def rmat(
    *,
    scale: int,
    edge_factor: int = 16,
    seed: int = 0,
    a: float = 0.57,
    b: float = 0.19,
    c: float = 0.19,
    permute: bool = False,
    rules: EdgeRules = KEEP_ALL,
) -> Graph:
    """Draw an R-MAT graph: a power law, like social networks.

    Chakrabarti, Zhan and Faloutsos, "R-MAT: A Recursive Model for Graph Mining" (2004); the defaults are Graph500's.

    Parameters
    ----------
    scale : int
        2^scale nodes, at most 2^40.
    edge_factor : int
        Edges drawn per node.
    seed : int
        From 0.
    a, b, c : float
        Probabilities of the quadrants: both ends low, destination high, source high; the rest is both high.
    permute : bool
        Shuffle the ids as Graph500 does; otherwise low ids are the hubs.
    rules : EdgeRules
        By default every drawn edge stays, so there are edge_factor x 2^scale of them, directed, with repeats and loops.

    Returns
    -------
    Graph
        Without features.

    Raises
    ------
    GraphError
        An argument out of its range.
    """
    require(0 <= scale <= 40, f"rmat: scale={scale} lies outside 0..40")
    require(seed >= 0, f"rmat: seed={seed} is negative")
    require(0 <= edge_factor << scale <= MOST_EDGES, f"rmat: edge_factor={edge_factor}: edges lie outside 0..2^40")
    require(min(a, b, c) >= 0 and a + b + c <= 1, f"rmat: a={a}, b={b}, c={c} are no probabilities (sum at most 1)")
    random = np.random.default_rng(seed)
    n_nodes = 1 << scale
    sources, destinations = np.empty((2, edge_factor * n_nodes), np.int64)
    _rmat_edges(random, scale, (a, a + b, a + b + c), sources, destinations)
    if permute:
        new_ids = random.permutation(n_nodes)
        sources, destinations = new_ids[sources], new_ids[destinations]
    name = f"rmat:scale={scale},edge_factor={edge_factor},seed={seed}"
    return graph_from_edges(name, sources, destinations, n_nodes, rules)


def uniform(*, nodes: int, edges: int, seed: int = 0, rules: EdgeRules = KEEP_ALL) -> Graph:
    """Draw both ends of every edge uniformly.

    Parameters
    ----------
    nodes, edges : int
        How many; no edges without nodes.
    seed : int
        From 0.
    rules : EdgeRules
        By default every drawn edge stays, directed, with repeats and loops.

    Returns
    -------
    Graph
        Without features.

    Raises
    ------
    GraphError
        An argument out of its range.
    """
    require(seed >= 0, f"uniform: seed={seed} is negative")
    require(0 <= nodes <= MOST_NODES, f"uniform: nodes={nodes} lies outside 0..2^40")
    require(0 <= edges <= MOST_EDGES, f"uniform: edges={edges} lies outside 0..2^40")
    require(nodes > 0 or edges == 0, "uniform: edges need nodes")
    random = np.random.default_rng(seed)
    sources, destinations = random.integers(0, max(nodes, 1), (2, edges), dtype=np.int64)
    return graph_from_edges(f"uniform:nodes={nodes},edges={edges},seed={seed}", sources, destinations, nodes, rules)


def _regular(name: str, sources: IntArray, destinations: IntArray, n: int) -> Graph:
    rules = EdgeRules(undirected=True, self_loops="drop")
    return dataclasses.replace(graph_from_edges(name, sources, destinations, n, rules), notes=())


def star(*, n: int) -> Graph:
    """Join node 0 and each of the n - 1 others, in both directions; one node has no edges."""
    require(0 <= n <= MOST_NODES, f"star: n={n} lies outside 0..2^40")
    leaves = np.arange(1, n, dtype=np.int64)
    return _regular(f"star:n={n}", leaves, np.zeros_like(leaves), n)


def ring(*, n: int) -> Graph:
    """Join node i with i - 1 and i + 1 modulo n, both ways; two nodes are joined once, one node has no edges."""
    require(0 <= n <= MOST_NODES, f"ring: n={n} lies outside 0..2^40")
    nodes = np.arange(n, dtype=np.int64)
    return _regular(f"ring:n={n}", nodes, np.roll(nodes, -1), n)


def complete(*, n: int) -> Graph:
    """Join every node with every other, in both directions: n (n - 1) edges, no self-loops."""
    require(0 <= n <= 1 << 20, f"complete: n={n} lies outside 0..2^20")
    place = np.tile(np.arange(max(n - 1, 0), dtype=np.int64), n)
    row = np.repeat(np.arange(n, dtype=np.int64), max(n - 1, 0))
    indptr = np.arange(n + 1, dtype=np.int64) * max(n - 1, 0)
    return Graph(name=f"complete:n={n}", indptr=indptr, indices=place + (place >= row))


def empty(*, n: int) -> Graph:
    """Give n isolated nodes; n may be 0."""
    require(0 <= n <= MOST_NODES, f"empty: n={n} lies outside 0..2^40")
    return Graph(name=f"empty:n={n}", indptr=np.zeros(n + 1, np.int64), indices=np.empty(0, np.int64))
