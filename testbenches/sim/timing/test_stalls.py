"""Stall patterns: rates and runs as promised, repeatable, and free somewhere."""

import numpy as np
import pytest

from sim.timing.product import ProductStalls
from sim.timing.reduce import ReduceStalls
from sim.timing.stalls import PERIOD_CYCLES, STALL_KINDS, never_stalled, paced_pattern, stall_pattern


def runs(pattern):
    """Return the lengths of the runs of True and of False, without the first and the last run."""
    edges = np.flatnonzero(np.diff(pattern))
    lengths = np.diff(edges)
    stalled = pattern[edges[:-1] + 1]
    return lengths[stalled], lengths[~stalled]


@pytest.mark.parametrize("kind", STALL_KINDS)
@pytest.mark.parametrize("seed", range(5))
def test_no_pattern_stalls_for_ever(kind, seed):
    pattern = stall_pattern(kind, seed=seed)
    assert pattern.dtype == np.bool_
    assert 1 <= len(pattern) <= PERIOD_CYCLES
    assert not pattern.all()
    assert pattern.any() == (kind != "none")


@pytest.mark.parametrize("seed", range(3))
def test_rates_and_runs(seed):
    random = stall_pattern("random", seed=seed)
    assert random.mean() == pytest.approx(0.5, abs=0.02)
    for lengths in runs(random):
        assert lengths.mean() == pytest.approx(2, rel=0.05)
    bursty = np.concatenate([stall_pattern("bursty", seed=8 * seed + i) for i in range(8)])
    assert bursty.mean() == pytest.approx(0.5, abs=0.02)
    for lengths in runs(bursty):
        assert lengths.mean() == pytest.approx(8, rel=0.06)
        assert lengths.max() > 30
    stop_and_go = stall_pattern("stop_and_go", seed=seed)
    stalled, free = runs(np.tile(stop_and_go, 4))
    assert set(stalled) == set(free) == {61}


@pytest.mark.parametrize("kind", [kind for kind in STALL_KINDS if kind != "none"])
def test_seeds(kind):
    patterns = [stall_pattern(kind, seed=seed) for seed in range(6)]
    assert np.array_equal(patterns[3], stall_pattern(kind, seed=3))
    assert len({pattern.tobytes() for pattern in patterns}) == 6


def test_unknown_kind():
    with pytest.raises(ValueError, match="'rare' is not known; the kinds are none, random, bursty, stop_and_go"):
        stall_pattern("rare", seed=0)


def test_paced_and_never():
    assert never_stalled().tolist() == [False]
    assert paced_pattern(1).tolist() == [False]
    assert paced_pattern(4).tolist() == [False, True, True, True]
    assert paced_pattern(2.5).tolist() == [False, True, True, False, True]
    for period in (0, -1, 0.99, float("nan")):
        with pytest.raises(ValueError, match=f"period_cycles is {period}; it must be 1 or more"):
            paced_pattern(period)


@pytest.mark.parametrize("period", [1.0, 1.02, 20 / 3, 8.0, 3.14159, 512 * 5e8 / 38.4e9, 1000.3])
def test_paced_patterns_keep_the_bandwidth(period):
    pattern = paced_pattern(period)
    free = np.flatnonzero(~np.tile(pattern, 3))
    assert (~pattern).mean() == pytest.approx(1 / period, rel=1e-3)
    assert set(np.diff(free)) <= {int(period), int(period) + 1}
    # Never early: the n-th beat is not offered before n periods have passed.
    assert (free >= np.arange(len(free)) * len(pattern) / (~pattern).sum() - 1e-9).all()


@pytest.mark.parametrize("pattern", [np.ones(3, np.bool_), np.zeros(0, np.bool_)])
def test_patterns_that_let_nothing_through_are_refused(pattern):
    with pytest.raises(ValueError, match=r"stall pattern of edges must be free in some cycle"):
        ReduceStalls(edges=pattern)
    with pytest.raises(ValueError, match=r"stall pattern of weights must be free in some cycle"):
        ProductStalls(weights=pattern)
