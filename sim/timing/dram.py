"""Timing model of the DRAM scheduler: each command and its cycle, equal to the RTL's.

The kernel jumps from one command to the next: between commands nothing changes but the distance to the gates, the
arrival of requests, and refreshes that fall due.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sim.config import DramConfig, DramGates
from sim.jit import njit_in_place
from sim.program.memory import DRAM_REQUEST
from sim.timing.dram_schedule import READ, WRITE, DramSchedule
from sim.timing.dram_steps import (
    DUE,
    ENTRY,
    FAR,
    LEFT,
    OWED,
    REQUEST_BURSTS,
    REQUEST_FIELDS,
    SchedulerShape,
    SchedulerState,
    insert,
    next_served,
    refresh,
    refresh_step,
    remove,
    reset_state,
    serve,
)
from sim.timing.stalls import never_stalled
from sim.timing.streams import next_free, waits_of


class Log(NamedTuple):
    """Room for the commands, for the kernel; fields as of `DramSchedule`."""

    cycle: NDArray[np.int64]
    command: NDArray[np.int8]
    served: NDArray[np.int64]
    burst: NDArray[np.int16]
    refreshed: NDArray[np.int8]

    @classmethod
    def of_length(cls, n: int) -> "Log":
        """Make room for n commands."""
        return cls(
            cycle=np.zeros(n, np.int64),
            command=np.zeros(n, np.int8),
            served=np.zeros(n, np.int64),
            burst=np.zeros(n, np.int16),
            refreshed=np.zeros(n, np.int8),
        )


def schedule_requests(
    requests: NDArray[np.uint8], config: DramConfig, stalled: NDArray[np.bool_] | None = None
) -> DramSchedule:
    """Predict what the scheduler of one channel does with a stream of requests.

    Parameters
    ----------
    requests : ndarray of uint8, shape [n, DRAM_REQUEST.bytes]
        Requests in order, each within the configuration's sizes.
    config : DramConfig
        The channel.
    stalled : ndarray of bool, optional
        Stall pattern of the requests' source; it never stalls by default.

    Returns
    -------
    DramSchedule
        Every command.
    """
    fields = DRAM_REQUEST.decode(requests)
    work = np.stack([fields[name].astype(np.int64) for name in REQUEST_FIELDS], axis=1)
    accepted = np.zeros(len(requests), np.int64)
    waits = waits_of(never_stalled() if stalled is None else stalled)
    shape = SchedulerShape.of(config)
    # Each request needs at most a precharge and an activate, and so again after each refresh that comes between.
    room = int(work[:, REQUEST_BURSTS].sum()) + 4 * len(requests) + 64
    while True:
        log = Log.of_length(room)
        used = _run(work, config.gates, shape, reset_state(config), waits, accepted, log)
        if used <= room:
            break
        room = used
    return DramSchedule(requests=fields, accepted=accepted, **{k: v[:used] for k, v in log._asdict().items()})


@njit_in_place
def _note(log: Log, place: int, t: int, command: int, served: int, detail: int) -> None:
    """Write a command down, if there is room: with its burst, or with the rank that a refresh goes to."""
    if place >= len(log.cycle):
        return
    log.cycle[place], log.command[place], log.served[place] = t, command, served
    if served < 0:
        log.refreshed[place] = detail
    elif command in (READ, WRITE):
        log.burst[place] = detail


@njit_in_place
def _run(
    work: NDArray[np.int64],
    gates: DramGates,
    shape: SchedulerShape,
    s: SchedulerState,
    waits: NDArray[np.int64],
    accepted: NDArray[np.int64],
    log: Log,
) -> int:
    n_window, n_taken, n_log, t, command_from = 0, 0, 0, 0, 0
    n_requests = len(work)
    offer = next_free(waits, 0)
    while n_taken < n_requests or n_window > 0:
        stop, earliest = FAR, FAR
        refresh_rank, refresh_command = -1, 0
        for rank in range(shape.ranks):
            if s.ranks[rank, DUE] <= t or s.ranks[rank, OWED] > 0:
                command, at = refresh_step(s, gates, shape, rank, t)
                at = max(at, command_from)
                if at < earliest:
                    earliest, refresh_rank, refresh_command = at, rank, command
            stop = min(stop, s.ranks[rank, DUE])
        refresh_at = earliest
        chosen, served_at = next_served(s, gates.four_activates, shape.groups, n_window, max(t, command_from))
        earliest = min(earliest, served_at)
        # Nothing changes before the next command, the next request, or the next refresh that falls due.
        take_at = max(offer, t) if n_taken < n_requests and n_window < shape.window else FAR
        t = min(max(earliest, t), take_at, stop)
        if t == stop:
            continue
        n_before = n_window
        if earliest <= t:
            finished = False
            served, burst = -1, 0
            if refresh_at <= t:
                command = refresh_command
                refresh(s, gates, shape, refresh_rank, command, t)
            else:
                served = s.window[chosen, ENTRY]
                burst = work[served, REQUEST_BURSTS] - s.window[chosen, LEFT]
                command = serve(s, gates, work, shape, chosen, t)
                finished = s.window[chosen, LEFT] == 0
            _note(log, n_log, t, command, served, burst if served >= 0 else refresh_rank)
            n_log += 1
            command_from = t + gates.command_to_command
            if finished:
                remove(s, n_window, chosen, shape)
                n_window -= 1
        if take_at == t and n_before < shape.window:
            insert(s, n_window, n_taken, work, shape)
            accepted[n_taken] = t
            n_window += 1
            n_taken += 1
            offer = next_free(waits, t + 1)
        t += 1
    return n_log
