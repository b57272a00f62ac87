"""The kernel of the sampling engine's timing model: cycle after cycle, but for those in which nothing can happen."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sim.jit import njit, njit_apart, njit_in_place
from sim.timing.ssd.channels import MOVES, ChannelsState, next_channels, step_channels
from sim.timing.ssd.coalesce import CoalesceState, step_coalesce
from sim.timing.ssd.collect import CollectState, step_collect
from sim.timing.ssd.dram_words import Words
from sim.timing.ssd.draws import DrawState, skip_draws, step_draws
from sim.timing.ssd.hot import step_hot
from sim.timing.ssd.loader import LoadState, step_load
from sim.timing.ssd.matcher import MatchState, step_match, tell_drained
from sim.timing.ssd.packer import WIRE_COMPLETED, WIRE_RETIRED, PackerState, commit_frontier, step_packer
from sim.timing.ssd.queue_pair import PairState, Submitted, step_pair
from sim.timing.ssd.read_memory import MemoryState, next_memory, step_memory
from sim.timing.ssd.read_share import ShareState, step_share
from sim.timing.ssd.ring import LEVEL, NEXT, OPEN, PUSHED, Ring, Source, commit, offer
from sim.timing.ssd.rings import Rings, commit_all, ring_of
from sim.timing.ssd.targets import TargetsState, step_targets
from sim.timing.ssd.trace import FAR, Trace
from sim.timing.ssd.translate import TranslateState, step_translate

SAMPLES, CLOSE, OPENED, HEADS, PLACED, READY, HOT, JOBS, DRAWS = range(9)
"""Rings of `Engine.rings`, each two rows deep."""

PAIR_LINES, TARGET_LINES = range(2)
"""Users of the host's memory."""

TARGET_RECORDS, MAP_ENTRIES, HOT_WORDS = range(3)
"""Users of the SSD's DRAM."""

DOORBELLS, LINES, HOST_REQUESTS, DRAM_REQUESTS = range(4)
"""Columns of `Outside.stalled`; rows of `Outside.seen`, the flash's channels behind them."""


class Engine(NamedTuple):
    """States of all units, and the rings between them."""

    pair: PairState
    targets: TargetsState
    draws: DrawState
    coalesce: CoalesceState
    translate: TranslateState
    channels: ChannelsState
    load: LoadState
    match: MatchState
    hot: Words
    collect: CollectState
    packer: PackerState
    host_share: ShareState
    dram_share: ShareState
    rings: Rings
    contexts: Ring
    descriptors: Ring
    loaded: Rings
    beats: Rings
    matches: Rings
    host_asks: Rings
    host_answers: Rings
    dram_asks: Rings
    dram_answers: Rings


class Outside(NamedTuple):
    """What stands around the engine.

    Attributes
    ----------
    doorbells : Source
        Who rings.
    commands : Submitted
        The commands.
    trace : Trace
        Their targets and samples.
    host, dram : MemoryState
        The memories.
    doorbell, host_request, dram_request, host_line, dram_beat, lines : Ring
        Streams of the engine.
    stalled : ndarray of bool, shape [4 + channels, period]
        Stall patterns; that of the doorbells is the source's own.
    seen : ndarray of int64, shape [4 + channels, most]
        Cycles of the handovers; those of the flash's beats only with stalls.
    counts : ndarray of int64, shape [4 + channels]
        How many there were.
    first_cycle : int
        The first cycle in which doorbells come through.
    steady : bool
        Nothing outside stalls.
    """

    doorbells: Source
    commands: Submitted
    trace: Trace
    host: MemoryState
    dram: MemoryState
    doorbell: Ring
    host_request: Ring
    dram_request: Ring
    host_line: Ring
    dram_beat: Ring
    lines: Ring
    stalled: NDArray[np.bool_]
    seen: NDArray[np.int64]
    counts: NDArray[np.int64]
    first_cycle: int
    steady: bool


@njit_in_place
def _see(o: Outside, kind: int, ring: Ring, now: int) -> None:
    if ring.at[PUSHED]:
        if o.counts[kind] < o.seen.shape[1]:
            o.seen[kind, o.counts[kind]] = now
        o.counts[kind] += 1


@njit_in_place
def _open(o: Outside, kind: int, ring: Ring, now: int) -> None:
    ring.at[OPEN] = 0 if o.stalled[kind, now % o.stalled.shape[1]] else 1


@njit_apart
def _step_ends(
    e: Engine, o: Outside, written: NDArray[np.int64], pulses: NDArray[np.int64], wires: NDArray[np.int64], now: int
) -> bool:
    """Do one cycle of what takes commands and packs results."""
    jobs, draws = ring_of(e.rings, JOBS), ring_of(e.rings, DRAWS)
    moved = offer(o.doorbells, o.doorbell, now)
    moved |= step_packer(e.packer, e.contexts, e.descriptors, e.collect, o.lines, wires, now)
    moved |= step_pair(
        e.pair, o.doorbell, ring_of(e.host_asks, PAIR_LINES), ring_of(e.host_answers, PAIR_LINES), e.contexts, jobs,
        wires[WIRE_COMPLETED], o.commands,
    )  # fmt: skip
    moved |= step_targets(
        e.targets, jobs, draws, e.descriptors, ring_of(e.host_asks, TARGET_LINES),
        ring_of(e.host_answers, TARGET_LINES), ring_of(e.dram_asks, TARGET_RECORDS),
        ring_of(e.dram_answers, TARGET_RECORDS), written, pulses, o.trace.targets,
    )  # fmt: skip
    moved |= step_share(e.host_share, e.host_asks, o.host_request, o.host_line, e.host_answers)
    moved |= step_share(e.dram_share, e.dram_asks, o.dram_request, o.dram_beat, e.dram_answers)
    moved |= step_memory(o.host, o.host_request, o.host_line, now)
    moved |= step_memory(o.dram, o.dram_request, o.dram_beat, now)
    return bool(moved)


@njit_apart
def _step_samples(e: Engine, o: Outside, wires: NDArray[np.int64], now: int) -> bool:
    """Do one cycle of what makes samples, and of what finds their ids, but for the channels."""
    rings, channels = e.rings, len(e.loaded.at)
    samples, close, opened = ring_of(rings, SAMPLES), ring_of(rings, CLOSE), ring_of(rings, OPENED)
    heads, placed, ready, hot = (
        ring_of(rings, HEADS), ring_of(rings, PLACED), ring_of(rings, READY), ring_of(rings, HOT)
    )  # fmt: skip
    moved = step_draws(e.draws, ring_of(rings, DRAWS), samples, o.trace.samples)
    moved |= step_coalesce(e.coalesce, samples, close, opened, heads, wires[WIRE_RETIRED])
    moved |= step_translate(
        e.translate, opened, ring_of(e.dram_asks, MAP_ENTRIES), ring_of(e.dram_answers, MAP_ENTRIES), placed
    )
    for c in range(channels):
        moved |= step_match(e.match, c, ring_of(e.beats, c), ring_of(e.matches, c), now)
    moved |= step_load(e.load, e.coalesce.links, e.match, ready, close, heads, e.loaded, hot, now)
    moved |= step_hot(
        e.hot, hot, ring_of(e.dram_asks, HOT_WORDS), ring_of(e.dram_answers, HOT_WORDS), ring_of(e.matches, channels)
    )
    moved |= step_collect(e.collect, e.load.twins, e.matches, now)
    return bool(moved)


@njit_apart
def _step_channels(e: Engine, o: Outside, drained: NDArray[np.int64], now: int) -> bool:
    """Do one cycle of the channels; unless something outside stalls, beats that nobody wants are passed over."""
    if o.steady:
        tell_drained(e.match, drained)
    placed, ready = ring_of(e.rings, PLACED), ring_of(e.rings, READY)
    return bool(step_channels(e.channels, placed, ready, e.loaded, e.beats, e.match.wanted, drained, now))


@njit_in_place
def _step(
    e: Engine, o: Outside, written: NDArray[np.int64], pulses: NDArray[np.int64], wires: NDArray[np.int64],
    drained: NDArray[np.int64], now: int,
) -> bool:  # fmt: skip
    """Do one cycle of everything; return whether anything moved."""
    if not o.steady:
        _open(o, LINES, o.lines, now)
        _open(o, HOST_REQUESTS, o.host_request, now)
        _open(o, DRAM_REQUESTS, o.dram_request, now)
        for c in range(len(e.loaded.at)):
            _open(o, 4 + c, ring_of(e.beats, c), now)
    o.doorbell.at[OPEN] = int(now >= o.first_cycle)
    # The packer's wires of this cycle are seen in it; the channels ask the matchers before these are stepped.
    moved = _step_ends(e, o, written, pulses, wires, now)
    moved |= _step_channels(e, o, drained, now)
    moved |= _step_samples(e, o, wires, now)
    return moved


@njit_apart
def _commit(e: Engine, o: Outside, now: int) -> None:
    """End the cycle of all rings, and note what went out."""
    _see(o, DOORBELLS, o.doorbell, now)
    _see(o, LINES, o.lines, now)
    _see(o, HOST_REQUESTS, o.host_request, now)
    _see(o, DRAM_REQUESTS, o.dram_request, now)
    if not o.steady:
        for c in range(len(e.beats.at)):
            _see(o, 4 + c, ring_of(e.beats, c), now)
    commit_all(e.rings)
    commit_all(e.loaded)
    commit_all(e.beats)
    commit_all(e.matches)
    commit_all(e.host_asks)
    commit_all(e.host_answers)
    commit_all(e.dram_asks)
    commit_all(e.dram_answers)
    commit(e.contexts)
    commit(e.descriptors)
    commit(o.doorbell)
    commit(o.host_request)
    commit(o.dram_request)
    commit(o.host_line)
    commit(o.dram_beat)
    # What is written is never read here.
    commit(o.lines)
    o.lines.at[LEVEL] = 0


@njit
def run_engine(e: Engine, o: Outside, last_line: int) -> int:
    """Run until all doorbells are rung, so many lines written, and the pages on their way past.

    Parameters
    ----------
    e : Engine
        The engine after reset; left as it is then.
    o : Outside
        What stands around it; its cycles are filled in.
    last_line : int
        Lines to be written, at least 1.

    Returns
    -------
    int
        The cycle behind the last that was stepped; -1 if the end never comes.
    """
    written, pulses, wires = np.zeros(1, np.int64), np.zeros(2, np.int64), np.zeros(2, np.int64)
    drained = np.zeros(len(e.loaded.at), np.int64)
    now, still = 0, 0
    rings = len(o.doorbells.rows)
    while o.counts[LINES] < last_line or o.doorbells.at[NEXT] < rings or e.channels.at[:, MOVES].any():
        moved = _step(e, o, written, pulses, wires, drained, now)
        moved |= commit_frontier(e.packer, pulses, written)
        _commit(e, o, now)
        now += 1
        if moved or not o.steady:
            still = 0 if moved else still + 1
            if still > 1 << 26:
                return -1
            continue
        following = min(next_channels(e.channels), next_memory(o.host), next_memory(o.dram))
        if now <= o.first_cycle:
            following = min(following, o.first_cycle)
        if following >= FAR:
            return -1
        if following > now:
            skip_draws(e.draws, following - now)
            now = following
    return now
