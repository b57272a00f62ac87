"""The scheduler's RTL equals its timing model in every command and cycle, and the devices find no rule broken."""

import numpy as np
import pytest

from hdl.dram.scheduler import DramScheduler
from sim.config import dram_preset_names, load_config
from sim.program.memory import DramCommand
from sim.timing.stalls import STALL_KINDS, stall_pattern
from testbenches.dram.requests import random_requests
from testbenches.dram.simulate import simulate_dram
from testbenches.models.rules import BenchError
from testbenches.planted import Bug, plant

DDR4 = load_config("gnnear").dram
# Refreshes come soon, and every timing has a value of its own, so that no two can be taken for each other.
ODD_TIMING = {
    "tck_ns": 0.833, "tcmd": 1, "cl": 11, "cwl": 9, "trcd": 10, "trp": 8, "tras": 23, "trfc": 61, "trefi": 700,
    "trrd_s": 3, "trrd_l": 5, "twtr_s": 2, "twtr_l": 7, "tfaw": 19, "twr": 13, "trtp": 6, "tccd_s": 4, "tccd_l": 6,
    "tccd_l_wr": 12, "trtw_gap": 3, "trtrs": 1,
}  # fmt: skip
SMALL = DDR4.replace(
    ranks_per_dimm=2, bank_groups=2, banks_per_group=2, window_requests=5, postponed_refreshes=1, timing=ODD_TIMING
)


def assert_equivalent(requests, config, **options):
    simulation = simulate_dram(requests, config, **options)
    assert simulation.equal, simulation.first_difference
    return simulation.schedule


@pytest.mark.parametrize("stalls", STALL_KINDS)
@pytest.mark.parametrize("ranks", [1, 2])
def test_reads_and_writes(ranks, stalls):
    config = DDR4.replace(ranks_per_dimm=ranks)
    requests = random_requests(config, seed=ranks, count=6000, rows=4 // ranks, writes=0.3)
    schedule = assert_equivalent(requests, config, stalled=stall_pattern(stalls, seed=1))
    assert all(schedule.count(command) > 0 for command in DramCommand if command is not DramCommand.NONE)


@pytest.mark.parametrize("backend", ["pysim", "cocotb", "trace"])
@pytest.mark.parametrize("writes", [0.0, 0.5])
def test_other_timings_and_simulators(writes, backend):
    requests = random_requests(SMALL, seed=3, count=250, rows=3, writes=writes)
    schedule = assert_equivalent(requests, SMALL, backend=backend)
    assert schedule.count(DramCommand.REFRESH) > 1


@pytest.mark.parametrize("memory", [name for name in dram_preset_names() if name != "ddr4_2400"])
def test_every_memory(memory):
    """GNNear's own is in the tests above. Reads with their data, and writes among reads."""
    config = load_config("gnnear", dram=memory).dram.replace(ranks_per_dimm=1, window_requests=8)
    given = []
    for writes in (0.0, 0.3):
        requests = random_requests(config, seed=11, count=5000, bursts=(1, 6), rows=8, writes=writes)
        given += [int(command) for command in assert_equivalent(requests, config).command]
    assert set(given) == set(DramCommand) - {DramCommand.NONE}


@pytest.mark.parametrize("writes", [0.0, 0.5])
@pytest.mark.parametrize("tcmd", [2, 3])
def test_commands_that_take_more_than_a_cycle(tcmd, writes):
    """Single bursts, so that every other command is no read or write and the command bus binds."""
    config = SMALL.replace(**{"timing.tcmd": tcmd})
    requests = random_requests(config, seed=4, count=250, bursts=(1, 2), writes=writes)
    schedule = assert_equivalent(requests, config, backend="pysim")
    assert np.diff(schedule.cycle).min() == tcmd


@pytest.mark.parametrize(
    "changes",
    [
        {"ranks_per_dimm": 1, "bank_groups": 1, "banks_per_group": 1, "window_requests": 1, "postponed_refreshes": 0},
        {"ranks_per_dimm": 4, "bank_groups": 2, "banks_per_group": 1, "window_requests": 3, "postponed_refreshes": 7},
        {"ranks_per_dimm": 3, "bank_groups": 3, "banks_per_group": 3, "window_requests": 8, "postponed_refreshes": 2},
    ],
    ids=["least", "many-ranks", "odd"],
)
def test_sizes(changes):
    config = SMALL.replace(**changes)
    assert_equivalent(random_requests(config, seed=5, count=120, rows=2, writes=0.3), config, backend="pysim")


def test_conflicts_in_one_bank_are_served_in_order():
    config = DDR4.replace(ranks_per_dimm=1)
    requests = random_requests(config, seed=7, count=300, banks=1, rows=3)
    schedule = assert_equivalent(requests, config)
    served = schedule.served[schedule.served >= 0]
    assert (np.diff(served) >= 0).all()


def test_a_full_length_of_a_row():
    """128 bursts in one request: the longest that stays in a row of 1,024 columns."""
    config = DDR4.replace(ranks_per_dimm=1)
    requests = random_requests(config, seed=9, count=40, bursts=(128, 129))
    assert_equivalent(requests, config)


BUGS = [
    Bug(
        name="gate a cycle short",
        module="hdl.dram.gates",
        old="least = Mux(event, cycles - 1, least)",
        new="least = Mux(event, max(0, cycles - 2), least)",
    ),
    Bug(
        name="same bank group taken for another",
        module="hdl.dram.scheduler",
        old="(reads & same, gates.read_to_read_l)",
        new="(reads & same, gates.read_to_read_s)",
    ),
    Bug(
        name="writes of a bank group as close as reads",
        module="hdl.dram.scheduler",
        old="(writes & same, gates.write_to_write_l)",
        new="(writes & same, gates.read_to_read_l)",
    ),
    Bug(
        name="command bus forgotten",
        module="hdl.dram.scheduler",
        old='can_command = gate("command", [(given, gates.command_to_command)])',
        new='can_command = gate("command", [(given, 1)])',
    ),
    Bug(
        name="four activates forgotten",
        module="hdl.dram.scheduler",
        old="                & Array(rank_can_activate)[entry.rank]\n",
        new="",
    ),
    Bug(
        name="younger request overtakes in its bank",
        module="hdl.dram.window",
        old="self.head[i].eq(valid[i] & ~older.any())",
        new="self.head[i].eq(valid[i])",
    ),
    Bug(
        name="refresh counted twice",
        module="hdl.dram.refresh",
        old="owed.eq(owed + falls_due - self.refresh)",
        new="owed.eq(Mux(self.refresh, 0, owed + falls_due))",
    ),
    Bug(
        name="request lost where one leaves as one comes",
        module="hdl.dram.window",
        old="fills = accept & ~stays_valid & before_valid",
        new="fills = accept & ~stays_valid & before_valid & ~leaving.any()",
    ),
]


@pytest.mark.parametrize("bug", BUGS, ids=lambda bug: bug.name.replace(" ", "-"))
def test_planted_bugs_are_caught(bug):
    assert not is_sound(lambda config: plant(bug, "hdl.dram.scheduler", "DramScheduler", config))


def test_nothing_is_caught_where_nothing_is_planted():
    assert is_sound(DramScheduler)


def is_sound(make):
    # Eight banks in a rank: with fewer, the row cycle hides the window of four activates. Requests trickle in, so that
    # some come as others leave.
    config = SMALL.replace(**{"timing.tcmd": 2}, ranks_per_dimm=1, banks_per_group=4, window_requests=8)
    requests = random_requests(config, seed=3, count=250, rows=3, writes=0.3, bursts=(1, 3))
    stalled = stall_pattern("random", seed=2)
    try:
        return simulate_dram(requests, config, backend="pysim", scheduler=make(config), stalled=stalled).equal
    except BenchError:
        return False
