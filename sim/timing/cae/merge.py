"""Timing model of the merge unit: when each partial sum is taken and added."""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from sim.config import CaeConfig
from sim.jit import njit
from sim.program.counters import MERGE_COUNTERS
from sim.program.instructions import partial_beat
from sim.timing.cae.job import JobCounters, JobTiming
from sim.timing.streams import next_free, waits_of

READ_CYCLES = 2
"""Cycles from a read of a bank to its data."""

WRITE_TO_READ = 2
"""Cycles from a write of a beat to the first read that sees it."""

_INDEX, _FIRST, _LAST, _END = range(4)


@njit
def _merge_source(
    beats: NDArray[np.int64],
    waits: NDArray[np.int64],
    taken: NDArray[np.int64],
    at: int,
    shape: tuple[int, int, int, int],
    fills: bool,
    gap: int,
    issues: NDArray[np.int64],
    state: NDArray[np.int64],
) -> int:
    """Take the beats of one source from `at` on up to its end; fill in when.

    `issues` holds cycle and address of the last beats that were issued, newest first; `state` the last cycle in which
    a beat was taken or a gap was filled, the last issue, and how many beats, gaps and waits for a sum there were.
    Return the beat after the end.
    """
    rows, row_beats, address, pitch = shape
    row, beat, inside = 0, 0, False
    while True:
        offered = next_free(waits, taken[at - 1] + 1 if at else 0)
        end = beats[at, _END] == 1
        if end:
            fits = False
        elif inside:
            fits = beats[at, _FIRST] == 0 and beats[at, _INDEX] == row and beats[at, _LAST] == (beat == row_beats - 1)
        else:
            fits = beats[at, _FIRST] == 1 and row <= beats[at, _INDEX] < rows and beats[at, _LAST] == (row_beats == 1)
        is_gap = fills and (row != rows if end else fits and row != beats[at, _INDEX])
        # The step before is free in the cycle that issues what is in it.
        now = max(offered, state[0] + 1, state[1])
        state[0] = now
        if is_gap or fits:
            slot = row if is_gap else beats[at, _INDEX]
            place = address + slot * pitch + beat
            issue = now + 1
            if not fills:
                for i in range(len(issues)):
                    if issues[i, 1] == place:
                        issue = max(issue, issues[i, 0] + gap)
                        break
            for i in range(len(issues) - 1, 0, -1):
                issues[i] = issues[i - 1]
            issues[0, 0], issues[0, 1] = issue, place
            state[1] = issue
            state[3 if is_gap else 2] += 1
            state[4] += issue - now - 1
            shuts = beat == row_beats - 1
            inside = not is_gap and not shuts
            row, beat = (slot + 1, 0) if shuts else (slot, beat + 1)
        if not is_gap:
            taken[at] = now
            at += 1
            if end:
                return at


class MergeTiming(JobCounters):
    """The merge unit, job by job.

    Parameters
    ----------
    config : CaeConfig
        The engine.
    partials : sequence of ndarray of uint8, shape [n, partial_beat(lanes).bytes]
        All that comes on each port.
    stalled : sequence of ndarray of bool, shape [period]
        Cycles in which each port starts to offer none.

    Attributes
    ----------
    taken : list of int
        Beats taken from each port so far.
    """

    def __init__(
        self, config: CaeConfig, partials: Sequence[NDArray[np.uint8]], stalled: Sequence[NDArray[np.bool_]]
    ) -> None:
        self._config = config
        fields = [partial_beat(config.lanes).decode(beats) for beats in partials]
        names = ("index", "first", "last", "end")
        self._beats = [np.stack([f[name].astype(np.int64) for name in names], axis=1) for f in fields]
        self._waits = [waits_of(pattern) for pattern in stalled]
        self._cycles = [np.zeros(len(beats), np.int64) for beats in partials]
        self.taken = [0] * len(partials)
        super().__init__(MERGE_COUNTERS)

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
            When the unit took the job and ended it.

        Raises
        ------
        ValueError
            The beats of a source do not end: the engine would wait for ever.
        """
        started = max(offered, self._free)
        rows = int(instruction["rows"])
        row_beats = -(-int(instruction["columns"]) // self._config.lanes)
        shape = (rows, row_beats, int(instruction["result_address"]), int(instruction["result_pitch"]))
        depth = READ_CYCLES + self._config.add_latency
        issues = np.full((depth + WRITE_TO_READ - 1, 2), -1, np.int64)
        state = np.array([started, 0, 0, 0, 0], np.int64)
        fills = True
        for source in range(self._config.merge_sources):
            if int(instruction["depth"]) >> source & 1:
                port = self._config.merge_port(source)
                if not self._beats[port][self.taken[port] :, _END].any():
                    raise ValueError(
                        f"a MERGE takes beats of source {source}, but none with end is left on port {port}"
                    )
                self.taken[port] = _merge_source(
                    self._beats[port],
                    self._waits[port],
                    self._cycles[port],
                    self.taken[port],
                    shape,
                    fills,
                    depth + WRITE_TO_READ,
                    issues,
                    state,
                )
                fills = False
        ended, issued, summed, filled, held = state.tolist()
        done = max(ended + 1, issued + depth)
        self._free = done + 1
        flush = done - max(ended, issued)
        for name, cycles in (("busy", summed), ("fill", filled), ("wait_hazard", held), ("flush", flush)):
            self._counts[name] += cycles
        self._counts["wait_source"] += done - started - summed - filled - held - flush
        return JobTiming(started, done, done)

    def partials(self) -> list[NDArray[np.int64]]:
        """Return the cycles in which all beats so far were taken, by port."""
        return [cycles[:count] for cycles, count in zip(self._cycles, self.taken, strict=True)]
