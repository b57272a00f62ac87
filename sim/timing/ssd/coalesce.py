"""`hdl.ssd.coalesce` cycle by cycle: samples of the same page find each other."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sim.config import SsdConfig
from sim.jit import njit_in_place
from sim.timing.ssd.ring import Ring, can_pop, can_push, commit, front, make_ring, pop, push, put

LEAVING = 4
"""Pages, and heads, under way or not yet taken: `hdl.ssd.coalesce.LEAVING`."""

LEVEL, NUMBER, FREE, OPENED_OWED, HEADS_OWED, OLDEST, NEWEST, COUNT_SAMPLES, COUNT_OPENED = range(9)
NOTHING, IS_SAMPLE, IS_CLOSE = range(3)
KIND, PAGE, PAGE_SLOT, SLOT, BEAT, FIRST = range(6)
LINK_BEAT, LINK_NEXT, LINK_LAST = range(3)
ENTRY_PAGE, ENTRY_PAGE_SLOT = range(2)


class CoalesceState(NamedTuple):
    """All that the coalescer remembers.

    Attributes
    ----------
    at : ndarray of int64, shape [9]
        Samples in the window, samples taken (their slots are that, modulo the window), free page slots, pages and
        heads on their way, ends of the ring of free page slots, counters.
    one, two : ndarray of int64, shape [6]
        The operations in the second and third step.
    table : ndarray of int64, shape [table_entries, 2]
        Page (-1: none) and its slot.
    free, heads : ndarray of int64, shape [page_slots]
        Ring of free page slots; the last sample of each page.
    links : ndarray of int64, shape [window_samples, 3]
        Beat, the sample before it, and whether there is none. The loader reads them: those of a page do not change
        from before the cycle in which its head is handed over until all of its samples are retired.
    opened, heads_out : Ring
        What was not yet taken.
    """

    at: NDArray[np.int64]
    one: NDArray[np.int64]
    two: NDArray[np.int64]
    table: NDArray[np.int64]
    free: NDArray[np.int64]
    heads: NDArray[np.int64]
    links: NDArray[np.int64]
    opened: Ring
    heads_out: Ring


def make_coalesce(config: SsdConfig) -> CoalesceState:
    """Make a coalescer that waits for no page.

    Parameters
    ----------
    config : SsdConfig
        The engine.

    Returns
    -------
    CoalesceState
        The state after reset.
    """
    at = np.zeros(9, np.int64)
    at[FREE] = config.page_slots
    return CoalesceState(
        at=at,
        one=np.zeros(6, np.int64),
        two=np.zeros(6, np.int64),
        table=np.full((config.table_entries, 2), -1, np.int64),
        free=np.arange(config.page_slots, dtype=np.int64),
        heads=np.zeros(config.page_slots, np.int64),
        links=np.zeros((config.window_samples, 3), np.int64),
        opened=make_ring(LEAVING, 2),
        heads_out=make_ring(LEAVING, 1),
    )


@njit_in_place
def _link(s: CoalesceState) -> bool:
    """Do the third step; return whether a page slot became free."""
    at, two = s.at, s.two
    if two[KIND] == IS_CLOSE:
        put(s.heads_out, 0, s.heads[two[PAGE_SLOT]])
        push(s.heads_out)
        s.free[at[NEWEST]] = two[PAGE_SLOT]
        at[NEWEST] = (at[NEWEST] + 1) % len(s.free)
        return True
    if two[KIND] == IS_SAMPLE:
        s.links[two[SLOT], LINK_BEAT] = two[BEAT]
        s.links[two[SLOT], LINK_NEXT] = s.heads[two[PAGE_SLOT]]
        s.links[two[SLOT], LINK_LAST] = two[FIRST]
        s.heads[two[PAGE_SLOT]] = two[SLOT]
    return False


@njit_in_place
def _find(s: CoalesceState) -> bool:
    """Do the second step; return whether a sample joined others."""
    at, one, two = s.at, s.one, s.two
    place = one[PAGE] & (len(s.table) - 1)
    two[KIND] = one[KIND]
    two[PAGE_SLOT] = one[PAGE_SLOT]
    two[SLOT] = one[SLOT]
    two[BEAT] = one[BEAT]
    two[FIRST] = 0
    if one[KIND] == IS_CLOSE:
        if s.table[place, ENTRY_PAGE] >= 0 and s.table[place, ENTRY_PAGE_SLOT] == one[PAGE_SLOT]:
            s.table[place, ENTRY_PAGE] = -1
    elif one[KIND] == IS_SAMPLE:
        if s.table[place, ENTRY_PAGE] == one[PAGE]:
            two[PAGE_SLOT] = s.table[place, ENTRY_PAGE_SLOT]
            return True
        two[PAGE_SLOT] = s.free[at[OLDEST]]
        two[FIRST] = 1
        at[OLDEST] = (at[OLDEST] + 1) % len(s.free)
        at[COUNT_OPENED] += 1
        s.table[place, ENTRY_PAGE] = one[PAGE]
        s.table[place, ENTRY_PAGE_SLOT] = two[PAGE_SLOT]
        put(s.opened, 0, one[PAGE])
        put(s.opened, 1, two[PAGE_SLOT])
        push(s.opened)
    return False


@njit_in_place
def step_coalesce(s: CoalesceState, samples: Ring, close: Ring, opened: Ring, heads: Ring, retired: int) -> bool:
    """Do one cycle.

    Parameters
    ----------
    s : CoalesceState
        The state.
    samples : Ring
        Rows of page and beat.
    close, opened : Ring
        Rows of page and page slot.
    heads : Ring
        Rows of a slot.
    retired : int
        1 if the oldest slot becomes free in this cycle (the wire of the packer, as of this cycle).

    Returns
    -------
    bool
        Whether anything moved.
    """
    at, one, two = s.at, s.one, s.two
    moved = retired != 0 or one[KIND] != NOTHING or two[KIND] != NOTHING
    room = at[LEVEL] < len(s.links) and at[FREE] > 0 and at[OPENED_OWED] < LEAVING
    closing = can_pop(close) and at[HEADS_OWED] < LEAVING
    sampling = can_pop(samples) and room and not closing
    if can_pop(s.opened) and can_push(opened):
        put(opened, 0, front(s.opened, 0))
        put(opened, 1, front(s.opened, 1))
        push(opened)
        pop(s.opened)
        at[OPENED_OWED] -= 1
        moved = True
    if can_pop(s.heads_out) and can_push(heads):
        put(heads, 0, front(s.heads_out, 0))
        push(heads)
        pop(s.heads_out)
        at[HEADS_OWED] -= 1
        moved = True
    if _link(s):
        at[FREE] += 1
    if _find(s):
        at[FREE] += 1
        at[OPENED_OWED] -= 1
    at[LEVEL] -= retired
    one[KIND] = NOTHING
    if closing:
        one[KIND] = IS_CLOSE
        one[PAGE] = front(close, 0)
        one[PAGE_SLOT] = front(close, 1)
        pop(close)
        at[HEADS_OWED] += 1
    elif sampling:
        one[KIND] = IS_SAMPLE
        one[PAGE] = front(samples, 0)
        one[BEAT] = front(samples, 1)
        one[SLOT] = at[NUMBER] & (len(s.links) - 1)
        pop(samples)
        at[NUMBER] += 1
        at[LEVEL] += 1
        at[FREE] -= 1
        at[OPENED_OWED] += 1
        at[COUNT_SAMPLES] += 1
    commit(s.opened)
    commit(s.heads_out)
    return moved or closing or sampling
