"""What is wanted of a page is known before it is moved."""

import numpy as np
import pytest

from sim.timing.stalls import STALL_KINDS
from testbenches.ssd.configs import SECTORS, SMALL
from testbenches.ssd.simulate_extraction import LATE, Samples, Stalls, difference, model_of


def on_beats(beat, page=4, half=0, wide=1, **kinds):
    """Return samples of given beats."""
    ones = np.ones(len(beat), np.int64)
    return Samples(page=page * ones, beat=np.asarray(beat), half=half * ones, wide=wide * ones, **kinds)


@pytest.mark.parametrize("stalls", STALL_KINDS)
def test_chains_of_every_length_through_both_halves(stalls):
    """Samples of the same eight bytes: one, two, ... in a row; narrow ones of both halves, and wide ones."""
    beat = np.repeat(np.arange(20), np.arange(20) + 1)
    rng = np.random.default_rng(3)
    samples = on_beats(beat, half=rng.integers(2, size=len(beat)), wide=rng.integers(2, size=len(beat)))
    assert difference(samples, SMALL, Stalls.of(stalls, 2)) is None


def test_a_whole_window_wants_the_same_word():
    assert difference(on_beats([63] * 128), SMALL, LATE) is None
    model = model_of(on_beats([63] * 128), SMALL, LATE)
    assert list(model.seen["loaded"][0, 1:3]) == [63, 63]
    # Of a chain an id is written in each cycle.
    assert (np.diff(model.seen["written"][:64, -1]) == 1).all()


@pytest.mark.parametrize("order", ["rising", "falling", "mixed", "by turns"])
def test_any_order_of_beats(order):
    beats = {
        "rising": np.arange(64),
        "falling": np.arange(64)[::-1],
        "mixed": np.random.default_rng(1).permutation(64),
        "by turns": np.arange(64) % 2 * 7 + 20,
    }[order]
    assert difference(on_beats(beats), SMALL, LATE) is None


def test_a_page_of_n_samples_takes_n_cycles_and_a_few():
    """From its close to the word to its channel: the way to its head and back, and a cycle for each sample."""
    times = []
    for n in range(1, 7):
        model = model_of(on_beats(np.arange(n)), SMALL, LATE)
        times.append(int(model.seen["loaded"][0, -1] - model.seen["close"][0, -1]) - n)
    assert times == [7] * 6


def test_only_the_sectors_that_are_wanted_are_moved():
    samples = on_beats([70, 90, 75], page=8)
    config = SECTORS.replace(**{"flash.sector_bytes": 256})
    model = model_of(samples, config, LATE)
    assert list(model.seen["loaded"][0, 1:3]) == [70, 90]
    whole = model_of(samples, SECTORS.replace(**{"flash.sector_bytes": 2048}), LATE)
    assert whole.ids[-1] - model.ids[-1] == 64
