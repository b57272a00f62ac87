"""Timing model of a memory's port with several users, one cycle a step."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sim.jit import njit_in_place
from sim.timing.ssd.ring import Ring, can_pop, can_push, front, pop, push, put
from sim.timing.ssd.rings import Rings, ring_of
from sim.timing.ssd.trace import FAR

LAST, WAITS, WAITING, OLDEST, UNDER_WAY = range(5)


class ShareState(NamedTuple):
    """Who asked.

    Attributes
    ----------
    order : ndarray of int64, shape [depth]
        A ring of the users whose answers are due.
    at : ndarray of int64, shape [5]
        Who had the last turn; whether a request is offered and not taken, and whose; the oldest read under way, and how
        many there are.
    """

    order: NDArray[np.int64]
    at: NDArray[np.int64]


def make_share(users: int, depth: int) -> ShareState:
    """Return the port after reset.

    Parameters
    ----------
    users : int
        Users.
    depth : int
        Reads under way at most.

    Returns
    -------
    ShareState
        The state.
    """
    at = np.zeros(5, np.int64)
    at[LAST] = users - 1
    return ShareState(np.zeros(depth, np.int64), at)


@njit_in_place
def step_share(s: ShareState, asks: Rings, request: Ring, response: Ring, answers: Rings) -> bool:
    """Let one cycle pass.

    Parameters
    ----------
    s : ShareState
        The state.
    asks : Rings
        The port's queue for each user, of depth 2; field 0 goes with the request.
    request : Ring
        Of the memory.
    response : Ring
        What the memory answers in this cycle.
    answers : Rings
        Each user's room for answers; there must be some.

    Returns
    -------
    bool
        Whether the next cycle could differ.
    """
    at, depth, users = s.at, len(s.order), len(asks.at)
    moved = False
    comes = can_pop(response)
    under_way = at[UNDER_WAY]
    if under_way < depth:
        user = at[WAITING] if at[WAITS] else -1
        if user < 0:
            i = at[LAST]
            for _ in range(users):
                i = 0 if i == users - 1 else i + 1
                if can_pop(ring_of(asks, i)):
                    user = i
                    break
        if user >= 0:
            asked = ring_of(asks, user)
            moved = at[WAITS] == 0
            at[WAITS] = 1
            at[WAITING] = user
            if can_push(request):
                put(request, 0, front(asked, 0))
                push(request)
                pop(asked)
                s.order[(at[OLDEST] + under_way) % depth] = user
                at[WAITS] = 0
                at[LAST] = user
                at[UNDER_WAY] += 1
                moved = True
    if comes:
        pop(response)
        push(ring_of(answers, s.order[at[OLDEST]]))
        at[OLDEST] = (at[OLDEST] + 1) % depth
        at[UNDER_WAY] -= 1
        moved = True
    return bool(moved)


@njit_in_place
def next_share(_s: ShareState) -> int:
    """Return the next cycle in which the port does something by itself: none, `step_share` says so beforehand."""
    return FAR
