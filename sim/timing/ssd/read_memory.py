"""Timing model of a memory that is only read: each answer a fixed time after its request, one cycle a step."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sim.jit import njit_in_place
from sim.timing.ssd.ring import Ring, can_pop, pop, push
from sim.timing.ssd.trace import FAR

HEAD, LEVEL, LATENCY = range(3)


class MemoryState(NamedTuple):
    """Answers that are due.

    Attributes
    ----------
    due : ndarray of int64, shape [latency + 1]
        A ring of the cycles in which they are pushed.
    at : ndarray of int64, shape [3]
        The oldest, how many there are, and the latency.
    """

    due: NDArray[np.int64]
    at: NDArray[np.int64]


def make_memory(latency: int) -> MemoryState:
    """Make a memory that was asked nothing yet.

    Parameters
    ----------
    latency : int
        Cycles from a request to its answer, 2 or more.

    Returns
    -------
    MemoryState
        The memory.

    Raises
    ------
    ValueError
        If the latency is below 2.
    """
    if latency < 2:
        raise ValueError(f"latency is {latency}: it must be 2 or more")
    return MemoryState(np.zeros(latency + 1, np.int64), np.array([0, 0, latency], np.int64))


@njit_in_place
def step_memory(s: MemoryState, request: Ring, response: Ring, now: int) -> bool:
    """Let one cycle pass.

    A request that is pushed in cycle t is answered in cycle ``t + latency``: the ring `response` shows the answer then.

    Parameters
    ----------
    s : MemoryState
        The memory.
    request : Ring
        Requests, of depth 2; opened and shut as the memory's environment has it. The fields are not looked at.
    response : Ring
        Answers, of depth 2, which must be taken at once. The fields are not set.
    now : int
        The cycle.

    Returns
    -------
    bool
        Whether anything moved. If not, nothing does before a request comes or `next_memory`.
    """
    at, places = s.at, len(s.due)
    moved = False
    if can_pop(request):
        pop(request)
        # It was handed over in the cycle before; what is pushed now is shown in the next.
        s.due[(at[HEAD] + at[LEVEL]) % places] = now - 1 + at[LATENCY] - 1
        at[LEVEL] += 1
        moved = True
    if at[LEVEL] > 0 and s.due[at[HEAD]] <= now:
        push(response)
        at[HEAD] = (at[HEAD] + 1) % places
        at[LEVEL] -= 1
        moved = True
    return moved


@njit_in_place
def next_memory(s: MemoryState) -> int:
    """Return the cycle in which the next answer is pushed; `FAR` if none is due."""
    return int(s.due[s.at[HEAD]]) if s.at[LEVEL] > 0 else FAR
