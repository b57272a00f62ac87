# amaranth: UnusedElaboratable=no
"""The generator of random words at every latency equals the golden model, which equals the published vectors."""

import numpy as np
import pytest

from hdl.arith.threefry import Threefry
from sim.golden.threefry import threefry_2x32
from testbenches.arith.rtl import simulate
from testbenches.planted import Bug, plant
from testbenches.sim.golden.test_threefry import KNOWN

NAMES = ("key_0", "key_1", "counter_0", "counter_1")


def words(count, seed, *, one_key=False):
    """Draw keys and counters, the published ones first; of shape [count, 4]."""
    rng = np.random.default_rng(seed)
    known = np.array([[*key, *counter] for key, counter, _ in KNOWN], np.uint32)
    drawn = np.concatenate([known, rng.integers(0, 1 << 32, (count - len(known), 4), np.uint32)])
    if one_key:
        drawn[:, :2] = drawn[-1, :2]
    return drawn


def draws(block, given):
    seen = simulate(block, **dict(zip(NAMES, given.T, strict=True)))
    return np.stack([seen["draw_0"], seen["draw_1"]], axis=-1)


@pytest.mark.parametrize("key_held", [False, True], ids=["own-key", "key-held"])
@pytest.mark.parametrize("latency", range(21))
def test_draws_leave_after_the_declared_latency(latency, key_held):
    """A new counter in every cycle, so that no other latency fits, and a new key with it unless the key is held."""
    block = Threefry(latency=latency, key_held=key_held)
    given = words(30, latency, one_key=key_held)
    expected = threefry_2x32(given[:, :2], given[:, 2:])
    np.testing.assert_array_equal(draws(block, given)[latency:], expected)
    assert block.latency == latency


def test_published_vectors():
    given = np.array([[*key, *counter] for key, counter, _ in KNOWN], np.uint32)
    assert draws(Threefry(latency=0), given).tolist() == [list(draw) for _, _, draw in KNOWN]


def test_latency_is_checked():
    assert Threefry().latency == 10
    assert [len(registered) for registered in Threefry.CUTS] == list(range(21))
    with pytest.raises(ValueError, match=r"Threefry cannot have latency=21.* to 20"):
        Threefry(latency=21)


BUGS = [
    ("rotated to the right", "rotate_left", "rotate_right"),
    ("rotations out of step", "ROTATIONS[(done - 1) %", "ROTATIONS[done %"),
    ("number of the injection left out", "% 3] + injection)", "% 3])"),
    ("words of the key out of turn", "words[injection % 3]", "words[(injection + 2) % 3]"),
    ("a key of two words", "words[(injection + 1) % 3]", "words[(injection + 1) % 2]"),
    ("key not carried along", 'key = {"key_0": x.key_0, "key_1": x.key_1}', "pass"),
]


@pytest.mark.parametrize(("wrong", "old", "new"), BUGS, ids=[bug[0].replace(" ", "-") for bug in BUGS])
def test_bug_is_caught(wrong, old, new):
    bug = Bug(name=wrong, module="hdl.arith.threefry", old=old, new=new)
    block = plant(bug, "hdl.arith.threefry", "Threefry")
    given = words(20, 1)
    assert (draws(block, given)[block.latency :] != threefry_2x32(given[:, :2], given[:, 2:])).any()
