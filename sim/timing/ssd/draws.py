"""Timing model of the sampling engine's draw unit, one cycle a step."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sim.config import SsdConfig
from sim.jit import njit_in_place
from sim.program.ssd_counters import DRAW_COUNTERS
from sim.timing.ssd.ring import Ring, can_pop, can_push, front, pop, push, put
from sim.timing.ssd.trace import FAR, S_BEAT, S_DIVIDED, S_HALF, S_PAGE, S_REJECTED

DIVIDE_CYCLES = 33
"""Cycles of a division: bits of 2^32, one a cycle."""

CREDIT_CYCLES = 2
"""Cycles from a word's leaving the generator to the next draw that may be asked for in its place."""

JOB_BEGINS_HOP, JOB_COUNT = range(2)
"""Fields of the ring of jobs."""

SAMPLE_PAGE, SAMPLE_BEAT, SAMPLE_HALF = range(3)
"""Fields of the ring of samples."""

SAMPLE_FIELDS = 3

(
    LATENCY,
    ASKED,
    OUTSTANDING,
    WORDS,
    DRAWS_UNDER_WAY,
    AGAIN_UNDER_WAY,
    KEY_UNDER_WAY,
    VALID_1,
    VALID_2,
    VALID_3,
    VALID_4,
    NEXT_2,
    NEXT_4,
    REJECTIONS,
    DIVIDES,
    WAIT,
    REDRAWING,
    REASON,
) = range(18)


class DrawState(NamedTuple):
    """The unit's registers, as far as they decide about time.

    Attributes
    ----------
    at : ndarray of int64, shape [18]
        The generator's latency; samples of the front target asked for; draws asked for and not yet at work, and words
        of these at hand; what is under way in the generator, a bit a stage; the four steps; samples that entered the
        second step, and that left; of the sample in the second step the rejections to come, whether the last word is
        divided, and cycles to the verdict; whether it is being drawn again; the counter of the last cycle.
    counts : ndarray of int64, shape [5]
        Counters, in the order of `DRAW_COUNTERS`.
    """

    at: NDArray[np.int64]
    counts: NDArray[np.int64]


def make_draws(config: SsdConfig) -> DrawState:
    """Return the unit after reset."""
    state = DrawState(np.zeros(18, np.int64), np.zeros(len(DRAW_COUNTERS), np.int64))
    state.at[LATENCY] = config.draw_latency
    return state


@njit_in_place
def step_draws(s: DrawState, jobs: Ring, out: Ring, samples: NDArray[np.int64]) -> bool:
    """Let one cycle pass.

    Parameters
    ----------
    s : DrawState
        The unit.
    jobs : Ring
        Its queue of jobs, of depth 2: `JOB_BEGINS_HOP`, `JOB_COUNT`.
    out : Ring
        The coalescer's queue of samples.
    samples : ndarray of int64, shape [samples, 5]
        The trace.

    Returns
    -------
    bool
        Whether the next cycle could differ.
    """
    at = s.at
    last_bit = 1 << (at[LATENCY] - 1)
    comes_again = at[AGAIN_UNDER_WAY] & last_bit != 0
    judged = at[VALID_2] != 0 and at[REDRAWING] == 0 and at[WAIT] == 0
    decided, rejected = judged and at[REJECTIONS] == 0, judged and at[REJECTIONS] > 0
    leaves = at[VALID_4] != 0 and can_push(out)
    free_4 = at[VALID_4] == 0 or leaves
    free_3 = at[VALID_3] == 0 or free_4
    free_2 = at[VALID_2] == 0 or (decided and free_3)
    free_1 = at[VALID_1] == 0 or free_2
    got = at[WORDS] > 0 and free_1
    moved = leaves or got or (at[VALID_2] != 0 and not decided) or (free_4 and at[VALID_3] != 0)
    moved = moved or (free_3 and decided) or (free_2 and at[VALID_1] != 0)
    _count(s, can_pop(jobs), leaves, decided)
    moved = _generate(at, jobs, last_bit, rejected, got) or moved

    # The steps behind the generator, the last first.
    if leaves:
        for field, column in ((SAMPLE_PAGE, S_PAGE), (SAMPLE_BEAT, S_BEAT), (SAMPLE_HALF, S_HALF)):
            put(out, field, samples[at[NEXT_4], column])
        push(out)
        at[NEXT_4] += 1
    if free_4:
        at[VALID_4] = at[VALID_3]
    if free_3:
        at[VALID_3] = 1 if decided else 0
    if at[VALID_2] and not decided:
        _wait(at, rejected, comes_again)
    if free_2:
        at[VALID_2] = at[VALID_1]
        if at[VALID_1]:
            at[REJECTIONS] = samples[at[NEXT_2], S_REJECTED]
            at[DIVIDES] = samples[at[NEXT_2], S_DIVIDED]
            at[WAIT] = DIVIDE_CYCLES if at[REJECTIONS] > 0 or at[DIVIDES] else 0
            at[NEXT_2] += 1
    if free_1:
        at[VALID_1] = 1 if got else 0
    return bool(moved)


@njit_in_place
def _count(s: DrawState, has_job: bool, leaves: bool, decided: bool) -> None:
    """Count the cycle."""
    at = s.at
    if at[VALID_4]:
        reason = 0 if leaves else 1
    elif at[VALID_2] and not decided:
        reason = 2
    elif has_job or at[OUTSTANDING] > 0 or at[VALID_1] or at[VALID_2] or at[VALID_3]:
        reason = 3
    else:
        reason = 4
    at[REASON] = reason
    s.counts[reason] += 1


@njit_in_place
def _generate(at: NDArray[np.int64], jobs: Ring, last_bit: int, rejected: bool, got: bool) -> bool:
    """Ask the generator for a hop's key, for a draw again or for the next one; return whether it is at work."""
    comes, comes_key = at[DRAWS_UNDER_WAY] & last_bit != 0, at[KEY_UNDER_WAY] & last_bit != 0
    begins_hop = can_pop(jobs) and front(jobs, JOB_BEGINS_HOP) != 0
    quiet = at[OUTSTANDING] == 0 and at[VALID_1] == 0 and at[VALID_2] == 0
    asks_key = begins_hop and quiet and at[KEY_UNDER_WAY] == 0
    asks = can_pop(jobs) and not begins_hop and not rejected and at[OUTSTANDING] < at[LATENCY] + CREDIT_CYCLES
    works = at[DRAWS_UNDER_WAY] != 0 or at[AGAIN_UNDER_WAY] != 0 or at[KEY_UNDER_WAY] != 0
    if asks:
        at[ASKED] += 1
        if at[ASKED] == front(jobs, JOB_COUNT):
            at[ASKED] = 0
            pop(jobs)
    elif comes_key:
        pop(jobs)
    mask = 2 * last_bit - 1
    at[DRAWS_UNDER_WAY] = (at[DRAWS_UNDER_WAY] << 1 | asks) & mask
    at[AGAIN_UNDER_WAY] = (at[AGAIN_UNDER_WAY] << 1 | rejected) & mask
    at[KEY_UNDER_WAY] = (at[KEY_UNDER_WAY] << 1 | asks_key) & mask
    at[OUTSTANDING] += int(asks) - int(got)
    at[WORDS] += int(comes) - int(got)
    return bool(works or asks or asks_key or rejected)


@njit_in_place
def _wait(at: NDArray[np.int64], rejected: bool, comes_again: bool) -> None:
    """Go on with the division, or draw the sample in the second step again."""
    if at[WAIT] > 0:
        at[WAIT] -= 1
    elif rejected:
        at[REDRAWING] = 1
        at[REJECTIONS] -= 1
    elif comes_again:
        at[REDRAWING] = 0
        at[WAIT] = DIVIDE_CYCLES if at[REJECTIONS] > 0 or at[DIVIDES] else 0


@njit_in_place
def skip_draws(s: DrawState, cycles: int) -> None:
    """Count cycles that are as the last one was."""
    s.counts[s.at[REASON]] += cycles


@njit_in_place
def next_draws(_s: DrawState) -> int:
    """Return the next cycle in which the unit does something by itself: none, `step_draws` says so beforehand."""
    return FAR
