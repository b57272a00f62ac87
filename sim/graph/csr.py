"""Compressed sparse rows from edges, by counting sorts: time and memory linear in edges and nodes.

Row v lists the sources u of v's incoming edges u -> v, ascending by u, since that is what a Reduce reads.
"""

import numpy as np
import numpy.typing as npt

from sim.graph.errors import GraphError
from sim.jit import njit

IntArray = npt.NDArray[np.int64]
FloatArray = npt.NDArray[np.float32]
BoolArray = npt.NDArray[np.bool_]

MOST_NODES = 1 << 40
"""Above any memory: a larger count in a file or a specification is a mistake."""


@njit
def _group(keys: IntArray, values: IntArray, n_keys: int) -> tuple[IntArray, IntArray]:
    indptr = np.zeros(n_keys + 1, np.int64)
    for key in keys:
        indptr[key + 1] += 1
    for row in range(n_keys):
        indptr[row + 1] += indptr[row]
    cursor = indptr[:-1].copy()
    grouped = np.empty(values.size, np.int64)
    for edge in range(keys.size):
        grouped[cursor[keys[edge]]] = values[edge]
        cursor[keys[edge]] += 1
    return indptr, grouped


@njit
def transpose(indptr: IntArray, indices: IntArray) -> tuple[IntArray, IntArray]:
    """Reverse every edge.

    Parameters
    ----------
    indptr, indices : ndarray of int64, [N + 1] and [E]
        Valid rows, in any order within a row.

    Returns
    -------
    indptr, indices : ndarray of int64, [N + 1] and [E]
        Rows of the reversed edges, each ascending.
    """
    n_nodes = indptr.size - 1
    reversed_indptr = np.zeros(n_nodes + 1, np.int64)
    for source in indices:
        reversed_indptr[source + 1] += 1
    for row in range(n_nodes):
        reversed_indptr[row + 1] += reversed_indptr[row]
    cursor = reversed_indptr[:-1].copy()
    reversed_indices = np.empty(indices.size, np.int64)
    for row in range(n_nodes):
        for edge in range(indptr[row], indptr[row + 1]):
            source = indices[edge]
            reversed_indices[cursor[source]] = row
            cursor[source] += 1
    return reversed_indptr, reversed_indices


@njit
def simplify(
    indptr: IntArray, indices: IntArray, drop_self_loops: bool, merge_repeats: bool
) -> tuple[IntArray, IntArray, int, int]:
    """Drop self-loops and merge repeated edges, each where asked for.

    Parameters
    ----------
    indptr, indices : ndarray of int64, [N + 1] and [E]
        Valid rows, each ascending.
    drop_self_loops, merge_repeats : bool
        What to do; loops are dropped first, so a repeated loop counts as loops.

    Returns
    -------
    indptr, indices : ndarray of int64
        The rows that are left.
    n_dropped, n_merged : int
        How many self-loops and how many repeats went.
    """
    n_nodes = indptr.size - 1
    kept_indptr = np.zeros(n_nodes + 1, np.int64)
    kept_indices = np.empty(indices.size, np.int64)
    kept = dropped = merged = 0
    for row in range(n_nodes):
        previous = -1
        for edge in range(indptr[row], indptr[row + 1]):
            source = indices[edge]
            if drop_self_loops and source == row:
                dropped += 1
            elif merge_repeats and source == previous:
                merged += 1
            else:
                kept_indices[kept] = source
                kept += 1
            previous = source
        kept_indptr[row + 1] = kept
    return kept_indptr, kept_indices[:kept].copy(), dropped, merged


@njit
def symmetrise(indptr: IntArray, indices: IntArray) -> tuple[IntArray, IntArray]:
    """Add the reverse edges that are missing.

    Parameters
    ----------
    indptr, indices : ndarray of int64, [N + 1] and [E]
        Valid rows, each ascending.

    Returns
    -------
    indptr, indices : ndarray of int64
        Rows in which u -> v is as often as v -> u: as often as the more frequent of the two was.
        A graph that already is symmetric comes back unchanged.
    """
    n_nodes = indptr.size - 1
    reversed_indptr, reversed_indices = transpose(indptr, indices)
    both_indptr = np.zeros(n_nodes + 1, np.int64)
    both_indices = np.empty(2 * indices.size, np.int64)
    filled = 0
    for row in range(n_nodes):
        left, right = indptr[row], reversed_indptr[row]
        left_end, right_end = indptr[row + 1], reversed_indptr[row + 1]
        while left < left_end or right < right_end:
            if right >= right_end or (left < left_end and indices[left] < reversed_indices[right]):
                source = indices[left]
                left += 1
            elif left >= left_end or reversed_indices[right] < indices[left]:
                source = reversed_indices[right]
                right += 1
            else:
                source = indices[left]
                left += 1
                right += 1
            both_indices[filled] = source
            filled += 1
        both_indptr[row + 1] = filled
    return both_indptr, both_indices[:filled].copy()


@njit
def first_descent(indptr: IntArray, indices: IntArray) -> int:
    """Find the first row that is not ascending (repeats are allowed); -1 if all are."""
    for row in range(indptr.size - 1):
        for edge in range(indptr[row] + 1, indptr[row + 1]):
            if indices[edge] < indices[edge - 1]:
                return row
    return -1


def csr_from_edges(sources: IntArray, destinations: IntArray, n_nodes: int) -> tuple[IntArray, IntArray]:
    """Sort edges into rows.

    Two stable counting sorts: by source, then by destination. Beside the edges themselves it takes 16 bytes an edge and
    16 bytes a node.

    Parameters
    ----------
    sources, destinations : ndarray of int64, [E]
        Edge e goes from ``sources[e]`` to ``destinations[e]``.
    n_nodes : int
        Number of nodes N.

    Returns
    -------
    indptr, indices : ndarray of int64, [N + 1] and [E]
        Row v lists the sources of v's incoming edges, ascending; repeated edges stay.

    Raises
    ------
    GraphError
        An end of an edge lies outside 0..N - 1, or the two arrays differ in length.
    """
    if sources.shape != destinations.shape or sources.ndim != 1:
        raise GraphError(f"sources {sources.shape} and destinations {destinations.shape} must be equally long vectors")
    if not 0 <= n_nodes <= MOST_NODES:
        raise GraphError(f"{n_nodes} nodes lie outside 0..2^40")
    for end, ids in (("source", sources), ("destination", destinations)):
        if ids.size and (ids.min() < 0 or ids.max() >= n_nodes):
            wrong = int(np.argmax((ids < 0) | (ids >= n_nodes)))
            raise GraphError(f"edge {wrong}: {end} {ids[wrong]} lies outside 0..{n_nodes - 1}")
    return transpose(*_group(sources, destinations, n_nodes))
