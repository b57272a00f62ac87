"""Timing model of the transfer unit: when each request is made and each answer written."""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from sim.config import CaeConfig
from sim.jit import njit
from sim.program.counters import TRANSFER_COUNTERS
from sim.program.instructions import CaeOpcode, ElementType
from sim.timing.cae.job import JobTiming
from sim.timing.streams import next_free, waits_of

LOADS_WAITING = 4
"""LOADs that wait for answers at a time."""

ASK_CYCLES = 4
"""Cycles from the beginning of a request's way to its offer."""

REQUESTS_WAITING = ASK_CYCLES + 1
"""Requests on their way or not yet taken."""


@njit
def _ask(waits: NDArray[np.int64], begun: int, taken: NDArray[np.int64], first: int) -> tuple[int, int]:
    """Fill in when the requests from `first` on are taken; the first may begin its way after cycle `begun`.

    Return when the last began its way, and in how many cycles requests waited for the memory.
    """
    waited = 0
    for i in range(first, len(taken)):
        begun += 1
        if i >= REQUESTS_WAITING:
            begun = max(begun, taken[i - REQUESTS_WAITING] + 1)
        offered = begun + ASK_CYCLES
        if i:
            offered = max(offered, taken[i - 1] + 1)
        taken[i] = next_free(waits, offered)
        waited += taken[i] - offered
    return begun, waited


class TransferTiming:
    """The transfer unit, job by job.

    Parameters
    ----------
    config : CaeConfig
        The engine.
    stalled : ndarray of bool, shape [period]
        Cycles in which the memory takes no request.
    latency : int
        Cycles from a read's request to its response, in order, one for each.
    """

    def __init__(self, config: CaeConfig, stalled: NDArray[np.bool_], latency: int) -> None:
        self._lanes = config.lanes
        self._waits = waits_of(stalled)
        self._latency = latency
        self._free = 0  # the first cycle in which the asking takes a job
        self._answered: list[int] = []  # last responses of LOADs
        self._requests = [np.zeros(0, np.int64)]
        self._tail = np.zeros(0, np.int64)  # the last requests that count for the next
        self._count, self._waited = 0, 0
        self._asked, self._port = 0, 0  # until when requests were on their way, and in how many cycles
        self._over, self._under_way = 0, 0  # until when something was under way, and in how many cycles

    def start(self, offered: int, instruction: Mapping[str, int]) -> JobTiming:
        """Run the next job.

        Parameters
        ----------
        offered : int
            First cycle in which the job is offered.
        instruction : mapping of str to int
            Fields of the instruction.

        Returns
        -------
        JobTiming
            When the unit took the job, read its last beat of a bank (STORE), and made its last write or request.
        """
        started = max(offered, self._free)
        if len(self._answered) >= LOADS_WAITING:
            started = max(started, self._answered[-LOADS_WAITING] + 1)
        halves = 2 if instruction["operation"] == ElementType.FP32 else 1
        requests = int(instruction["rows"]) * -(-int(instruction["columns"]) // self._lanes) * halves
        if self._waits.any():
            taken = np.concatenate([self._tail, np.zeros(requests, np.int64)])
            begun, waited = _ask(self._waits, started, taken, len(self._tail))
        else:  # each is taken as it comes, and none ever waits for those before
            begun, waited = started + requests, 0
            taken = np.concatenate([self._tail, np.arange(started + 1, begun + 1) + ASK_CYCLES])
        self._free = begun
        self._requests.append(taken[len(self._tail) :])
        self._tail = taken[-REQUESTS_WAITING:].copy()
        self._count += requests
        self._waited += waited
        last = int(taken[-1])
        self._port += max(0, last - max(started, self._asked))
        self._asked = last
        if instruction["opcode"] == CaeOpcode.LOAD:
            last += self._latency
            self._answered.append(last)
        self._under_way += max(0, last - max(started, self._over))
        self._over = max(self._over, last)
        if instruction["opcode"] == CaeOpcode.LOAD:
            return JobTiming(started, begun, last + 1)
        return JobTiming(started, begun, last)

    def requests(self) -> NDArray[np.int64]:
        """Return the cycles in which all requests so far were taken."""
        return np.concatenate(self._requests)

    def counters(self, until: int) -> dict[str, int]:
        """Count the cycles before one.

        Parameters
        ----------
        until : int
            The cycle; after the last job was done.

        Returns
        -------
        dict of str to int
            Cycles by the names of `TRANSFER_COUNTERS`; `until` together.

        Raises
        ------
        ValueError
            The last job is not done by then.
        """
        if until <= self._over and self._count:
            raise ValueError(f"the counters are known from cycle {self._over + 1} on, not in {until}")
        fill = self._port - self._count - self._waited
        counts = (self._count, self._waited, fill, self._under_way - self._port, until - self._under_way)
        return dict(zip(TRANSFER_COUNTERS, counts, strict=True))
