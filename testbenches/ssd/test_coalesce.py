# amaranth: UnusedElaboratable=no
"""Samples of the same page find each other, whatever else happens in the same cycles."""

import numpy as np
import pytest

from hdl.ssd.coalesce import Coalescer
from sim.timing.stalls import STALL_KINDS, stall_pattern
from testbenches.ssd.clearing import clear, comes, play, send
from testbenches.ssd.configs import SECTORS, SMALL
from testbenches.ssd.simulate_extraction import LATE, Samples, Stalls, difference, model_of, random_samples

CONFIGS = {"small": SMALL, "sectors": SECTORS}


def on_pages(page, beat=0):
    """Return wide samples of given pages."""
    ones = np.ones(len(page), np.int64)
    return Samples(page=np.asarray(page), beat=beat * ones, half=0 * ones, wide=ones)


@pytest.mark.parametrize("stalls", STALL_KINDS)
@pytest.mark.parametrize(
    ("name", "seed"), [("small", 0), ("small", 1), pytest.param("sectors", 2, marks=pytest.mark.soak)]
)
def test_random_samples(name, stalls, seed):
    config = CONFIGS[name]
    pages, beats = ((3, 30), (40, 4), (12, 12))[seed]
    samples = random_samples(seed, config, 600, pages=pages, beats=beats, hot_low=3, bad_low=5)
    assert difference(samples, config, Stalls.of(stalls, seed)) is None


def test_closes_meet_samples_of_their_page_in_every_step():
    """Pages that are closed at once, and samples of them right before, in the same cycle, and right after."""
    samples, stalls = random_samples(0, SMALL, 2000, pages=3, beats=64), Stalls(samples=stall_pattern("random", seed=9))
    assert difference(samples, SMALL, stalls) is None
    model = model_of(samples, SMALL, stalls)
    close = model.seen["close"]
    apart = {
        int(cycle - at)
        for page, _, cycle in close
        for at in model.samples[(samples.page == page) & (abs(model.samples - cycle) < 4)]
    }
    assert apart >= set(range(-3, 4))


def test_pages_that_share_a_place_displace_each_other():
    """By turns each of two pages is asked for again and again; both stay wanted under all of their slots."""
    entries = SMALL.table_entries
    apart, same = on_pages([5, 5 + entries] * 60), on_pages([5, 6 + entries] * 60)
    stalls = Stalls(words={"ready": ~(1 << 11) % (1 << 64)})
    assert difference(apart, SMALL, stalls) is None
    assert difference(same, SMALL, stalls) is None
    assert model_of(apart, SMALL, stalls).counts["count_opened"] == 120
    assert model_of(same, SMALL, stalls).counts["count_opened"] < 20


def test_page_slots_run_out():
    """No more pages wait than there are slots."""
    samples, stalls = on_pages(np.arange(200) * 16 + 7), Stalls(words={"ready": ~1 % (1 << 64)})
    assert difference(samples, SMALL, stalls) is None
    model = model_of(samples, SMALL, stalls)
    opened, closed = model.seen["opened"][:, -1], model.seen["close"][:, -1]
    waiting = np.arange(1, 201) - np.searchsorted(closed, opened)
    assert waiting.max() == SMALL.page_slots
    assert len(set(model.seen["opened"][:, 1])) == SMALL.page_slots


def test_pages_are_wanted_as_fast_as_samples_come():
    """A sample in each cycle, each of another page, until the first resource is used up."""
    model = model_of(on_pages(np.arange(16) * 16 + 7), SMALL, LATE)
    assert (np.diff(model.samples) == 1).all()
    assert (np.diff(model.seen["opened"][:, -1]) == 1).all()


def test_the_window_is_full_and_goes_round():
    """While the oldest id is missing no more samples are taken than the window holds."""
    samples = on_pages([9] * 300, beat=3)
    stalls = Stalls(ids=stall_pattern("stop_and_go", seed=4))
    assert difference(samples, SMALL, stalls) is None
    model = model_of(samples, SMALL, stalls)
    taken, left = model.samples, model.ids
    assert (np.arange(1, 301) - np.searchsorted(left, taken)).max() >= SMALL.window_samples


@pytest.mark.parametrize("clears", [False, True])
def test_clearing_forgets_the_pages_of_before(clears):
    """A page that is in the table is not asked for again, unless the table was cleared."""
    unit = Coalescer(SMALL)

    async def script(context):
        for page in range(SMALL.table_entries):
            await send(context, unit.samples, page=page, beat=1)
            assert await comes(context, unit.opened)
        if clears:
            await clear(context, unit, SMALL.table_entries)
        for page in range(SMALL.table_entries):
            await send(context, unit.samples, page=page, beat=2)
            assert await comes(context, unit.opened) == clears

    play(unit, script)
