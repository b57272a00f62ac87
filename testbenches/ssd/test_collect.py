# amaranth: UnusedElaboratable=no
"""Ids at their slots; and the model of all units between draws and packer, in whatever way it is stepped."""

import numpy as np
import pytest

from hdl.ssd.collect import Collector
from sim.timing.stalls import STALL_KINDS
from testbenches.ssd.clearing import clear, play, send
from testbenches.ssd.configs import SECTORS, SMALL
from testbenches.ssd.simulate_extraction import Samples, Stalls, difference, model_of, random_samples

TOGETHER = Stalls(words={"matches": sum(1 << i for i in range(64) if i % 16)})
"""All sources hand a match over in the same cycle, then none for fifteen."""


def test_sources_take_turns():
    rng = np.random.default_rng(7)
    ones = np.ones(300, np.int64)
    beat = rng.choice([60, 61, 62, 63], 300)
    samples = Samples(page=rng.integers(3, size=300), beat=beat, half=0 * ones, wide=ones, hot_low=2)
    assert difference(samples, SMALL, TOGETHER) is None


def test_a_lap_through_the_window_is_told_from_the_next():
    """Several laps, of a number of samples that is no multiple of the window, and one sample alone."""
    for count in (1, 64, 64 * 5 + 3):
        assert difference(random_samples(count, SMALL, count, pages=9, beats=9, hot_low=1), SMALL) is None


@pytest.mark.parametrize("config", [SMALL, SECTORS], ids=["small", "sectors"])
@pytest.mark.parametrize("stalls", STALL_KINDS)
def test_the_model_does_not_depend_on_the_order_of_steps_nor_on_beats_that_nobody_wants(config, stalls):
    """Units stepped backwards, each held to its word that nothing moved; then only beats that leave a trace."""
    for seed in range(6):
        pages, beats = (2, 6, 40)[seed % 3], (1, 5, 40)[seed // 2]
        samples = random_samples(seed, config, 400, pages=pages, beats=beats, hot_low=3, bad_low=5)
        model = model_of(samples, config, Stalls.of(stalls, seed))
        backwards = model_of(samples, config, Stalls.of(stalls, seed), backwards=True)
        sparse = model_of(samples, config, Stalls.of(stalls, seed), skips=True)
        assert backwards.untrue == 0
        assert sparse.skipped > 50
        for other in (backwards, sparse):
            assert (other.cycles, other.counts) == (model.cycles, model.counts)
            np.testing.assert_array_equal(other.samples, model.samples)
            np.testing.assert_array_equal(other.ids, model.ids)
            for name, rows in model.seen.items():
                np.testing.assert_array_equal(other.seen[name], rows)


@pytest.mark.parametrize("clears", [False, True])
def test_clearing_forgets_the_ids_of_before(clears):
    """Their phase, by which they would pass for those of the first lap."""
    unit, slots = Collector(SMALL), (0, 7, SMALL.window_samples - 1)

    async def script(context):
        for slot in slots:
            context.set(unit.twin_write, 1)
            context.set(unit.twin_address, slot)
            context.set(unit.twin_data.phase, 1)
            await context.tick()
            context.set(unit.twin_write, 0)
            await send(context, unit.matches_1, slot=slot, value=slot)
        await context.tick().repeat(5)
        if clears:
            await clear(context, unit, SMALL.window_samples)
        for slot in slots:
            context.set(unit.ids_address, slot)
            await context.tick()
            assert context.get(unit.ids_data.phase) == (not clears)

    play(unit, script)
