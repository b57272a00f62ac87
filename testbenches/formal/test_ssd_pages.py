"""The coalescer: no sample is lost or doubled, no page slot given twice; from reset, for so many cycles."""

import pytest

from hdl.ssd.coalesce import Coalescer
from testbenches.formal.control import check, report
from testbenches.formal.ssd_page_claims import TrackedSample
from testbenches.planted import Bug, plant
from testbenches.ssd.configs import SMALL

pytestmark = pytest.mark.formal

CONFIG = SMALL.replace(window_samples=4, page_slots=4, table_entries=4)
WIDE = CONFIG.replace(window_samples=8)
"""More samples than page slots."""

CYCLES = {"given_twice": 14, "crowded": 18, "doubled": 15, "lost": 12, "strange": 13, "unsteady": 16}
"""How far each claim is looked at. A sample's way into a list, and the walk that meets it, take 10 cycles."""


def holds(component, cycles):
    verdict = check(component, cycles=cycles)
    report(component, verdict)
    return verdict.broken is None


def tracked(claim, old=None, new=None):
    """Return the claim about the coalescer, or about one with a planted bug."""
    config = WIDE if claim == "given_twice" else CONFIG
    if old is None:
        return TrackedSample(config, Coalescer(config), (claim,))
    bug = Bug(name=claim, module="hdl.ssd.coalesce", old=old, new=new)
    return TrackedSample(config, plant(bug, "hdl.ssd.coalesce", "Coalescer", config), (claim,))


@pytest.mark.parametrize("claim", TrackedSample.CLAIMS)
def test_claims(claim):
    assert holds(tracked(claim), CYCLES[claim])


BROKEN = [
    ("given_twice", "(page_slots_free != 0)", "1"),
    ("given_twice", "first_lap.eq(0)", "first_lap.eq(1)"),
    ("crowded", "(level != config.window_samples)", "1"),
    ("doubled", "link.last.eq(two_first)", "link.last.eq(0)"),
    ("lost", "wrote & (wrote_place == place)", "wrote & wrote_entry.valid & (wrote_place == place)"),
    ("lost", "linked & (linked_page == two.page_slot)", "0"),
    ("lost", "closed.eq(one_closes & entry.valid", "closed.eq(0 & entry.valid"),
    ("strange", "(entry.tag == one.page[place_bits:])", "1"),
]


@pytest.mark.parametrize(("claim", "old", "new"), BROKEN)
def test_a_bug_breaks_the_claim(claim, old, new):
    assert not holds(tracked(claim, old, new), CYCLES[claim])
