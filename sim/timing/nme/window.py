"""What the engines tell each other of their progress, and what the window then shows (`hdl.nme.window`)."""

import numpy as np
from numpy.typing import NDArray

from sim.jit import njit_in_place
from sim.timing.dram_steps import FAR
from sim.timing.nme import state as st
from sim.timing.nme.state import Tables, one_engine

# Places of the array that `window_shows` keeps its last answer in.
FIRST_SHUT, FROM, UNTIL, FACTS, FACTS_SEEN = range(5)


@njit_in_place
def window_shows(all_engines: Tables, bounds: NDArray[np.int64], cycle: int, shared: NDArray[np.int64]) -> None:
    """Work out what the window shows in a cycle, unless the last answer still holds.

    Parameters
    ----------
    all_engines : Tables
        The engines, one behind the other.
    bounds : ndarray of int64
        Where each begins, see `one_engine`.
    cycle : int
        The cycle; what each engine did up to the fourth before is known.
    shared : ndarray of int64, shape [5]
        Gets the first slot that may not begin in that cycle, and from when on it may be another. ``shared[FACTS]``
        counts whatever may change the answer.
    """
    if shared[FACTS] == shared[FACTS_SEEN] and shared[FROM] <= cycle < shared[UNTIL]:
        return
    shared[FACTS_SEEN] = shared[FACTS]
    shared[FROM] = cycle
    shared[FIRST_SHUT], shared[UNTIL] = FAR, FAR
    for d in range(len(all_engines.now)):
        # An engine tells its state one cycle later, and the window shows it another one later.
        value, until = _told_after(one_engine(all_engines, bounds, d), cycle - 2)
        shared[FIRST_SHUT] = min(shared[FIRST_SHUT], value)
        shared[UNTIL] = min(shared[UNTIL], until + 2)
    shared[FIRST_SHUT] += all_engines.sizes[st.Z_WINDOW_SHARDS]


@njit_in_place
def _told_after(e: Tables, y: int) -> tuple[int, int]:
    """Return what an engine tells in the cycle after `y`, and until when it does."""
    now = e.now
    n = _first(e.tickets, st.T_POPPED, now[st.FIRST_OPEN], now[st.TICKET], y)
    now[st.FIRST_OPEN] = n
    opened = e.tickets[n, st.T_PUSHED] + 1 if n < now[st.TICKET] else FAR
    if opened <= y:
        return int(e.tickets[n, st.T_SLOT]), int(e.tickets[n, st.T_POPPED] + 1)
    now[st.OPEN_DESCRIPTOR] = _first(e.descriptors, st.D_TAKEN, now[st.OPEN_DESCRIPTOR], len(e.descriptors), y)
    offered = FAR
    if now[st.OPEN_DESCRIPTOR] < len(e.descriptors):
        shard = e.descriptors[now[st.OPEN_DESCRIPTOR]]
        offered = shard[st.D_OFFERED]
        if offered <= y:
            return int(shard[st.D_SLOT]), int(min(opened, shard[st.D_TAKEN] + 1))
    c = _first(e.commands, st.C_ACCEPTED, now[st.IDLE_COMMAND], len(e.commands), y)
    now[st.IDLE_COMMAND] = c
    idle_from = e.commands[c - 1, st.C_IDLE] if c > 0 else 0
    until = min(opened, offered)
    if y < idle_from:
        # Between two shards, and before the first, it tells what it told before.
        last = e.commands[c - 2, st.C_END_TICKET] if c > 1 else 0
        run = e.commands[c - 1, st.C_RUN]
        return int(e.tickets[n - 1, st.T_SLOT] if n > last else (0 if run else st.NO_SLOT)), int(min(until, idle_from))
    accepted = e.commands[c, st.C_ACCEPTED] if c < len(e.commands) else FAR
    if y < accepted:
        return st.NO_SLOT, int(min(until, accepted))
    return 0 if e.commands[c, st.C_RUN] else st.NO_SLOT, int(min(until, accepted + 1))


@njit_in_place
def _first(rows: NDArray[np.int64], column: int, place: int, n: int, y: int) -> int:
    """Return the first of `n` rows whose rising column is `y` or more, starting to search at a place."""
    while place < n and rows[place, column] < y:
        place += 1
    while place > 0 and rows[place - 1, column] >= y:
        place -= 1
    return int(place)
