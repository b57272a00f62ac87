"""When a stream's environment offers and takes beats, given its stall pattern: the arithmetic of all timing models."""

import numpy as np
from numpy.typing import NDArray

from sim.jit import njit


@njit
def next_free(stalled: NDArray[np.bool_], cycle: int) -> int:
    """Return the first cycle at or after `cycle` in which a pattern does not stall.

    A source whose last beat was taken in cycle t offers its next one in ``next_free(stalled, t + 1)`` and holds it; a
    sink takes a beat offered from cycle t on in ``next_free(stalled, t)``.

    Parameters
    ----------
    stalled : ndarray of bool, shape [period]
        The pattern; it must be False somewhere.
    cycle : int
        Where to start.

    Returns
    -------
    int
        The cycle.
    """
    period = len(stalled)
    place = cycle % period
    while stalled[place]:
        cycle += 1
        place += 1
        if place == period:
            place = 0
    return cycle


@njit
def hand_over(stalled: NDArray[np.bool_], cycle: int, count: int, taken_at: NDArray[np.int64], first: int) -> int:
    """Work out when a sink takes beats that stand ready one after the other.

    Parameters
    ----------
    stalled : ndarray of bool, shape [period]
        The sink's pattern.
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
        cycle = next_free(stalled, cycle + 1)
        taken_at[beat] = cycle
    return cycle
