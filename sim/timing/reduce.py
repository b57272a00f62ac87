"""Timing model of the reduce unit: the cycle of every handover on every stream, equal to the RTL's.

Each line of the kernel is one rule of the unit: what a beat waits for. No state is stepped through cycle by cycle, so
the cost is that of the beats, not of the cycles.
"""

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sim.config import NmeConfig
from sim.jit import njit_in_place
from sim.program.counters import REDUCE_COUNTERS
from sim.program.partition import Shards
from sim.program.reduce_trace import ReduceTrace, Work, decode_work, shard_work
from sim.timing.stalls import check_patterns, never_stalled
from sim.timing.streams import hand_over, next_free, waits_of

BUSY, WAIT_EDGE, WAIT_VECTOR, WAIT_HAZARD, FLUSH, DRAIN, WAIT_PARTIALS, WAIT_STATUS, IDLE = range(len(REDUCE_COUNTERS))


@dataclass(frozen=True, kw_only=True)
class ReduceStalls:
    """Stall patterns of the reduce unit's streams, see `sim.timing.stalls`."""

    command: NDArray[np.bool_] = field(default_factory=never_stalled)
    vectors: NDArray[np.bool_] = field(default_factory=never_stalled)
    edges: NDArray[np.bool_] = field(default_factory=never_stalled)
    partials: NDArray[np.bool_] = field(default_factory=never_stalled)
    status: NDArray[np.bool_] = field(default_factory=never_stalled)

    def __post_init__(self) -> None:
        check_patterns(self)


@dataclass(frozen=True, kw_only=True)
class ReduceTiming:
    """When what happens in a reduce unit; cycle 0 is the first clock edge after reset.

    Attributes
    ----------
    command, vectors, edges, partials, status : ndarray of int64
        Cycle of the handover of each beat of each stream.
    counters : dict of str to int
        Cycles by the names of `REDUCE_COUNTERS`, up to and with the last status.
    """

    command: NDArray[np.int64]
    vectors: NDArray[np.int64]
    edges: NDArray[np.int64]
    partials: NDArray[np.int64]
    status: NDArray[np.int64]
    counters: dict[str, int]

    @property
    def cycles(self) -> int:
        """From the first command's cycle to the last status' cycle, inclusive; 0 without commands."""
        return int(self.status[-1] - self.command[0]) + 1 if len(self.command) else 0


def reduce_timing(trace: ReduceTrace, config: NmeConfig, stalls: ReduceStalls | None = None) -> ReduceTiming:
    """Predict the cycles of a reduce unit.

    Parameters
    ----------
    trace : ReduceTrace
        Streams in.
    config : NmeConfig
        The engine.
    stalls : ReduceStalls, optional
        How the environment stalls each stream; not at all by default.

    Returns
    -------
    ReduceTiming
        Every handover and every counter.
    """
    return _timing(decode_work(trace, config), len(trace.vectors), config, stalls or ReduceStalls())


def _timing(work: Work, n_vector_beats: int, config: NmeConfig, stalls: ReduceStalls) -> ReduceTiming:
    n = len(work.code)
    out = Handovers(
        np.zeros(n, np.int64),
        np.zeros(n_vector_beats, np.int64),
        np.zeros(len(work.edge_last), np.int64),
        np.zeros(work.result_room, np.int64),
        np.zeros(n, np.int64),
        np.zeros(len(REDUCE_COUNTERS), np.int64),
    )
    patterns = Patterns(*(waits_of(getattr(stalls, name)) for name in Patterns._fields))
    shape = Shape(config.interval, config.max_beats, config.pipeline_cycles, config.hazard_cycles)
    scratch = Scratch(
        np.full((config.interval, config.max_beats), -config.hazard_cycles, np.int64),
        np.zeros(config.interval, np.bool_),
        Buffer(np.zeros(2, np.int64), np.zeros(2, np.int64), np.zeros(3, np.int64)),
    )
    n_partials = _run(work, patterns, shape, scratch, out)
    out.counters[IDLE] = (int(out.status[-1]) + 1 if n else 0) - out.counters[:IDLE].sum()
    return ReduceTiming(
        command=out.command,
        vectors=out.vectors,
        edges=out.edges,
        partials=out.partials[:n_partials],
        status=out.status,
        counters=dict(zip(REDUCE_COUNTERS, out.counters.tolist(), strict=True)),
    )


def shard_cycles(
    shards: Shards, order: NDArray[np.int64], beats: int, config: NmeConfig, stalls: ReduceStalls | None = None
) -> NDArray[np.int64]:
    """Predict the cycles of each of a sequence of shards, without making its streams.

    Parameters
    ----------
    shards : Shards
        The sharded graph.
    order : ndarray of int64, shape [n]
        Shards to run, in order.
    beats : int
        Beats of a source vector.
    config : NmeConfig
        The engine.
    stalls : ReduceStalls, optional
        How the environment stalls each stream; not at all by default.

    Returns
    -------
    ndarray of int64, shape [n]
        Cycles of each shard, from its command to its status, inclusive.

    Raises
    ------
    ValueError
        The shards or the vectors do not fit the engine.
    """
    if not 1 <= beats <= config.max_beats:
        raise ValueError(f"vectors of {beats} beats: the engine takes 1 to {config.max_beats}")
    if shards.interval > config.interval:
        raise ValueError(f"shards of {shards.interval} destinations: the output buffer holds {config.interval}")
    work = shard_work(shards, order, beats)
    timing = _timing(work, int(work.sources.sum()) * beats, config, stalls or ReduceStalls())
    return timing.status - timing.command + 1


class Patterns(NamedTuple):
    """The stall patterns as `waits_of` gives them, for the kernel."""

    command: NDArray[np.int64]
    vectors: NDArray[np.int64]
    edges: NDArray[np.int64]
    partials: NDArray[np.int64]
    status: NDArray[np.int64]


class Shape(NamedTuple):
    """The engine's sizes and latencies, for the kernel."""

    interval: int
    max_beats: int
    pipeline_cycles: int
    hazard_cycles: int


class Handovers(NamedTuple):
    """What the kernel fills: cycles of all handovers, and counters."""

    command: NDArray[np.int64]
    vectors: NDArray[np.int64]
    edges: NDArray[np.int64]
    partials: NDArray[np.int64]
    status: NDArray[np.int64]
    counters: NDArray[np.int64]


class Buffer(NamedTuple):
    """The double buffer of source vectors, for the kernel.

    `bank_free` is the cycle from which each bank can load, `whole` that from which it holds a whole vector; `state` is
    the number of vectors loaded for this shard, of beats taken in all, and the cycle from which the next beat is
    offered.
    """

    bank_free: NDArray[np.int64]
    whole: NDArray[np.int64]
    state: NDArray[np.int64]


class Scratch(NamedTuple):
    """What the kernel remembers: when each place was last added to, which slots were touched, and the vector buffer."""

    issued_at: NDArray[np.int64]
    touched: NDArray[np.bool_]
    buffer: Buffer


@njit_in_place
def _load(
    buffer: Buffer, used: int, sources: int, beats: int, waits: NDArray[np.int64], taken_at: NDArray[np.int64]
) -> None:
    """Load the vector at hand and the one after it, as far as the shard has them and they are not yet loaded."""
    loaded, n_taken, offer = buffer.state[0], buffer.state[1], buffer.state[2]
    while loaded < sources and loaded < used + 2:
        bank = loaded % 2
        for _ in range(beats):
            taken = max(offer, buffer.bank_free[bank])
            taken_at[n_taken] = taken
            n_taken += 1
            offer = next_free(waits, taken + 1)
            buffer.whole[bank] = taken + 1
        loaded += 1
    buffer.state[0], buffer.state[1], buffer.state[2] = loaded, n_taken, offer


@njit_in_place
def _count_waits(counters: NDArray[np.int64], free: int, at: int, edge_offer: int, whole: int) -> None:
    """Give each cycle from `free` to before `at` to the first thing that was missing in it."""
    no_edge = max(0, min(edge_offer, at) - free)
    no_vector = max(0, min(whole, at) - max(free, edge_offer))
    counters[BUSY] += 1
    counters[WAIT_EDGE] += no_edge
    counters[WAIT_VECTOR] += no_vector
    counters[WAIT_HAZARD] += at - free - no_edge - no_vector


@njit_in_place
def _run(work: Work, stalls: Patterns, shape: Shape, scratch: Scratch, out: Handovers) -> int:
    issued_at, touched, buffer = scratch
    buffer.state[2] = next_free(stalls.vectors, 0)
    command_offer, edge_offer = next_free(stalls.command, 0), next_free(stalls.edges, 0)
    next_edge, n_partials, idle_from = 0, 0, 0
    for c in range(len(work.code)):
        accepted = max(idle_from, command_offer)
        out.command[c] = accepted
        command_offer = next_free(stalls.command, accepted + 1)
        report = accepted + 1
        if work.code[c] == 0:
            beats, sources = work.beats[c], work.sources[c]
            buffer.bank_free[0], buffer.bank_free[1] = accepted + 1, accepted + 1
            buffer.state[0] = 0
            used, at, last_issue = 0, accepted, accepted - shape.pipeline_cycles
            for e in range(next_edge, next_edge + work.edges[c]):
                _load(buffer, used, sources, beats, stalls.vectors, out.vectors)
                orphan = used == sources
                v = work.edge_destination[e]
                drop = orphan or v >= work.destinations[c]
                for b in range(1 if drop else beats):
                    free = at + 1
                    whole = free if orphan or b > 0 else buffer.whole[used % 2]
                    at = max(free, edge_offer, whole)
                    if not drop:
                        at = max(at, issued_at[v, b] + shape.hazard_cycles)
                        issued_at[v, b] = at
                        last_issue = at
                        touched[v] = True
                    _count_waits(out.counters, free, at, edge_offer, whole)
                out.edges[e] = at
                edge_offer = next_free(stalls.edges, at + 1)
                if work.edge_last[e] and not orphan:
                    buffer.bank_free[used % 2] = at + 1
                    used += 1
            next_edge += work.edges[c]
            # Sources that no edge closed load all the same, and are given up, one in a cycle.
            given_up = at
            while used < sources:
                _load(buffer, used, sources, beats, stalls.vectors, out.vectors)
                given_up = max(given_up + 1, buffer.whole[used % 2])
                buffer.bank_free[used % 2] = given_up + 1
                used += 1
            flushed = max(given_up + 1, last_issue + shape.pipeline_cycles + 1)
            out.counters[FLUSH] += flushed - at
            n_drained = 0
            for v in range(work.destinations[c]):
                n_drained += beats if touched[v] else 0
                touched[v] = False
            at = hand_over(stalls.partials, flushed + 1, n_drained, out.partials, n_partials)
            n_partials += n_drained
            out.counters[DRAIN] += n_drained + 1
            out.counters[WAIT_PARTIALS] += at - flushed - 1 - n_drained
            report = at + 1
        taken = next_free(stalls.status, report)
        out.status[c] = taken
        out.counters[WAIT_STATUS] += taken - report + 1
        idle_from = taken + 1
    return n_partials
