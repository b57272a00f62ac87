# amaranth: UnusedElaboratable=no
"""Proofs of the sampling engine's queues of commands and of its ports to the memories, for all time but for one.

* The queue pair, with queues of any size up to 3 entries and two commands in flight: every entry that the host rings
  for is told to the packer exactly once, in order, and (in 26 cycles) does not fail to be; no completion is written
  over one that the host has not read; only commands that are not refused run, and all of them do. A host that keeps the
  rules is never accused. No more commands run than may, with one in flight: the completion queue bounds two. What a
  host that keeps no rules cannot break is proved with such a one.
* A port with three users: every request is asked once and unchanged, its answer goes to who asked; none is left behind
  more than one turn of each other user.
"""

import pytest
from amaranth.hdl import Fragment

from hdl.ssd.queue_pair import QueuePair
from hdl.ssd.read_share import ReadShare
from testbenches.formal.control import check, report
from testbenches.formal.ssd_queue_claims import CountedCommands, TrackedRead, small_pair
from testbenches.planted import Bug, plant
from testbenches.ssd.configs import SMALL

pytestmark = pytest.mark.formal

TWO = SMALL.replace(commands_in_flight=2)
ONE = SMALL.replace(commands_in_flight=1)
PORT = (3, 1, 1, 2)
"""Users, bits of an address, bits of an answer, reads under way."""


def config_of(claim):
    return ONE if claim == "crowded" else TWO


def holds(component, cycles=None):
    verdict = check(component, cycles=cycles)
    report(component, verdict)
    return verdict.broken is None


BOUNDED = {"stuck": 26}
"""Cycles for which a claim is checked that could not be proved for all time in a minute."""


@pytest.mark.parametrize("claim", CountedCommands.CLAIMS)
def test_claims_of_the_queues(claim):
    config = config_of(claim)
    assert holds(CountedCommands(config, small_pair(QueuePair, config), claims=(claim,)), BOUNDED.get(claim))


@pytest.mark.parametrize("claim", CountedCommands.WILD_CLAIMS)
def test_claims_with_a_host_that_keeps_no_rules(claim):
    config = config_of(claim)
    assert holds(CountedCommands(config, small_pair(QueuePair, config), claims=(claim,), wild=True))


@pytest.mark.parametrize("claim", TrackedRead.CLAIMS)
def test_claims_of_the_port(claim):
    assert holds(TrackedRead(ReadShare(*PORT), 3, 2, (claim,)))


BROKEN_QUEUES = [
    ("accused", "value + self.cq_entries, value", "value, value"),
    ("accused", "value < self.sq_entries))", "value + 1 < self.sq_entries))"),
    ("invented", "(head != tail)", "1"),
    ("skipped", "head + 1 == self.sq_entries", "head == self.sq_entries"),
    ("crowded", "running != self._config.commands_in_flight", "running != self._config.commands_in_flight + 1"),
    ("overwritten", "(reserved + 1 < self.cq_entries)", "(reserved < self.cq_entries)"),
    ("overwritten", "reserved.eq(reserved + takes - Mux(frees, freed, 0))", "reserved.eq(reserved + takes - frees)"),
    ("refused_runs", "Mux(refused, State.IDLE, State.JOB)", "State.JOB"),
    ("forgotten", "Mux(refused, State.IDLE, State.JOB)", "State.IDLE"),
    ("stuck", "running.eq(running + takes - self.completed)", "running.eq(running + takes)"),
    ("unasked", "(state == State.ENTRY) | ends", "ends"),
]


@pytest.mark.parametrize(("claim", "old", "new"), BROKEN_QUEUES)
def test_a_bug_breaks_the_claim_of_the_queues(claim, old, new):
    bug = Bug(name=claim, module="hdl.ssd.queue_pair", old=old, new=new)
    config = config_of(claim)
    planted = plant(bug, "hdl.ssd.queue_pair", "QueuePair", config)
    Fragment.get(planted, None)  # Amaranth warns of components that are never built
    pair = small_pair(type(planted), config)
    assert not holds(CountedCommands(config, pair, claims=(claim,)), 34)


BROKEN_PORTS = [
    ("unsteady", "Mux(waits, waiting, number_of(turn(wanted, last)))", "number_of(turn(wanted, last))"),
    (
        "changed",
        "self.request.payload.eq(Array(queue.payload for queue in queues)[user])",
        "self.request.payload.eq(0)",
    ),
    ("astray", "(order[oldest] == i)", "(order[newest] == i)"),
    ("invented", "queue.ready.eq(asks & (user == i))", "queue.ready.eq(asks & (user == i) & (level != 1))"),
    ("crowded", "(level != depth)", "(level != depth + 1)"),
    ("doubled", "(order[oldest] == i)", "(order[oldest] <= i)"),
    ("starved", "m.d.sync += last.eq(user)", "m.d.sync += last.eq(0)"),
    ("idle", "(level != depth)", "(level != depth - 1)"),
]


@pytest.mark.parametrize(("claim", "old", "new"), BROKEN_PORTS)
def test_a_bug_breaks_the_claim_of_the_port(claim, old, new):
    bug = Bug(name=claim, module="hdl.ssd.read_share", old=old, new=new)
    assert not holds(TrackedRead(plant(bug, "hdl.ssd.read_share", "ReadShare", *PORT), 3, 2, (claim,)), 20)
