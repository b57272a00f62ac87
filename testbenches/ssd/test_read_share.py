# amaranth: UnusedElaboratable=no
"""A memory's port with several users: every answer goes back to who asked, every cycle is as the model has it."""

import numpy as np
import pytest

from sim.timing.ssd.read_memory import make_memory
from sim.timing.stalls import STALL_KINDS
from testbenches.models.rules import BenchError
from testbenches.planted import Bug, plant
from testbenches.ssd.share_bench import UNITS, ShareBench, compare, model

DEEP, SHALLOW = (9, 2), (4, 7)
"""Reads under way at most, and the memory's latency: never full, and mostly full."""


def requests(users, each=60, seed=0):
    """Ask for units of which none is asked for twice."""
    order = np.random.default_rng(seed).permutation(UNITS)[: users * each]
    return np.split(order, users)


@pytest.mark.parametrize("stalls", STALL_KINDS)
@pytest.mark.parametrize(("depth", "latency"), [DEEP, SHALLOW])
def test_three_users(depth, latency, stalls):
    assert compare(requests(3, seed=latency), depth, latency, stalls, seed=depth) is None


@pytest.mark.parametrize("users", [1, 2])
@pytest.mark.parametrize("stalls", ["none", "random"])
def test_fewer_users_and_one_read_at_a_time(users, stalls):
    asked = requests(users, each=30)
    design = ShareBench(users, 1, 3)
    assert compare(asked, 1, 3, stalls, seed=users, design=design, backend="pysim") is None


def test_a_read_every_cycle_and_fair_turns():
    cycles, order, _ = model(requests(3), 10, 9)
    assert (np.diff(cycles["request"]) == 1).all()
    for i in range(3):
        # Each user has every third turn.
        assert (np.isin(order[:150], requests(3)[i]).nonzero()[0] % 3 == i).all()
        assert (np.diff(cycles[f"response_{i}"]) == 3).all()


def test_reads_under_way_bound_the_rate():
    cycles, _, _ = model(requests(2), 4, 21)
    assert cycles["request"][100] - cycles["request"][60] == pytest.approx(40 * 21 / 4, abs=21)


@pytest.mark.parametrize("stalls", ["none", "stop_and_go"])
def test_cycles_that_are_skipped_are_those_in_which_nothing_happens(stalls):
    whole, order, all_cycles = model(requests(3), 3, 50, stalls, seed=1, skips=False)
    skipped, same_order, stepped = model(requests(3), 3, 50, stalls, seed=1)
    assert (order == same_order).all()
    assert all((whole[name] == skipped[name]).all() for name in whole)
    assert stepped < all_cycles / (4 if stalls == "none" else 1)


def test_a_memory_takes_two_cycles_at_least():
    with pytest.raises(ValueError, match="must be 2 or more"):
        make_memory(1)


BUGS = [
    (
        "an offer is withdrawn for another",
        "Mux(waits, waiting, number_of(turn(wanted, last)))",
        "number_of(turn(wanted, last))",
    ),
    ("the last user keeps its turn", "m.d.sync += last.eq(user)", "m.d.sync += last.eq(0)"),
    ("one read too many", "(level != depth)", "(level != depth + 1)"),
    ("one read too few", "(level != depth)", "(level != depth - 1)"),
    ("answers are not counted", "level.eq(level + asks - answered)", "level.eq(level + asks - (answered & ~asks))"),
    ("the newest gets the answer", "(order[oldest] == i)", "(order[newest] == i)"),
    ("the order of a ring of another size", "newest.eq(after(newest, depth))", "newest.eq(after(newest, depth - 1))"),
    (
        "a request is taken twice",
        "queue.ready.eq(asks & (user == i))",
        "queue.ready.eq(asks & (user == i) & (level != 1))",
    ),
    ("a request is lost", "queue.ready.eq(asks & (user == i))", "queue.ready.eq(self.request.ready & (user == i))"),
]


def is_sound(unit=None):
    """Run the port until some run shows a difference."""
    runs = [(requests(3, each=20), "none"), (requests(3, each=40), "random"), (requests(3, each=40), "bursty")]
    for asked, stalls in runs:
        design = ShareBench(3, *SHALLOW, None if unit is None else unit())
        try:
            if compare(asked, *SHALLOW, stalls, design=design, backend="pysim", quiet=300):
                return False
        except BenchError:
            return False
    return True


def short_name(case):
    return case[0].replace(" ", "-")


@pytest.mark.parametrize("bug", BUGS, ids=short_name)
def test_bug_is_caught(bug):
    name, old, new = bug
    planted = Bug(name=name, module="hdl.ssd.read_share", old=old, new=new)
    assert not is_sound(lambda: plant(planted, "hdl.ssd.read_share", "ReadShare", 3, 40, 128, SHALLOW[0]))


def test_nothing_is_caught_where_nothing_is_planted():
    assert is_sound()
