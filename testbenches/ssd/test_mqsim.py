# amaranth: UnusedElaboratable=no
"""The shipped device of MQSim: random reads of 4 KiB, one or sixteen at a time, take what MQSim says."""

import functools

import numpy as np
import pytest

from sim.timing.stalls import never_stalled
from testbenches.ssd.channels_model import Channel, play_model
from testbenches.ssd.presets import with_flash
from testbenches.ssd.simulate_channels import Pages, simulate_channels

CONFIG = with_flash("mqsim")
HOST_NS = 600.0
"""What a request takes in MQSim besides the flash: NVMe, PCIe, its controller. It is MQSim's own, not the device's."""

HOST_CYCLES = CONFIG.cycles(HOST_NS)
MEAN_US = {1: 88.0, 16: 120.0}
"""Response time by requests under way."""

IOPS_OF_16 = 133_235
NEVER = never_stalled()


@functools.cache
def requests(n, seed):
    """Halves of pages at random places of the device."""
    rng = np.random.default_rng(seed)
    flash = CONFIG.flash
    place = rng.integers(0, flash.pages, n)
    first = [
        rng.integers(0, 2, int((place % flash.channels == c).sum())) * flash.sector_beats for c in range(flash.channels)
    ]
    return Pages(
        page=place,
        page_slot=np.arange(n) % CONFIG.page_slots,
        hot=np.zeros(n, np.int64),
        place=place,
        first=first,
        last=[beat + flash.sector_beats - 1 for beat in first],
        node_bits=40,
    )


@functools.cache
def modelled(n, seed, depth):
    pages = requests(n, seed)
    channels = [Channel(first, last, NEVER, NEVER) for first, last in zip(pages.first, pages.last, strict=True)]
    # Of each page only its last beat matters.
    nothing = [[np.zeros(0, np.int64)] * len(first) for first in pages.first]
    return play_model(
        CONFIG,
        pages.rows,
        NEVER,
        NEVER,
        channels,
        wanted=nothing,
        jump=True,
        depth=depth,
        host_cycles=HOST_CYCLES,
    )


def microseconds(cycles):
    return cycles / CONFIG.clock_hz * 1e6


@pytest.mark.parametrize(("depth", "n", "tolerance"), [(1, 500, 0.01), (16, 40_000, 0.03)])
def test_mean_time(depth, n, tolerance):
    """By Little's law: requests under way, times the time of all, by their number."""
    mean = depth * microseconds(modelled(n, 1, depth).cycles) / n
    assert mean == pytest.approx(MEAN_US[depth], rel=tolerance)


def test_rate_of_sixteen_readers():
    n = 40_000
    rate = n / microseconds(modelled(n, 1, 16).cycles) * 1e6
    assert rate == pytest.approx(IOPS_OF_16, rel=0.03)


def test_chips_take_turns_and_pages_go_first():
    """The facts that the preset rests on: with dies that work at the same time the rate would be another."""
    dies = CONFIG.replace(**{"flash.concurrent_dies": True})
    assert (CONFIG.flash.units, dies.flash.units) == (4, 8)
    assert not CONFIG.flash.commands_first


@pytest.mark.parametrize(("depth", "n"), [pytest.param(1, 12, marks=pytest.mark.soak), (16, 250)])
def test_the_rtl_takes_the_same_cycles(depth, n):
    simulation = simulate_channels(CONFIG, requests(n, 3), depth=depth, host_cycles=HOST_CYCLES)
    assert simulation.first_difference is None
    quick = modelled(n, 3, depth)
    assert quick.cycles == simulation.model.cycles
    for mine, its in zip(quick.commands, simulation.model.commands, strict=True):
        np.testing.assert_array_equal(mine, its)


@pytest.mark.soak
def test_the_rtl_reaches_the_rate():
    n = 4000
    simulation = simulate_channels(CONFIG, requests(n, 4), depth=16, host_cycles=HOST_CYCLES)
    assert simulation.first_difference is None
    assert n / microseconds(simulation.model.cycles) * 1e6 == pytest.approx(IOPS_OF_16, rel=0.03)
