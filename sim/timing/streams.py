"""When a stream's environment offers and takes beats, given its stall pattern: the arithmetic of all timing models."""

import numpy as np
from numpy.typing import NDArray

from sim.jit import njit_in_place


def waits_of(stalled: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Return how long each cycle of a pattern must wait for the next that is free.

    Parameters
    ----------
    stalled : ndarray of bool, shape [period]
        The pattern; it must be False somewhere.

    Returns
    -------
    ndarray of int64, shape [period]
        Cycles to wait, 0 where the pattern is free: what `next_free` takes.
    """
    period = len(stalled)
    free = np.flatnonzero(~stalled)
    cycle = np.arange(period)
    place = np.searchsorted(free, cycle)
    following = np.append(free, free[0] + period)[place]
    return following - cycle


@njit_in_place
def next_free(waits: NDArray[np.int64], cycle: int) -> int:
    """Return the first cycle at or after `cycle` in which a pattern does not stall.

    A source whose last beat was taken in cycle t offers its next in ``next_free(waits, t + 1)`` and holds it; a sink
    takes a beat offered from cycle t on in ``next_free(waits, t)``.

    Parameters
    ----------
    waits : ndarray of int64, shape [period]
        The pattern, as `waits_of` gives it.
    cycle : int
        Where to start.

    Returns
    -------
    int
        The cycle.
    """
    return int(cycle + waits[cycle % len(waits)])


@njit_in_place
def hand_over(waits: NDArray[np.int64], cycle: int, count: int, taken_at: NDArray[np.int64], first: int) -> int:
    """Work out when a sink takes beats that stand ready one after the other.

    Parameters
    ----------
    waits : ndarray of int64, shape [period]
        The sink's pattern, as `waits_of` gives it.
    cycle : int
        The cycle before the first beat is offered.
    count : int
        Beats.
    taken_at : ndarray of int64
        Filled from index `first` on with the cycle of each beat.
    first : int
        Index of the first beat.

    Returns
    -------
    int
        The cycle of the last beat, `cycle` if there is none. All but `count` of the cycles between were waits.
    """
    for beat in range(first, first + count):
        cycle = next_free(waits, cycle + 1)
        taken_at[beat] = cycle
    return cycle
