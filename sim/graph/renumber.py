"""Node ids with gaps become 0..N - 1, in ascending order."""

import numpy as np

from sim.graph.csr import IntArray
from sim.jit import njit


@njit
def _count_and_replace(sources: IntArray, destinations: IntArray, n_ids: int) -> IntArray:
    """Renumber in place through a table of all ids up to the largest; returns the ids that occur."""
    rank = np.zeros(n_ids, np.int64)
    for edge in range(sources.size):
        rank[sources[edge]] = 1
        rank[destinations[edge]] = 1
    found = 0
    for node in range(n_ids):
        found += rank[node]
    ids = np.empty(found, np.int64)
    found = 0
    for node in range(n_ids):
        if rank[node]:
            ids[found] = node
            rank[node] = found
            found += 1
    for edge in range(sources.size):
        sources[edge] = rank[sources[edge]]
        destinations[edge] = rank[destinations[edge]]
    return ids


@njit
def _first_slot(value: int, n_bits: int) -> np.int64:
    # Fibonacci hashing: the top bits of a product with 2^64 / golden ratio.
    return np.int64((np.uint64(value) * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(64 - n_bits))


@njit
def _hash_table(ids: IntArray, n_bits: int) -> IntArray:
    """Make an open-addressed table of 2^n_bits slots from an id to its place."""
    slots = np.full(1 << n_bits, -1, np.int64)
    for place in range(ids.size):
        slot = _first_slot(ids[place], n_bits)
        while slots[slot] >= 0:
            slot = (slot + 1) & (slots.size - 1)
        slots[slot] = place
    return slots


@njit
def _look_up_and_replace(values: IntArray, ids: IntArray, slots: IntArray, n_bits: int) -> None:
    for edge in range(values.size):
        slot = _first_slot(values[edge], n_bits)
        while ids[slots[slot]] != values[edge]:
            slot = (slot + 1) & (slots.size - 1)
        values[edge] = slots[slot]


def renumber(sources: IntArray, destinations: IntArray) -> tuple[int, IntArray | None]:
    """Renumber the ends of edges, in place, to 0..N - 1.

    Parameters
    ----------
    sources, destinations : ndarray of int64, [E]
        Ids from 0; at least one edge. Overwritten.

    Returns
    -------
    n_nodes : int
        Number of ids that occur.
    ids : ndarray of int64, [N] or None
        The old id of each node, ascending; None if old and new are the same.
    """
    n_ids = int(max(sources.max(), destinations.max())) + 1
    if n_ids <= 2 * sources.size:
        ids = _count_and_replace(sources, destinations, n_ids)
        return ids.size, None if ids.size == n_ids else ids
    ids = np.concatenate([sources, destinations])
    ids.sort()
    ids = ids[np.concatenate([[True], ids[1:] != ids[:-1]])]
    # At most half full, so that searches stay short: four times as fast as a binary search among two million ids.
    n_bits = int(ids.size).bit_length() + 1
    slots = _hash_table(ids, n_bits)
    for values in (sources, destinations):
        _look_up_and_replace(values, ids, slots, n_bits)
    return ids.size, None if ids.size == n_ids else ids
