"""Proofs of the DRAM scheduler's control, at small sizes, for all requests and all ways in which they come.

For all time, by property-directed reachability: the request window takes a request exactly when it has room, keeps its
entries without a gap, loses none, gives each its number of bursts, and marks the oldest request of each bank and no
other; the refresh timer counts each refresh that falls due once, and asks for it until it is given.

Bounded, from reset: no timing rule broken in 16 cycles (several rounds of activate, read or write, and precharge; two
ranks, two bank groups, invented short timings), and in 120 cycles (four refresh intervals) no refresh too early, and
none put off for longer than configured.

Not proved: the rules beyond 16 cycles, so none that spans a refresh (the devices check them in every simulation), other
sizes, and that every request is served in the end.
"""

import pytest

from hdl.dram.refresh import RefreshTimer
from hdl.dram.scheduler import DramScheduler
from hdl.dram.window import RequestWindow
from sim.config import load_config
from testbenches.formal.control import check, report
from testbenches.formal.dram_claims import PatientTimer, RefreshDebt, StampedRules, TrackedRequest, Watched
from testbenches.planted import Bug, plant

pytestmark = pytest.mark.formal

TIMING = {
    "tck_ns": 1, "tcmd": 1, "cl": 4, "cwl": 3, "trcd": 3, "trp": 2, "tras": 5, "trfc": 8, "trefi": 30, "trrd_s": 2,
    "trrd_l": 3, "twtr_s": 1, "twtr_l": 2, "tfaw": 12, "twr": 3, "trtp": 2, "tccd_s": 2, "tccd_l": 3,
    "tccd_l_wr": 4, "trtw_gap": 2, "trtrs": 1,
}  # fmt: skip
TWO_RANKS = load_config("gnnear").dram.replace(
    ranks_per_dimm=2, bank_groups=2, banks_per_group=1, rows=2, columns=8, burst_length=4, window_requests=2,
    postponed_refreshes=1, timing=TIMING,
)  # fmt: skip
THREE_IN_SIGHT = TWO_RANKS.replace(ranks_per_dimm=1, banks_per_group=2, window_requests=3)


def holds(component, cycles=None):
    verdict = check(component, cycles=cycles)
    report(component, verdict)
    return verdict.broken is None


def test_the_window_neither_loses_nor_reorders():
    assert holds(TrackedRequest(THREE_IN_SIGHT, RequestWindow(THREE_IN_SIGHT)))


@pytest.mark.parametrize("rank", [0, 1])
def test_the_refresh_timer_counts_each_refresh_once(rank):
    assert holds(PatientTimer(TWO_RANKS, rank, RefreshTimer(TWO_RANKS, rank)))


def test_refreshes_come_in_time():
    assert holds(Watched(TWO_RANKS, DramScheduler(TWO_RANKS), RefreshDebt(TWO_RANKS)), cycles=120)


def test_no_rule_is_broken():
    assert holds(Watched(TWO_RANKS, DramScheduler(TWO_RANKS), StampedRules(TWO_RANKS)), cycles=16)


def bug(name, module, old, new):
    return Bug(name=name, module=f"hdl.dram.{module}", old=old, new=new)


@pytest.mark.parametrize(
    "planted",
    [
        bug(
            "request lost where one leaves as one comes",
            "window",
            "fills = accept & ~stays_valid & before_valid",
            "fills = accept & ~stays_valid & before_valid & ~leaving.any()",
        ),
        bug(
            "younger request overtakes in its bank",
            "window",
            "self.head[i].eq(valid[i] & ~older.any())",
            "self.head[i].eq(valid[i])",
        ),
    ],
    ids=lambda planted: planted.name.replace(" ", "-"),
)
def test_bugs_of_the_window_are_found(planted):
    assert not holds(TrackedRequest(THREE_IN_SIGHT, plant(planted, "hdl.dram.window", "RequestWindow", THREE_IN_SIGHT)))


def test_a_bug_of_the_refresh_timer_is_found():
    planted = bug(
        "refresh forgotten where one falls due as one is given",
        "refresh",
        "owed.eq(owed + falls_due - self.refresh)",
        "owed.eq(Mux(self.refresh, owed - 1, owed + falls_due))",
    )
    assert not holds(PatientTimer(TWO_RANKS, 0, plant(planted, "hdl.dram.refresh", "RefreshTimer", TWO_RANKS, 0)))


def test_a_gate_a_cycle_short_is_found():
    planted = bug(
        "gate a cycle short",
        "gates",
        "least = Mux(event, cycles - 1, least)",
        "least = Mux(event, max(0, cycles - 2), least)",
    )
    scheduler = plant(planted, "hdl.dram.scheduler", "DramScheduler", TWO_RANKS)
    assert not holds(Watched(TWO_RANKS, scheduler, StampedRules(TWO_RANKS)), cycles=16)
