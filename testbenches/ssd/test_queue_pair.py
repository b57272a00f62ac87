# amaranth: UnusedElaboratable=no
"""Submission and completion queue: commands judged as the software does, cycles as the timing model has them."""

import numpy as np
import pytest

from sim.program.ssd import NS_CONFIG, SsdStatus
from sim.timing.stalls import STALL_KINDS, paced_pattern
from testbenches.models.rules import BenchError
from testbenches.planted import Bug, plant
from testbenches.ssd.configs import SECTORS, SMALL
from testbenches.ssd.pair_bench import PairBench, Script, compare, expected, model
from testbenches.ssd.pair_commands import PAGES, commands, script

QUEUES = {"none": (64, 64), "random": (5, 3), "bursty": (2, 7), "stop_and_go": (16, 2)}
"""Entries of the two queues: from one that can be taken at a time to more than fit into the engine."""

OF_A_COMMAND = set(SsdStatus) - {SsdStatus.OUT_OF_RANGE, SsdStatus.UNRECOVERED_READ, SsdStatus.RESULT_TOO_SMALL,
                                 SsdStatus.FRONTIER_FULL}  # fmt: skip
"""What the judge can say."""


@pytest.mark.parametrize("stalls", STALL_KINDS)
def test_commands(stalls):
    sq_entries, cq_entries = QUEUES[stalls]
    made = script(len(stalls), 300, SMALL, sq_entries=sq_entries, cq_entries=cq_entries)
    assert compare(made, SMALL, stalls, ready_after_valid=stalls == "random") is None


def test_ten_thousand_commands():
    """Most of them wrong, often by one."""
    made = script(1, 10_000, SMALL, sq_entries=1 << 10, cq_entries=1 << 10, wrong=0.5)
    assert compare(made, SMALL) is None
    counts = dict(zip(*np.unique(expected(made, SMALL).status, return_counts=True), strict=True))
    assert set(counts) == OF_A_COMMAND
    assert min(counts.values()) > 50


@pytest.mark.parametrize("pages", [0, 1, (1 << 40) - 1])
def test_an_ssd_of_any_size(pages):
    entries, configs = commands(pages % 1000, 200, SMALL, pages=max(1, pages))
    made = script(2, 200, SMALL, sq_entries=64, cq_entries=64)
    made = Script(
        entries=entries, configs=configs, doorbells=made.doorbells, sq_entries=64, cq_entries=64, pages=pages
    )  # fmt: skip
    assert compare(made, SMALL) is None


LARGE = SECTORS.replace(**{"flash.page_bytes": 16384, "max_fanout": 10, "commands_in_flight": 1})


def test_more_edges_than_are_allowed_would_fit():
    made = script(3, 1_000, LARGE, sq_entries=64, cq_entries=64, pages=(1 << 40) - 1)
    edges = NS_CONFIG.decode(made.configs)["edges"]
    status = expected(made, LARGE).status
    assert (status[edges == 1 << 48] == SsdStatus.OK).any()
    assert not (status[edges == (1 << 48) + 1] == SsdStatus.OK).any()
    assert compare(made, LARGE, "random") is None


def test_the_largest_queues():
    made = script(4, 50, SMALL, sq_entries=(1 << 16) - 1, cq_entries=(1 << 16) - 1)
    design = PairBench(SMALL)
    assert compare(made, SMALL, design=design, backend="pysim") is None


def ring(made, *doorbells, cq_entries=64):
    return Script(
        entries=made.entries, configs=made.configs, doorbells=list(doorbells), sq_entries=64, cq_entries=cq_entries,
        pages=PAGES,
    )  # fmt: skip


SIX = script(5, 6, SMALL, sq_entries=64, cq_entries=64, spoiled=0)


SLOW = {"completions": paced_pattern(200)}
"""A packer that takes its time."""


def test_commands_in_flight():
    """A fifth entry is taken when the first completion was written."""
    made = ring(SIX, (0, 6, 0))
    assert compare(made, SMALL, slow=SLOW) is None
    cycles, error = model(made, expected(made, SMALL), SMALL, slow=SLOW)
    assert not error
    # Two lines are asked for of each command. The bench's first completion is not slow.
    started = cycles["lines_request"][::2]
    assert started[4] < cycles["completions"][1] < started[5]


def test_a_command_takes_ten_cycles_where_nothing_waits():
    cycles, _ = model(ring(SIX, (0, 6, 0)), expected(SIX, SMALL), SMALL)
    assert set(np.diff(cycles["contexts"])) == {10}
    assert (cycles["jobs"] - cycles["contexts"] == 1).all()


def test_room_in_the_completion_queue():
    """With three entries the third command waits for the host, however many completions are written."""
    made = ring(SIX, (0, 6, 0), (1, 2, 2), (1, 1, 4), cq_entries=3)
    assert compare(made, SMALL, design=PairBench(SMALL), backend="pysim") is None
    cycles, error = model(made, expected(made, SMALL), SMALL)
    assert not error
    assert cycles["lines_request"][4] > cycles["doorbell"][1] > cycles["completions"][1]


LATE = SLOW | {"doorbell": paced_pattern(60)}
"""A host that rings when four commands run, of which one completion is written."""


@pytest.mark.parametrize(
    "wrong",
    [(0, 64, 0), (0, 65535, 0), (1, 64, 0), (1, 65535, 0), (1, 2, 0), (1, 63, 0)],
    ids=["tail", "far tail", "head", "far head", "not written", "behind"],
)
def test_a_wrong_doorbell_is_ignored(wrong):
    made = ring(SIX, (0, 6, 0), wrong, (1, 6, 6))
    assert compare(made, SMALL, design=PairBench(SMALL), backend="pysim", slow=LATE) is None
    assert model(made, expected(made, SMALL), SMALL, slow=LATE)[1] == 1


def test_a_right_doorbell_is_no_fault():
    made = script(6, 200, SMALL, sq_entries=7, cq_entries=4, wrong=0)
    assert compare(made, SMALL) is None
    assert model(made, expected(made, SMALL), SMALL)[1] == 0


BUGS = [
    ("command_judge", "edges may be 2^48 + 1", "asked.edges > 1 << EDGE_BITS", "asked.edges > (1 << EDGE_BITS) + 1"),
    ("command_judge", "edges are cut", "asked.edges[: EDGE_BITS + 1]", "asked.edges[: EDGE_BITS - 8]"),
    (
        "command_judge",
        "a sum is cut",
        "end, result_end = Signal(65), Signal(65)",
        "end, result_end = Signal(64), Signal(65)",
    ),
    ("command_judge", "a list may not reach the end", "end > limit", "end >= limit"),
    ("command_judge", "a result may not reach the end", "result_end[64] & result_end[:64].any()", "result_end[64]"),
    ("command_judge", "wide ids need not be aligned", "| (wide & asked.edges_address[2])", ""),
    (
        "command_judge",
        "narrow ids are aligned as wide ones",
        "(wide & asked.edges_address[2])",
        "asked.edges_address[2]",
    ),
    ("command_judge", "fan-outs beyond the hops count", "(asked.hops > hop) & ", ""),
    ("command_judge", "the largest fan-out is too large", "f > config.max_fanout", "f >= config.max_fanout"),
    ("command_judge", "all neighbours are too many", " & (f != ALL_NEIGHBOURS)", ""),
    ("command_judge", "the last reason is told", "reversed(faults.items())", "faults.items()"),
    (
        "command_judge",
        "ids may not begin at the end",
        "asked.ids_line > asked.result_lines",
        "asked.ids_line >= asked.result_lines",
    ),
    ("command_judge", "one node too many", "asked.nodes > (1 << NODE_BITS) - 1", "asked.nodes > 1 << NODE_BITS"),
    (
        "command_judge",
        "lengths are compared in 32 bits",
        "self.config_bytes != length",
        "self.config_bytes != length[:32]",
    ),
    ("queue_pair", "judged a cycle early", "m.d.sync += state.eq(State.JUDGE)", "m.d.sync += state.eq(State.CONTEXT)"),
    ("queue_pair", "the early reason is kept", ", early.eq(SsdStatus.OK)]", "]"),
    ("queue_pair", "the entry's line stays", "(state == State.ENTRY) | ends", "ends"),
    (
        "queue_pair",
        "the completion queue may be filled",
        "(reserved + 1 < self.cq_entries)",
        "(reserved < self.cq_entries)",
    ),
    (
        "queue_pair",
        "one command too many",
        "running != self._config.commands_in_flight",
        "running != self._config.commands_in_flight + 1",
    ),
    ("queue_pair", "unwritten completions are freed", " & (freed <= written)", " & (freed <= reserved)"),
    ("queue_pair", "heads that wrap free too few", "value + self.cq_entries, value", "value, value"),
    ("queue_pair", "the tail may be the size", "value < self.sq_entries", "value <= self.sq_entries"),
    ("queue_pair", "the head does not wrap", "head + 1 == self.sq_entries", "head == self.sq_entries"),
    ("queue_pair", "refused commands are handed on", "Mux(refused, State.IDLE, State.JOB)", "State.JOB"),
    ("queue_pair", "targets begin with the configuration", "entry.prp1 + NS_CONFIG.bytes", "entry.prp1"),
]


def is_sound(unit=None):
    """Run commands until some show a difference."""
    runs = [
        (SMALL, ring(SIX, (0, 6, 0), (1, 2, 0)), "none", LATE),
        (SMALL, ring(SIX, (0, 6, 0), (0, 64, 6)), "none", None),
        (SMALL, script(8, 40, SMALL, sq_entries=5, cq_entries=3), "random", None),
        (SMALL, script(7, 250, SMALL, sq_entries=64, cq_entries=64), "none", None),
        (LARGE, script(9, 250, LARGE, sq_entries=64, cq_entries=64, pages=(1 << 40) - 1), "none", None),
    ]
    for config, made, stalls, slow in runs:
        design = PairBench(config, None if unit is None else unit(config))
        try:
            if compare(made, config, stalls, design=design, backend="pysim", quiet=300, slow=slow):
                return False
        except BenchError:
            return False
    return True


def short_name(case):
    return case[1].replace(" ", "-")


@pytest.mark.parametrize("bug", BUGS, ids=short_name)
def test_bug_is_caught(bug):
    module, name, old, new = bug
    planted = Bug(name=name, module=f"hdl.ssd.{module}", old=old, new=new)
    assert not is_sound(lambda config: plant(planted, "hdl.ssd.queue_pair", "QueuePair", config))


def test_nothing_is_caught_where_nothing_is_planted():
    assert is_sound()
