# amaranth: UnusedElaboratable=no
"""Bugs planted in the channels are caught by the comparison of their tests, or by the flash's own rules."""

import pytest

from testbenches.models.rules import BenchError
from testbenches.planted import Bug, plant
from testbenches.ssd.configs import SMALL
from testbenches.ssd.simulate_channels import random_pages, simulate_channels

CONFIG = SMALL.replace(page_slots=32, **{"flash.page_bytes": 1024, "flash.channel_bytes_per_s": 800_000_000})
"""Two channels of four dies; two sectors a page."""

FIRST_BUGS = [
    ("channel", "a die is free as soon as it moves", "done.eq(Mux(ends, 1 << moved_unit, 0))",
     "done.eq(Mux(begins, 1 << wanted.payload.unit, 0))"),
    ("channel", "three pages ahead", "(ahead != PAGES_AHEAD)", "(ahead != PAGES_AHEAD + 1)"),
    ("die_queues", "a list's second page is lost", "moves_up.eq(self.picked.valid & ~leaves_none)", "moves_up.eq(0)"),
    ("die_queues", "a list that gets empty is joined", "(bits & ~loses).bit_select(unit, 1)",
     "bits.bit_select(unit, 1)"),
    ("channels", "channels not in turn", "last.eq(channel),", ""),
]  # fmt: skip

MORE_BUGS = [
    ("channel", "a command while the bus is taken", "bus_free.eq(~moves & (hold == 0))", "bus_free.eq(~moves)"),
    ("channel", "pages before commands", "first_command = config.flash.commands_first", "first_command = False"),
    ("channel", "a sector too few", "command.sectors.eq(last_sector - first_sector)", "command.sectors.eq(0)"),
    ("channel", "beats numbered from the start", "beat.eq(first_sector << sector_bits)", "beat.eq(0)"),
    ("channel", "beats go on while they are held", "self.flash.beats.ready.eq(self.beats.ready)",
     "self.flash.beats.ready.eq(1)"),
    ("channel", "a fault is not told", "self.beats.payload.bad.eq(self.flash.beats.payload.bad),", ""),
    ("die_queues", "a page comes in while a list moves up", "takes.eq(queue.held.valid & ~moves_up)",
     "takes.eq(queue.held.valid)"),
    ("die_queues", "the same die first, always", "last.eq(number)", "last.eq(0)"),
    ("channels", "a page of the DRAM is handed out twice", "m.d.sync += dram_ready.eq(0)", "pass"),
    ("channels", "a ready page is lost", "takes.eq(~valid | self.ready.ready)", "takes.eq(1)"),
]  # fmt: skip


def is_sound(channels=None):
    """Run pages with and without stalls until one run shows a difference."""
    for stalls, seed in (("none", 0), ("slow", 2), ("slow", 1), ("random", 1)):
        pages = random_pages(CONFIG, 30, seed, hot=0.2)
        try:
            simulation = simulate_channels(
                CONFIG,
                pages,
                stalls=stalls,
                seed=seed,
                backend="pysim",
                channels=None if channels is None else channels(),
                max_quiet_cycles=600,
            )
        except BenchError:
            return False
        if simulation.first_difference is not None:
            return False
    return True


def channels_with(module, name, old, new):
    bug = Bug(name=name, module=f"hdl.ssd.{module}", old=old, new=new)
    return lambda: plant(bug, "hdl.ssd.channels", "Channels", CONFIG)


def short_name(case):
    return case[1].replace(" ", "-") if isinstance(case, tuple) else None


@pytest.mark.soak
@pytest.mark.parametrize("bug", FIRST_BUGS, ids=short_name)
def test_bug_is_caught(bug):
    assert not is_sound(channels_with(*bug))


@pytest.mark.soak
@pytest.mark.parametrize("bug", MORE_BUGS, ids=short_name)
def test_each_other_bug_is_caught(bug):
    assert not is_sound(channels_with(*bug))


@pytest.mark.soak
def test_nothing_is_caught_where_nothing_is_planted():
    """The same runs with a change that changes nothing: what catches the bugs is not the planting."""
    assert is_sound(channels_with("channel", "none", "free.eq(~busy)", "free.eq(~(busy | busy))"))
