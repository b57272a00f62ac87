"""The window of the sequencer: proofs of its order, for all time."""

import pytest

from hdl.cae.window import InstructionWindow
from testbenches.cae.programs import small_engine
from testbenches.formal.control import check, report
from testbenches.formal.sequencer_claims import TrackedPair
from testbenches.planted import Bug, plant


def engine(window):
    return small_engine(rows=1, columns=1, vector_units=1, operand_banks=1, vector_banks=1, window_instructions=window)


def holds(component, cycles=None):
    verdict = check(component, cycles=cycles)
    report(component, verdict)
    return verdict.broken is None


@pytest.mark.parametrize("claim", TrackedPair.CLAIMS)
def test_claims_of_two_slots(claim):
    config = engine(2)
    assert holds(TrackedPair(config, InstructionWindow(config), (claim,)))


@pytest.mark.parametrize("claim", TrackedPair.CLAIMS)
def test_claims_of_three_slots(claim):
    config = engine(3)
    assert holds(TrackedPair(config, InstructionWindow(config), (claim,)))


BROKEN = [
    ("early", "until_done[i] & ~ends", "until_done[i] & ~(ends | reads)"),
    ("early", "before & ~(read | reads)", "before & ~held"),
    ("early", "& held & ~(issued | issues)", "& held & ~(issued | held)"),
    ("early", "done | new_synchronises | old_synchronises", "done | new_synchronises"),
    ("early", "done | new_synchronises | old_synchronises", "done | old_synchronises"),
    ("early", "old.result & (new_reads | new.result)).any()", "old.result & new_reads).any()"),
    ("early", "(old_reads & new.result) | crossed", "crossed"),
    ("early", "(old_reads & new.result) | crossed", "old_reads & new.result"),
    ("stuck", "before = held & ~(done | ends)", "before = held & ~done"),
    ("disorder", "~Array(held)[tail]", "~Array(held & ~done)[tail]"),
    ("twice", "issued | issues | synchronises", "issued | synchronises"),
    ("wrong_code", "codes[i].eq(new.code),", ""),
    ("wrong_code", "codes[i].eq(told.code)", "codes[i].eq(0)"),
]


@pytest.mark.parametrize(("claim", "old", "new"), BROKEN)
def test_a_bug_breaks_the_claim(claim, old, new):
    config = engine(3 if "synchronises" in new and claim == "early" else 2)
    bug = Bug(name=claim, module="hdl.cae.window", old=old, new=new)
    window = plant(bug, "hdl.cae.window", "InstructionWindow", config)
    assert not holds(TrackedPair(config, window, (claim,)))
