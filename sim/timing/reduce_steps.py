"""The reduce unit's timing, one step at a time: each step says when something happens, given when it was offered.

A step needs to know only what its docstring names; offers that come later change nothing. So the same steps serve a
driver whose offers follow from stall patterns (`sim.timing.reduce`) and one that learns of them while it goes.

For each shard, in order: `accept`, `enter`, then `issue_edge` for each edge and `give_up` for each source left over,
then `leave`; `load_vector` for each vector in between; after `leave` the partial sums, then `end_drain` and `report`.
The steps of a stage keep the order of the shards; between the stages:

* `accept` of a shard follows `enter` of the one before and the last `load_vector` of the one before;
* `load_vector` may come when `can_load` says so: after `accept`, and after the release of the vector two before;
* `enter` follows `accept`, and `leave` of the shard before;
* `issue_edge` and `give_up` may come when `front_known` says so: the front vector was loaded, or none is due;
* `leave` follows `report` of the shard before.

Cycle 0 is the first clock edge after reset.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sim.config import NmeConfig
from sim.jit import njit_in_place
from sim.program.counters import REDUCE_COUNTERS
from sim.timing.streams import next_free

(BUSY, WAIT_EDGE, WAIT_VECTOR, WAIT_HAZARD, WAIT_DRAIN, FLUSH, DRAIN, WAIT_PARTIALS, WAIT_STATUS, IDLE) = range(
    len(REDUCE_COUNTERS)
)

# Fields of `ReduceState.load`, the shard whose command was accepted last.
ACCEPTED, MOVED, LAST_BEAT, LOADS_LEFT, LOADED, LOAD_BEATS, LOAD_SOURCES, LOAD_EDGES, LOAD_DESTINATIONS = range(9)
# Fields of `ReduceState.run`, the shard that entered last.
ENTERED, AT, LAST_ISSUE, EDGES_LEFT, SOURCES_LEFT, RELEASED, RUN_BEATS, RUN_DESTINATIONS, N_TOUCHED, SHARD = range(10)
# Fields of `ReduceState.drain`, the shard that left the run stage last.
LEFT, FIRST_READ, N_PARTIALS, FIRST_PARTIAL, DRAINED, REPORTED = range(6)

_LONG_AGO = -(1 << 62)


class ReduceState(NamedTuple):
    """All that a reduce unit remembers; the steps change it in place.

    Attributes
    ----------
    load : ndarray of int64, shape [9]
        ``ACCEPTED`` cycle of the command, ``MOVED`` cycle in which it left for the run stage, ``LAST_BEAT`` cycle of
        the last beat loaded, ``LOADS_LEFT`` vectors still to load, ``LOADED`` vectors loaded since reset, and the
        command's ``LOAD_BEATS``, ``LOAD_SOURCES``, ``LOAD_EDGES``, ``LOAD_DESTINATIONS``.
    run : ndarray of int64, shape [10]
        ``ENTERED`` first cycle in the run stage, ``AT`` last cycle in which the shard did something (the cycle before
        ``ENTERED`` at first), ``LAST_ISSUE`` cycle of the last addition, ``EDGES_LEFT``, ``SOURCES_LEFT``,
        ``RELEASED`` vectors released since reset, ``RUN_BEATS``, ``RUN_DESTINATIONS``, ``N_TOUCHED`` slots touched,
        ``SHARD`` shards entered since reset.
    drain : ndarray of int64, shape [6]
        ``LEFT`` cycle in which the shard left the run stage, ``FIRST_READ`` cycle before its first partial sum is
        offered, ``N_PARTIALS`` beats of partial sums, ``FIRST_PARTIAL`` index of the first in `partials`, ``DRAINED``
        cycle of the last (of ``FIRST_READ`` if there is none), ``REPORTED`` cycle of the status.
    whole : ndarray of int64, shape [2]
        Cycle from which each bank of the vector buffer holds a whole vector; vector i of all is in bank i % 2.
    bank_free : ndarray of int64, shape [2]
        Cycle from which each bank can load.
    issued_at : ndarray of int64, shape [2 * interval * max_beats]
        Cycle of the last addition to each place, by output bank, slot, beat.
    touched_by : ndarray of int64, shape [interval]
        ``SHARD`` of the last shard that touched each slot.
    partials : ndarray of int64, shape [room]
        Cycle of the handover of each beat of partial sums since reset, written by the caller.
    counters : ndarray of int64, shape [len(REDUCE_COUNTERS)]
        Cycles by the numbers of this module (`BUSY` ..); complete after `finish`.
    sizes : ndarray of int64, shape [4]
        ``interval``, ``max_beats``, ``pipeline_cycles``, ``hazard_cycles``.
    """

    load: NDArray[np.int64]
    run: NDArray[np.int64]
    drain: NDArray[np.int64]
    whole: NDArray[np.int64]
    bank_free: NDArray[np.int64]
    issued_at: NDArray[np.int64]
    touched_by: NDArray[np.int64]
    partials: NDArray[np.int64]
    counters: NDArray[np.int64]
    sizes: NDArray[np.int64]

    @classmethod
    def after_reset(cls, config: NmeConfig, partials_room: int) -> "ReduceState":
        """Make the state of a unit in cycle 0.

        Parameters
        ----------
        config : NmeConfig
            The engine.
        partials_room : int
            Beats of partial sums that there may be in all.

        Returns
        -------
        ReduceState
            The state.
        """
        load, run, drain = np.zeros(9, np.int64), np.zeros(10, np.int64), np.zeros(6, np.int64)
        load[[ACCEPTED, MOVED, LAST_BEAT]] = -1
        drain[[LEFT, FIRST_READ, DRAINED, REPORTED]] = -1
        return cls(
            load,
            run,
            drain,
            np.zeros(2, np.int64),
            np.zeros(2, np.int64),
            np.full(2 * config.interval * config.max_beats, -config.hazard_cycles, np.int64),
            np.zeros(config.interval, np.int64),
            np.zeros(partials_room, np.int64),
            np.zeros(len(REDUCE_COUNTERS), np.int64),
            np.array([config.interval, config.max_beats, config.pipeline_cycles, config.hazard_cycles]),
        )


@njit_in_place
def accept(
    state: ReduceState, offer: int, beats: int, sources: int, edges: int, destinations: int, refused: bool
) -> int:
    """Accept a command.

    Parameters
    ----------
    state : ReduceState
        The unit; the shard before has entered the run stage and all its vectors are loaded.
    offer : int
        Cycle from which the command is offered.
    beats, sources, edges, destinations : int
        Its fields.
    refused : bool
        It is refused: neither vectors nor edges follow.

    Returns
    -------
    int
        Cycle of the handover.
    """
    load = state.load
    at = max(offer, load[MOVED] + 1, load[LAST_BEAT])
    load[ACCEPTED] = at
    load[LOAD_BEATS], load[LOAD_DESTINATIONS] = beats, destinations
    load[LOAD_SOURCES] = 0 if refused else sources
    load[LOAD_EDGES] = 0 if refused else edges
    load[LOADS_LEFT] = load[LOAD_SOURCES]
    return int(at)


@njit_in_place
def can_load(state: ReduceState) -> bool:
    """Tell whether `load_vector` may come next.

    Parameters
    ----------
    state : ReduceState
        The unit.

    Returns
    -------
    bool
        The accepted shard has a vector to load, and the vector two before is released.
    """
    return bool(state.load[LOADS_LEFT] > 0 and state.load[LOADED] - state.run[RELEASED] < 2)


@njit_in_place
def load_vector(
    state: ReduceState, offer: int, waits: NDArray[np.int64], taken_at: NDArray[np.int64], first: int
) -> int:
    """Load the next vector of the shard accepted last.

    Parameters
    ----------
    state : ReduceState
        The unit; `can_load`.
    offer : int
        Cycle from which the vector's first beat is offered.
    waits : ndarray of int64, shape [period]
        Pattern that the offers of its other beats follow (`waits_of`); zeros offer each in the cycle after the one
        before was taken.
    taken_at : ndarray of int64
        Filled from index `first` on with the cycle of each beat.
    first : int
        Index of the vector's first beat.

    Returns
    -------
    int
        Cycle of its last beat.
    """
    load = state.load
    bank = load[LOADED] & 1
    at = max(offer, load[ACCEPTED] + 1, state.bank_free[bank])
    taken_at[first] = at
    for beat in range(first + 1, first + load[LOAD_BEATS]):
        at = next_free(waits, at + 1)
        taken_at[beat] = at
    state.whole[bank] = at + 1
    load[LAST_BEAT] = at
    load[LOADED] += 1
    load[LOADS_LEFT] -= 1
    return int(at)


@njit_in_place
def enter(state: ReduceState) -> int:
    """Move the shard accepted last to the run stage.

    Parameters
    ----------
    state : ReduceState
        The unit; the shard before has left the run stage.

    Returns
    -------
    int
        The first cycle in which it can issue.
    """
    load, run = state.load, state.run
    load[MOVED] = max(load[ACCEPTED] + 1, state.drain[LEFT])
    run[ENTERED] = load[MOVED] + 1
    run[AT] = load[MOVED]
    run[LAST_ISSUE] = _LONG_AGO
    run[EDGES_LEFT], run[SOURCES_LEFT] = load[LOAD_EDGES], load[LOAD_SOURCES]
    run[RUN_BEATS], run[RUN_DESTINATIONS] = load[LOAD_BEATS], load[LOAD_DESTINATIONS]
    run[N_TOUCHED] = 0
    run[SHARD] += 1
    return int(run[ENTERED])


@njit_in_place
def front_known(state: ReduceState) -> bool:
    """Tell whether what the run stage has to do next can be worked out.

    Parameters
    ----------
    state : ReduceState
        The unit.

    Returns
    -------
    bool
        The front vector has been loaded, or no source is left.
    """
    return bool(state.run[SOURCES_LEFT] == 0 or state.load[LOADED] > state.run[RELEASED])


@njit_in_place
def _release(state: ReduceState, at: int) -> None:
    run = state.run
    state.bank_free[run[RELEASED] & 1] = at + 1
    run[RELEASED] += 1
    run[SOURCES_LEFT] -= 1


@njit_in_place
def issue_edge(state: ReduceState, offer: int, slot: int, last_of_source: bool) -> int:
    """Issue all beats of the next edge, or drop it.

    Parameters
    ----------
    state : ReduceState
        The unit; an edge is left and `front_known`.
    offer : int
        Cycle from which the edge is offered.
    slot : int
        Its destination.
    last_of_source : bool
        Its mark.

    Returns
    -------
    int
        Cycle of its handover.
    """
    run, counters = state.run, state.counters
    free = run[AT] + 1
    at = max(free, offer)
    counters[WAIT_EDGE] += at - free
    orphan = run[SOURCES_LEFT] == 0
    if not orphan:
        whole = state.whole[run[RELEASED] & 1]
        counters[WAIT_VECTOR] += max(0, whole - at)
        at = max(at, whole)
    if orphan or slot >= run[RUN_DESTINATIONS]:
        counters[BUSY] += 1
    else:
        beats = run[RUN_BEATS]
        place = ((run[SHARD] & 1) * state.sizes[0] + slot) * state.sizes[1]
        due = at - 1
        for beat in range(place, place + beats):
            due = max(due + 1, state.issued_at[beat] + state.sizes[3])
            state.issued_at[beat] = due
        counters[BUSY] += beats
        counters[WAIT_HAZARD] += due + 1 - at - beats
        at = due
        run[LAST_ISSUE] = at
        if state.touched_by[slot] != run[SHARD]:
            state.touched_by[slot] = run[SHARD]
            run[N_TOUCHED] += 1
    run[AT] = at
    run[EDGES_LEFT] -= 1
    if last_of_source and not orphan:
        _release(state, at)
    return int(at)


@njit_in_place
def give_up(state: ReduceState) -> int:
    """Give up a source that no edge closed.

    Parameters
    ----------
    state : ReduceState
        The unit; no edge is left, a source is, and `front_known`.

    Returns
    -------
    int
        The cycle.
    """
    run = state.run
    at = max(run[AT] + 1, state.whole[run[RELEASED] & 1])
    state.counters[BUSY] += 1
    state.counters[WAIT_VECTOR] += at - run[AT] - 1
    run[AT] = at
    _release(state, at)
    return int(at)


@njit_in_place
def leave(state: ReduceState) -> int:
    """Hand the shard over to the drain stage.

    Its first partial sum is then offered from cycle ``drain[FIRST_READ] + 1`` on, each other one from the cycle after
    the one before was taken, ``drain[N_PARTIALS]`` in all. The caller writes their cycles to `ReduceState.partials`,
    from index ``drain[FIRST_PARTIAL]`` on.

    Parameters
    ----------
    state : ReduceState
        The unit; neither edges nor sources are left, and the shard before has reported.

    Returns
    -------
    int
        The cycle; a shard can enter the run stage in the next.
    """
    run, drain = state.run, state.drain
    _count_gap(state, run[ENTERED])
    at = max(run[AT], run[ENTERED], drain[REPORTED])
    state.counters[WAIT_DRAIN] += at - run[AT]
    drain[LEFT] = at
    drain[FIRST_READ] = max(at, run[LAST_ISSUE] + state.sizes[2]) + 1
    drain[FIRST_PARTIAL] += drain[N_PARTIALS]
    drain[N_PARTIALS] = run[N_TOUCHED] * run[RUN_BEATS]
    return int(at)


@njit_in_place
def end_drain(state: ReduceState, last: int) -> int:
    """End the drain of a shard.

    Parameters
    ----------
    state : ReduceState
        The unit.
    last : int
        Cycle in which its last partial sum was taken; ``drain[FIRST_READ]`` if it has none.

    Returns
    -------
    int
        Cycle from which the status is offered.
    """
    state.drain[DRAINED] = last
    return last + 1


@njit_in_place
def report(state: ReduceState, taken: int) -> None:
    """Note when the status was taken.

    Parameters
    ----------
    state : ReduceState
        The unit.
    taken : int
        The cycle; the next shard can leave the run stage in it.
    """
    state.drain[REPORTED] = taken


@njit_in_place
def finish(state: ReduceState, cycles: int) -> None:
    """Complete the counters.

    Parameters
    ----------
    state : ReduceState
        The unit; all its shards have reported.
    cycles : int
        Cycles since reset to account for, not before the last status.
    """
    _count_gap(state, cycles)


@njit_in_place
def _count_gap(state: ReduceState, until: int) -> None:
    """Account for the cycles before `until` in which no shard ran, by what the shard that left last did in them."""
    drain, counters = state.drain, state.counters
    start = drain[LEFT] + 1
    if until <= start:
        return
    first_read, drained, reported = drain[FIRST_READ], drain[DRAINED], drain[REPORTED]
    counters[FLUSH] += max(0, min(first_read, until) - start)
    if first_read >= start and until > first_read:
        steps = 1
        for beat in range(drain[FIRST_PARTIAL], drain[FIRST_PARTIAL] + drain[N_PARTIALS]):
            steps += state.partials[beat] < until
        counters[DRAIN] += steps
        counters[WAIT_PARTIALS] += min(drained + 1, until) - first_read - steps
    counters[WAIT_STATUS] += max(0, min(reported, until - 1) - drained)
    counters[IDLE] += max(0, until - 1 - reported)
