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
from sim.timing.dram_schedule import ACTIVATE, PRECHARGE, PRECHARGE_ALL, READ, REFRESH, WRITE, DramSchedule
from sim.timing.stalls import never_stalled
from sim.timing.streams import next_free, waits_of

FAR = 1 << 60


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


REQUEST_FIELDS = ("write", "rank", "bank_group", "bank", "row", "column", "bursts")
REQUEST_WRITE, REQUEST_RANK, REQUEST_GROUP, REQUEST_BANK, REQUEST_ROW, REQUEST_COLUMN, REQUEST_BURSTS = range(7)


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
    shape = Shape(
        config.ranks_per_dimm,
        config.bank_groups,
        config.banks_per_group,
        config.window_requests,
        config.postponed_refreshes,
    )
    # Each request needs at most a precharge and an activate, and so again after each refresh that comes between.
    room = int(work[:, REQUEST_BURSTS].sum()) + 4 * len(requests) + 64
    while True:
        log = Log.of_length(room)
        used = _run(work, config.gates, shape, _reset(config), waits, accepted, log)
        if used <= room:
            break
        room = used
    return DramSchedule(requests=fields, accepted=accepted, **{k: v[:used] for k, v in log._asdict().items()})


class State(NamedTuple):
    """All that the scheduler remembers, for the kernel: a few tables, since each array handed on costs time.

    Attributes
    ----------
    banks : ndarray of int64, shape [banks of all ranks, 5]
        Open row (-1: closed), the cycles from which it may be activated, precharged, read or written, and how many
        requests wait for it.
    groups : ndarray of int64, shape [bank groups of all ranks, 3]
        Cycles from which its banks may be activated, read, written, as other banks see to.
    ranks : ndarray of int64, shape [ranks, 9]
        The last four activates and which of them is the oldest, refreshes owed, when the next falls due, whether the
        rank is being refreshed, and how many requests wait for it.
    window : ndarray of int64, shape [window, 8]
        Oldest first: the request, its bank and bank group, the bursts left, whether it is the oldest of its bank, which
        alone may be served, its row and whether it writes, the command it needs, and from which cycle on it can have
        it.
    """

    banks: NDArray[np.int64]
    groups: NDArray[np.int64]
    ranks: NDArray[np.int64]
    window: NDArray[np.int64]


ROW, ACTIVATE_FROM, PRECHARGE_FROM, COLUMN_FROM, BANK_WAITING = range(5)
GROUP_ACTIVATE_FROM, GROUP_READ_FROM, GROUP_WRITE_FROM = range(3)
OLDEST_ACTIVATE, OWED, DUE, REFRESHING, RANK_WAITING = range(4, 9)
ENTRY, BANK, GROUP, LEFT, HEAD, WANTED_ROW, IS_WRITE, KIND = range(8)


class Shape(NamedTuple):
    """Sizes of the channel and of the scheduler, for the kernel."""

    ranks: int
    groups: int
    banks: int
    window: int
    postponed: int


def _reset(config: DramConfig) -> State:
    n_ranks, n_groups, gates = config.ranks_per_dimm, config.ranks_per_dimm * config.bank_groups, config.gates
    state = State(
        banks=np.zeros((n_groups * config.banks_per_group, 5), np.int64),
        groups=np.zeros((n_groups, 3), np.int64),
        ranks=np.zeros((n_ranks, 9), np.int64),
        window=np.zeros((config.window_requests, 8), np.int64),
    )
    state.banks[:, ROW] = -1
    state.ranks[:, :4] = -gates.four_activates
    state.ranks[:, DUE] = gates.refresh_interval + np.arange(n_ranks) * gates.refresh_interval // n_ranks
    return state


@njit_in_place
def _refresh_step(s: State, gates: DramGates, shape: Shape, rank: int, t: int) -> tuple[int, int]:
    """Return the next refresh command of a rank and its earliest cycle; none (0) while it is not being refreshed."""
    while s.ranks[rank, DUE] <= t:
        s.ranks[rank, OWED] += 1
        s.ranks[rank, DUE] += gates.refresh_interval
    if s.ranks[rank, OWED] > shape.postponed or (s.ranks[rank, OWED] > 0 and s.ranks[rank, RANK_WAITING] == 0):
        s.ranks[rank, REFRESHING] = 1
    if s.ranks[rank, REFRESHING] == 0:
        return 0, FAR
    any_open = False
    precharge_from, refresh_from = t, t
    n = shape.groups * shape.banks
    for b in range(rank * n, (rank + 1) * n):
        refresh_from = max(refresh_from, s.banks[b, ACTIVATE_FROM])
        if s.banks[b, ROW] >= 0:
            any_open = True
            precharge_from = max(precharge_from, s.banks[b, PRECHARGE_FROM])
    if any_open:
        return PRECHARGE_ALL, precharge_from
    return REFRESH, refresh_from


@njit_in_place
def _next(s: State, four_activates: int, groups: int, n_window: int, t: int) -> tuple[int, int]:
    """Return the request to serve next (-1 for none), and when.

    The earliest; of these reads and writes before activates before precharges; of these the oldest. Only the oldest
    request of each bank counts.
    """
    banks, group_gates, ranks, window = s.banks, s.groups, s.ranks, s.window
    best, least = -1, FAR
    for i in range(n_window):
        if window[i, HEAD] == 0:
            continue
        b, g = window[i, BANK], window[i, GROUP]
        rank = g // groups
        if ranks[rank, REFRESHING]:
            continue
        if banks[b, ROW] == window[i, WANTED_ROW]:
            kind, order = READ, 0
            bus = group_gates[g, GROUP_WRITE_FROM] if window[i, IS_WRITE] else group_gates[g, GROUP_READ_FROM]
            at = max(banks[b, COLUMN_FROM], bus)
        elif banks[b, ROW] < 0:
            kind, order = ACTIVATE, 1
            four = ranks[rank, ranks[rank, OLDEST_ACTIVATE]] + four_activates
            at = max(banks[b, ACTIVATE_FROM], group_gates[g, GROUP_ACTIVATE_FROM], four)
        else:
            kind, order = PRECHARGE, 2
            at = banks[b, PRECHARGE_FROM]
        key = 4 * max(at, t) + order
        if key < least:
            best, least = i, key
            window[i, KIND] = kind
    return best, least // 4 if best >= 0 else FAR


@njit_in_place
def _column(s: State, gates: DramGates, shape: Shape, b: int, g: int, write: bool, t: int) -> None:
    """Read or write: hold back the bank's precharge, and reads and writes of all bank groups."""
    to_precharge = gates.write_to_precharge if write else gates.read_to_precharge
    s.banks[b, PRECHARGE_FROM] = max(s.banks[b, PRECHARGE_FROM], t + to_precharge)
    for other in range(shape.ranks * shape.groups):
        if other // shape.groups != g // shape.groups:
            to_read = gates.write_to_read_other if write else gates.read_to_read_other
            to_write = gates.write_to_write_other if write else gates.read_to_write_other
        elif other != g:
            to_read = gates.write_to_read_s if write else gates.read_to_read_s
            to_write = gates.write_to_write_s if write else gates.read_to_write
        else:
            to_read = gates.write_to_read_l if write else gates.read_to_read_l
            to_write = gates.write_to_write_l if write else gates.read_to_write
        s.groups[other, GROUP_READ_FROM] = max(s.groups[other, GROUP_READ_FROM], t + to_read)
        s.groups[other, GROUP_WRITE_FROM] = max(s.groups[other, GROUP_WRITE_FROM], t + to_write)


@njit_in_place
def _activate(s: State, gates: DramGates, shape: Shape, b: int, g: int, row: int, t: int) -> None:
    """Open a row."""
    s.banks[b, ROW] = row
    s.banks[b, COLUMN_FROM] = t + gates.activate_to_column
    s.banks[b, PRECHARGE_FROM] = t + gates.activate_to_precharge
    s.banks[b, ACTIVATE_FROM] = t + gates.activate_to_activate
    rank = g // shape.groups
    for other in range(rank * shape.groups, (rank + 1) * shape.groups):
        distance = gates.activate_to_activate_l if other == g else gates.activate_to_activate_s
        s.groups[other, GROUP_ACTIVATE_FROM] = max(s.groups[other, GROUP_ACTIVATE_FROM], t + distance)
    s.ranks[rank, s.ranks[rank, OLDEST_ACTIVATE]] = t
    s.ranks[rank, OLDEST_ACTIVATE] = (s.ranks[rank, OLDEST_ACTIVATE] + 1) % 4


@njit_in_place
def _refresh(s: State, gates: DramGates, shape: Shape, rank: int, command: int, t: int) -> None:
    """Close all banks of a rank, or refresh it."""
    n = shape.groups * shape.banks
    for b in range(rank * n, (rank + 1) * n):
        if command == REFRESH:
            s.banks[b, ACTIVATE_FROM] = max(s.banks[b, ACTIVATE_FROM], t + gates.refresh_to_activate)
        elif s.banks[b, ROW] >= 0:
            s.banks[b, ROW] = -1
            s.banks[b, ACTIVATE_FROM] = max(s.banks[b, ACTIVATE_FROM], t + gates.precharge_to_activate)
    if command == REFRESH:
        s.ranks[rank, OWED] -= 1
        s.ranks[rank, REFRESHING] = s.ranks[rank, OWED] > 0


@njit_in_place
def _remove(s: State, n_window: int, i: int, shape: Shape) -> None:
    """Take a finished request out of the window; the next of its bank, if there is one, may now be served."""
    b = s.window[i, BANK]
    s.banks[b, BANK_WAITING] -= 1
    s.ranks[s.window[i, GROUP] // shape.groups, RANK_WAITING] -= 1
    searching = True
    for place in range(i, n_window - 1):
        for column in range(IS_WRITE + 1):
            s.window[place, column] = s.window[place + 1, column]
        if searching and s.window[place, BANK] == b:
            s.window[place, HEAD] = 1
            searching = False


@njit_in_place
def _insert(s: State, n_window: int, request: int, work: NDArray[np.int64], shape: Shape) -> None:
    """Put a request at the end of the window."""
    g = work[request, REQUEST_RANK] * shape.groups + work[request, REQUEST_GROUP]
    b = g * shape.banks + work[request, REQUEST_BANK]
    s.window[n_window, ENTRY] = request
    s.window[n_window, WANTED_ROW], s.window[n_window, IS_WRITE] = (
        work[request, REQUEST_ROW],
        work[request, REQUEST_WRITE],
    )
    s.window[n_window, BANK] = b
    s.window[n_window, GROUP] = g
    s.window[n_window, LEFT] = work[request, REQUEST_BURSTS]
    s.window[n_window, HEAD] = s.banks[b, BANK_WAITING] == 0
    s.banks[b, BANK_WAITING] += 1
    s.ranks[work[request, REQUEST_RANK], RANK_WAITING] += 1


@njit_in_place
def _serve(s: State, gates: DramGates, work: NDArray[np.int64], shape: Shape, i: int, t: int) -> int:
    """Give the command that a request needs; return it."""
    b, g, q = s.window[i, BANK], s.window[i, GROUP], s.window[i, ENTRY]
    kind = int(s.window[i, KIND])
    if kind == ACTIVATE:
        _activate(s, gates, shape, b, g, work[q, REQUEST_ROW], t)
    elif kind == PRECHARGE:
        s.banks[b, ROW] = -1
        s.banks[b, ACTIVATE_FROM] = max(s.banks[b, ACTIVATE_FROM], t + gates.precharge_to_activate)
    else:
        _column(s, gates, shape, b, g, work[q, REQUEST_WRITE] != 0, t)
        s.window[i, LEFT] -= 1
        if work[q, REQUEST_WRITE]:
            kind = WRITE
    return kind


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
    shape: Shape,
    s: State,
    waits: NDArray[np.int64],
    accepted: NDArray[np.int64],
    log: Log,
) -> int:
    n_window, n_taken, n_log, t = 0, 0, 0, 0
    n_requests = len(work)
    offer = next_free(waits, 0)
    while n_taken < n_requests or n_window > 0:
        stop, earliest = FAR, FAR
        refresh_rank, refresh_command = -1, 0
        for rank in range(shape.ranks):
            if s.ranks[rank, DUE] <= t or s.ranks[rank, OWED] > 0:
                command, at = _refresh_step(s, gates, shape, rank, t)
                if at < earliest:
                    earliest, refresh_rank, refresh_command = at, rank, command
            stop = min(stop, s.ranks[rank, DUE])
        refresh_at = earliest
        chosen, served_at = _next(s, gates.four_activates, shape.groups, n_window, t)
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
                _refresh(s, gates, shape, refresh_rank, command, t)
            else:
                served = s.window[chosen, ENTRY]
                burst = work[served, REQUEST_BURSTS] - s.window[chosen, LEFT]
                command = _serve(s, gates, work, shape, chosen, t)
                finished = s.window[chosen, LEFT] == 0
            _note(log, n_log, t, command, served, burst if served >= 0 else refresh_rank)
            n_log += 1
            if finished:
                _remove(s, n_window, chosen, shape)
                n_window -= 1
        if take_at == t and n_before < shape.window:
            _insert(s, n_window, n_taken, work, shape)
            accepted[n_taken] = t
            n_window += 1
            n_taken += 1
            offer = next_free(waits, t + 1)
        t += 1
    return n_log
