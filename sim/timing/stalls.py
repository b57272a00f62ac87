"""Stall patterns: which cycles a stream's environment holds back, shared by the benches and the timing models.

A pattern is a periodic array of booleans, ``stalled[cycle % len(stalled)]``; cycle 0 is the first clock edge after
reset.

* A stalled *source* does not start to offer a new beat in that cycle. A beat once offered stays offered until it is
  taken (the stream rules forbid anything else), so a stall never withdraws it.
* A stalled *sink* is not ready in that cycle.
"""

from dataclasses import fields
from fractions import Fraction
from math import ceil
from typing import TYPE_CHECKING, Literal, get_args

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

StallKind = Literal["none", "random", "bursty", "stop_and_go"]
STALL_KINDS: tuple[StallKind, ...] = get_args(StallKind)

PERIOD_CYCLES = 1 << 14
"""Length of a seeded pattern; prime to nothing in the designs, and long against every pipeline in them."""


def stall_pattern(kind: StallKind, *, seed: int) -> NDArray[np.bool_]:
    """Make a stall pattern.

    Parameters
    ----------
    kind : {"none", "random", "bursty", "stop_and_go"}
        ``none`` never stalls; ``random`` stalls every other cycle on average, independently; ``bursty`` alternates
        geometric runs (mean 8 stalled, mean 8 free); ``stop_and_go`` holds for 61 cycles, then runs free for 61.
    seed : int
        Any non-negative number; give each stream its own, so that stalls of two streams are independent. For
        ``stop_and_go`` it sets the phase.

    Returns
    -------
    ndarray of bool, shape [period]
        True where the stream's environment stalls.

    Raises
    ------
    ValueError
        If `kind` is not a known kind.
    """
    rng = np.random.default_rng(seed)
    if kind == "none":
        return never_stalled()
    if kind == "random":
        return rng.random(PERIOD_CYCLES) < 0.5
    if kind == "bursty":
        runs = rng.geometric(1 / 8, PERIOD_CYCLES)
        return np.repeat(np.arange(PERIOD_CYCLES) % 2 == 0, runs)[:PERIOD_CYCLES].copy()
    if kind == "stop_and_go":
        phase = int(rng.integers(122))
        return np.roll(np.arange(122) < 61, phase)
    raise ValueError(f"stall kind {kind!r} is not known; the kinds are {', '.join(STALL_KINDS)}")


def never_stalled() -> NDArray[np.bool_]:
    """Make the pattern of a stream whose environment never stalls.

    Returns
    -------
    ndarray of bool, shape [1]
        False.
    """
    return np.zeros(1, np.bool_)


def check_patterns(stalls: "DataclassInstance") -> None:
    """Refuse patterns that would never let a beat through.

    Parameters
    ----------
    stalls : dataclass
        Each field of it is a pattern.

    Raises
    ------
    ValueError
        A pattern is empty, or stalls always; the message names it.
    """
    for stream in fields(stalls):
        pattern = getattr(stalls, stream.name)
        if not len(pattern) or pattern.all():
            raise ValueError(f"the stall pattern of {stream.name} must be free in some cycle")


def paced_pattern(period_cycles: float) -> NDArray[np.bool_]:
    """Make the pattern of a source that can offer one beat every `period_cycles` cycles, as a memory of that bandwidth.

    Parameters
    ----------
    period_cycles : float
        Mean cycles from one offer to the next, >= 1; taken as the nearest fraction with a denominator up to 64.

    Returns
    -------
    ndarray of bool, shape [period]
        False (free) in the first cycle and then as evenly as whole cycles allow, never early.

    Raises
    ------
    ValueError
        If the period is below 1.
    """
    if not period_cycles >= 1:
        raise ValueError(f"period_cycles is {period_cycles}; it must be 1 or more")
    period = Fraction(period_cycles).limit_denominator(64)
    pattern = np.ones(period.numerator, np.bool_)
    pattern[[ceil(beat * period) for beat in range(period.denominator)]] = False
    return pattern
