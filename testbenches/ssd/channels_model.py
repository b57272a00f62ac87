"""The channels' timing model in the place of the RTL of `FlashChannels`: the same sources and sinks."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sim.config import SsdConfig
from sim.jit import njit
from sim.timing.ssd.channels import (
    BEAT_FIELDS,
    BEAT_LAST,
    COUNT_PAGES,
    GIVEN_AT,
    GIVEN_KIND,
    GIVEN_PLACE,
    GIVEN_UNIT,
    LOADED_FIELDS,
    MOVES,
    PLACED_FIELDS,
    READY_CHANNEL,
    READY_FIELDS,
    READY_UNIT,
    make_channels,
    next_channels,
    settle_counts,
    step_channels,
)
from sim.timing.ssd.ring import (
    HEAD,
    LEVEL,
    NEXT,
    OPEN,
    PUSHED,
    Ring,
    can_pop,
    can_push,
    commit,
    commit_sink,
    front,
    make_ring,
    make_source,
    offer,
    open_sink,
    pop,
    push,
    put,
)
from sim.timing.ssd.rings import make_rings

MAX_CYCLES = 1 << 28
QUEUE_DEPTH = 2


class Channel(NamedTuple):
    """What is given to a channel, and when it was taken.

    Attributes
    ----------
    first, last : ndarray of int64, shape [pages]
        What is wanted of its pages, in the order in which they are ready.
    wants_stalled, beats_stalled : ndarray of bool, shape [period]
        Stall patterns.
    """

    first: NDArray[np.int64]
    last: NDArray[np.int64]
    wants_stalled: NDArray[np.bool_]
    beats_stalled: NDArray[np.bool_]


class Played(NamedTuple):
    """What the model says, in the terms of `testbenches.bench.Result`.

    Attributes
    ----------
    placed : ndarray of int64
        Cycle in which each page was taken.
    ready, ready_rows : ndarray of int64
        Cycle in which each page was handed out, and its `READY_FIELDS`.
    wants, beats : list of ndarray of int64
        Of each channel: cycles of the handovers. Of beats those that went through the ring.
    beat_rows : list of ndarray of int64, shape [beats, 3]
        Of each channel: `BEAT_FIELDS`.
    commands : list of ndarray of int64, shape [commands, 4]
        Of each channel: cycle, 1 for a transfer, die, physical page (of a read).
    counts : dict of str to ndarray of int64
        Counters of each channel, as of the cycle after the last handover.
    cycles : int
        That cycle.
    """

    placed: NDArray[np.int64]
    ready: NDArray[np.int64]
    ready_rows: NDArray[np.int64]
    wants: list[NDArray[np.int64]]
    beats: list[NDArray[np.int64]]
    beat_rows: list[NDArray[np.int64]]
    commands: list[NDArray[np.int64]]
    counts: dict[str, NDArray[np.int64]]
    cycles: int


def _stacked(patterns: list[NDArray[np.bool_]]) -> NDArray[np.bool_]:
    period = int(np.lcm.reduce([len(pattern) for pattern in patterns]))
    return np.stack([np.resize(pattern, period) for pattern in patterns])


def play_model(
    config: SsdConfig,
    placed: NDArray[np.int64],
    placed_stalled: NDArray[np.bool_],
    ready_stalled: NDArray[np.bool_],
    channels: list[Channel],
    *,
    wanted: list[list[NDArray[np.int64]]] | None = None,
    jump: bool = False,
    depth: int = 0,
    host_cycles: int = 1,
) -> Played:
    """Run the model.

    Parameters
    ----------
    config : SsdConfig
        Times and geometry.
    placed : ndarray of int64, shape [pages, 4]
        `PLACED_FIELDS`.
    placed_stalled, ready_stalled : ndarray of bool, shape [period]
        Stall patterns.
    channels : list of Channel
        What is given to each channel.
    wanted : list of list of ndarray of int64, optional
        Of each channel's pages the beats that are wanted: the others are passed over, for which no beat may be stalled.
    jump : bool
        Leave out the cycles in which nothing can happen.
    depth : int
        Not 0: so many pages are under way at most, `host_cycles` beyond the last beat of each. See `ClosedLoop`.
    host_cycles : int
        With `depth`, at least 1.

    Returns
    -------
    Played
    """
    n, count, page_beats = len(placed), len(channels), config.flash.page_beats
    most = max((len(channel.first) for channel in channels), default=0)
    state = make_channels(config)
    source = make_source(placed, placed_stalled)
    ready_taken = np.full(n, -1, np.int64)
    rings = make_rings(count, max(1, most * page_beats), len(BEAT_FIELDS))
    beats_taken = np.full((count, max(1, most * page_beats)), -1, np.int64)
    wants = np.zeros((count, max(1, most), 2), np.int64)
    lists = np.zeros((count, max(1, most), page_beats + 1), np.int64)
    for c, channel in enumerate(channels):
        wants[c, : len(channel.first), 0], wants[c, : len(channel.first), 1] = channel.first, channel.last
        for page, of_page in enumerate([] if wanted is None else wanted[c]):
            lists[c, page, : len(of_page)], lists[c, page, -1] = of_page, len(of_page)
    wants_taken = np.full((count, max(1, most)), -1, np.int64)
    commands = np.full((count, max(1, 2 * most), 4), -1, np.int64)
    ready = make_ring(max(1, n), len(READY_FIELDS))
    cycles = _play(
        state,
        source,
        make_ring(QUEUE_DEPTH, len(PLACED_FIELDS)),
        ready,
        ready_stalled,
        ready_taken,
        make_rings(count, 2, 1),
        make_rings(count, QUEUE_DEPTH, len(LOADED_FIELDS)),
        rings,
        _stacked([channel.beats_stalled for channel in channels]),
        beats_taken,
        wants,
        np.array([len(channel.first) for channel in channels], np.int64),
        _stacked([channel.wants_stalled for channel in channels]),
        wants_taken,
        lists,
        commands,
        wanted is not None,
        jump,
        depth,
        host_cycles,
    )
    if cycles < 0:
        raise RuntimeError(f"the model is not done after {MAX_CYCLES} cycles")
    sizes = [len(channel.first) for channel in channels]
    moved = [int((taken >= 0).sum()) for taken in beats_taken]
    return Played(
        placed=source.taken,
        ready=ready_taken,
        ready_rows=ready.data[:n],
        wants=[wants_taken[c, : sizes[c]] for c in range(count)],
        beats=[beats_taken[c, : moved[c]] for c in range(count)],
        beat_rows=[rings.data[c, : moved[c]] for c in range(count)],
        commands=[commands[c, : 2 * sizes[c]] for c in range(count)],
        counts=settle_counts(state, cycles),
        cycles=cycles,
    )


@njit
def _play(
    state,
    source,
    placed,
    ready,
    ready_stalled,
    ready_taken,
    pages,
    loaded,
    beats,
    beats_stalled,
    beats_taken,
    wants,
    sizes,
    wants_stalled,
    wants_taken,
    lists,
    commands,
    skips,
    jump,
    depth,
    host_cycles,
):
    channels, n = state.shape.channels, len(source.rows)
    wanted = np.zeros((channels, 2, lists.shape[2]), np.int64)
    skip = np.full(channels, int(skips), np.int64)
    at, offered = np.zeros(channels, np.int64), np.zeros(channels, np.int64)
    given, sent = np.zeros(channels, np.int64), np.zeros(channels, np.int64)
    returns = np.zeros(host_cycles + 1, np.int64)  # pages whose last beat was so long ago
    free = depth
    period = beats_stalled.shape[1]
    now, ended = 0, 0
    while now < MAX_CYCLES:
        moved = False
        if depth:
            free += returns[now % (host_cycles + 1)]
            returns[now % (host_cycles + 1)] = 0
        placed.at[OPEN] = int(depth == 0 or free > 0)
        before = source.at[NEXT]
        moved |= offer(source, placed, now)
        if depth:
            free -= source.at[NEXT] - before
        moved |= open_sink(ready, ready_stalled, now)
        for c in range(channels):
            beats.at[c, OPEN] = int(not beats_stalled[c, now % period])
            moved |= beats.at[c, OPEN] == 0
            if at[c] < sizes[c]:
                if offered[c] == 0:
                    offered[c] = int(not wants_stalled[c, now % wants_stalled.shape[1]])
                    moved = True
                mine, its_ring = Ring(pages.data[c], pages.at[c]), Ring(loaded.data[c], loaded.at[c])
                if offered[c] and can_pop(mine) and can_push(its_ring):
                    put(its_ring, 0, front(mine, 0))
                    put(its_ring, 1, wants[c, at[c], 0])
                    put(its_ring, 2, wants[c, at[c], 1])
                    push(its_ring)
                    pop(mine)
                    wanted[c, at[c] % 2] = lists[c, at[c]]
                    wants_taken[c, at[c]] = now
                    at[c] += 1
                    offered[c] = 0
                    moved = True
        if step_channels(state, placed, ready, loaded, beats, wanted, skip, now):
            moved = True
        if ready.at[PUSHED]:
            row = ready.data[ready.at[LEVEL]]
            if row[READY_CHANNEL] < channels:
                mine = Ring(pages.data[row[READY_CHANNEL]], pages.at[row[READY_CHANNEL]])
                put(mine, 0, row[READY_UNIT])
                push(mine)
        moved |= commit(placed)
        moved |= commit_sink(ready, ready_taken, now)
        done = ready.at[LEVEL] == n
        for c in range(channels):
            registers = state.at[c]
            if registers[GIVEN_AT] == now:
                commands[c, given[c], 0] = now
                commands[c, given[c], 1] = registers[GIVEN_KIND]
                commands[c, given[c], 2] = registers[GIVEN_UNIT]
                commands[c, given[c], 3] = registers[GIVEN_PLACE]
                given[c] += 1
            moved |= commit(Ring(pages.data[c], pages.at[c]))
            moved |= commit(Ring(loaded.data[c], loaded.at[c]))
            ring = Ring(beats.data[c], beats.at[c])
            if ring.at[PUSHED]:
                beats_taken[c, sent[c]] = now
                ended = now
                # A sink takes each beat at once: the ring stays empty, its next place follows in the table.
                if beats.data[c, sent[c], BEAT_LAST]:
                    returns[(now + host_cycles) % (host_cycles + 1)] += 1
                sent[c] += 1
                ring.at[PUSHED] = 0
                ring.at[HEAD] = sent[c] % beats.data.shape[1]
                moved = True
            done = done and state.counts[c, COUNT_PAGES] == sizes[c] and state.at[c, MOVES] == 0
        if ready.at[LEVEL] > 0:
            ended = max(ended, ready_taken[ready.at[LEVEL] - 1])
        if done:
            return ended + 1
        now += 1
        if jump and not moved:
            soonest = next_channels(state)
            for ahead in range(host_cycles + 1):
                if depth and returns[(now + ahead) % (host_cycles + 1)]:
                    soonest = min(soonest, now + ahead)
            now = max(now, min(soonest, MAX_CYCLES))
    return -1
