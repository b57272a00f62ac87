"""Samples of pages in the DRAM: no channel, no matcher."""

import numpy as np
import pytest

from sim.timing.stalls import STALL_KINDS
from testbenches.ssd.configs import SMALL
from testbenches.ssd.simulate_extraction import LATE, Samples, Stalls, difference, model_of


def hot_only(count, seed=0, pages=8):
    rng = np.random.default_rng(seed)
    halves, wide = rng.integers(2, size=(2, count))
    page, beat = rng.integers(pages, size=count) * 16 + 3, rng.integers(64, size=count)
    return Samples(page=page, beat=beat, half=halves, wide=wide, hot_low=3, bad_low=3)


@pytest.mark.parametrize("stalls", STALL_KINDS)
def test_hot_pages(stalls):
    assert difference(hot_only(300), SMALL, Stalls.of(stalls, 5)) is None


def test_no_channel_hears_of_a_hot_page():
    model = model_of(hot_only(300), SMALL, Stalls())
    assert len(model.seen["loaded"]) == 0
    assert (model.seen["ready"][:, 3] == SMALL.flash.channels).all()


def test_a_sample_a_cycle():
    """Of a page with many samples, each is read in the cycle after the one before."""
    model = model_of(hot_only(64, pages=1), SMALL, LATE)
    assert (np.diff(model.seen["written"][:, -1]) == 1).all()


def test_reads_under_way_are_limited():
    """While the DRAM does not answer, no more is asked for than can be taken; then all comes."""
    silent = Stalls(words={"hot": ~(1 << 63) % (1 << 64), "matches": ~(1 << 7) % (1 << 64)})
    assert difference(hot_only(120, seed=2), SMALL, silent) is None
