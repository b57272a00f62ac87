# amaranth: UnusedElaboratable=no
"""The walk through targets: every target and request as it must be, every cycle as the timing model has it."""

import numpy as np
import pytest

from sim.program.ssd import ALL_NEIGHBOURS
from sim.timing.ssd.trace import FLAG_FAILED, FLAG_NOTHING
from sim.timing.stalls import STALL_KINDS, paced_pattern
from testbenches.models.rules import BenchError
from testbenches.planted import Bug, plant
from testbenches.ssd.configs import SMALL
from testbenches.ssd.target_bench import TargetsBench, compare, model, random_command, walk

FANOUTS = (1, 2, 10, 25, 64, ALL_NEIGHBOURS)


def commands(seed, config=SMALL, n=12):
    """Make commands of up to four hops, with targets from the host, from the DRAM and from hops before."""
    rng = np.random.default_rng(seed)
    out = []
    for _ in range(n):
        fanouts = [int(rng.choice([1, 2, 3, ALL_NEIGHBOURS])) for _ in range(rng.integers(1, 5))]
        targets = int(rng.integers(1, 12))
        out.append(random_command(rng, config, fanouts=fanouts, targets=targets, look_up=bool(rng.integers(2))))
    return out


def corners(seed, config=SMALL):
    """Make commands at the edges: of degrees about the fan-out, of nodes, of edges, and without samples."""
    rng = np.random.default_rng(seed)
    out = []
    for fanout in FANOUTS:
        degrees = [0, 1, fanout - 1, fanout, fanout + 1, 3383, (1 << 31) - 1]
        sizes = {
            "nodes": (1 << 48) - 1,
            "edges": 1 << 48,
            "degrees": degrees if fanout != ALL_NEIGHBOURS else [0, 1, 2],
        }
        out += [
            random_command(rng, config, fanouts=[fanout], targets=9, look_up=look_up, odd=0.4, **sizes)
            for look_up in (False, True)
        ]
    out += [random_command(rng, config, fanouts=[2] * hops, targets=3, degrees=[0], odd=0) for hops in (1, 2, 4)]
    out += [random_command(rng, config, fanouts=[3, 3, 3], targets=n, degrees=[0, 0, 0, 1]) for n in (1, 2, 3, 4)]
    out += [
        random_command(rng, config, fanouts=[2, 2], targets=5, edges=0, look_up=look_up) for look_up in (False, True)
    ]
    # Every node unknown; more samples than the frontier takes.
    out += [random_command(rng, config, fanouts=[2, 2], targets=5, nodes=1, odd=1)]
    out += [random_command(rng, config, fanouts=[64, 1, 2], targets=4, degrees=[100], odd=0)]
    return out


@pytest.mark.parametrize("stalls", STALL_KINDS)
def test_random_commands(stalls):
    assert compare(commands(len(stalls)), SMALL, stalls, ready_after_valid=stalls == "random") is None


@pytest.mark.parametrize("stalls", ["none", "bursty"])
def test_corners(stalls):
    assert compare(corners(1), SMALL, stalls) is None


FEW = SMALL.replace(frontier_entries=5, dram_reads_in_flight=1, host_lines_in_flight=1)


@pytest.mark.parametrize("stalls", STALL_KINDS)
def test_one_read_at_a_time(stalls):
    assert compare([*commands(3, FEW), *corners(2, FEW)[-10:]], FEW, stalls) is None


def test_nodes_that_come_late():
    """Each node of the frontier is read when it is written."""
    assert compare(commands(9), SMALL, slow={"found": paced_pattern(17)}) is None


def test_every_corner_is_met():
    made = [c for stalls in STALL_KINDS for c in commands(len(stalls))] + corners(1)
    rows = walk(made).rows
    good, bad = (rows[(rows[:, 1] & FLAG_FAILED != 0) == failed] for failed in (False, True))
    assert len(bad) > 50
    assert (good[:, 0] == 0).any()
    assert (good[:, 3] == (1 << 31) - 1).any()
    assert (bad[:, 4] == 1).any(), "a bad list in the DRAM"
    assert (rows[:, 1] & FLAG_NOTHING != 0).sum() > 10
    assert max(len(c.hops) for c in made) == 4
    assert any(len(c.hops) > 1 and len(c.hops[1][0]) == SMALL.frontier_entries for c in made)


def test_a_target_every_cycle():
    """The host's, with lines at hand, and those of a hop that is looked up."""
    rng = np.random.default_rng(0)
    config = SMALL.replace(host_lines_in_flight=16, dram_reads_in_flight=16)
    command = random_command(rng, config, fanouts=[1, 1], targets=128, degrees=[5], odd=0)
    seen = model(walk([command]), config)["descriptors"]
    assert len(seen) == 256
    for hop in (seen[:128], seen[128:]):
        assert hop[-1] - hop[0] == 127


BUGS = [
    ("targets", "the end of a list may be one behind that of the edges", "end <= job.edges", "end <= job.edges + 1"),
    ("targets", "a list that ends with the edges is bad", "end <= job.edges", "end < job.edges"),
    ("targets", "high bits of the offset are lost", "~listed.offset[EDGE_BITS:].any() & ", ""),
    ("targets", "the degree's highest bit is lost", " & ~listed.degree[31]", ""),
    ("targets", "node numbers are cut", "is_known.eq(node < job.nodes)", "is_known.eq(node[:48] < job.nodes)"),
    ("targets", "the last node is unknown", "is_known.eq(node < job.nodes)", "is_known.eq(node + 1 < job.nodes)"),
    ("targets", "all neighbours are at most 255", "(fanout == ALL_NEIGHBOURS) | ", ""),
    ("targets", "targets without samples are drawn", "finishes & (count != 0)", "finishes"),
    ("targets", "a frontier that is full goes on", "Mux(more > most, most, more)", "more"),
    (
        "targets",
        "the samples of the hop before are counted too",
        "state.eq(State.RUN), total.eq(0)]",
        "state.eq(State.RUN)]",
    ),
    (
        "targets",
        "the first hop's bank is released",
        "self.frontier_release.eq(~first_hop)",
        "self.frontier_release.eq(1)",
    ),
    (
        "targets",
        "a node is read before it is written",
        "(index < self.frontier_written)",
        "(index <= self.frontier_written)",
    ),
    (
        "targets",
        "a descriptor is lost when the draws are full",
        "finishes.eq(listed_valid & draw_free & descriptor_free)",
        "finishes.eq(listed_valid & draw_free)",
    ),
    (
        "targets",
        "an empty hop ends the command",
        "descriptor.last_of_command.eq((nothing | is_last) & last_hop)",
        "descriptor.last_of_command.eq(nothing | (is_last & last_hop))",
    ),
    ("targets", "the first hop is always looked up", "job.look_up | ~first_hop", "~first_hop"),
    ("host_targets", "an odd target's line is kept", "second | (to_give == 1)", "second"),
    (
        "host_targets",
        "the half is kept from command to command",
        "second.eq(~second & (to_give != 1))",
        "second.eq(~second)",
    ),
    ("host_targets", "a line too many is asked for", "(self.targets + 1) >> 1", "(self.targets >> 1) + 1"),
    ("host_targets", "a line too many is on its way", "waiting != self._most", "waiting != self._most + 1"),
    ("look_up", "unknown nodes are asked for", "with m.If(enters & node.known)", "with m.If(enters)"),
    ("look_up", "a request is overwritten", "(~node.known | ~offered | self.records_request.ready)", "1"),
    ("look_up", "an unknown node takes a record", "gives & asked.held.payload.known", "gives"),
    ("look_up", "a record too few is on its way", "waiting != self._most", "waiting != self._most - 1"),
    ("landing", "what is shown is overwritten", "(level != 0) & (~shown | self.held.ready)", "(level != 0)"),
]

BUGGY = SMALL.replace(frontier_entries=6, dram_reads_in_flight=3, host_lines_in_flight=2)


def is_sound(unit=None):
    """Run commands until some show a difference."""
    rng = np.random.default_rng(7)
    ends = [
        random_command(rng, BUGGY, fanouts=[2], targets=30, nodes=40, edges=20, degrees=[3], odd=0.9),
        random_command(rng, BUGGY, fanouts=[2, 2], targets=30, nodes=40, edges=20, degrees=[3], odd=0.9, look_up=True),
        random_command(rng, BUGGY, fanouts=[ALL_NEIGHBOURS, 1, 1], targets=3, degrees=[300, 2], odd=0),
    ]
    nodes_come_late = {"found": paced_pattern(40)}
    runs = [
        (ends, "none", None),
        (commands(0, BUGGY, 8), "random", None),
        (corners(3, BUGGY)[-9:], "bursty", None),
        (ends[1:], "none", nodes_come_late),
    ]
    for made, stalls, slow in runs:
        design = TargetsBench(BUGGY, None if unit is None else unit())
        try:
            if compare(made, BUGGY, stalls, design=design, backend="pysim", quiet=300, slow=slow):
                return False
        except BenchError:
            return False
    return True


def targets_with(module, name, old, new):
    bug = Bug(name=name, module=f"hdl.ssd.{module}", old=old, new=new)
    return lambda: plant(bug, "hdl.ssd.targets", "Targets", BUGGY)


def short_name(case):
    return case[1].replace(" ", "-")


@pytest.mark.parametrize("bug", BUGS[::3], ids=short_name)
def test_bug_is_caught(bug):
    assert not is_sound(targets_with(*bug))


@pytest.mark.soak
@pytest.mark.parametrize("bug", BUGS[1::3] + BUGS[2::3], ids=short_name)
def test_each_other_bug_is_caught(bug):
    assert not is_sound(targets_with(*bug))


def test_nothing_is_caught_where_nothing_is_planted():
    assert is_sound(targets_with("targets", "none", "job.look_up | ~first_hop", "~first_hop | job.look_up"))
