"""Timing model of the product unit: the cycle of every handover on every stream, equal to the RTL's."""

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sim.config import CaeConfig
from sim.golden.product import check_commands, goes_on, keeps
from sim.jit import njit_in_place
from sim.program.commands import MATRIX_COMMAND, MATRIX_REPORTS
from sim.program.counters import MATRIX_COUNTERS
from sim.timing.stalls import check_patterns, never_stalled
from sim.timing.streams import hand_over, next_free, waits_of

(
    BUSY, WAIT_WEIGHTS, WAIT_ACTIVATIONS, WAIT_ACCUMULATOR, WAIT_DRAIN,
    FLUSH, DRAIN, WAIT_RESULTS, WAIT_STATUS, IDLE,
) = range(len(MATRIX_COUNTERS))  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class ProductStalls:
    """Stall patterns of the product unit's streams, see `sim.timing.stalls`."""

    command: NDArray[np.bool_] = field(default_factory=never_stalled)
    weights: NDArray[np.bool_] = field(default_factory=never_stalled)
    activations: NDArray[np.bool_] = field(default_factory=never_stalled)
    results: NDArray[np.bool_] = field(default_factory=never_stalled)
    status: NDArray[np.bool_] = field(default_factory=never_stalled)

    def __post_init__(self) -> None:
        check_patterns(self)


@dataclass(frozen=True, kw_only=True)
class ProductTiming:
    """When what happens in a product unit; cycle 0 is the first clock edge after reset.

    Attributes
    ----------
    command, weights, activations, results, status : ndarray of int64
        Cycle of the handover of each beat of each stream.
    counters : dict of str to int
        Cycles by the names of `MATRIX_COUNTERS`, up to and with the last status.
    """

    command: NDArray[np.int64]
    weights: NDArray[np.int64]
    activations: NDArray[np.int64]
    results: NDArray[np.int64]
    status: NDArray[np.int64]
    counters: dict[str, int]

    @property
    def cycles(self) -> int:
        """From the first command's cycle to the last status' cycle, inclusive; 0 without commands."""
        return int(self.status[-1] - self.command[0]) + 1 if len(self.command) else 0


def product_timing(
    commands: NDArray[np.uint8], config: CaeConfig, stalls: ProductStalls | None = None
) -> ProductTiming:
    """Predict the cycles of a product unit.

    Parameters
    ----------
    commands : ndarray of uint8, shape [n_commands, MATRIX_COMMAND.bytes]
        Commands; the cycles do not depend on the values of weights and activations.
    config : CaeConfig
        The engine.
    stalls : ProductStalls, optional
        How the environment stalls each stream; not at all by default.

    Returns
    -------
    ProductTiming
        Every handover and every counter.
    """
    stalls = stalls or ProductStalls()
    fields = MATRIX_COMMAND.decode(commands)
    code = check_commands(fields, config)
    rows, depth = (fields[name].astype(np.int64) * (code == 0) for name in ("rows", "depth"))
    n_blocks = -(-depth // config.rows)
    command, status = np.zeros(len(code), np.int64), np.zeros(len(code), np.int64)
    weight, row = np.zeros(int(depth.sum()), np.int64), np.zeros(int((n_blocks * rows).sum()), np.int64)
    part = fields["part"].astype(np.int64)
    silent = keeps(part) | (code != 0)
    result = np.zeros(int(rows[~silent].sum()), np.int64)
    counters = np.zeros(len(MATRIX_COUNTERS), np.int64)
    _run(
        Tiles(rows, depth, goes_on(part), silent),
        tuple(waits_of(getattr(stalls, name)) for name in ProductStalls.__dataclass_fields__),
        (config.rows, config.pipeline_cycles, config.reuse_cycles, config.swap_cycles),
        (command, weight, row, result, status, counters),
    )
    counters[IDLE] = (int(status[-1]) + 1 if len(code) else 0) - counters[:IDLE].sum()
    return ProductTiming(
        command=command,
        weights=weight,
        activations=row,
        results=result,
        status=status,
        counters=dict(zip(MATRIX_COUNTERS, counters.tolist(), strict=True)),
    )


def tiles_cycles(
    rows: NDArray[np.int64], depth: NDArray[np.int64], config: CaeConfig, part: NDArray[np.int64] | None = None
) -> int:
    """Predict the cycles of tiles one after the other, nothing stalled, in a few steps for each tile.

    Parameters
    ----------
    rows, depth : ndarray of int64, shape [n_tiles]
        M and K of each tile; a command that would be refused is not expected.
    config : CaeConfig
        The engine.
    part : ndarray of int64, shape [n_tiles], optional
        `ProductPart` of each tile; whole tiles without it.

    Returns
    -------
    int
        `ProductTiming.cycles` of the same tiles.
    """
    parts = np.zeros(len(rows), np.int64) if part is None else part
    moved, shifted, shadow_free, left, last_block = -1, -1, 0, -1, 0
    reports = [-1] * MATRIX_REPORTS
    tiles = (rows.tolist(), depth.tolist(), goes_on(parts).tolist(), keeps(parts).tolist())
    for m, k, on, silent in zip(*tiles, strict=True):
        n_blocks = -(-k // config.rows)
        # What a block costs; the rows of all blocks but the first keep the same distance to those before.
        period = max(m, config.swap_cycles + config.rows, config.reuse_cycles)
        accepted = max(moved + 1, shifted)
        moved = max(accepted + 1, left)
        shifted = max(accepted + 1, shadow_free) + config.rows - 1
        first_row = max(moved, shifted) + 1
        if on:
            first_row = max(first_row, last_block + config.reuse_cycles)
        if n_blocks > 1:
            shifted = first_row + (n_blocks - 2) * period + config.swap_cycles + config.rows - 1
        last_block = first_row + (n_blocks - 1) * period
        shadow_free = last_block + config.swap_cycles
        at = last_block + m - 1
        # One tile with results waits for all reports before, a silent one only for room among them.
        left = max(at, reports[-MATRIX_REPORTS] + 1 if silent else reports[-1])
        reports.append(max(left, reports[-1]) + 1 if silent else max(left, at + config.pipeline_cycles) + m + 2)
    return reports[-1] + 1


class Tiles(NamedTuple):
    """The commands, for the kernel; refused ones have no rows and no depth, and silent ones no results."""

    rows: NDArray[np.int64]
    depth: NDArray[np.int64]
    continued: NDArray[np.bool_]
    silent: NDArray[np.bool_]


@njit_in_place
def _count_waits(counters: NDArray[np.int64], free: int, at: int, whole: int, row_offer: int) -> None:
    """Give each cycle from `free` to before `at` to the first thing that was missing in it."""
    no_weights = max(0, min(whole, at) - free)
    no_row = max(0, min(row_offer, at) - max(free, whole))
    counters[BUSY] += 1
    counters[WAIT_WEIGHTS] += no_weights
    counters[WAIT_ACTIVATIONS] += no_row
    counters[WAIT_ACCUMULATOR] += at - free - no_weights - no_row


@njit_in_place
def _count_gap(
    counters: NDArray[np.int64], drain: Any, result: NDArray[np.int64], first: int, end: int, until: int
) -> None:
    """Account for the cycles before `until` in which no tile ran, by what those that left before did in them.

    The last of them that has results has those from index `first` to before `end`; it may have left long ago.
    """
    left, first_read, drained, reported = drain
    start = left + 1
    if until <= start:
        return
    counters[FLUSH] += max(0, min(first_read, until) - start)
    draining = min(drained + 1, until) - max(first_read, start)
    if draining > 0:
        steps = int(first_read >= start)
        for beat in range(first, end):
            steps += start <= result[beat] < until
        counters[DRAIN] += steps
        counters[WAIT_RESULTS] += draining - steps
    counters[WAIT_STATUS] += max(0, min(reported + 1, until) - max(drained + 1, start))


@njit_in_place
def _run(tiles: Tiles, stalls: Any, sizes: Any, out: Any) -> None:
    command_stalls, weight_stalls, row_stalls, result_stalls, status_stalls = stalls
    array_rows, pipeline_cycles, reuse_cycles, swap_cycles = sizes
    command, weight, row, result, status, counters = out
    n_weight, n_row, n_result, first_result = 0, 0, 0, 0
    command_offer = next_free(command_stalls, 0)
    weight_offer = next_free(weight_stalls, 0)
    row_offer = next_free(row_stalls, 0)
    moved, shifted, shadow_free = -1, -1, 0
    left, first_read, drained, reported = -1, -1, -1, -1
    for c in range(len(tiles.rows)):
        # Load: the command before must have moved on, and its last weights shift in this cycle at the latest.
        accepted = max(command_offer, moved + 1, shifted)
        command[c] = accepted
        command_offer = next_free(command_stalls, accepted + 1)
        moved = max(accepted + 1, left)
        _count_gap(counters, (left, first_read, drained, reported), result, first_result, n_result, moved + 1)
        # Run: rows in order, from the cycle after the tile has moved in.
        at = moved
        first_row = n_row
        for block in range(0, tiles.depth[c], array_rows):
            # As many shifts as the array has rows; those beyond the depth need no weights.
            shifted = max(accepted + 1, shadow_free) - 1
            for k in range(block, block + array_rows):
                shifted += 1
                if k < tiles.depth[c]:
                    shifted = max(shifted, weight_offer)
                    weight[n_weight] = shifted
                    n_weight += 1
                    weight_offer = next_free(weight_stalls, shifted + 1)
            whole = shifted + 1
            for m in range(tiles.rows[c]):
                free = at + 1
                ready = whole if m == 0 else free
                at = max(free, ready, row_offer)
                if tiles.continued[c] or n_row - first_row >= tiles.rows[c]:
                    at = max(at, row[n_row - tiles.rows[c]] + reuse_cycles)
                _count_waits(counters, free, at, ready, row_offer)
                row[n_row] = at
                n_row += 1
                row_offer = next_free(row_stalls, at + 1)
                if m == 0:
                    shadow_free = at + swap_cycles
        if tiles.silent[c]:
            # Leaves when there is room for its status, which comes in its turn.
            left = max(at, moved + 1)
            if c >= MATRIX_REPORTS:
                left = max(left, status[c - MATRIX_REPORTS] + 1)
            counters[WAIT_DRAIN] += left - at
            reported = next_free(status_stalls, max(left, reported) + 1)
        else:
            # Drain: once the tile before has reported and the last sum is written.
            left = max(at, moved + 1, reported)
            counters[WAIT_DRAIN] += left - at
            first_read = max(left, at + pipeline_cycles) + 1
            first_result = n_result
            drained = hand_over(result_stalls, first_read, tiles.rows[c], result, n_result)
            n_result += tiles.rows[c]
            reported = next_free(status_stalls, drained + 1)
        status[c] = reported
    if len(tiles.rows):
        _count_gap(counters, (left, first_read, drained, reported), result, first_result, n_result, reported + 1)
