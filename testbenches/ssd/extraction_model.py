"""The timing model of `testbenches.ssd.extraction`: the units' steps with the same stand-ins."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sim.config import SsdConfig
from sim.jit import njit, njit_in_place
from sim.timing.ssd.coalesce import CoalesceState, make_coalesce, step_coalesce
from sim.timing.ssd.collect import CollectState, make_collect, phase_read, step_collect
from sim.timing.ssd.dram_words import Words
from sim.timing.ssd.hot import make_hot, step_hot
from sim.timing.ssd.loader import LoadState, make_load, step_load
from sim.timing.ssd.matcher import PASSING, MatchState, make_match, step_match, tell_drained
from sim.timing.ssd.ring import (
    LEVEL,
    OPEN,
    PUSHED,
    Ring,
    Source,
    can_pop,
    can_push,
    front,
    make_source,
    offer,
    pop,
    push,
    put,
)
from sim.timing.ssd.rings import Rings, commit_all, make_rings, ring_of
from sim.timing.ssd.translate import TranslateState, make_translate, step_translate
from testbenches.ssd.extraction import PAGES_AHEAD, PATTERN, REQUESTS_WAITING, STALLED

WATCHED = ("opened", "placed", "ready", "close", "loaded", "written")
OPENED, PLACED, READY, CLOSE, LOADED, WRITTEN = range(6)
FIELDS = (("page", "page_slot"), ("page", "page_slot", "hot", "place"),
          ("page", "page_slot", "place", "channel", "unit"), ("page", "page_slot"),
          ("unit", "first_beat", "last_beat"), ("number",))  # fmt: skip
"""Of the rows that are seen, as in the records."""

MOST_FIELDS = 5


class Units(NamedTuple):
    """States of the units, and the rings between them."""

    coalesce: CoalesceState
    translate: TranslateState
    load: LoadState
    match: MatchState
    hot: Words
    collect: CollectState
    rings: Rings
    loaded: Rings
    beats: Rings
    matches: Rings
    requests: Rings
    answers: Rings


class StandIns(NamedTuple):
    """What the stand-ins remember: waiting pages; channels; the rest; patterns as bits."""

    pages: NDArray[np.int64]
    channels: NDArray[np.int64]
    at: NDArray[np.int64]
    stalls: NDArray[np.bool_]


class Seen(NamedTuple):
    """Rows that were seen, with their cycles behind the fields, and how many of each kind; cycles of ids."""

    rows: NDArray[np.int64]
    count: NDArray[np.int64]
    taken: NDArray[np.int64]


_SAMPLES, _CLOSE, _OPENED, _HEADS, _PLACED, _READY, _HOT = range(7)

_WAITS, _PAGE, _HOT_PAGE, _PLACE = range(4)
_AHEAD, _MOVES, _BEAT, _LAST = range(4)
_OFFERED, _TOLD, _NUMBER, _FRESH, _SEES, _COUNTED, _SKIPPED, _FALSE = 0, 1, 6, 7, 8, 9, 10, 11
(
    _MAP, _HOT_STALLS, _READY_STALLS, _BEAT_STALLS, _OPENED_STALLS, _PLACED_STALLS, _CLOSE_STALLS, _HEADS_STALLS,
    _LOADED_STALLS, _READS_STALLS, _MATCHES_STALLS,
) = range(len(STALLED))  # fmt: skip


@njit_in_place
def _see(seen: Seen, kind: int, ring: Ring, now: int) -> None:
    if ring.at[PUSHED]:
        place = ring.at[0] + ring.at[LEVEL]
        if place >= len(ring.data):
            place -= len(ring.data)
        for field in range(len(ring.data[0])):
            seen.rows[kind, seen.count[kind], field] = ring.data[place, field]
        seen.rows[kind, seen.count[kind], MOST_FIELDS] = now
        seen.count[kind] += 1


@njit_in_place
def _choose(s: StandIns, placed: Ring, channels: int, units: int, now: int) -> None:
    """Offer the next page, and take one that comes."""
    slots = len(s.pages)
    bits = 0
    while 2 << bits <= slots:
        bits += 1
    picked = -1
    if s.at[_OFFERED] == 0 and not s.stalls[_READY_STALLS, now % PATTERN]:
        for i in range(1, slots + 1):
            slot = ((now & ((1 << bits) - 1)) + i) % slots
            if s.pages[slot, _WAITS] and (
                s.pages[slot, _HOT_PAGE] or s.channels[s.pages[slot, _PLACE] % channels, _AHEAD] < PAGES_AHEAD
            ):
                picked = slot
                break
    if picked >= 0:
        page, place = s.pages[picked, _PAGE], s.pages[picked, _PLACE]
        s.pages[picked, _WAITS] = 0
        s.at[_OFFERED] = 2
        s.at[_TOLD] = page
        s.at[_TOLD + 1] = picked
        s.at[_TOLD + 2] = place
        s.at[_TOLD + 3] = channels if s.pages[picked, _HOT_PAGE] else place % channels
        s.at[_TOLD + 4] = place // channels % units
    if can_pop(placed):
        slot = front(placed, 1)
        s.pages[slot, _WAITS] = 1
        s.pages[slot, _PAGE] = front(placed, 0)
        s.pages[slot, _HOT_PAGE] = front(placed, 2)
        s.pages[slot, _PLACE] = front(placed, 3)
        pop(placed)


@njit_in_place
def _is_wanted(match: MatchState, c: int, beat: int) -> bool:
    wanted = match.wanted[c, match.at[c, PASSING] & 1]
    is_wanted = False
    for i in range(wanted[len(wanted) - 1]):
        is_wanted |= wanted[i] == beat
    return bool(is_wanted)


@njit_in_place
def _move(u: Units, s: StandIns, c: int, sector: int, skips: bool, now: int) -> None:
    """Let a channel move a beat; pass over one that leaves no trace, if asked to."""
    at, loaded, beats = s.channels[c], ring_of(u.loaded, c), ring_of(u.beats, c)
    if at[_MOVES]:
        if not s.stalls[_BEAT_STALLS, (now + 16 * c) % PATTERN] and can_push(beats):
            if skips and beats.at[LEVEL] == 0 and at[_BEAT] != at[_LAST] and not _is_wanted(u.match, c, at[_BEAT]):
                at[_BEAT] += 1
                s.at[_SKIPPED] += 1
                return
            put(beats, 0, at[_BEAT])
            put(beats, 1, int(at[_BEAT] == at[_LAST]))
            push(beats)
            if at[_BEAT] == at[_LAST]:
                at[_MOVES] = 0
                at[_AHEAD] -= 1
            at[_BEAT] += 1
    elif can_pop(loaded):
        at[_MOVES] = 1
        at[_BEAT] = front(loaded, 1) // sector * sector
        at[_LAST] = front(loaded, 2) // sector * sector + sector - 1
        pop(loaded)


@njit_in_place
def _answer(request: Ring, answer: Ring, stalled: bool) -> None:
    if can_pop(request) and not stalled:
        pop(request)
        push(answer)


@njit_in_place
def _gate(u: Units, s: StandIns, now: int) -> None:
    """Shut the rings whose pattern stalls."""
    phase = now % PATTERN
    u.rings.at[_OPENED, OPEN] = not s.stalls[_OPENED_STALLS, phase]
    u.rings.at[_PLACED, OPEN] = not s.stalls[_PLACED_STALLS, phase]
    u.rings.at[_CLOSE, OPEN] = not s.stalls[_CLOSE_STALLS, phase]
    u.rings.at[_HEADS, OPEN] = not s.stalls[_HEADS_STALLS, phase]
    u.rings.at[_HOT, OPEN] = not s.stalls[_READS_STALLS, phase]
    for c in range(len(u.loaded.at)):
        u.loaded.at[c, OPEN] = not s.stalls[_LOADED_STALLS, (now + 16 * c) % PATTERN]
    for c in range(len(u.matches.at)):
        u.matches.at[c, OPEN] = not s.stalls[_MATCHES_STALLS, (now + 16 * c) % PATTERN]


@njit_in_place
def _sum_1(a: NDArray[np.int64]) -> int:
    total = 0
    for i in range(len(a)):
        total = total * 31 + a[i]
    return total


@njit_in_place
def _sum_2(a: NDArray[np.int64]) -> int:
    total = 0
    for i in range(len(a)):
        total = total * 37 + _sum_1(a[i])
    return total


@njit_in_place
def _digest(u: Units) -> int:
    """Sum up all that units remember and hand over."""
    c, total = u.coalesce, 0
    for row in (c.at, c.one, c.two, c.free, c.heads, c.opened.at, c.heads_out.at, u.load.at, u.load.begun, u.load.twins,
                u.load.closed.at, u.translate.words.at, u.hot.at, u.collect.at, u.collect.phase):  # fmt: skip
        total = total * 41 + _sum_1(row)
    for table in (c.table, c.links, u.match.at, u.rings.at, u.loaded.at, u.beats.at, u.matches.at, u.requests.at,
                  u.answers.at, u.translate.words.keys, u.hot.keys):  # fmt: skip
        total = total * 43 + _sum_2(table)
    return total


@njit_in_place
def _step_unit(unit: int, u: Units, retired: int, now: int) -> bool:
    channels = len(u.loaded.at)
    if unit == channels:
        return step_load(
            u.load, u.coalesce.links, u.match, ring_of(u.rings, _READY), ring_of(u.rings, _CLOSE),
            ring_of(u.rings, _HEADS), u.loaded, ring_of(u.rings, _HOT), now,
        )  # fmt: skip
    if unit == channels + 1:
        matches = ring_of(u.matches, channels)
        return step_hot(u.hot, ring_of(u.rings, _HOT), ring_of(u.requests, 1), ring_of(u.answers, 1), matches)
    if unit == channels + 2:
        opened, placed = ring_of(u.rings, _OPENED), ring_of(u.rings, _PLACED)
        return step_translate(u.translate, opened, ring_of(u.requests, 0), ring_of(u.answers, 0), placed)
    if unit == channels + 3:
        return step_coalesce(
            u.coalesce, ring_of(u.rings, _SAMPLES), ring_of(u.rings, _CLOSE), ring_of(u.rings, _OPENED),
            ring_of(u.rings, _HEADS), retired,
        )  # fmt: skip
    if unit == channels + 4:
        return step_collect(u.collect, u.load.twins, u.matches, now)
    return step_match(u.match, unit, ring_of(u.beats, unit), ring_of(u.matches, unit), now)


@njit_in_place
def _step_units(u: Units, s: StandIns, retired: int, now: int, backwards: bool) -> None:
    """Step all units, in an order or the other; backwards, note who says that nothing moved though something did."""
    count = len(u.loaded.at) + 5
    for i in range(count):
        before = _digest(u) if backwards else 0
        moved = _step_unit(count - 1 - i if backwards else i, u, retired, now)
        if backwards and not moved and _digest(u) != before:
            s.at[_FALSE] += 1


@njit_in_place
def _play(u: Units, s: StandIns, source: Source, seen: Seen, stalled: NDArray[np.bool_],
          units: int, sector: int, backwards: bool, skips: bool, drained: NDArray[np.int64],
          most: int) -> int:  # fmt: skip
    channels, slots = len(u.loaded.at), len(u.collect.phase)
    for now in range(most):
        _gate(u, s, now)
        offer(source, ring_of(u.rings, _SAMPLES), now)
        offers = s.at[_FRESH] and s.at[_SEES] == 1 - s.at[_NUMBER] // slots % 2
        retired = int(offers and not stalled[now % len(stalled)])
        sees = phase_read(u.collect, s.at[_NUMBER] % slots, now)
        placed, ready = ring_of(u.rings, _PLACED), ring_of(u.rings, _READY)
        s.at[_OFFERED] = min(s.at[_OFFERED], 1)
        offered = s.at[_OFFERED]
        _choose(s, placed, channels, units, now)
        if offered and can_push(ready):
            for field in range(5):
                put(ready, field, s.at[_TOLD + field])
            push(ready)
            s.at[_OFFERED] = 0
        picks_flash = s.at[_OFFERED] == 2 and s.at[_TOLD + 3] < channels
        tell_drained(u.match, drained)
        for c in range(channels):
            _move(u, s, c, sector, skips and drained[c] != 0, now)
        if picks_flash:
            s.channels[s.at[_TOLD + 3], _AHEAD] += 1
        _answer(ring_of(u.requests, 0), ring_of(u.answers, 0), s.stalls[_MAP, now % PATTERN])
        _answer(ring_of(u.requests, 1), ring_of(u.answers, 1), s.stalls[_HOT_STALLS, now % PATTERN])
        counted = u.collect.at[3]
        if counted != s.at[_COUNTED]:
            seen.rows[WRITTEN, seen.count[WRITTEN], 0] = s.at[_COUNTED]
            seen.rows[WRITTEN, seen.count[WRITTEN], MOST_FIELDS] = now
            seen.count[WRITTEN] += 1
        s.at[_COUNTED] = counted
        _step_units(u, s, retired, now, backwards)
        _see(seen, OPENED, ring_of(u.rings, _OPENED), now)
        _see(seen, PLACED, placed, now)
        _see(seen, READY, ready, now)
        _see(seen, CLOSE, ring_of(u.rings, _CLOSE), now)
        for c in range(channels):
            _see(seen, LOADED, ring_of(u.loaded, c), now)
        s.at[_SEES] = sees
        s.at[_FRESH] = 1 - retired
        if retired:
            seen.taken[s.at[_NUMBER]] = now
            s.at[_NUMBER] += 1
            if s.at[_NUMBER] == len(seen.taken):
                return now + 1
        commit_all(u.rings)
        commit_all(u.loaded)
        commit_all(u.beats)
        commit_all(u.matches)
        commit_all(u.requests)
        commit_all(u.answers)
    return -1


@njit
def play(u: Units, s: StandIns, source: Source, seen: Seen, stalled: NDArray[np.bool_],
         units: int, sector: int, backwards: bool, skips: bool, drained: NDArray[np.int64],
         most: int) -> int:  # fmt: skip
    """Run until all ids are taken; return the cycles, or -1 if that never happens."""
    return _play(u, s, source, seen, stalled, units, sector, backwards, skips, drained, most)


@dataclass(frozen=True, kw_only=True)
class Played:
    """What the model says.

    Attributes
    ----------
    cycles : int
        Up to the last id; -1 if it never came.
    samples, ids : ndarray of int64, shape [samples]
        Cycles of their handovers.
    seen : dict of str to ndarray of int64, shape [rows, fields + 1]
        Rows of `WATCHED`, with the cycle in the last column.
    counts : dict of str to int
        As the outputs of the bench.
    skipped : int
        Beats that were left out.
    untrue : int
        How often a unit's step said that nothing moved though something did; found out only backwards.
    """

    cycles: int
    samples: NDArray[np.int64]
    ids: NDArray[np.int64]
    seen: dict[str, NDArray[np.int64]]
    counts: dict[str, int]
    skipped: int
    untrue: int


def play_model(
    config: SsdConfig,
    samples: NDArray[np.int64],
    entries: NDArray[np.int64],
    patterns: dict[str, int],
    samples_stalled: NDArray[np.bool_],
    ids_stalled: NDArray[np.bool_],
    *,
    backwards: bool = False,
    skips: bool = False,
) -> Played:
    """Play the model of the bench.

    Parameters
    ----------
    config : SsdConfig
        The engine.
    samples : ndarray of int64, shape [n, 2]
        Page and beat of each.
    entries : ndarray of int64, shape [pages]
        The page map.
    patterns : dict of str to int
        ``stalls_<name>`` for each of `STALLED`, as the bench has them.
    samples_stalled, ids_stalled : ndarray of bool, shape [period]
        Stall patterns of the ends.
    backwards : bool
        Step the units in another order, which must change nothing.
    skips : bool
        Leave out beats that nobody wants, where `tell_drained` allows it, which must change nothing either.

    Returns
    -------
    Played
        All that is compared.
    """
    flash, n = config.flash, len(samples)
    u = Units(
        coalesce=make_coalesce(config),
        translate=make_translate(config, entries),
        load=make_load(config),
        match=make_match(config),
        hot=make_hot(config),
        collect=make_collect(config),
        rings=make_rings(7, 2, MOST_FIELDS),
        loaded=make_rings(flash.channels, 2, 3),
        beats=make_rings(flash.channels, 2, 2),
        matches=make_rings(flash.channels + 1, 2, 1),
        requests=make_rings(2, REQUESTS_WAITING, 1),
        answers=make_rings(2, 2, 1),
    )
    bits = [[patterns[f"stalls_{where}"] >> i & 1 for i in range(PATTERN)] for where in STALLED]
    s = StandIns(
        pages=np.zeros((config.page_slots, 4), np.int64),
        channels=np.zeros((flash.channels, 4), np.int64),
        at=np.zeros(12, np.int64),
        stalls=np.array(bits, np.bool_),
    )
    seen = Seen(
        np.zeros((len(WATCHED), n, MOST_FIELDS + 1), np.int64), np.zeros(len(WATCHED), np.int64), np.full(n, -1)
    )
    source = make_source(samples, samples_stalled)
    drained = np.zeros(flash.channels, np.int64)
    cycles = play(
        u, s, source, seen, ids_stalled, flash.units, flash.sector_beats, backwards, skips, drained, 20_000 + 400 * n
    )
    rows = {
        name: seen.rows[i, : seen.count[i]][:, [*range(len(FIELDS[i])), MOST_FIELDS]] for i, name in enumerate(WATCHED)
    }
    counts = {"count_samples": int(u.coalesce.at[7]), "count_opened": int(u.coalesce.at[8])}
    counts["count_ids"] = int(u.collect.at[3])
    return Played(
        cycles=cycles, samples=source.taken, ids=seen.taken, seen=rows, counts=counts,
        skipped=int(s.at[_SKIPPED]), untrue=int(s.at[_FALSE]),
    )  # fmt: skip
