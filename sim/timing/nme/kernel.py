"""The kernel of the engines' timing model: it jumps from one event on a DIMM's memory to the next.

Events are what the memory's side does: a DRAM command, a request that enters the scheduler's window, one that is
chosen for it, a pass that begins. All else follows (`sim.timing.nme.units`).
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sim.config import DramGates
from sim.jit import njit_in_place
from sim.timing import dram_steps as dram
from sim.timing import reduce_steps as rs
from sim.timing.dram_steps import FAR, SchedulerShape, SchedulerState
from sim.timing.nme import state as st
from sim.timing.nme.fetch import ask, moved, take_record, vector_begun
from sim.timing.nme.memory import Memory, account, give_command, look_ahead, needs_window
from sim.timing.nme.reduce import Outside
from sim.timing.nme.state import Tables, one_engine
from sim.timing.nme.units import advance, push_ticket
from sim.timing.nme.window import FACTS, FIRST_SHUT, UNTIL, window_shows


class Fleet(NamedTuple):
    """All engines: their tables, with one more axis in front, or one behind the other (see `one_engine`).

    `shared` is what the window shows (`window_shows`); an engine may look at it `ahead` cycles beyond the next event of
    any other, because no event changes it sooner.
    """

    tables: Tables
    reduce: rs.ReduceState
    outside: Outside
    memory: Memory
    scheduler: SchedulerState
    bounds: NDArray[np.int64]
    shared: NDArray[np.int64]
    ahead: int


@njit_in_place
def reduce_of(fleet: Fleet, d: int) -> rs.ReduceState:
    """Return the state of one engine's reduce unit."""
    every, bounds = fleet.reduce, fleet.bounds
    return rs.ReduceState(
        every.load[d],
        every.run[d],
        every.drain[d],
        every.whole[d],
        every.bank_free[d],
        every.issued_at[d],
        every.touched_by[d],
        every.partials[bounds[st.B_PARTIALS, d] : bounds[st.B_PARTIALS, d + 1]],
        every.counters[d],
        every.sizes[d],
    )


@njit_in_place
def outside_of(fleet: Fleet, d: int) -> Outside:
    """Return what stands around one engine."""
    every, bounds = fleet.outside, fleet.bounds
    return Outside(
        every.command_waits[d],
        every.update_waits[d],
        every.partial_waits[d],
        every.status_waits[d],
        every.never,
        every.updates[bounds[st.B_UPDATE_BEATS, d] : bounds[st.B_UPDATE_BEATS, d + 1]],
        every.partials[bounds[st.B_PARTIALS, d] : bounds[st.B_PARTIALS, d + 1]],
        every.status[bounds[st.B_STATUS, d] : bounds[st.B_STATUS, d + 1]],
        every.scratch,
    )


@njit_in_place
def memory_of(fleet: Fleet, d: int) -> Memory:
    """Return what one engine's memory did."""
    every, bounds = fleet.memory, fleet.bounds
    log = bounds[st.B_LOG, d], bounds[st.B_LOG, d + 1]
    return Memory(every.cycle[log[0] : log[1]], every.command[log[0] : log[1]], every.counters[d], every.done[d])


@njit_in_place
def scheduler_of(fleet: Fleet, d: int) -> SchedulerState:
    """Return the state of one engine's DRAM scheduler."""
    every = fleet.scheduler
    return SchedulerState(every.banks[d], every.groups[d], every.ranks[d], every.window[d])


@njit_in_place
def begin(e: Tables, cycle: int) -> None:
    """Begin the next pass of the descriptor at hand, or refuse it."""
    now = e.now
    shard = e.descriptors[now[st.DESCRIPTOR]]
    if shard[st.D_CODE] == 0:
        e.passes[now[st.PASS], st.P_BEGUN] = cycle
        now[st.PASS] += 1
        now[st.PASS_OF_DESCRIPTOR] += 1
    push_ticket(e, cycle)
    now[st.WANTS_FROM] = cycle + 1
    if now[st.PASS_OF_DESCRIPTOR] == shard[st.D_PASSES]:
        shard[st.D_TAKEN] = cycle
        take_record(e, st.DESCRIPTORS, cycle)
        now[st.DESCRIPTOR] += 1
        now[st.PASS_OF_DESCRIPTOR] = 0
        now[st.WANTS_FROM] = -1


@njit_in_place
def _look(fleet: Fleet, e: Tables, s: SchedulerState, gates: DramGates, shape: SchedulerShape) -> None:
    """Find the next event of an engine; the window is worked out only where it matters."""
    now, shared = e.now, fleet.shared
    first_shut, until = FAR, FAR
    if needs_window(now, now[st.NOW]):
        window_shows(fleet.tables, fleet.bounds, now[st.NOW], shared)
        first_shut, until = shared[FIRST_SHUT], shared[UNTIL]
    look_ahead(now, e.commands, s, gates, shape, first_shut, until)


@njit_in_place
def _act(fleet: Fleet, e: Tables, r: rs.ReduceState, outside: Outside) -> bool:
    """Let the units do what they do in cycle ``now[NOW]``; return whether what the engine tells others may change."""
    now, t = e.now, e.now[st.NOW]
    told, wanted_from = now[st.COMMAND] + now[st.TICKET] + now[st.FIRST_TICKET], now[st.WANTS_FROM]
    bad, begins = now[st.BAD_WANTED] <= t, now[st.BEGIN_WANTED] <= t
    if bad:
        e.slots[st.S_WHOLE, now[st.VECTOR] % e.sizes[st.Z_VECTOR_SLOTS]] = t + 1
    if now[st.HELD_FROM] == FAR and now[st.WANTED] <= t:
        ask(e, t)
    if begins:
        window_shows(fleet.tables, fleet.bounds, t, fleet.shared)
        if now[st.FRONT_SLOT] < fleet.shared[FIRST_SHUT]:
            begin(e, t)
    if bad:
        vector_begun(e, t)
    advance(e, r, outside)
    tells = told != now[st.COMMAND] + now[st.TICKET] + now[st.FIRST_TICKET] or wanted_from != now[st.WANTS_FROM]
    fleet.shared[FACTS] += tells
    return bool(tells)


@njit_in_place
def turn(fleet: Fleet, gates: DramGates, shape: SchedulerShape, d: int, limit: int) -> None:
    """Run one engine from event to event, until it must know what others did, or others what it did.

    Parameters
    ----------
    fleet : Fleet
        All engines.
    gates, shape
        The memories.
    d : int
        The engine whose next event is the first of all.
    limit : int
        The next event of any other engine: it may run beyond, but then it must not look at the window.
    """
    e, r, outside = one_engine(fleet.tables, fleet.bounds, d), reduce_of(fleet, d), outside_of(fleet, d)
    memory, s, now = memory_of(fleet, d), scheduler_of(fleet, d), e.now
    while now[st.NEXT] < FAR:
        t = now[st.NEXT]
        if t > limit + fleet.ahead and needs_window(now, t):
            return
        account(now, memory.counters, t)
        if now[st.STOP] <= t:
            _look(fleet, e, s, gates, shape)
            continue
        n_before = now[st.N_WINDOW]
        known = False
        if now[st.SERVED_AT] == t:
            finished = give_command(now, e.requests, memory, s, gates, shape)
            if finished >= 0:
                request = e.requests[finished]
                write = request[dram.REQUEST_WRITE] != 0
                moved(e, request, t + (gates.write_to_data if write else gates.read_to_data))
                known = True
        if now[st.HELD_FROM] <= t and n_before < shape.window:
            dram.insert(s, now[st.N_WINDOW], now[st.HELD], e.requests, shape)
            now[st.N_WINDOW] += 1
            now[st.HELD_FROM] = FAR
        tells = False
        if known or _something_due(now, t):
            tells = _act(fleet, e, r, outside)
        account(now, memory.counters, t + 1)
        if t >= limit + fleet.ahead and needs_window(now, t + 1):
            now[st.STOP] = now[st.NEXT] = t + 1
            return
        _look(fleet, e, s, gates, shape)
        if tells and _others_watch(fleet, d):
            return


@njit_in_place
def _something_due(now: NDArray[np.int64], t: int) -> bool:
    asks = now[st.HELD_FROM] == FAR and now[st.WANTED] <= t
    return bool(asks or now[st.BAD_WANTED] <= t or now[st.BEGIN_WANTED] <= t)


@njit_in_place
def _others_watch(fleet: Fleet, d: int) -> bool:
    watching = False
    for other in range(len(fleet.tables.now)):
        watching = watching or (other != d and fleet.tables.now[other, st.WATCHES] != 0)
    return watching


@njit_in_place
def _show_others(fleet: Fleet, gates: DramGates, shape: SchedulerShape, d: int) -> None:
    """Let those engines that wait for the window look again."""
    every = fleet.tables.now
    for other in range(len(every)):
        if other != d and every[other, st.WATCHES] and every[other, st.NEXT] < FAR:
            e = one_engine(fleet.tables, fleet.bounds, other)
            _look(fleet, e, scheduler_of(fleet, other), gates, shape)


@njit_in_place
def run(fleet: Fleet, gates: DramGates, shape: SchedulerShape) -> None:
    """Run all engines to their ends.

    Parameters
    ----------
    fleet : Fleet
        The engines, in cycle 0.
    gates, shape
        The memories.
    """
    every = fleet.tables.now
    for d in range(len(every)):
        e = one_engine(fleet.tables, fleet.bounds, d)
        advance(e, reduce_of(fleet, d), outside_of(fleet, d))
    for d in range(len(every)):
        _look(fleet, one_engine(fleet.tables, fleet.bounds, d), scheduler_of(fleet, d), gates, shape)
    while True:
        first, limit = 0, FAR
        for d in range(1, len(every)):
            if every[d, st.NEXT] < every[first, st.NEXT]:
                limit, first = every[first, st.NEXT], d
            else:
                limit = min(limit, every[d, st.NEXT])
        if every[first, st.NEXT] == FAR:
            return
        turn(fleet, gates, shape, first, limit)
        _show_others(fleet, gates, shape, first)
