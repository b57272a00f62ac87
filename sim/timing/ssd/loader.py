"""`hdl.ssd.loader` cycle by cycle: what is wanted of a page is told before it is moved."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sim.config import SsdConfig
from sim.jit import njit_in_place
from sim.timing.ssd.coalesce import LINK_BEAT, LINK_LAST, LINK_NEXT
from sim.timing.ssd.matcher import BANKS, MatchState, begin_wants, end_wants, finished_before, want
from sim.timing.ssd.ring import Ring, can_pop, can_push, commit, front, make_ring, pop, push, put
from sim.timing.ssd.rings import Rings, ring_of

WAITING = 2
"""Pages that are closed and wait for their heads: `hdl.ssd.loader.WAITING`."""

(
    WALKING, SLOT, CHANNEL, UNIT, FIRST_BEAT, LAST_BEAT, PUTS, PUT_SLOT, PUT_BEAT, PUT_ENDS, TOLD,
) = range(11)  # fmt: skip


class LoadState(NamedTuple):
    """All that the loader remembers.

    Attributes
    ----------
    at : ndarray of int64, shape [11]
        The page and the sample that it is at, the sample behind it, and whether a channel is being told.
    begun : ndarray of int64, shape [channels]
        Pages of each channel.
    twins : ndarray of int64, shape [window_samples]
        By slot, another one that wants the same beat; -1: none. The collector reads them: those of a page do not
        change from before its channel is told.
    closed : Ring
        Pages that are closed, rows of channel and unit.
    """

    at: NDArray[np.int64]
    begun: NDArray[np.int64]
    twins: NDArray[np.int64]
    closed: Ring


def make_load(config: SsdConfig) -> LoadState:
    """Make a loader without pages.

    Parameters
    ----------
    config : SsdConfig
        The engine.

    Returns
    -------
    LoadState
        The state after reset.
    """
    return LoadState(
        at=np.zeros(11, np.int64),
        begun=np.zeros(config.flash.channels, np.int64),
        twins=np.full(config.window_samples, -1, np.int64),
        closed=make_ring(WAITING, 2),
    )


@njit_in_place
def _close(s: LoadState, ready: Ring, close: Ring) -> bool:
    """Close the page that is ready; return whether it was."""
    if not (can_pop(ready) and can_push(close) and can_push(s.closed)):
        return False
    put(close, 0, front(ready, 0))
    put(close, 1, front(ready, 1))
    push(close)
    put(s.closed, 0, front(ready, 3))
    put(s.closed, 1, front(ready, 4))
    push(s.closed)
    pop(ready)
    return True


@njit_in_place
def _put(s: LoadState, match: MatchState) -> None:
    """Put the sample of the cycle before into the table."""
    at = s.at
    channel = at[CHANNEL]
    if channel == len(s.begun):
        s.twins[at[PUT_SLOT]] = -1
    else:
        bank = (s.begun[channel] - 1) & 1
        s.twins[at[PUT_SLOT]] = want(match, channel, bank, at[PUT_BEAT], at[PUT_SLOT])
        if at[PUT_ENDS]:
            end_wants(match, channel, bank)
            at[TOLD] = 1


@njit_in_place
def step_load(
    s: LoadState,
    links: NDArray[np.int64],
    match: MatchState,
    ready: Ring,
    close: Ring,
    heads: Ring,
    loaded: Rings,
    hot: Ring,
    now: int,
) -> bool:
    """Do one cycle.

    Parameters
    ----------
    s : LoadState
        The state.
    links : ndarray of int64, shape [window_samples, 3]
        `CoalesceState.links`.
    match : MatchState
        The matchers; they may be stepped before or after.
    ready : Ring
        Rows of page, page slot, place, channel and unit.
    close : Ring
        Rows of page and page slot.
    heads : Ring
        Rows of a slot.
    loaded : Rings
        Of each channel, rows of unit, first beat and last beat.
    hot : Ring
        Rows of a slot.
    now : int
        The cycle.

    Returns
    -------
    bool
        Whether anything moved.
    """
    at = s.at
    channels = len(s.begun)
    moved = _close(s, ready, close)
    begins = can_pop(s.closed) and can_pop(heads) and at[WALKING] == 0 and at[PUTS] == 0 and at[TOLD] == 0
    if begins:
        channel = front(s.closed, 0)
        if channel < channels:
            begins = s.begun[channel] - finished_before(match, channel, now) < BANKS
    if at[TOLD]:
        told = ring_of(loaded, at[CHANNEL])
        if can_push(told):
            put(told, 0, at[UNIT])
            put(told, 1, at[FIRST_BEAT])
            put(told, 2, at[LAST_BEAT])
            push(told)
            at[TOLD] = 0
            moved = True
    if at[PUTS]:
        _put(s, match)
        at[PUTS] = 0
        moved = True
    if at[WALKING]:
        slot = at[SLOT]
        in_dram = at[CHANNEL] == channels
        if not in_dram or can_push(hot):
            if in_dram:
                put(hot, 0, slot)
                push(hot)
            beat = links[slot, LINK_BEAT]
            at[FIRST_BEAT] = min(at[FIRST_BEAT], beat)
            at[LAST_BEAT] = max(at[LAST_BEAT], beat)
            at[PUTS] = 1
            at[PUT_SLOT] = slot
            at[PUT_BEAT] = beat
            at[PUT_ENDS] = links[slot, LINK_LAST]
            at[WALKING] = 1 - at[PUT_ENDS]
            at[SLOT] = links[slot, LINK_NEXT]
            moved = True
    elif begins:
        at[WALKING] = 1
        at[SLOT] = front(heads, 0)
        at[CHANNEL] = front(s.closed, 0)
        at[UNIT] = front(s.closed, 1)
        at[FIRST_BEAT] = 1 << 11
        at[LAST_BEAT] = 0
        if at[CHANNEL] < channels:
            begin_wants(match, at[CHANNEL], s.begun[at[CHANNEL]] & 1)
            s.begun[at[CHANNEL]] += 1
        pop(s.closed)
        pop(heads)
        moved = True
    commit(s.closed)
    return moved
