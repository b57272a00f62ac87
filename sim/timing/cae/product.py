"""When the product engine does what for its jobs, equal to the RTL; a few steps for each slot of rows."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sim.config import CaeConfig
from sim.golden.product import goes_on, keeps
from sim.jit import njit_in_place
from sim.program.commands import MATRIX_REPORTS
from sim.program.counters import PRODUCT_COUNTERS
from sim.program.instructions import ProductKind
from sim.timing.cae.job import JobTiming

LEFT_SLOTS, RIGHT_SLOTS = 3, 2
"""Slots of the readers of activations and of weights."""
FETCH_CYCLES = 3
"""From the read of a bank until the row can be read from its slot: two in the bank, one into the slot."""

BUSY, WAIT_WEIGHTS, WAIT_ACTIVATIONS, WAIT_ACCUMULATOR, WAIT_DRAIN, FLUSH, DRAIN, WAIT_STATUS, IDLE = range(
    len(PRODUCT_COUNTERS)
)


class _State(NamedTuple):
    """What the next job must know of those before; cycles, -1 for never.

    Attributes
    ----------
    tile : ndarray of int64
        The tile before: moved into the run, last shift of weights, shadow registers free, left the run.
    drain : ndarray of int64
        The last tile with results: first read, last result handed over.
    reports : ndarray of int64, shape [MATRIX_REPORTS + 1]
        The last statuses, the latest last.
    right, left : ndarray of int64
        Readers: last read of a bank, last row taken, and when each of the last slots was given, the latest last.
    rows : ndarray of int64
        First row of each slot in the block before.
    counters : ndarray of int64
        By the names of `PRODUCT_COUNTERS`.
    """

    tile: NDArray[np.int64]
    drain: NDArray[np.int64]
    reports: NDArray[np.int64]
    right: NDArray[np.int64]
    left: NDArray[np.int64]
    rows: NDArray[np.int64]
    counters: NDArray[np.int64]


class ProductTiming:
    """Times the jobs of a product engine one after the other.

    Parameters
    ----------
    config : CaeConfig
        The engine.
    """

    def __init__(self, config: CaeConfig) -> None:
        self.config = config
        self._sizes = (config.rows, config.pipeline_cycles, config.reuse_cycles, config.swap_cycles)
        self._state = _State(
            tile=np.array([-1, -1, 0, -1], np.int64),
            drain=np.full(2, -1, np.int64),
            reports=np.full(MATRIX_REPORTS + 1, -1, np.int64),
            right=np.full(2 + RIGHT_SLOTS, -1, np.int64),
            left=np.full(2 + LEFT_SLOTS, -1, np.int64),
            rows=np.zeros(-(-config.accumulator_rows // config.rows), np.int64),
            counters=np.zeros(len(PRODUCT_COUNTERS), np.int64),
        )
        self._out = np.zeros(3, np.int64)

    def start(self, offered: int, instruction: Mapping[str, int]) -> JobTiming:
        """Time the next job.

        Parameters
        ----------
        offered : int
            First cycle in which the job is offered.
        instruction : mapping of str to int
            A PRODUCT, judged good: of `CAE_INSTRUCTION`'s fields ``operation``, ``function``, ``rows``, ``columns`` and
            ``depth``.

        Returns
        -------
        JobTiming
            Its cycles.
        """
        kind, part = instruction["operation"], instruction["function"]
        sizes = (instruction["rows"], instruction["columns"], instruction["depth"])
        _run(
            self._state,
            self._sizes,
            (offered, *(int(size) for size in sizes)),
            (kind == ProductKind.XTDY, kind == ProductKind.DYWT, bool(goes_on(part)), bool(keeps(part))),
            self._out,
        )
        return JobTiming(*self._out.tolist())

    def counters(self, until: int) -> dict[str, int]:
        """Return how many cycles before one were spent on what.

        Parameters
        ----------
        until : int
            The cycle; all jobs must be done before it.

        Returns
        -------
        dict of str to int
            By the names of `PRODUCT_COUNTERS`; they add up to `until`.

        Raises
        ------
        ValueError
            A job is not yet done then.
        """
        if until <= (last := int(self._state.reports[-1])):
            raise ValueError(f"the last job is done in cycle {last}; its cycles are not counted by cycle {until}")
        state = self._state._replace(counters=self._state.counters.copy())
        _count_gap(state, until)
        state.counters[IDLE] = until - state.counters[:IDLE].sum()
        return dict(zip(PRODUCT_COUNTERS, state.counters.tolist(), strict=True))


@njit_in_place
def _count_gap(state: Any, until: int) -> None:
    """Give each cycle before `until` in which no tile ran to what those that left before did in it."""
    start = state.tile[3] + 1
    if until <= start:
        return
    first_read, drained = state.drain
    reported, counters = state.reports[-1], state.counters
    counters[FLUSH] += max(0, min(first_read, until) - start)
    counters[DRAIN] += max(0, min(drained + 1, until) - max(first_read, start))
    counters[WAIT_STATUS] += max(0, min(reported + 1, until) - max(drained + 1, start))


@njit_in_place
def _fill(reader: Any, earliest: int, rows: int, turned: bool) -> int:
    """Read the rows of the next slot; return when its first row is offered."""
    start = max(reader[0] + 1, reader[2] + 1, earliest)
    reader[0] = start + rows - 1
    whole = reader[0] if turned else start
    return int(max(whole + FETCH_CYCLES, reader[1])) + 1


@njit_in_place
def _give(reader: Any, offered: int, taken: int, rows: int) -> None:
    """Take the rows of that slot, one a cycle from `taken` on: the slot is free once its last row was read from it."""
    reader[1] = taken + rows - 1
    for slot in range(2, len(reader) - 1):
        reader[slot] = reader[slot + 1]
    reader[-1] = offered - 1 if rows == 1 else reader[1] - 1


@njit_in_place
def _run(state: Any, sizes: Any, job: Any, kind: Any, out: NDArray[np.int64]) -> None:
    array_rows, pipeline_cycles, reuse_cycles, swap_cycles = sizes
    offered, rows, columns, depth = job
    left_turned, right_turned, continued, silent = kind
    tile, counters, reports = state.tile, state.counters, state.reports
    moved, shifted, shadow_free, left = tile
    started = max(offered, moved + 1, shifted)
    moved = max(started + 1, left)
    _count_gap(state, moved + 1)
    at = moved
    for block in range(0, depth, array_rows):
        deep = min(array_rows, depth - block)
        offer = _fill(state.right, started + 1, columns if right_turned else deep, right_turned)
        shift = max(started + 1, shadow_free, offer)
        _give(state.right, offer, shift, deep)
        shifted = shift + array_rows - 1
        ready = shifted + 1
        for group in range(-(-rows // array_rows)):
            high = min(array_rows, rows - group * array_rows)
            # The left operand's reader hears of the job a cycle later.
            offer = _fill(state.left, started + 2, deep if left_turned else high, left_turned)
            free = at + 1
            ready = max(ready, free)
            first = max(ready, offer)
            if continued or block:
                first = max(first, state.rows[group] + reuse_cycles)
            _give(state.left, offer, first, high)
            counters[BUSY] += high
            counters[WAIT_WEIGHTS] += ready - free
            no_row = max(0, offer - ready)
            counters[WAIT_ACTIVATIONS] += no_row
            counters[WAIT_ACCUMULATOR] += first - ready - no_row
            state.rows[group] = first
            at = first + high - 1
            if group == 0:
                shadow_free = first + swap_cycles
    left = max(at, reports[1] + 1 if silent else reports[-1])
    counters[WAIT_DRAIN] += left - at
    if silent:
        done = max(left, reports[-1]) + 1
    else:
        state.drain[0] = max(left, at + pipeline_cycles) + 1
        state.drain[1] = state.drain[0] + rows
        done = state.drain[1] + 1
    for c in range(MATRIX_REPORTS):
        reports[c] = reports[c + 1]
    reports[-1] = done
    tile[0], tile[1], tile[2], tile[3] = moved, shifted, shadow_free, left
    out[0], out[1], out[2] = started, max(state.right[0], state.left[0]), done
