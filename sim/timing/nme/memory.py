"""Timing model of a Near-Memory Engine's memory side: what comes next, and how the cycles are spent."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sim.config import DramGates
from sim.jit import njit_in_place
from sim.program.counters import ENGINE_COUNTERS
from sim.timing import dram_steps as dram
from sim.timing.dram_schedule import PRECHARGE, READ, WRITE
from sim.timing.dram_steps import FAR, SchedulerShape, SchedulerState
from sim.timing.nme import state as st

TRANSFER, REFRESHING, ROW, COMPUTE, WINDOW, FETCH, IDLE = range(len(ENGINE_COUNTERS))


class Memory(NamedTuple):
    """The memory of one DIMM: what its scheduler did, and how the cycles were spent.

    Attributes
    ----------
    cycle : ndarray of int64, shape [room]
        Cycle of each command.
    command : ndarray of int32, shape [room, 5]
        The fields of `DRAM_COMMAND`, without the rank.
    counters : ndarray of int64, shape [len(ENGINE_COUNTERS)]
        Cycles by the names of `ENGINE_COUNTERS`.
    done : ndarray of int64, shape [7]
        Commands given, by `DramCommand`.
    """

    cycle: NDArray[np.int64]
    command: NDArray[np.int32]
    counters: NDArray[np.int64]
    done: NDArray[np.int64]


@njit_in_place
def look_ahead(
    now: NDArray[np.int64],
    commands: NDArray[np.int64],
    s: SchedulerState,
    gates: DramGates,
    shape: SchedulerShape,
    first_shut: int,
    window_until: int,
) -> None:
    """Find the next event, and what the cycles up to it are; all as at the start of cycle ``now[NOW]``.

    Parameters
    ----------
    now, commands : ndarray of int64
        As in `Tables`.
    s, gates, shape
        The scheduler.
    first_shut, window_until : int
        The first slot that may not begin in that cycle, and from when on it may be another; both ``FAR`` where it does
        not matter (`needs_window`).
    """
    t = now[st.NOW]
    event = min(_next_command(now, s, gates, shape), _next_request(now, shape), max(t, now[st.BAD_WANTED]))
    stop = s.ranks[0, dram.DUE]
    now[st.IS_HELD] = 0
    if now[st.WANTS_FROM] >= 0:
        if now[st.BEGIN_WANTED] > t:
            event = min(event, now[st.BEGIN_WANTED])
        elif now[st.FRONT_SLOT] < first_shut:
            event = t
        if now[st.WANTS_FROM] > t:
            stop = min(stop, now[st.WANTS_FROM])
        else:
            now[st.IS_HELD] = now[st.FRONT_SLOT] >= first_shut
            stop = min(stop, window_until)
    stop = min(stop, _kind_of_cycle(now, commands, s))
    now[st.WATCHES] = 0 <= now[st.WANTS_FROM] <= t and (now[st.IS_HELD] or now[st.KIND_OF_CYCLE] >= COMPUTE)
    now[st.STOP] = stop
    now[st.NEXT] = min(event, stop) if now[st.BUSY_COMMAND] < len(commands) else FAR


@njit_in_place
def _next_command(now: NDArray[np.int64], s: SchedulerState, gates: DramGates, shape: SchedulerShape) -> int:
    t, command_from = now[st.NOW], now[st.COMMAND_FROM]
    refresh_at = FAR
    if s.ranks[0, dram.DUE] <= t or s.ranks[0, dram.OWED] > 0:
        command, at = dram.refresh_step(s, gates, shape, 0, t)
        now[st.REFRESH_COMMAND] = command
        refresh_at = max(at, command_from)
    chosen, served_at = dram.next_served(s, gates.four_activates, shape.groups, now[st.N_WINDOW], max(t, command_from))
    if refresh_at <= served_at:
        chosen, served_at = -1, refresh_at
    now[st.CHOSEN], now[st.SERVED_AT] = chosen, served_at
    return int(served_at)


@njit_in_place
def _next_request(now: NDArray[np.int64], shape: SchedulerShape) -> int:
    """Return when the next request enters the window, or the register before it."""
    t, held_from = now[st.NOW], now[st.HELD_FROM]
    if held_from == FAR:
        return int(max(t, now[st.WANTED]))
    return int(max(held_from, t)) if now[st.N_WINDOW] < shape.window else FAR


@njit_in_place
def _kind_of_cycle(now: NDArray[np.int64], commands: NDArray[np.int64], s: SchedulerState) -> int:
    """Note what the cycles are from now on; return from when on they may be something else without an event."""
    t = now[st.NOW]
    while now[st.BUSY_COMMAND] < len(commands) and commands[now[st.BUSY_COMMAND], st.C_IDLE] <= t:
        now[st.BUSY_COMMAND] += 1
    now[st.KIND_OF_CYCLE] = IDLE
    if now[st.BUSY_COMMAND] == len(commands):
        return FAR
    begins = commands[now[st.BUSY_COMMAND], st.C_ACCEPTED] + 1
    if begins > t:
        return int(begins)
    stop = commands[now[st.BUSY_COMMAND], st.C_IDLE]
    if s.ranks[0, dram.REFRESHING]:
        now[st.KIND_OF_CYCLE] = REFRESHING
    elif now[st.N_WINDOW] > 0 or now[st.HELD_FROM] < FAR:
        now[st.KIND_OF_CYCLE] = ROW
    else:
        now[st.KIND_OF_CYCLE] = WINDOW if now[st.IS_HELD] else FETCH
        if now[st.HERE] <= t < now[st.ROOM]:
            now[st.KIND_OF_CYCLE] = COMPUTE
        if now[st.HERE] > t:
            stop = min(stop, now[st.HERE])
        elif now[st.ROOM] > t:
            stop = min(stop, now[st.ROOM])
    return int(stop)


@njit_in_place
def needs_window(now: NDArray[np.int64], cycle: int) -> bool:
    """Tell whether it matters in a cycle what the window shows: a pass could begin, or nothing else is to be done."""
    if now[st.WANTS_FROM] < 0 or now[st.WANTS_FROM] > cycle:
        return False
    return bool(now[st.BEGIN_WANTED] <= cycle or (now[st.N_WINDOW] == 0 and now[st.HELD_FROM] == FAR))


@njit_in_place
def account(now: NDArray[np.int64], counters: NDArray[np.int64], until: int) -> None:
    """Count the cycles from ``now[NOW]`` to before `until`."""
    cycles = until - now[st.NOW]
    if now[st.KIND_OF_CYCLE] != IDLE:
        moving = max(0, min(now[st.MOVING], until) - now[st.NOW])
        counters[TRANSFER] += moving
        cycles -= moving
    counters[now[st.KIND_OF_CYCLE]] += cycles
    now[st.NOW] = until


@njit_in_place
def give_command(
    now: NDArray[np.int64],
    requests: NDArray[np.int64],
    memory: Memory,
    s: SchedulerState,
    gates: DramGates,
    shape: SchedulerShape,
) -> int:
    """Give the DRAM command of cycle ``now[NOW]``.

    Returns
    -------
    int
        The place in `requests` of the request that is thereby finished, -1 for none.
    """
    t, chosen = now[st.NOW], now[st.CHOSEN]
    now[st.COMMAND_FROM] = t + gates.command_to_command
    if chosen < 0:
        dram.refresh(s, gates, shape, 0, now[st.REFRESH_COMMAND], t)
        _note(now, memory, now[st.REFRESH_COMMAND], requests[0], -1)
        return -1
    place = s.window[chosen, dram.ENTRY]
    request = requests[place]
    burst = request[dram.REQUEST_BURSTS] - s.window[chosen, dram.LEFT]
    command = dram.serve(s, gates, requests, shape, chosen, t)
    _note(now, memory, command, request, burst)
    if command in (READ, WRITE):
        now[st.MOVING] = t + gates.burst
        if s.window[chosen, dram.LEFT] == 0:
            dram.remove(s, now[st.N_WINDOW], chosen, shape)
            now[st.N_WINDOW] -= 1
            return int(place)
    return -1


@njit_in_place
def _note(now: NDArray[np.int64], memory: Memory, command: int, request: NDArray[np.int64], burst: int) -> None:
    """Count a command, and write it down if there is room."""
    memory.done[command] += 1
    n = now[st.N_LOG]
    now[st.N_LOG] += 1
    if n >= len(memory.cycle):
        return
    memory.cycle[n] = now[st.NOW]
    row = memory.command[n]
    row[0] = command
    if burst >= 0:
        row[1], row[2] = request[dram.REQUEST_GROUP], request[dram.REQUEST_BANK]
        if command != PRECHARGE:
            row[3] = request[dram.REQUEST_ROW]
        if command in (READ, WRITE):
            row[4] = request[dram.REQUEST_COLUMN] + burst
