# amaranth: UnusedElaboratable=no
"""The packer writes nowhere but where it may: proofs for all time, of results of a few lines."""

import pytest

from hdl.ssd.packer import Packer
from testbenches.formal.control import check, report
from testbenches.formal.ssd_packer_claims import LINE_BITS, ROOM_BITS, TrackedWrites
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
def test_claims(claim):
    assert holds(TrackedWrites(CONFIG, Packer(CONFIG, line_bits=LINE_BITS, room_bits=ROOM_BITS), (claim,)))
