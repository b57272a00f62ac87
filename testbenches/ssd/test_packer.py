# amaranth: UnusedElaboratable=no
"""Packer and frontier: every line and node as it must be, every cycle as the timing model has it."""

import numpy as np
import pytest

from sim.golden.sampling.engine import run_commands
from sim.graph import load_graph
from sim.program.ssd import COMPLETION, NS_CONFIG, SsdStatus
from sim.program.ssd_host import host_image
from sim.timing.stalls import STALL_KINDS, paced_pattern
from testbenches.models.rules import BenchError
from testbenches.planted import Bug, plant
from testbenches.ssd.batches import commands_of, random_batches, stored
from testbenches.ssd.configs import SMALL
from testbenches.ssd.packer_bench import (
    Command,
    Hop,
    PackerBench,
    compare,
    model,
    pack,
    random_command,
    refused,
    script,
)

CONFIG = SMALL.replace(targets_in_flight=4, frontier_entries=40)
FEW = SMALL.replace(window_samples=4, commands_in_flight=1, frontier_entries=5)


def commands(seed, config=CONFIG, n=12, *, targets=40):
    """Make commands of all kinds."""
    rng = np.random.default_rng(seed)
    made = []
    for number in range(n):
        if rng.random() < 0.2:
            made.append(refused(rng, number))
            continue
        room = (int(rng.integers(4)), int(rng.integers(5))) if rng.random() < 0.3 else None
        faults = rng.choice([0, 0.02, 0.3])
        counts = [[0, 1, 2, 3], [1], [0], [0, 0, 0, 1], [8, 16, 25]][rng.integers(5)]
        made.append(
            random_command(
                rng, config, hops=int(rng.integers(1, 5)), targets=int(rng.integers(1, targets)), counts=counts,
                bad=faults, unreadable=faults, room=room, number=number,
            )
        )  # fmt: skip
    return made


def edges(config=CONFIG):
    """Make commands that end with a full line, one value before and one behind it, with room for all or not."""
    rng = np.random.default_rng(0)
    made = []
    for wide in (0, 1):
        for targets, count in ((15, 1), (16, 1), (17, 1), (32, 1), (1, 7), (1, 8), (1, 9), (1, 16), (4, 4), (1, 300)):
            lines = -(-targets // 16), -(-targets * count // (8 if wide else 16))
            for less in ((0, 0), (1, 0), (0, 1), lines)[: 4 if count < 9 else 2]:
                room = (lines[0] - less[0], lines[1] - less[1])
                made.append(
                    random_command(
                        rng, config, hops=1, targets=targets, counts=[count], bad=0, unreadable=0, room=room, wide=wide
                    )
                )
    return made


@pytest.mark.parametrize("stalls", STALL_KINDS)
def test_random_commands(stalls):
    assert compare(commands(len(stalls)), CONFIG, stalls, ready_after_valid=stalls == "random") is None


@pytest.mark.parametrize("stalls", ["none", "random"])
def test_edges_of_lines(stalls):
    assert compare(edges(), CONFIG, stalls) is None


@pytest.mark.parametrize("stalls", STALL_KINDS)
def test_few_at_a_time(stalls):
    assert compare(commands(7, FEW), FEW, stalls) is None


def late_ids(config=CONFIG):
    """Make commands with more ids of a hop than the frontier takes."""
    rng = np.random.default_rng(5)
    sizes = {"targets": 3, "counts": [30], "bad": 0}
    return [random_command(rng, config, hops=hops, number=hops, **sizes) for hops in (2, 3, 4, 2)]


@pytest.mark.parametrize("pace", [7, 33])
def test_ids_beyond_the_frontier_come_when_its_reader_is_done(pace):
    """They are dropped, though the bank is empty by then."""
    assert compare(late_ids(), CONFIG, slow={"ids": paced_pattern(pace)}) is None


def test_every_corner_is_met():
    seen = [c for stalls in STALL_KINDS for c in commands(len(stalls))]
    written = [pack([c], CONFIG.frontier_entries, cq_address=0) for c in seen]
    entries = np.array([list(lines[-1][1].to_bytes(64, "little")[:16]) for lines in written], np.uint8)
    statuses = set(COMPLETION.decode(entries)["status"].tolist())
    assert statuses > {
        SsdStatus.OK, SsdStatus.OUT_OF_RANGE, SsdStatus.UNRECOVERED_READ, SsdStatus.RESULT_TOO_SMALL,
        SsdStatus.FRONTIER_FULL,
    }  # fmt: skip
    assert sum(len(lines) for lines in written) > 200
    assert sum(len(h.count) == 0 for c in seen for h in c.hops) > 3, "hops without targets"


def test_an_id_every_cycle():
    """Of targets with one id each, when they are at hand; also while two lines fill up in one cycle."""
    rng = np.random.default_rng(0)
    held = np.arange(1 << 14) < 200
    for wide in (0, 1):
        c = random_command(rng, CONFIG, hops=1, targets=400, counts=[1], bad=0, unreadable=0, wide=wide)
        cycles = model(script([c], CONFIG), CONFIG, slow={"lines": held})["retired"]
        late = cycles[cycles >= 200]
        assert len(late) > 300
        assert late[-1] - late[0] == len(late) - 1
    assert compare([c], CONFIG, slow={"lines": held}) is None


@pytest.mark.parametrize("id_bytes", [4, 8])
def test_the_golden_model_says_the_same(id_bytes):
    """Its lines, and those that are worked out here value by value."""
    graph = load_graph("rmat:scale=7,edge_factor=6,seed=3")
    for seed in range(4):
        batches = random_batches(graph, np.random.default_rng(seed), 12, max_fanout=64, targets=60)
        image, storage = stored(graph, SMALL, id_bytes=id_bytes, bad_pages=(3, 5)[: seed % 3])
        encoded = commands_of(image, batches)
        host = host_image(encoded, cq_entries=5)
        golden = run_commands(encoded, host, storage, SMALL, pages=SMALL.flash.pages)
        made = []
        for place, (command, one) in enumerate(zip(encoded, golden.commands, strict=True)):
            asked = {name: int(value[0]) for name, value in NS_CONFIG.decode(command.config[None]).items()}
            hops = [
                Hop(
                    count=h.count, bad=h.bad, unreadable=h.unreadable,
                    value=np.where(h.unreadable, h.page.astype(np.uint64), h.ids),
                )
                for h in one.hops
            ]  # fmt: skip
            made.append(
                Command(
                    status=0 if hops else int(one.status), cid=place, sq_head=(place + 1) % host.sq_entries,
                    wide=int(id_bytes == 8), hops=hops,
                    **{name: asked[name] for name in ("result_address", "ids_line", "result_lines")},
                )
            )  # fmt: skip
        said = list(
            zip(
                golden.address.tolist(),
                (int.from_bytes(row.tobytes(), "little") for row in golden.data),
                (int.from_bytes(np.packbits(row, bitorder="little").tobytes(), "little") for row in golden.mask),
                strict=True,
            )
        )
        assert pack(made, SMALL.frontier_entries, cq_address=host.cq_address, cq_entries=5) == said


BUGS = [
    ("packer", "an id is taken before it is there", "there.eq(self.ids_data.phase != lap)", "there.eq(1)"),
    ("packer", "laps are not told apart", "lap.eq(lap ^ (self.retired & (slot == slots - 1)))", "lap.eq(0)"),
    ("packer", "the next word is read late", "self.ids_address.eq(following)", "self.ids_address.eq(slot)"),
    ("packer", "targets without ids wait for one", "(there | ~has_id)", "there"),
    ("packer", "an id too many is taken", "number + 1 == target.count", "number == target.count"),
    ("packer", "a descriptor too many is taken", "waiting != most", "waiting != most + 2"),
    ("packer", "an id is overwritten", "free.eq(~item_valid | packs)", "free.eq(1)"),
    ("packer", "a hop without targets has a count", "is_last & ~target.nothing", "is_last"),
    ("packer", "a failure is forgotten", "item.failed | target_failed | unreadable", "item.failed | unreadable"),
    (
        "packer",
        "a failure goes on to the next target",
        "target_failed.eq(~item.ends_target & (target_failed | unreadable))",
        "target_failed.eq(target_failed | unreadable)",
    ),
    ("packer", "the page stays in the result", "Mux(item.unreadable, (1 << 64) - 1, item.value)", "item.value"),
    ("packer", "the last fault is told", "packs & (status == SsdStatus.OK)", "packs"),
    ("packer", "large numbers become others", "item.unreadable | item.value[NODE_BITS:].any()", "item.unreadable"),
    ("packer", "ids of the last hop are found", "packs & item.has_id & ~item.last_hop", "packs & item.has_id"),
    ("packer", "the frontier is full too early", "(found == most)", "(found == most - 1)"),
    ("packer", "ids of the hop before are counted", "self.found_end_of_hop):\n            m.d.sync += found.eq(0)",
     "self.found_reset):\n            m.d.sync += found.eq(0)"),
    ("packer", "the completion queue has no end", "slot == self.cq_entries - 1", "slot == self.cq_entries"),
    ("packer", "the phase stays", "[slot.eq(0), lap.eq(~lap)]", "slot.eq(0)"),
    ("packer", "the fault's target is the next one", "detail.eq(targets)", "detail.eq(targets + 1)"),
    ("packer", "targets go on from command to command", "targets.eq(0), ids.eq(0)", "ids.eq(0)"),
    ("line_writer", "a line of ids is overwritten", "~(self.has_id & ids.ends & id_waits)", "1"),
    ("line_writer", "a line of counts is overwritten", "~(self.has_count & counts.ends & count_waits)", "1"),
    ("line_writer", "counts go first", "(counts_first | ~id_waits)", "1"),
    ("line_writer", "a line that is offered changes", "counts_first | ~id_waits", "~counts_first | ~id_waits"),
    ("line_writer", "a line too many", "self.fits.eq(number[: len(end)] != end)", "self.fits.eq(1)"),
    ("line_writer", "old words stay", "Mux(held[i], word, 0)", "word"),
    ("line_writer", "an empty line leaves", "self.flushes & (place != 0)", "self.flushes"),
    ("line_writer", "ids have one word", "place + 1 + wide", "place + 1"),
    ("line_writer", "counts have all room", "counts.end.eq(ids.line)", "counts.end.eq(ids.end)"),
    ("line_writer", "any line completes", "goes & ~count_goes & is_entry", "goes & ~count_goes"),
    ("frontier", "a bank that was emptied takes more", "place != entries", "level[write_bank] != entries"),
    ("frontier", "the banks are one", "Mux(write_bank, entries, 0) + place", "place"),
    ("frontier", "a bank keeps its nodes", "[level[read_bank].eq(0), read_bank", "[read_bank"),
    ("frontier", "the writer's bank stays", "[place.eq(0), write_bank.eq(0)]", "place.eq(0)"),
    ("frontier", "the reader's bank stays", "[Cat(*level).eq(0), read_bank.eq(0)]", "Cat(*level).eq(0)"),
]  # fmt: skip

BUGGY = SMALL.replace(targets_in_flight=4, frontier_entries=6, window_samples=8)


def is_sound(design_of=PackerBench):
    """Run commands until some show a difference."""
    rng = np.random.default_rng(1)
    sizes = {"bad": 0, "unreadable": 0}
    many = [
        random_command(rng, BUGGY, hops=1, targets=33, counts=[1], wide=1, number=1, **sizes),
        random_command(rng, BUGGY, hops=4, targets=5, counts=[0, 1, 3], wide=1, room=(1, 1), number=2, **sizes),
        random_command(rng, BUGGY, hops=4, targets=3, counts=[2], wide=0, room=(2, 2), number=3, **sizes),
        random_command(rng, BUGGY, hops=3, targets=9, counts=[1, 2], wide=1, bad=0.2, unreadable=0.4, number=4),
    ]
    empty = random_command(rng, BUGGY, hops=1, targets=49, counts=[0], **sizes)
    lines_wait = {"lines": np.arange(1 << 14) < 150}
    runs = [
        (many, "none", None),
        ([empty, *many[:1]], "none", lines_wait),
        (commands(2, BUGGY, 10, targets=10), "random", None),
        (many + late_ids(BUGGY), "none", {"ids": paced_pattern(9)}),
        (commands(4, BUGGY, 10, targets=20), "bursty", {"lines": paced_pattern(12)}),
    ]
    for made, stalls, slow in runs:
        try:
            if compare(made, BUGGY, stalls, design=design_of(BUGGY), backend="pysim", quiet=300, slow=slow):
                return False
        except BenchError:
            return False
    return True


def bench_with(module, name, old, new):
    bug = Bug(name=name, module=f"hdl.ssd.{module}", old=old, new=new)
    if module == "frontier":
        return lambda config: PackerBench(config, frontier=plant(bug, "hdl.ssd.frontier", "Frontier", config))
    return lambda config: PackerBench(config, plant(bug, "hdl.ssd.packer", "Packer", config))


def short_name(case):
    return case[1].replace(" ", "-")


@pytest.mark.parametrize("bug", BUGS, ids=short_name)
def test_bug_is_caught(bug):
    assert not is_sound(bench_with(*bug))


def test_nothing_is_caught_where_nothing_is_planted():
    same = ("packer", "none", "packs & item.has_id & ~item.last_hop", "packs & ~item.last_hop & item.has_id")
    assert is_sound(bench_with(*same))
