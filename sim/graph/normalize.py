"""Edge weights: the c_uv of a_v = sum over u of c_uv h_u."""

import dataclasses
from typing import Literal

import numpy as np

from sim.graph.csr import FloatArray, IntArray, transpose
from sim.graph.errors import unknown
from sim.graph.graph import Graph
from sim.jit import njit

Normalization = Literal["gcn", "mean", "none"]
NORMALIZATIONS: tuple[Normalization, ...] = ("gcn", "mean", "none")


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class Adjacency:
    """Weighted incoming edges, as a Reduce reads them. Made by `adjacency`; the arrays are read-only.

    Attributes
    ----------
    indptr : ndarray of int64, [N + 1]
        Row v is ``indptr[v]:indptr[v + 1]`` of the other two.
    indices : ndarray of int64, [E]
        Sources u of v's incoming edges, ascending.
    weights : ndarray of float32, [E]
        c_uv: worked out in float64, rounded once.
    """

    indptr: IntArray
    indices: IntArray
    weights: FloatArray

    def __post_init__(self) -> None:
        for field in ("indptr", "indices", "weights"):
            view = getattr(self, field).view()
            view.flags.writeable = False
            object.__setattr__(self, field, view)

    @property
    def n_nodes(self) -> int:
        """Number of nodes N."""
        return int(self.indptr.size - 1)

    @property
    def n_edges(self) -> int:
        """Number of weighted edges E, added self-loops included."""
        return int(self.indices.size)

    def transposed(self) -> "Adjacency":
        """Reverse every edge, each with its weight: what the backward pass reads."""
        indptr, indices = transpose(self.indptr, self.indices)
        return Adjacency(indptr=indptr, indices=indices, weights=_transpose_weights(self.indices, self.weights, indptr))


@njit
def _transpose_weights(indices: IntArray, weights: FloatArray, reversed_indptr: IntArray) -> FloatArray:
    cursor = reversed_indptr[:-1].copy()
    moved = np.empty_like(weights)
    for edge in range(indices.size):
        moved[cursor[indices[edge]]] = weights[edge]
        cursor[indices[edge]] += 1
    return moved


@njit
def _with_one_self_loop(indptr: IntArray, indices: IntArray) -> tuple[IntArray, IntArray]:
    n_nodes = indptr.size - 1
    looped_indptr = np.zeros(n_nodes + 1, np.int64)
    looped_indices = np.empty(indices.size + n_nodes, np.int64)
    filled = 0
    for row in range(n_nodes):
        placed = False
        for edge in range(indptr[row], indptr[row + 1]):
            source = indices[edge]
            if source >= row and not placed:
                looped_indices[filled] = row
                filled += 1
                placed = True
            if source != row:
                looped_indices[filled] = source
                filled += 1
        if not placed:
            looped_indices[filled] = row
            filled += 1
        looped_indptr[row + 1] = filled
    return looped_indptr, looped_indices[:filled].copy()


@njit
def _gcn_weights(indptr: IntArray, indices: IntArray) -> FloatArray:
    weights = np.empty(indices.size, np.float32)
    for row in range(indptr.size - 1):
        degree = float(indptr[row + 1] - indptr[row])
        for edge in range(indptr[row], indptr[row + 1]):
            source = indices[edge]
            source_degree = float(indptr[source + 1] - indptr[source])
            weights[edge] = np.float32(1.0 / np.sqrt(degree * source_degree))
    return weights


def adjacency(graph: Graph, normalization: Normalization = "gcn") -> Adjacency:
    """Give a graph's edges their weights.

    Parameters
    ----------
    graph : Graph
        Directed or not; repeated edges count as often as they occur.
    normalization : {"gcn", "mean", "none"}
        ``gcn``: D^-1/2 (A + I) D^-1/2 of Kipf and Welling, with D the in-degrees of A + I also where the graph is
        directed. Every node ends with exactly one self-loop: one that the graph already has counts as the added one,
        several become one. An isolated node keeps its self-loop, with the weight 1.
        ``mean``: 1 / in-degree of the destination, no self-loops added; a node without incoming edges has an empty row.
        ``none``: 1, no self-loops added.

    Returns
    -------
    Adjacency
        For ``mean`` and ``none`` the rows are the graph's own arrays.

    Raises
    ------
    GraphError
        Another normalization.
    """
    if normalization == "gcn":
        indptr, indices = _with_one_self_loop(graph.indptr, graph.indices)
        return Adjacency(indptr=indptr, indices=indices, weights=_gcn_weights(indptr, indices))
    if normalization == "mean":
        degrees = graph.in_degrees()
        inverse = (1.0 / np.maximum(degrees, 1)).astype(np.float32)
        return Adjacency(indptr=graph.indptr, indices=graph.indices, weights=np.repeat(inverse, degrees))
    if normalization == "none":
        return Adjacency(indptr=graph.indptr, indices=graph.indices, weights=np.ones(graph.n_edges, np.float32))
    raise unknown("normalization", normalization, NORMALIZATIONS)


def row_normalized(features: FloatArray) -> FloatArray:
    """Divide each row by its sum, as GCN does with bags of words.

    Parameters
    ----------
    features : ndarray of float32, [N, F]
        Not negative.

    Returns
    -------
    ndarray of float32, [N, F]
        Rows that add up to 1; a row of zeros stays so. Sums and quotients are in float64, rounded once.
    """
    sums = features.sum(axis=1, dtype=np.float64, keepdims=True)
    quotients = features.astype(np.float64) / np.where(sums == 0, 1.0, sums)
    return quotients.astype(np.float32)
