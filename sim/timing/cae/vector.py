"""Timing model of a vector unit: one job at a time, each in a few steps, equal to the RTL in every cycle."""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from sim.config import CaeConfig
from sim.program.counters import VECTOR_COUNTERS
from sim.program.instructions import VectorReduction
from sim.timing.cae.job import JobCounters, JobTiming

_ROWS = (VectorReduction.ROW_SUM, VectorReduction.ROW_MAXIMUM)


class VectorTiming(JobCounters):
    """One vector unit, job by job.

    Parameters
    ----------
    config : CaeConfig
        The engine.
    """

    def __init__(self, config: CaeConfig) -> None:
        self._config = config
        super().__init__(VECTOR_COUNTERS)

    def start(self, offered: int, instruction: Mapping[str, int]) -> JobTiming:
        """Run the next job.

        Parameters
        ----------
        offered : int
            First cycle in which the job is offered.
        instruction : mapping of str to int
            Fields of the instruction; looked at are ``rows``, ``columns`` and ``reduction``.

        Returns
        -------
        JobTiming
            When the unit took the job, read its last beat, and made its last write.
        """
        started = max(offered, self._free)
        beats = int(instruction["rows"]) * self._beats(instruction)
        pace = self._pace(instruction)
        read = started + beats + pace
        done = read + self._latency(int(instruction["reduction"]))
        self._free = done + 1
        for name, cycles in (("busy", beats), ("pace", pace), ("flush", done - read)):
            self._counts[name] += cycles
        return JobTiming(started, read, done)

    def writes(self, job: JobTiming, instruction: Mapping[str, int]) -> NDArray[np.int64]:
        """Tell when a job wrote each beat of its result.

        Parameters
        ----------
        job : JobTiming
            What `start` gave for it.
        instruction : mapping of str to int
            The same instruction.

        Returns
        -------
        ndarray of int64, shape [n_written]
            Cycles, in order.
        """
        rows, beats, reduction = int(instruction["rows"]), self._beats(instruction), int(instruction["reduction"])
        if reduction in _ROWS:
            turns = self._config.add_latency
            group, turn = np.divmod(np.arange(rows), turns)
            # The rows of a full group before take all their beats; the last beats of a group come one after the other.
            reads = (group * beats + beats - 1) * turns + turn
        elif reduction == VectorReduction.COLUMN_SUM:
            reads = np.arange(1, beats + 1) * rows - 1
        else:
            reads = np.arange(rows * beats)
        return job.started + 1 + reads + self._latency(reduction)

    def _beats(self, instruction: Mapping[str, int]) -> int:
        return -(-int(instruction["columns"]) // self._config.lanes)

    def _pace(self, instruction: Mapping[str, int]) -> int:
        """Cycles in which the rows of a last, smaller group wait for their sums."""
        if instruction["reduction"] not in _ROWS:
            return 0
        turns = self._config.add_latency
        return (self._beats(instruction) - 1) * (-int(instruction["rows"]) % turns)

    def _latency(self, reduction: int) -> int:
        """Cycles from a read to the write of what it completes."""
        config = self._config
        if reduction in _ROWS:
            return config.vector_element_cycles + config.vector_row_cycles
        if reduction == VectorReduction.COLUMN_SUM:
            return config.vector_element_cycles + config.vector_column_cycles
        return config.vector_element_cycles
