# amaranth: UnusedElaboratable=no
"""The packer writes nowhere but where it may: proofs for all time, of results of a few lines."""

import pytest

from hdl.ssd.line_writer import LineWriter
from hdl.ssd.packer import Packer
from testbenches.formal.control import check, report
from testbenches.formal.ssd_packer_claims import LINE_BITS, ROOM_BITS, TrackedLines, TrackedWrites
from testbenches.planted import Bug, plant
from testbenches.ssd.configs import SMALL

pytestmark = pytest.mark.formal

CONFIG = SMALL.model_copy(
    update={"commands_in_flight": 1, "targets_in_flight": 2, "window_samples": 4, "frontier_entries": 4}
)


def holds(component, cycles=None):
    verdict = check(component, cycles=cycles)
    report(component, verdict)
    return verdict.broken is None


@pytest.mark.parametrize("claim", TrackedWrites.CLAIMS)
def test_claims_of_the_packer(claim):
    assert holds(TrackedWrites(CONFIG, Packer(CONFIG, LINE_BITS, ROOM_BITS), (claim,)))


@pytest.mark.parametrize("claim", TrackedLines.CLAIMS)
def test_claims_of_the_lines(claim):
    assert holds(TrackedLines(LineWriter(LINE_BITS, ROOM_BITS), (claim,)))


BROKEN = [
    ("uninvited", "packer", "begins.eq(contexts.held.valid)", "begins.eq(1)", 12),
    ("disorderly", "packer", "(state == State.RUN) & item_valid", "item_valid", 12),
    ("disorderly", "packer", "m.Case(State.COUNTS), m.If(writer.done)", "m.Case(State.COUNTS)", 22),
    ("torn", "line_writer", "place + 1 + wide", "place + 2", 14),
    ("misplaced", "packer", "slot == self.cq_entries - 1", "slot == self.cq_entries", 22),
    ("strange", "packer", "entry.cid.eq(cid)", "entry.cid.eq(context.cid)", 14),
    ("unsteady", "line_writer", "count_waits & (counts_first | ~id_waits)", "count_waits", 25),
]
BROKEN_LINES = [
    ("outside", "ids.end.eq(self.line + self.result_lines)", "ids.end.eq(ids.line + self.result_lines)"),
    ("outside", "self.fits.eq(number[: len(end)] != end)", "self.fits.eq(1)"),
    ("outside", "(self.flushes & (place != 0))", "self.flushes"),
    ("mixed", "ids.line.eq(self.line + self.ids_line)", "ids.line.eq(self.line)"),
    ("mixed", "counts.value.eq(self.count)", "counts.value.eq(self.id)"),
    ("twice", "[number.eq(number + 1), place.eq(0)", "[place.eq(0)"),
    ("twice", "self.flushes_ids & ~id_waits", "self.flushes_ids"),
]


@pytest.mark.parametrize(("claim", "module", "old", "new", "cycles"), BROKEN)
def test_a_bug_breaks_the_claim_of_the_packer(claim, module, old, new, cycles):
    bug = Bug(name=claim, module=f"hdl.ssd.{module}", old=old, new=new)
    broken = plant(bug, "hdl.ssd.packer", "Packer", CONFIG, LINE_BITS, ROOM_BITS)
    assert not holds(TrackedWrites(CONFIG, broken, (claim,)), cycles)


@pytest.mark.parametrize(("claim", "old", "new"), BROKEN_LINES)
def test_a_bug_breaks_the_claim_of_the_lines(claim, old, new):
    bug = Bug(name=claim, module="hdl.ssd.line_writer", old=old, new=new)
    assert not holds(TrackedLines(plant(bug, "hdl.ssd.line_writer", "LineWriter", LINE_BITS, ROOM_BITS), (claim,)), 22)
