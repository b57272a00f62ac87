"""Timing model of the flash channels, the die queues and the flash behind them: `step_channels` is one clock cycle.

Beats that nobody wants may be passed over: with ``skip[c]`` the caller promises that whoever takes the beats of channel
c holds none, so that a beat that is not wanted would leave no trace. Then only the wanted beats of a page and its last
one go through the ring, in the same cycles as if all had gone.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sim.config import SsdConfig
from sim.jit import njit_in_place
from sim.program.ssd_counters import CHANNEL_COUNTERS
from sim.timing.dram_steps import FAR
from sim.timing.ssd.ring import LEVEL, Ring, can_pop, can_push, front, pop, push, put
from sim.timing.ssd.rings import Rings, ring_of

PLACED_FIELDS = ("page", "page_slot", "hot", "place")
PLACED_PAGE, PLACED_SLOT, PLACED_HOT, PLACED_PLACE = range(4)
READY_FIELDS = ("page", "page_slot", "place", "channel", "unit")
READY_PAGE, READY_SLOT, READY_PLACE, READY_CHANNEL, READY_UNIT = range(5)
LOADED_FIELDS = ("unit", "first_beat", "last_beat")
LOADED_UNIT, LOADED_FIRST, LOADED_LAST = range(3)
BEAT_FIELDS = ("beat", "last", "wanted")
BEAT_NUMBER, BEAT_LAST, BEAT_WANTED = range(3)
"""Fields of the rings, named as those of the streams' records; ``wanted`` tells whether the beat is."""

PAGES_AHEAD = 2
"""Pages of a channel that the loader may have."""

_COMMAND, _TRANSFER, _PAUSED, _LOAD, _READ, _IDLE, COUNT_PAGES, COUNT_BEATS = range(len(CHANNEL_COUNTERS) + 2)
"""Columns of `ChannelsState.counts`: the cycles of `CHANNEL_COUNTERS`, then pages and beats."""


class ChannelsShape(NamedTuple):
    """Sizes and times, for the kernel."""

    channels: int
    units: int
    sector_beats: int
    commands_first: int
    command_cycles: int
    read_cycles: int
    column_cycles: int
    beat_cycles: int


class ChannelsState(NamedTuple):
    """All that channels and flash remember; a few tables, since each array handed on costs time.

    Attributes
    ----------
    shape : ChannelsShape
        Sizes and times.
    lists : ndarray of int64, shape [channels * units + 1, 3]
        Of each die, and of the DRAM: first and last slot of its list, and whether it has any.
    slots : ndarray of int64, shape [page slots, 3]
        Of each page slot: logical page, place, and the slot behind it in its list.
    dies : ndarray of int64, shape [channels * units + 1, 4]
        Of each die: whether it has a page, and which: logical page, slot, place.
    reading : ndarray of int64, shape [channels, units, 2]
        A ring of the dies that read: which, and when they are ready.
    arrived : ndarray of int64, shape [channels, units]
        A ring of the dies that are ready.
    at : ndarray of int64, shape [channels, 28]
        Registers of the channels; in columns `GIVEN_AT` to `GIVEN_PLACE` the last command on the bus: its cycle, 1 for
        a transfer, its die, and for a read its physical page; `MOVES` is 1 from a transfer to its last beat.
    shared : ndarray of int64, shape [17]
        Registers of all.
    counts : ndarray of int64, shape [channels, 8]
        Counters. Those of cycles are told up to what has ended: see `settle_counts`.
    """

    shape: ChannelsShape
    lists: NDArray[np.int64]
    slots: NDArray[np.int64]
    dies: NDArray[np.int64]
    reading: NDArray[np.int64]
    arrived: NDArray[np.int64]
    at: NDArray[np.int64]
    shared: NDArray[np.int64]
    counts: NDArray[np.int64]


_HEAD, _TAIL, _WAITS = range(3)
_PAGE, _PLACE, _NEXT = range(3)
_BUSY, _DIE_PAGE, _DIE_SLOT, _DIE_PLACE = range(4)
(
    _LAST_UNIT, _CANDIDATES, _WAITING, _BUSY_DIES, _FETCHING, _HAS_COMMAND, _COMMAND_UNIT, _READING_AT, _READING_LEVEL,
    _ARRIVED_AT, _ARRIVED_LEVEL, _AHEAD, _FREE_AT, MOVES, _MOVED_UNIT, _BEAT, _LAST_BEAT, _DUE, _WANTED_AT, _BANK,
    _COUNTED_TO, _COUNTS_AS, _MOVES_FROM, _PAUSES, GIVEN_AT, GIVEN_KIND, GIVEN_UNIT, GIVEN_PLACE,
) = range(28)  # fmt: skip
(
    _FETCH_VALID, _FETCH_CHANNEL, _FETCH_UNIT, _MOVES_UP, _LAST_PICKED, _LAST_READY, _TOLD_VALID, _TOLD_CHANNEL,
    _TOLD_UNIT, _DRAM_FETCHING, _DRAM_READY, _NOW, _STILL, _NEXT_AT, _TOLD_PAGE, _TOLD_SLOT, _TOLD_PLACE,
) = range(17)  # fmt: skip


def make_channels(config: SsdConfig) -> ChannelsState:
    """Return what channels and flash remember after reset.

    Parameters
    ----------
    config : SsdConfig
        Sizes and times.

    Returns
    -------
    ChannelsState
        The state.
    """
    flash = config.flash
    at = np.zeros((flash.channels, 28), np.int64)
    at[:, _COUNTS_AS] = _IDLE
    at[:, _BANK] = 1
    at[:, GIVEN_AT] = -1
    return ChannelsState(
        shape=ChannelsShape(
            flash.channels,
            flash.units,
            flash.sector_beats,
            int(flash.commands_first),
            config.command_cycles,
            config.read_cycles,
            config.column_cycles,
            config.beat_cycles,
        ),
        lists=np.zeros((flash.channels * flash.units + 1, 3), np.int64),
        slots=np.zeros((config.page_slots, 3), np.int64),
        dies=np.zeros((flash.channels * flash.units + 1, 4), np.int64),
        reading=np.zeros((flash.channels, flash.units, 2), np.int64),
        arrived=np.zeros((flash.channels, flash.units), np.int64),
        at=at,
        shared=np.zeros(17, np.int64),
        counts=np.zeros((flash.channels, len(CHANNEL_COUNTERS) + 2), np.int64),
    )


def settle_counts(state: ChannelsState, end: int) -> dict[str, NDArray[np.int64]]:
    """Return the counters as they stand at the beginning of a cycle.

    Parameters
    ----------
    state : ChannelsState
        Of channels without a page on the bus.
    end : int
        The cycle: all before it have been stepped, or needed no step.

    Returns
    -------
    dict of str to ndarray of int64, shape [channels]
        Cycles by the names of `CHANNEL_COUNTERS`, ``pages`` and ``beats``.
    """
    counts = state.counts.copy()
    for channel, at in enumerate(state.at):
        counts[channel, at[_COUNTS_AS]] += max(0, end - at[_COUNTED_TO])
    return {name: counts[:, column] for column, name in enumerate((*CHANNEL_COUNTERS, "pages", "beats"))}


@njit_in_place
def next_channels(state: ChannelsState) -> int:
    """Return the next cycle, behind the last one stepped, in which something happens by itself; `FAR` for none.

    Only if that step returned False; if it returned True, the next cycle needs a step.
    """
    soonest = FAR
    now = state.shared[_NOW]
    for c in range(state.shape.channels):
        at = state.at[c]
        if at[MOVES]:
            if at[_DUE] > now:
                soonest = min(soonest, at[_DUE])
        elif at[_FREE_AT] > now:
            soonest = min(soonest, at[_FREE_AT])
        if at[_READING_LEVEL] > 0:
            soonest = min(soonest, state.reading[c, at[_READING_AT], 1])
    return int(soonest)


@njit_in_place
def _count_from(state: ChannelsState, c: int, begin: int) -> None:
    """Let the cycles of a channel from `begin` on count as what its registers say."""
    at = state.at[c]
    if at[_AHEAD] > 0 or at[_ARRIVED_LEVEL] > 0:
        kind = _LOAD
    elif at[_BUSY_DIES] > 0 or at[_WAITING] > 0:
        kind = _READ
    else:
        kind = _IDLE
    if kind != at[_COUNTS_AS]:
        if begin > at[_COUNTED_TO]:
            state.counts[c, at[_COUNTS_AS]] += begin - at[_COUNTED_TO]
            at[_COUNTED_TO] = begin
        at[_COUNTS_AS] = kind


@njit_in_place
def _take_bus(state: ChannelsState, c: int, now: int, command: int, until: int) -> None:
    """Count the cycles before a command, and those of the command; what follows is counted from `until` on."""
    at = state.at[c]
    if now > at[_COUNTED_TO]:
        state.counts[c, at[_COUNTS_AS]] += now - at[_COUNTED_TO]
    state.counts[c, _COMMAND] += command
    at[_COUNTED_TO] = until


@njit_in_place
def _hand_out(state: ChannelsState, ready: Ring) -> bool:
    """Hand a ready page to the loader, and choose the next one."""
    shared = state.shared
    moved = False
    if shared[_TOLD_VALID]:
        if not can_push(ready):
            return False
        for field, place in (
            (READY_PAGE, _TOLD_PAGE),
            (READY_SLOT, _TOLD_SLOT),
            (READY_PLACE, _TOLD_PLACE),
            (READY_CHANNEL, _TOLD_CHANNEL),
            (READY_UNIT, _TOLD_UNIT),
        ):
            put(ready, field, shared[place])
        push(ready)
        shared[_TOLD_VALID] = 0
        moved = True
    channels, units = state.shape.channels, state.shape.units
    c = shared[_LAST_READY]
    for _ in range(channels + 1):
        c = 0 if c == channels else c + 1
        if c == channels:
            if shared[_DRAM_READY] == 0:
                continue
            shared[_DRAM_READY] = 0
            unit = 0
        else:
            at = state.at[c]
            if at[_ARRIVED_LEVEL] == 0 or at[_AHEAD] == PAGES_AHEAD:
                continue
            unit = state.arrived[c, at[_ARRIVED_AT]]
            at[_ARRIVED_AT] = (at[_ARRIVED_AT] + 1) % units
            at[_ARRIVED_LEVEL] -= 1
            at[_AHEAD] += 1
        die = state.dies[c * units + unit]
        shared[_TOLD_VALID] = 1
        shared[_TOLD_CHANNEL] = c
        shared[_TOLD_UNIT] = unit
        shared[_TOLD_PAGE] = die[_DIE_PAGE]
        shared[_TOLD_SLOT] = die[_DIE_SLOT]
        shared[_TOLD_PLACE] = die[_DIE_PLACE] if c == channels else 0
        shared[_LAST_READY] = c
        return True
    return moved


@njit_in_place
def _pick(state: ChannelsState, dram_room: bool) -> tuple[int, int, bool]:
    """Choose a page to leave its list: its channel (-1: none), its die, and whether the list has more."""
    shared = state.shared
    channels, units = state.shape.channels, state.shape.units
    c = shared[_LAST_PICKED]
    for _ in range(channels + 1):
        c = 0 if c == channels else c + 1
        unit = 0
        if c == channels:
            if not dram_room or state.lists[channels * units, _WAITS] == 0:
                continue
        else:
            at = state.at[c]
            if at[_FETCHING] or at[_HAS_COMMAND] or at[_CANDIDATES] == 0:
                continue
            unit = at[_LAST_UNIT]
            for _ in range(units):
                unit = 0 if unit == units - 1 else unit + 1
                if state.lists[c * units + unit, _WAITS] and state.dies[c * units + unit, _BUSY] == 0:
                    break
            at[_LAST_UNIT] = unit
            at[_CANDIDATES] -= 1
            at[_BUSY_DIES] += 1
            at[_FETCHING] = 1
        number = c * units + unit
        its_list, die = state.lists[number], state.dies[number]
        slot = its_list[_HEAD]
        more = slot != its_list[_TAIL]
        if more:
            its_list[_HEAD] = state.slots[slot, _NEXT]
        else:
            its_list[_WAITS] = 0
            if c < channels:
                state.at[c, _WAITING] -= 1
        if c < channels:
            die[_BUSY] = 1
        die[_DIE_PAGE] = state.slots[slot, _PAGE]
        die[_DIE_SLOT] = slot
        die[_DIE_PLACE] = state.slots[slot, _PLACE]
        shared[_LAST_PICKED] = c
        return c, unit, more
    return -1, 0, False


@njit_in_place
def _enlist(state: ChannelsState, placed: Ring) -> None:
    """Take a page in."""
    channels, units = state.shape.channels, state.shape.units
    slot, place = front(placed, PLACED_SLOT), front(placed, PLACED_PLACE)
    state.slots[slot, _PAGE] = front(placed, PLACED_PAGE)
    state.slots[slot, _PLACE] = place
    c = place % channels
    number = channels * units if front(placed, PLACED_HOT) else c * units + place // channels % units
    its_list = state.lists[number]
    if its_list[_WAITS]:
        state.slots[its_list[_TAIL], _NEXT] = slot
    else:
        its_list[_HEAD] = slot
        its_list[_WAITS] = 1
        if number < channels * units:
            state.at[c, _WAITING] += 1
            if state.dies[number, _BUSY] == 0:
                state.at[c, _CANDIDATES] += 1
    its_list[_TAIL] = slot
    pop(placed)


@njit_in_place
def _end_page(state: ChannelsState, c: int, now: int) -> None:
    """Free bus and die behind the last beat."""
    at = state.at[c]
    at[MOVES] = 0
    at[_FREE_AT] = now + 1
    at[_AHEAD] -= 1
    at[_BUSY_DIES] -= 1
    number = c * state.shape.units + at[_MOVED_UNIT]
    state.dies[number, _BUSY] = 0
    if state.lists[number, _WAITS]:
        at[_CANDIDATES] += 1
    state.counts[c, _TRANSFER] += now + 1 - at[_MOVES_FROM] - at[_PAUSES]
    state.counts[c, _PAUSED] += at[_PAUSES]
    at[_COUNTED_TO] = now + 1


@njit_in_place
def _move_beat(
    state: ChannelsState, c: int, beats: Rings, wanted: NDArray[np.int64], skip: NDArray[np.int64], now: int
) -> bool:
    """Hand over the beat that is due, or pass over beats that nobody wants."""
    at = state.at[c]
    ring = ring_of(beats, c)
    list_of_wanted = wanted[c, at[_BANK]]
    following = at[_LAST_BEAT]
    if at[_WANTED_AT] < list_of_wanted[len(list_of_wanted) - 1]:
        following = min(following, list_of_wanted[at[_WANTED_AT]])
    moved = False
    if skip[c] and ring.at[LEVEL] == 0 and following > at[_BEAT]:
        if now > at[_DUE]:
            at[_PAUSES] += now - at[_DUE]
            at[_DUE] = now
        state.counts[c, COUNT_BEATS] += following - at[_BEAT]
        at[_DUE] += (following - at[_BEAT]) * state.shape.beat_cycles
        at[_BEAT] = following
        moved = True
    if now < at[_DUE] or not can_push(ring):
        return moved
    at[_PAUSES] += now - at[_DUE]
    at[_DUE] = now + state.shape.beat_cycles
    is_wanted = at[_WANTED_AT] < list_of_wanted[len(list_of_wanted) - 1] and list_of_wanted[at[_WANTED_AT]] == at[_BEAT]
    is_last = at[_BEAT] == at[_LAST_BEAT]
    put(ring, BEAT_NUMBER, at[_BEAT])
    put(ring, BEAT_LAST, int(is_last))
    put(ring, BEAT_WANTED, int(is_wanted))
    push(ring)
    state.counts[c, COUNT_BEATS] += 1
    at[_WANTED_AT] += int(is_wanted)
    at[_BEAT] += 1
    if is_last:
        _end_page(state, c, now)
    return True


@njit_in_place
def _use_bus(state: ChannelsState, c: int, loaded: Ring, now: int) -> bool:
    """Give a command over a bus that is free."""
    at, shape = state.at[c], state.shape
    reads, begins = at[_HAS_COMMAND] != 0, can_pop(loaded)
    if reads and (shape.commands_first or not begins):
        _take_bus(state, c, now, shape.command_cycles, now + shape.command_cycles)
        at[_HAS_COMMAND] = 0
        at[_FREE_AT] = now + shape.command_cycles
        place = (at[_READING_AT] + at[_READING_LEVEL]) % shape.units
        state.reading[c, place, 0] = at[_COMMAND_UNIT]
        state.reading[c, place, 1] = now + shape.command_cycles + shape.read_cycles
        at[_READING_LEVEL] += 1
        at[GIVEN_AT] = now
        at[GIVEN_KIND] = 0
        at[GIVEN_UNIT] = at[_COMMAND_UNIT]
        at[GIVEN_PLACE] = state.dies[c * shape.units + at[_COMMAND_UNIT], _DIE_PLACE]
        return True
    if begins:
        _take_bus(state, c, now, shape.column_cycles, FAR)
        at[MOVES] = 1
        at[_MOVES_FROM] = now + shape.column_cycles
        at[_PAUSES] = 0
        at[_MOVED_UNIT] = front(loaded, LOADED_UNIT)
        at[_BEAT] = front(loaded, LOADED_FIRST) // shape.sector_beats * shape.sector_beats
        at[_LAST_BEAT] = (front(loaded, LOADED_LAST) // shape.sector_beats + 1) * shape.sector_beats - 1
        at[_DUE] = now + shape.column_cycles + shape.beat_cycles
        at[_WANTED_AT] = 0
        at[_BANK] = 1 - at[_BANK]
        state.counts[c, COUNT_PAGES] += 1
        at[GIVEN_AT] = now
        at[GIVEN_KIND] = 1
        at[GIVEN_UNIT] = at[_MOVED_UNIT]
        pop(loaded)
        return True
    return False


@njit_in_place
def _step_channel(
    state: ChannelsState,
    c: int,
    loaded: Rings,
    beats: Rings,
    wanted: NDArray[np.int64],
    skip: NDArray[np.int64],
    now: int,
) -> bool:
    """Do a cycle of a channel's dies and bus."""
    at, units = state.at[c], state.shape.units
    moved = False
    if at[_READING_LEVEL] > 0 and state.reading[c, at[_READING_AT], 1] <= now:
        state.arrived[c, (at[_ARRIVED_AT] + at[_ARRIVED_LEVEL]) % units] = state.reading[c, at[_READING_AT], 0]
        at[_ARRIVED_LEVEL] += 1
        at[_READING_AT] = (at[_READING_AT] + 1) % units
        at[_READING_LEVEL] -= 1
        moved = True
    if at[MOVES]:
        if _move_beat(state, c, beats, wanted, skip, now):
            moved = True
    elif at[_FREE_AT] <= now and _use_bus(state, c, ring_of(loaded, c), now):
        moved = True
    return moved


@njit_in_place
def _is_still(state: ChannelsState, placed: Ring, ready: Ring, loaded: Rings, beats: Rings, now: int) -> bool:
    """Whether nothing has come since the last step that changed nothing."""
    shared = state.shared
    if shared[_STILL] == 0 or now >= shared[_NEXT_AT] or can_pop(placed):
        return False
    if shared[_TOLD_VALID] and can_push(ready):
        return False
    for c in range(state.shape.channels):
        if state.at[c, MOVES]:
            if state.at[c, _DUE] <= now and can_push(ring_of(beats, c)):
                return False
        elif loaded.at[c, LEVEL] > 0 and state.at[c, _FREE_AT] <= now:
            return False
    return True


@njit_in_place
def step_channels(
    state: ChannelsState,
    placed: Ring,
    ready: Ring,
    loaded: Rings,
    beats: Rings,
    wanted: NDArray[np.int64],
    skip: NDArray[np.int64],
    now: int,
) -> bool:
    """Do one clock cycle.

    Parameters
    ----------
    state : ChannelsState
        What channels and flash remember.
    placed, ready : Ring
        Of `PLACED_FIELDS`, read; of `READY_FIELDS`, written.
    loaded, beats : Rings
        A ring of each channel: of `LOADED_FIELDS`, read; of `BEAT_FIELDS`, written.
    wanted : ndarray of int64, shape [channels, 2, page beats + 1]
        The beats that are wanted of the pages that a channel is told of, by turns in bank 0 and 1: first those beats,
        rising, and in the last place their number. Read from the cycle on in which the page's row in `loaded` is taken.
    skip : ndarray of int64, shape [channels]
        Not 0: who takes the channel's beats holds none, and will not until it gets the next one.
    now : int
        The cycle.

    Returns
    -------
    bool
        Whether anything changed; if not, nothing will before `next_channels`, or before a ring changes.
    """
    shape, shared = state.shape, state.shared
    if _is_still(state, placed, ready, loaded, beats, now):
        return False
    shared[_NOW] = now
    dram_room = shared[_DRAM_FETCHING] == 0 and shared[_DRAM_READY] == 0
    fetched, fetched_channel, fetched_unit = shared[_FETCH_VALID], shared[_FETCH_CHANNEL], shared[_FETCH_UNIT]
    moves_up = shared[_MOVES_UP]
    moved = _hand_out(state, ready)
    picked, unit, more = _pick(state, dram_room)
    if can_pop(placed) and moves_up == 0:
        _enlist(state, placed)
        moved = True
    for c in range(shape.channels):
        if _step_channel(state, c, loaded, beats, wanted, skip, now):
            moved = True
    if fetched:
        if fetched_channel == shape.channels:
            shared[_DRAM_FETCHING] = 0
            shared[_DRAM_READY] = 1
        else:
            state.at[fetched_channel, _FETCHING] = 0
            state.at[fetched_channel, _HAS_COMMAND] = 1
            state.at[fetched_channel, _COMMAND_UNIT] = fetched_unit
        moved = True
    shared[_FETCH_VALID] = int(picked >= 0)
    shared[_MOVES_UP] = int(more)
    if picked >= 0:
        shared[_FETCH_CHANNEL] = picked
        shared[_FETCH_UNIT] = unit
        if picked == shape.channels:
            shared[_DRAM_FETCHING] = 1
        moved = True
    for c in range(shape.channels):
        _count_from(state, c, now + 1)
    shared[_STILL] = int(not moved)
    if not moved:
        shared[_NEXT_AT] = next_channels(state)
    return moved
