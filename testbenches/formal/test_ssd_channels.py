# amaranth: UnusedElaboratable=no
"""Die queues and buses of the flash: proofs for all time, of small ones."""

import pytest

from hdl.ssd.channel import Channel
from hdl.ssd.die_queues import DieQueues
from testbenches.formal.control import check, report
from testbenches.formal.ssd_channel_claims import TrackedBus, TrackedPage
from testbenches.planted import Bug, plant
from testbenches.ssd.configs import SMALL

CONFIG = SMALL.replace(
    **{"flash.channels": 1, "flash.ways": 1, "flash.command_ns": 20.0, "flash.column_ns": 20.0},
)
"""One channel of two dies."""

PAGES_FIRST = CONFIG.replace(**{"flash.commands_first": False})

SLOTS, MORE_SLOTS = (CONFIG.model_copy(update={"page_slots": slots}) for slots in (2, 3))
"""Fewer page slots than an engine may have, so that a proof ends: two pages in a list are its first and its last."""


def holds(component, cycles=None):
    verdict = check(component, cycles=cycles)
    report(component, verdict)
    return verdict.broken is None


@pytest.mark.parametrize("claim", TrackedPage.CLAIMS)
def test_claims_of_the_queues(claim):
    assert holds(TrackedPage(SLOTS, DieQueues(SLOTS), (claim,)))


@pytest.mark.parametrize("claim", ["shared", "busy", "unready", "crowded", "twice", "idle"])
@pytest.mark.parametrize(
    "config",
    [pytest.param(CONFIG, id="commands first"), pytest.param(PAGES_FIRST, id="pages first", marks=pytest.mark.soak)],
)
def test_claims_of_the_bus(claim, config):
    assert holds(TrackedBus(config, Channel(config), (claim,)))


def test_no_die_that_is_ready_is_forgotten():
    """Within so many cycles from reset: for all time it takes a minute."""
    assert holds(TrackedBus(CONFIG, Channel(CONFIG), ("forgotten",)), 15)


BROKEN_QUEUES = [
    ("invented", "Mux(moves_up, following.read_data, new.page_slot)", "new.page_slot"),
    ("misplaced", "Mux(moves_up, fetched_list, new_list)", "new_list"),
    ("overtaken", "following.write_address.eq(tail.data)", "following.write_address.eq(0)"),
    ("stuck", "(bits & ~loses) | gains", "bits & ~loses & ~gains"),
    ("invented", "(bits & ~loses).bit_select(unit, 1)", "bits.bit_select(unit, 1)"),
    ("invented", "takes.eq(queue.held.valid & ~moves_up)", "takes.eq(queue.held.valid)"),
]  # fmt: skip
BROKEN_BUSES = [
    ("shared", "bus_free.eq(~moves & (hold == 0))", "bus_free.eq(~moves)"),
    ("shared", "bus_free.eq(~moves & (hold == 0))", "bus_free.eq(hold == 0)"),
    ("busy", "done.eq(Mux(ends, 1 << moved_unit, 0))", "done.eq(Mux(begins, 1 << moved_unit, 0))"),
    ("unready", "lowest(self.flash.ready & reading)", "lowest(reading)"),
    ("crowded", "(ahead != PAGES_AHEAD)", "(ahead != PAGES_AHEAD + 1)"),
    ("twice", "(reading | given) & ~arrives", "reading | given"),
    ("idle", "bus_free.eq(~moves & (hold == 0))", "bus_free.eq(~moves & (hold == 0) & ~reading.any())"),
    ("forgotten", "level.eq(level + arrives.any() - self.takes)", "level.eq(level - self.takes)"),
]


@pytest.mark.parametrize(("claim", "old", "new"), BROKEN_QUEUES)
def test_a_bug_breaks_the_claim_of_the_queues(claim, old, new):
    bug = Bug(name=claim, module="hdl.ssd.die_queues", old=old, new=new)
    assert not holds(TrackedPage(MORE_SLOTS, plant(bug, "hdl.ssd.die_queues", "DieQueues", MORE_SLOTS), (claim,)), 10)


@pytest.mark.parametrize(("claim", "old", "new"), BROKEN_BUSES)
def test_a_bug_breaks_the_claim_of_the_bus(claim, old, new):
    # Four dies: with two the loader can have them all.
    config = CONFIG.replace(**{"flash.ways": 2}) if claim == "crowded" else CONFIG
    bug = Bug(name=claim, module="hdl.ssd.channel", old=old, new=new)
    assert not holds(TrackedBus(config, plant(bug, "hdl.ssd.channel", "Channel", config), (claim,)), 25)
