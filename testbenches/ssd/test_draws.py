# amaranth: UnusedElaboratable=no
"""The draw unit: every sample as the golden model has it, every cycle as the timing model has it."""

import numpy as np
import pytest

from sim.timing.ssd.draws import DIVIDE_CYCLES
from sim.timing.stalls import STALL_KINDS, paced_pattern
from testbenches.models.rules import BenchError
from testbenches.planted import Bug, plant
from testbenches.ssd.configs import SECTORS, SMALL
from testbenches.ssd.draw_bench import DrawHop, compare, expected, model, random_hop

THIRD = (1 << 32) // 3 + 1000
"""A range for which a third of all words is rejected."""

DEGREES = np.array([1, 2, 3, 9, 10, 11, 24, 25, 26, 63, 64, 65, 100, 3383, 1 << 20, THIRD, THIRD + 40, (1 << 31) - 1])


def hops(seed, config=SMALL):
    rng = np.random.default_rng(seed)
    made = [random_hop(rng, config, targets=12, fanout=f, degrees=DEGREES) for f in (1, 2, 10, 25, 64)]
    return [*made, random_hop(rng, config, targets=5, fanout=None, degrees=DEGREES[:14])]


def one_hop(degree, count, **changes):
    n = len(degree)
    fields = {
        "seed": 1, "batch": 2, "hop": 0, "wide": False, "replace": False, "edges_address": 0, "node": np.arange(n),
        "offset": np.zeros(n, np.int64), "degree": np.array(degree), "count": np.array(count),
    }  # fmt: skip
    return DrawHop(**fields | changes | {"node": np.asarray(changes.get("node", fields["node"]), np.int64)})


@pytest.mark.parametrize("stalls", STALL_KINDS)
def test_random_hops(stalls):
    assert compare(hops(len(stalls)), SMALL, stalls, ready_after_valid=stalls == "random") is None


def test_other_sizes():
    """The generator at its fastest, larger pages, fewer places for what was chosen."""
    config = SECTORS.replace(draw_latency=1, max_fanout=25)
    rng = np.random.default_rng(5)
    made = [random_hop(rng, config, targets=9, fanout=f, degrees=DEGREES) for f in (1, 10, 25)]
    assert compare(made, config, "bursty") is None


def test_every_corner_is_met():
    """The runs above have words rejected several times, divisions in vain, lists in order, both widths, both modes."""
    traces = [expected(hops(len(stalls)), SMALL)[1] for stalls in STALL_KINDS]
    trace = np.concatenate(traces)
    assert trace[:, 3].max() >= 3
    assert ((trace[:, 3] == 0) & (trace[:, 4] == 1)).any()
    assert ((trace[:, 3] > 0) & (trace[:, 4] == 0)).any()
    made = [hop for stalls in STALL_KINDS for hop in hops(len(stalls))]
    assert {(hop.wide, hop.replace) for hop in made} == {(a, b) for a in (False, True) for b in (False, True)}
    assert any((hop.count == hop.degree).any() and (hop.count < hop.degree).any() for hop in made)


def test_pages_at_every_offset():
    """Lists that begin at each half beat around the end of a page, edge lists that begin anywhere in one."""
    offsets = np.arange(120, 140)
    made = [
        one_hop(np.full(20, 9), np.full(20, 9), offset=offsets, edges_address=address, wide=wide, node=np.arange(20))
        for address, wide in ((0, False), (0, True), (4, False), (508, False), (504, True), ((1 << 48) + 12, False))
    ]
    assert compare(made, SMALL) is None


def test_a_sample_every_cycle():
    """Also from target to target, and in order as well as drawn: 500 of one sample, then some of 25 and whole lists."""
    degree = [50] * 500 + [100, 20] * 20
    count = [1] * 500 + [25, 20] * 20
    jobs, samples, _, _ = model([one_hop(degree, count)], SMALL)
    assert samples[-1] - samples[0] == len(samples) - 1 == 500 + 45 * 20 - 1
    assert samples[0] - jobs[1] >= SMALL.draw_latency + 6
    # The hop's record is seen one cycle after it came; its key comes `draw_latency` cycles later, a sample as many
    # cycles behind the next one plus four steps and the room behind the generator.
    assert samples[0] - jobs[0] == 1 + SMALL.draw_latency + 1 + SMALL.draw_latency + 5


def test_a_division_and_another_draw():
    hop = one_hop([THIRD] * 300, [1] * 300)
    _, trace = expected([hop], SMALL)
    _, samples, counters, _ = model([hop], SMALL)
    waits = (trace[:, 3] + trace[:, 4]) * DIVIDE_CYCLES + trace[:, 3] * (SMALL.draw_latency + 1)
    assert trace[:, 3].sum() > 100
    assert samples[-1] - samples[0] == 299 + waits[1:].sum()
    # The samples before one that waits go on: two cycles count as busy.
    assert counters["busy"] == 300
    assert waits.sum() - 600 <= counters["reject"] <= waits.sum()


BUGS = [
    ("bounded", "a low half equal to the remainder is rejected", "low >= remainder)", "low > remainder)"),
    ("bounded", "the remainder is not reduced", "remainder.eq(shifted - bound)", "remainder.eq(shifted)"),
    ("bounded", "a low half equal to the bound is divided", "low >= bound)", "low > bound)"),
    ("bounded", "the division is a step short", "known.eq(step == STEPS)", "known.eq(step == STEPS - 1)"),
    ("bounded", "the remainder is kept from the division before", "step.eq(0), remainder.eq(0)]", "step.eq(0)]"),
    ("chosen", "the first place is not compared", "hits.any()", "hits[1:].any()"),
    ("chosen", "what was taken is kept from target to target", "Mux(self.begins, 0, held)", "held"),
    (
        "chosen",
        "the edge drawn is taken down, not the one that stands in",
        "taken[self.index].eq(self.edge)",
        "taken[self.index].eq(self.number)",
    ),
    ("place", "the edge is not scaled", "(self.edge << self.wide)", "self.edge"),
    ("draws", "the range is one short", "last + 1))", "last))"),
    ("draws", "another draw has the number of the first", "tried.eq(Mux(redraws, attempt + 1, 0))", "tried.eq(0)"),
    (
        "draws",
        "attempts are counted on from sample to sample",
        "again_bound.eq(bound), attempt.eq(0)]",
        "again_bound.eq(bound)]",
    ),
    ("draws", "a credit too few", "outstanding != places)", "outstanding != places - 1)"),
    (
        "draws",
        "the next hop does not wait for the last draws",
        "(outstanding == 0) & ~valid[1] & ~valid[2]",
        "(outstanding == 0)",
    ),
    (
        "draws",
        "a stalled step is overwritten",
        "free[2].eq(~valid[2] | (decided & free[3]))",
        "free[2].eq(~valid[2] | decided)",
    ),
    (
        "draws",
        "the high words of node numbers are lost",
        "Cat(node[32:], number, tried)",
        "Cat(node[32:40], node[:8], number, tried)",
    ),
    ("draws", "with replacement doubles are replaced", "Mux(replace, bounded.number, chosen.edge)", "chosen.edge"),
    ("draws", "the front goes on in the cycle of another draw", "~job.begins_hop & ~redraws &", "~job.begins_hop &"),
]


FEW = SMALL.replace(max_fanout=5, draw_latency=3)


def corners(wide, replace, **changes):
    """Make a hop of ranges that often reject, some of which have a remainder that is met exactly."""
    degree, count = [THIRD, 9, 7, 1 << 30, THIRD, 6, 3 << 29, 9] * 2, [5, 5, 5, 1, 1, 2, 5, 4] * 2
    node = (1 << 48) - 1 - np.arange(16)
    return one_hop(degree, count, node=node, wide=wide, replace=replace, **changes)


def is_sound(design=None):
    """Run hops until one shows a difference."""
    widths = [corners(False, False), corners(True, True, hop=3, batch=7, seed=1 << 63), corners(True, False)]
    runs = [
        ([*widths, one_hop([1] * 40, [1] * 40, wide=True, edges_address=8)], "none", None),
        (widths[1:], "random", None),
        # Targets come so slowly that one is at hand when a word is drawn again.
        ([one_hop([THIRD] * 60, [1] * 60)], "none", paced_pattern(13)),
    ]
    for made, stalls, slow in runs:
        unit = None if design is None else design()
        try:
            if compare(made, FEW, stalls, design=unit, backend="pysim", quiet=300, jobs_stalled=slow):
                return False
        except BenchError:
            return False
    return True


def draw_unit_with(module, name, old, new):
    bug = Bug(name=name, module=f"hdl.ssd.{module}", old=old, new=new)
    return lambda: plant(bug, "hdl.ssd.draws", "DrawUnit", FEW)


def short_name(case):
    return case[1].replace(" ", "-")


@pytest.mark.parametrize("bug", BUGS[::3], ids=short_name)
def test_bug_is_caught(bug):
    assert not is_sound(draw_unit_with(*bug))


@pytest.mark.soak
@pytest.mark.parametrize("bug", BUGS[1::3] + BUGS[2::3], ids=short_name)
def test_each_other_bug_is_caught(bug):
    assert not is_sound(draw_unit_with(*bug))


def test_nothing_is_caught_where_nothing_is_planted():
    assert is_sound(draw_unit_with("draws", "none", "last + 1))", "1 + last))"))
