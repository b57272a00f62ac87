"""Every reason for which a command is refused, at its limit and one beyond."""

import pytest

from sim.program.ssd import ALL_NEIGHBOURS, NS_CONFIG, SUBMISSION, SsdOpcode, SsdStatus
from sim.program.ssd_check import check_command
from testbenches.ssd.configs import SMALL

PAGES = 100
BYTES = PAGES * SMALL.flash.page_bytes
TOP = 1 << 64

GOOD = {
    "opcode": int(SsdOpcode.SAMPLE),
    "prp1": 64,
    "config_bytes": 64 + 32 * 3,
    "edges_address": 8,
    "edges": 1000,
    "nodes": 50,
    "result_address": 640,
    "result_lines": 20,
    "ids_line": 10,
    "targets": 3,
    "id_bytes": 8,
    "mode": 3,
    "hops": 2,
    "fanout_0": 10,
    "fanout_1": ALL_NEIGHBOURS,
}


def judged(pages=PAGES, config=SMALL, **changed):
    """Judge the good command with some fields changed."""
    fields = GOOD | changed
    names = {field.name for field in SUBMISSION.fields}
    entry = SUBMISSION.encode(1, {name: value for name, value in fields.items() if name in names})
    asked = NS_CONFIG.encode(1, {name: value for name, value in fields.items() if name not in names})
    return check_command(entry[0], asked[0], config, pages=pages)


def sized(targets):
    return {"targets": targets, "config_bytes": (64 + 32 * targets) % (1 << 32)}


LARGE = {"pages": (1 << 40) - 1, "config": SMALL.replace(**{"flash.page_bytes": 16384})}

ACCEPTED = [
    {},
    {"prp1": TOP - 64},
    sized(1),
    sized((1 << 27) - 3),
    {"id_bytes": 4, "edges_address": 4},
    {"mode": 0},
    {"hops": 1, "fanout_1": 0},
    {"hops": 4, "fanout_2": 1, "fanout_3": SMALL.max_fanout},
    {"edges": 0, "edges_address": BYTES},
    {"edges": (BYTES - 8) // 8},
    {"edges": BYTES // 4 - 1, "id_bytes": 4, "edges_address": 4},
    {"nodes": (1 << 48) - 1},
    {"edges": 1 << 48, **LARGE},
    {"result_lines": 0, "ids_line": 0},
    {"ids_line": 20},
    {"result_address": TOP - 64 * 20},
]
REFUSED = [
    (SsdStatus.INVALID_OPCODE, {"opcode": 0}),
    (SsdStatus.INVALID_OPCODE, {"opcode": SsdOpcode.SAMPLE + 1}),
    (SsdStatus.PRP_OFFSET, {"prp1": 32}),
    (SsdStatus.PRP_OFFSET, {"prp1": TOP - 1}),
    (SsdStatus.NO_TARGETS, sized(0)),
    (SsdStatus.INVALID_FIELD, {"config_bytes": 64 + 32 * 3 + 1}),
    (SsdStatus.INVALID_FIELD, {"targets": 4}),
    (SsdStatus.INVALID_FIELD, sized(1 << 27)),
    (SsdStatus.BAD_ID_BYTES, {"id_bytes": 5}),
    (SsdStatus.BAD_ID_BYTES, {"id_bytes": 0}),
    (SsdStatus.BAD_MODE, {"mode": 4}),
    (SsdStatus.BAD_MODE, {"mode": 128}),
    (SsdStatus.BAD_HOPS, {"hops": 0}),
    (SsdStatus.BAD_HOPS, {"hops": 5}),
    (SsdStatus.BAD_FANOUT, {"fanout_0": 0}),
    (SsdStatus.BAD_FANOUT, {"fanout_1": SMALL.max_fanout + 1}),
    (SsdStatus.BAD_FANOUT, {"fanout_0": ALL_NEIGHBOURS - 1}),
    (SsdStatus.BAD_FANOUT, {"hops": 4, "fanout_2": 1, "fanout_3": 0}),
    (SsdStatus.BAD_EDGES, {"edges_address": 4}),
    (SsdStatus.BAD_EDGES, {"edges_address": 2, "id_bytes": 4}),
    (SsdStatus.BAD_EDGES, {"edges": (BYTES - 8) // 8 + 1}),
    (SsdStatus.BAD_EDGES, {"edges": BYTES // 4, "id_bytes": 4, "edges_address": 4}),
    (SsdStatus.BAD_EDGES, {"edges": 0, "edges_address": BYTES + 8}),
    (SsdStatus.BAD_EDGES, {"edges": (1 << 48) + 1, **LARGE}),
    (SsdStatus.BAD_EDGES, {"edges": 1 << 61}),
    (SsdStatus.BAD_EDGES, {"edges": 1, "edges_address": TOP - 8}),
    (SsdStatus.BAD_EDGES, {"nodes": 1 << 48}),
    (SsdStatus.BAD_RESULT, {"result_address": 32}),
    (SsdStatus.BAD_RESULT, {"ids_line": 21}),
    (SsdStatus.BAD_RESULT, {"result_address": TOP - 64 * 19}),
]


@pytest.mark.parametrize("changed", ACCEPTED, ids=str)
def test_accepted(changed):
    assert judged(**changed) == SsdStatus.OK


@pytest.mark.parametrize(("status", "changed"), REFUSED, ids=str)
def test_refused(status, changed):
    assert judged(**changed) == status


def test_the_first_reason_is_told():
    """One fault after the other is mended, the first one first."""
    faults = {
        SsdStatus.INVALID_OPCODE: {"opcode": 1},
        SsdStatus.PRP_OFFSET: {"prp1": 1},
        SsdStatus.NO_TARGETS: {"targets": 0},
        SsdStatus.INVALID_FIELD: {"config_bytes": 0},
        SsdStatus.BAD_ID_BYTES: {"id_bytes": 3},
        SsdStatus.BAD_MODE: {"mode": 255},
        SsdStatus.BAD_HOPS: {"hops": 200},
        SsdStatus.BAD_FANOUT: {"fanout_0": 0},
        SsdStatus.BAD_EDGES: {"edges": TOP - 1},
        SsdStatus.BAD_RESULT: {"result_address": 1},
    }
    left = list(faults)
    while left:
        changed = {name: value for status in left for name, value in faults[status].items()}
        assert judged(**changed) == left.pop(0)
    assert judged() == SsdStatus.OK


def test_a_refused_address_is_never_read():
    """What stands at an address that is no multiple of a line does not count."""
    assert judged(prp1=1, targets=0) == SsdStatus.PRP_OFFSET
