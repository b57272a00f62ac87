"""The DRAM scheduler's timing, one step at a time, for kernels that have requests of their own.

A driver keeps the time: it asks what comes next (`refresh_step`, `next_served`), lets it happen (`refresh`, `serve`),
and puts requests in the window and takes them out (`insert`, `remove`).
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sim.config import DramConfig, DramGates
from sim.jit import njit_in_place
from sim.timing.dram_schedule import ACTIVATE, PRECHARGE, PRECHARGE_ALL, READ, REFRESH, WRITE

FAR = 1 << 60
"""A cycle that never comes."""

REQUEST_FIELDS = ("write", "rank", "bank_group", "bank", "row", "column", "bursts")
REQUEST_WRITE, REQUEST_RANK, REQUEST_GROUP, REQUEST_BANK, REQUEST_ROW, REQUEST_COLUMN, REQUEST_BURSTS = range(7)


class SchedulerState(NamedTuple):
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


class SchedulerShape(NamedTuple):
    """Sizes of the channel and of the scheduler, for the kernel."""

    ranks: int
    groups: int
    banks: int
    window: int
    postponed: int

    @classmethod
    def of(cls, config: DramConfig) -> "SchedulerShape":
        """Take the sizes from a configuration."""
        return cls(
            config.ranks_per_dimm,
            config.bank_groups,
            config.banks_per_group,
            config.window_requests,
            config.postponed_refreshes,
        )


def reset_state(config: DramConfig) -> SchedulerState:
    """Return what the scheduler remembers after reset."""
    n_ranks, n_groups, gates = config.ranks_per_dimm, config.ranks_per_dimm * config.bank_groups, config.gates
    state = SchedulerState(
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
def refresh_step(s: SchedulerState, gates: DramGates, shape: SchedulerShape, rank: int, t: int) -> tuple[int, int]:
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
def next_served(s: SchedulerState, four_activates: int, groups: int, n_window: int, t: int) -> tuple[int, int]:
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
def _column(s: SchedulerState, gates: DramGates, shape: SchedulerShape, b: int, g: int, write: bool, t: int) -> None:
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
def _activate(s: SchedulerState, gates: DramGates, shape: SchedulerShape, b: int, g: int, row: int, t: int) -> None:
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
def refresh(s: SchedulerState, gates: DramGates, shape: SchedulerShape, rank: int, command: int, t: int) -> None:
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
def remove(s: SchedulerState, n_window: int, i: int, shape: SchedulerShape) -> None:
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
def insert(s: SchedulerState, n_window: int, request: int, work: NDArray[np.int64], shape: SchedulerShape) -> None:
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
def serve(s: SchedulerState, gates: DramGates, work: NDArray[np.int64], shape: SchedulerShape, i: int, t: int) -> int:
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
