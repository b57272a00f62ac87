"""Where pages lie: every number of a page, every answer of the DRAM."""

import numpy as np
import pytest

from sim.timing.stalls import STALL_KINDS
from testbenches.ssd.configs import SMALL
from testbenches.ssd.simulate_extraction import LATE, Samples, Stalls, difference, model_of


def spread(count, seed=0, **kinds):
    """Return samples on pages of all sizes, up to 40 bits."""
    rng = np.random.default_rng(seed)
    page = rng.integers(1 << 40, size=count) >> rng.integers(40, size=count)
    halves, wide = rng.integers(2, size=(2, count))
    return Samples(page=page, beat=rng.integers(64, size=count), half=halves, wide=wide, **kinds)


@pytest.mark.parametrize("stalls", STALL_KINDS)
def test_pages_of_all_sizes(stalls):
    assert difference(spread(200), SMALL, Stalls.of(stalls, 8)) is None


def test_hot_pages_are_told_from_others():
    samples = spread(1)
    page = np.arange(64).repeat(2)
    ones = np.ones(len(page), np.int64)
    samples = Samples(page=page, beat=5 * ones, half=0 * ones, wide=ones, hot_low=15)
    assert difference(samples, SMALL) is None
    placed = model_of(samples, SMALL, Stalls()).seen["placed"]
    assert (placed[:, 2] == (placed[:, 0] % 16 == 15)).all()


def test_pages_are_placed_as_fast_as_they_come():
    page = np.arange(14) * 5
    samples = Samples(page=page, beat=page * 0, half=page * 0, wide=page * 0 + 1)
    model = model_of(samples, SMALL, LATE)
    assert (np.diff(model.seen["placed"][:, -1]) == 1).all()


def test_a_silent_map_holds_the_samples_back():
    silent = Stalls(words={"map": ~(1 << 63) % (1 << 64)})
    samples = spread(100, seed=3)
    assert difference(samples, SMALL, silent) is None
    placed = model_of(samples, SMALL, silent).seen["placed"][:, -1]
    assert (np.diff(placed) >= 64).all()
