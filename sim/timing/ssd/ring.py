"""Streams between units, as the timing model sees them: what a cycle hands over is seen from the next cycle on.

Every stream between two units of the engine ends in a `hdl.stream.queue.StreamQueue` at its reader: valid and ready
come from registers, so that the units of a cycle can be worked out in any order. A unit's step looks at the rings as
they were at the beginning of the cycle (`can_pop`, `can_push`), marks what it takes and gives (`pop`, `push`), and
`commit` ends the cycle.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sim.jit import njit_in_place

HEAD, LEVEL, PUSHED, POPPED, OPEN = range(5)
NEXT, OFFERED = range(2)


class Ring(NamedTuple):
    """A queue: its places, a row each, and where it stands."""

    data: NDArray[np.int64]
    at: NDArray[np.int64]


class Source(NamedTuple):
    """Who fills a ring from outside: rows to send, when it is stalled, where it stands, when each row was taken."""

    rows: NDArray[np.int64]
    stalled: NDArray[np.bool_]
    at: NDArray[np.int64]
    taken: NDArray[np.int64]


def make_ring(depth: int, fields: int) -> Ring:
    """Make an empty ring.

    Parameters
    ----------
    depth : int
        Rows that it holds.
    fields : int
        Columns of a row, at least 1.

    Returns
    -------
    Ring
        The ring, open for its writer.
    """
    at = np.zeros(5, np.int64)
    at[OPEN] = 1
    return Ring(np.zeros((depth, fields), np.int64), at)


def make_source(rows: NDArray[np.int64], stalled: NDArray[np.bool_]) -> Source:
    """Make a source as a bench has it.

    Parameters
    ----------
    rows : ndarray of int64, shape [n, fields]
        What it sends.
    stalled : ndarray of bool, shape [period]
        Cycles in which it does not begin to offer a row.

    Returns
    -------
    Source
        The source before its first cycle.
    """
    return Source(rows, stalled, np.zeros(2, np.int64), np.full(len(rows), -1, np.int64))


@njit_in_place
def can_pop(ring: Ring) -> bool:
    """Whether the ring shows a row."""
    return bool(ring.at[LEVEL] > 0)


@njit_in_place
def front(ring: Ring, field: int) -> int:
    """Return a field of the row that the ring shows."""
    return int(ring.data[ring.at[HEAD], field])


@njit_in_place
def pop(ring: Ring) -> None:
    """Take the row that the ring shows; it is gone from the next cycle on."""
    ring.at[POPPED] = 1


@njit_in_place
def can_push(ring: Ring) -> bool:
    """Whether the ring takes a row in this cycle."""
    return bool(ring.at[LEVEL] < len(ring.data)) and ring.at[OPEN] != 0


@njit_in_place
def put(ring: Ring, field: int, value: int) -> None:
    """Set a field of the row that is pushed in this cycle."""
    place = ring.at[HEAD] + ring.at[LEVEL]
    if place >= len(ring.data):
        place -= len(ring.data)
    ring.data[place, field] = value


@njit_in_place
def push(ring: Ring) -> None:
    """Hand the row over that `put` has set; the ring shows it from the next cycle on."""
    ring.at[PUSHED] = 1


@njit_in_place
def commit(ring: Ring) -> bool:
    """End the cycle; return whether anything moved."""
    at = ring.at
    if at[PUSHED] == 0 and at[POPPED] == 0:
        return False
    if at[POPPED]:
        at[HEAD] += 1
        if at[HEAD] == len(ring.data):
            at[HEAD] = 0
    at[LEVEL] += at[PUSHED] - at[POPPED]
    at[PUSHED] = 0
    at[POPPED] = 0
    return True


@njit_in_place
def offer(source: Source, ring: Ring, now: int) -> bool:
    """Let a source do its cycle; return whether it moved, or waits for a cycle in which it is not stalled."""
    at = source.at
    if at[NEXT] == len(source.rows):
        return False
    if at[OFFERED] == 0:
        if source.stalled[now % len(source.stalled)]:
            return True
        at[OFFERED] = 1
    if not can_push(ring):
        return False
    for field in range(source.rows.shape[1]):
        put(ring, field, source.rows[at[NEXT], field])
    push(ring)
    source.taken[at[NEXT]] = now
    at[NEXT] += 1
    at[OFFERED] = 0
    return True


@njit_in_place
def open_sink(ring: Ring, stalled: NDArray[np.bool_], now: int) -> bool:
    """Open or shut a ring that stands for a bench's sink, before the units' steps; return whether it is shut."""
    shut = stalled[now % len(stalled)]
    ring.at[OPEN] = 0 if shut else 1
    return bool(shut)


@njit_in_place
def commit_sink(ring: Ring, taken: NDArray[np.int64], now: int) -> bool:
    """End the cycle of a ring that stands for a sink and is never read: note the cycle of each row."""
    if ring.at[PUSHED]:
        taken[ring.at[LEVEL]] = now
    return commit(ring)
