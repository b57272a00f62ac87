# amaranth: UnusedElaboratable=no
"""What is wanted is picked out of the pages that pass."""

import numpy as np
import pytest

from hdl.ssd.matcher import Matcher
from sim.timing.stalls import STALL_KINDS
from testbenches.ssd.clearing import clear, comes, play, send
from testbenches.ssd.configs import SECTORS, SMALL
from testbenches.ssd.simulate_extraction import LATE, Samples, Stalls, difference, model_of


def of(page, beat, **kinds):
    """Return wide samples."""
    page, beat = np.broadcast_arrays(page, beat)
    ones = np.ones(page.size, np.int64)
    return Samples(page=page.ravel(), beat=beat.ravel(), half=0 * ones, wide=ones, **kinds)


def test_each_beat_of_a_page_alone():
    """A page for each beat, the first and the last among them."""
    beats = np.arange(SMALL.flash.page_beats)
    assert difference(of(beats * 3 + 100, beats), SMALL) is None


def test_all_beats_of_pages_in_a_row():
    pages = np.arange(6)[:, None] * 2
    assert difference(of(pages, np.arange(64)[None]), SMALL) is None


@pytest.mark.parametrize("stalls", STALL_KINDS)
def test_a_page_waits_for_its_last_beat(stalls):
    """The next page of the channel but one is loaded only then: its table is that of the page that waits."""
    rng = np.random.default_rng(5)
    samples = of(2 * rng.integers(8, size=200), rng.choice([0, 62, 63], 200))
    words = {**Stalls.of(stalls, 3).words, "matches": ~(1 << 9) % (1 << 64)}
    assert difference(samples, SMALL, Stalls(words=words)) is None


@pytest.mark.parametrize("config", [SMALL, SECTORS], ids=["small", "sectors"])
def test_samples_of_bad_pages_have_the_page_s_number(config):
    """Both halves, narrow and wide; pages that lie in the DRAM cannot fail."""
    rng = np.random.default_rng(6)
    halves, wide = rng.integers(2, size=(2, 300))
    page, beat = rng.integers(40, size=300), rng.integers(config.flash.page_beats, size=300)
    samples = Samples(page=page, beat=beat, half=halves, wide=wide, bad_low=9)
    assert samples.ids(config)["failed"].sum() > 5
    assert difference(samples, config) is None
    all_bad = Samples(page=page * 16 + 9, beat=beat, half=halves, wide=wide, bad_low=9)
    assert difference(all_bad, config) is None


def test_a_match_that_is_not_taken_holds_the_channel():
    """All beats of a page are wanted, but taken only now and then: the page takes as long as that takes."""
    samples = of(np.full(64, 4), np.arange(64))
    slow = Stalls(words={"matches": ~(1 << 9) % (1 << 64), **LATE.words})
    model = model_of(samples, SMALL, slow)
    written = model.seen["written"][:, -1]
    assert (np.diff(written) == 64).all()
    assert difference(samples, SMALL, slow) is None


@pytest.mark.parametrize("clears", [False, True])
def test_clearing_forgets_what_was_wanted(clears):
    """In both banks, whose pages then pass."""
    unit = Matcher(SMALL)
    beats = SMALL.flash.page_beats

    async def script(context):
        for beat in (3, beats - 1):
            context.set(unit.load.begins, 1)
            await context.tick()
            context.set(unit.load.begins, 0)
            context.set(unit.load.write, 1)
            context.set(unit.load.write_beat, beat)
            await context.tick()
            context.set(unit.load.write, 0)
        if clears:
            await clear(context, unit, beats)
        for beat in (3, beats - 1):
            await send(context, unit.beats, beat=beat, last=1)
            assert await comes(context, unit.matches) == (not clears)

    play(unit, script)
