"""Timing model of the reduce unit: the cycle of every handover on every stream, equal to the RTL's.

The rules of the unit are in `sim.timing.reduce_steps`: what each beat waits for. No state is stepped through cycle by
cycle, so the cost is that of the beats, not of the cycles. Here the offers come from stall patterns.
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
from sim.timing.reduce_steps import (
    EDGES_LEFT,
    FIRST_PARTIAL,
    FIRST_READ,
    LAST_BEAT,
    LOAD_BEATS,
    N_PARTIALS,
    SOURCES_LEFT,
    ReduceState,
    accept,
    can_load,
    end_drain,
    enter,
    finish,
    give_up,
    issue_edge,
    leave,
    load_vector,
    report,
)
from sim.timing.stalls import check_patterns, never_stalled
from sim.timing.streams import hand_over, next_free, waits_of


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
    out = Handovers(*(np.zeros(size, np.int64) for size in (n, n_vector_beats, len(work.edge_last), n)))
    patterns = Patterns(*(waits_of(getattr(stalls, name)) for name in Patterns._fields))
    state = ReduceState.after_reset(config, work.result_room)
    _run(work, patterns, state, out)
    return ReduceTiming(
        command=out.command,
        vectors=out.vectors,
        edges=out.edges,
        partials=state.partials[: state.drain[FIRST_PARTIAL] + state.drain[N_PARTIALS]],
        status=out.status,
        counters=dict(zip(REDUCE_COUNTERS, state.counters.tolist(), strict=True)),
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
        Cycles from the status of the shard before (for the first shard: from before its command) to its own status.
        Shards overlap, so this is what each adds to the total, not how long it is under way; the sum is the total.

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
    return np.diff(timing.status, prepend=timing.command[:1] - 1)


class Patterns(NamedTuple):
    """The stall patterns as `waits_of` gives them, for the kernel."""

    command: NDArray[np.int64]
    vectors: NDArray[np.int64]
    edges: NDArray[np.int64]
    partials: NDArray[np.int64]
    status: NDArray[np.int64]


class Handovers(NamedTuple):
    """What the kernel fills: cycles of all handovers but those of partial sums."""

    command: NDArray[np.int64]
    vectors: NDArray[np.int64]
    edges: NDArray[np.int64]
    status: NDArray[np.int64]


@njit_in_place
def _load(state: ReduceState, waits: NDArray[np.int64], taken_at: NDArray[np.int64], next_beat: int, last: int) -> int:
    """Load vectors as far as there is room, the beat before taken in cycle `last`; return the next beat's index."""
    while can_load(state):
        last = load_vector(state, next_free(waits, last + 1), waits, taken_at, next_beat)
        next_beat += state.load[LOAD_BEATS]
    return next_beat


@njit_in_place
def _run(work: Work, stalls: Patterns, state: ReduceState, out: Handovers) -> None:
    command_offer, edge_offer = next_free(stalls.command, 0), next_free(stalls.edges, 0)
    next_edge, next_beat = 0, 0
    for c in range(len(work.code)):
        refused = work.code[c] != 0
        out.command[c] = accept(
            state, command_offer, work.beats[c], work.sources[c], work.edges[c], work.destinations[c], refused
        )
        command_offer = next_free(stalls.command, out.command[c] + 1)
        enter(state)
        while state.run[EDGES_LEFT] > 0:
            next_beat = _load(state, stalls.vectors, out.vectors, next_beat, state.load[LAST_BEAT])
            at = issue_edge(state, edge_offer, work.edge_destination[next_edge], work.edge_last[next_edge])
            out.edges[next_edge] = at
            next_edge += 1
            edge_offer = next_free(stalls.edges, at + 1)
        while state.run[SOURCES_LEFT] > 0:
            next_beat = _load(state, stalls.vectors, out.vectors, next_beat, state.load[LAST_BEAT])
            give_up(state)
        leave(state)
        first, count = state.drain[FIRST_PARTIAL], state.drain[N_PARTIALS]
        last = hand_over(stalls.partials, state.drain[FIRST_READ], count, state.partials, first)
        out.status[c] = next_free(stalls.status, end_drain(state, last))
        report(state, out.status[c])
    if len(work.code):
        finish(state, out.status[-1] + 1)
