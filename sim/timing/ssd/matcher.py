"""`hdl.ssd.matcher` cycle by cycle: what samples wait for is picked out of the pages that pass."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sim.config import SsdConfig
from sim.jit import njit_in_place
from sim.timing.ssd.ring import Ring, can_pop, can_push, front, pop, push, put

BANKS = 2
"""Pages of a channel of which is known what is wanted."""

HAS, FOUND, IS_LAST, PASSED, PASSING, FINISHED, FINISHED_AT = range(7)


class MatchState(NamedTuple):
    """The matchers of all channels, with what the loader has told them.

    Attributes
    ----------
    at : ndarray of int64, shape [channels, 7]
        Whether there is a beat, the slot that wants it (-1: none), whether it is the last; how many wanted beats of the
        page have come; the pages whose last beat came in; those whose last beat left, and in which cycle the last of
        these did.
    wanted : ndarray of int64, shape [channels, 2, page beats + 1]
        By bank, which is the page's number in its channel modulo 2: the beats that are wanted, rising, and in the last
        place their number. From the cycle on in which a channel is told of a page until its last beat leaves, the
        page's do not change. Before, they are put together at the end of the row, and the number does not count.
    slots : ndarray of int64, shape [channels, 2, page beats]
        The slot of one who wants each.
    """

    at: NDArray[np.int64]
    wanted: NDArray[np.int64]
    slots: NDArray[np.int64]


def make_match(config: SsdConfig) -> MatchState:
    """Make matchers that want nothing.

    Parameters
    ----------
    config : SsdConfig
        The engine.

    Returns
    -------
    MatchState
        The state after reset.
    """
    channels, beats = config.flash.channels, config.flash.page_beats
    at = np.zeros((channels, 7), np.int64)
    at[:, FINISHED_AT] = -1
    wanted, slots = np.zeros((channels, BANKS, beats + 1), np.int64), np.zeros((channels, BANKS, beats), np.int64)
    return MatchState(at, wanted, slots)


@njit_in_place
def begin_wants(s: MatchState, channel: int, bank: int) -> None:
    """Empty a bank."""
    s.wanted[channel, bank, len(s.wanted[channel, bank]) - 1] = 0


@njit_in_place
def want(s: MatchState, channel: int, bank: int, beat: int, slot: int) -> int:
    """Put a slot into a bank; return the slot that wanted the beat before, -1 for none.

    A page's list goes backwards: beats that fall, as those of a list of edges, cost nothing.
    """
    beats, slots = s.wanted[channel, bank], s.slots[channel, bank]
    end = len(slots)
    first = place = end - beats[end]
    while place < end and beats[place] < beat:
        place += 1
    if place < end and beats[place] == beat:
        before = slots[place]
        slots[place] = slot
        return int(before)
    for i in range(first, place):
        beats[i - 1] = beats[i]
        slots[i - 1] = slots[i]
    beats[place - 1] = beat
    slots[place - 1] = slot
    beats[end] += 1
    return -1


@njit_in_place
def end_wants(s: MatchState, channel: int, bank: int) -> None:
    """All that is wanted of a page is known: move it to the begin of the row."""
    beats, slots = s.wanted[channel, bank], s.slots[channel, bank]
    end, count = len(slots), beats[len(slots)]
    for i in range(count):
        beats[i] = beats[end - count + i]
        slots[i] = slots[end - count + i]


@njit_in_place
def finished_before(s: MatchState, channel: int, now: int) -> int:
    """Return of how many pages the last beat had left when the cycle began, whoever was stepped first."""
    return int(s.at[channel, FINISHED]) - (1 if s.at[channel, FINISHED_AT] == now else 0)


@njit_in_place
def tell_drained(s: MatchState, drained: NDArray[np.int64]) -> None:
    """Tell for each channel whether its matcher holds no beat that is wanted.

    Then, and if the channel's ring is empty, a beat that is neither wanted nor the last of its page leaves no trace:
    it goes through in three cycles and is never waited for. It may be asked for before or after `step_match`.
    """
    for channel in range(len(drained)):
        drained[channel] = s.at[channel, HAS] == 0 or s.at[channel, FOUND] < 0


@njit_in_place
def step_match(s: MatchState, channel: int, beats: Ring, matches: Ring, now: int) -> bool:
    """Do one cycle of one channel's matcher.

    Parameters
    ----------
    s : MatchState
        The state.
    channel : int
        Which.
    beats : Ring
        Rows of beat, whether it is the last that is moved, and more that is not looked at.
    matches : Ring
        Rows of a slot.
    now : int
        The cycle.

    Returns
    -------
    bool
        Whether anything moved.
    """
    at = s.at[channel]
    moves = at[HAS] != 0 and (at[FOUND] < 0 or can_push(matches))
    if moves:
        if at[FOUND] >= 0:
            put(matches, 0, at[FOUND])
            push(matches)
        if at[IS_LAST]:
            at[FINISHED] += 1
            at[FINISHED_AT] = now
    if at[HAS] != 0 and not moves:
        return False
    at[HAS] = 0
    if not can_pop(beats):
        return bool(moves)
    wanted = s.wanted[channel, at[PASSING] & 1]
    at[HAS] = 1
    at[FOUND] = -1
    at[IS_LAST] = front(beats, 1)
    if at[PASSED] < wanted[len(wanted) - 1] and wanted[at[PASSED]] == front(beats, 0):
        at[FOUND] = s.slots[channel, at[PASSING] & 1, at[PASSED]]
        at[PASSED] += 1
    if at[IS_LAST]:
        at[PASSING] += 1
        at[PASSED] = 0
    pop(beats)
    return True
