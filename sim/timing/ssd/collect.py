"""`hdl.ssd.collect` cycle by cycle: the ids that were found go into the window."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sim.config import SsdConfig
from sim.jit import njit_in_place
from sim.timing.ssd.ring import can_pop, front, pop
from sim.timing.ssd.rings import Rings, ring_of

ACTIVE, SLOT, LAST, COUNT_IDS = range(4)


class CollectState(NamedTuple):
    """All that the collector remembers.

    Attributes
    ----------
    at : ndarray of int64, shape [4]
        Whether an id is written, its slot, whose turn it was, and how many were written.
    phase, written_at : ndarray of int64, shape [window_samples]
        Of each slot: the phase that its word has, and the cycle in which it was written.
    """

    at: NDArray[np.int64]
    phase: NDArray[np.int64]
    written_at: NDArray[np.int64]


def make_collect(config: SsdConfig) -> CollectState:
    """Make a collector that has written nothing.

    Parameters
    ----------
    config : SsdConfig
        The engine.

    Returns
    -------
    CollectState
        The state after reset.
    """
    slots = config.window_samples
    return CollectState(np.zeros(4, np.int64), np.zeros(slots, np.int64), np.full(slots, -1, np.int64))


@njit_in_place
def phase_read(s: CollectState, slot: int, now: int) -> int:
    """Return the phase that a read of a cycle gets, a cycle later: it does not see a write of its own cycle.

    It may be called before or after `step_collect` of that cycle.
    """
    return int(s.phase[slot]) ^ (1 if s.written_at[slot] == now else 0)


@njit_in_place
def step_collect(s: CollectState, twins: NDArray[np.int64], matches: Rings, now: int) -> bool:
    """Do one cycle.

    Parameters
    ----------
    s : CollectState
        The state.
    twins : ndarray of int64, shape [window_samples]
        `LoadState.twins`.
    matches : Rings
        Of each channel, and behind them of the hot reader, rows of a slot.
    now : int
        The cycle.

    Returns
    -------
    bool
        Whether anything moved.
    """
    at = s.at
    active = at[ACTIVE] != 0
    if active:
        slot = at[SLOT]
        s.phase[slot] ^= 1
        s.written_at[slot] = now
        at[COUNT_IDS] += 1
        if twins[slot] >= 0:
            at[SLOT] = twins[slot]
            return True
        at[ACTIVE] = 0
    sources = len(matches.at)
    for i in range(1, sources + 1):
        source = (at[LAST] + i) % sources
        ring = ring_of(matches, source)
        if can_pop(ring):
            at[ACTIVE] = 1
            at[SLOT] = front(ring, 0)
            at[LAST] = source
            pop(ring)
            return True
    return bool(active)
