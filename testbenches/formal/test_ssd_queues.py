# amaranth: UnusedElaboratable=no
"""Proofs of the sampling engine's queues of commands and of its ports to the memories, for all time.

* The queue pair, with queues of any size up to 7 entries and two commands in flight: every entry that the host rings
  for is told to the packer exactly once, in order, and does not fail to be; no more than two run; no completion is
  written over one that the host has not read; only commands that are not refused run, and all of them do. A host that
  keeps the rules is never accused. What a host that keeps no rules cannot break is proved with such a one.
* A port with three users: every request is asked once and unchanged, its answer goes to who asked; none is left behind
  more than one turn of each other user.
"""

import pytest

from hdl.ssd.queue_pair import QueuePair
from hdl.ssd.read_share import ReadShare
from testbenches.formal.control import check, report
from testbenches.formal.ssd_queue_claims import CountedCommands, TrackedRead
from testbenches.planted import Bug, plant
from testbenches.ssd.configs import SMALL

pytestmark = pytest.mark.formal

TWO = SMALL.replace(commands_in_flight=2)
PORT = (3, 1, 1, 2)
"""Users, bits of an address, bits of an answer, reads under way."""


def holds(component, cycles=None):
    verdict = check(component, cycles=cycles)
    report(component, verdict)
    return verdict.broken is None


@pytest.mark.parametrize("claim", CountedCommands.CLAIMS)
def test_claims_of_the_queues(claim):
    assert holds(CountedCommands(TWO, QueuePair(TWO), claims=(claim,)))


@pytest.mark.parametrize("claim", CountedCommands.WILD_CLAIMS)
def test_claims_with_a_host_that_keeps_no_rules(claim):
    assert holds(CountedCommands(TWO, QueuePair(TWO), claims=(claim,), wild=True))


@pytest.mark.parametrize("claim", TrackedRead.CLAIMS)
def test_claims_of_the_port(claim):
    assert holds(TrackedRead(ReadShare(*PORT), 3, 2, (claim,)))
