# amaranth: UnusedElaboratable=no
"""Bugs planted in the sequencer, the transfer and the merge unit are caught by the comparison of the engine's tests."""

import pytest

from sim.program.instructions import CaeOpcode, ProductKind, ProductPart, VectorOperation
from testbenches.bench import Bench
from testbenches.cae import simulate_engine
from testbenches.cae.programs import program_of, random_program, small_engine
from testbenches.cae.simulate_engine import cae_stalls, simulate_program
from testbenches.models.rules import BenchError
from testbenches.planted import Bug, plant

CONFIG = small_engine(rows=1, columns=2, vector_units=1, merge_sources=2, window_instructions=4)
SEEDS = (None, 0, 1, 3)
"""Of the runs; the first is made by hand."""


def by_hand():
    """Instructions at the edges: of banks and memory, of kept sums, of one unit's order."""
    size, end = CONFIG.bank_beats(2), CONFIG.memory_beats

    def load(rows, columns=2, operation=1, **changes):
        fields = {"rows": rows, "columns": columns, "operation": operation, "result_pitch": 1, "memory_pitch": 1}
        return {"opcode": CaeOpcode.LOAD} | fields | changes

    def store(rows, **changes):
        fields = {"rows": rows, "columns": 2, "operation": 1, "left_pitch": 1, "memory_pitch": 1}
        return {"opcode": CaeOpcode.STORE} | fields | changes

    def part(function, left=0, right=1):
        shape = {"operation": ProductKind.XW, "function": function, "rows": 2, "columns": 2, "depth": 2}
        banks = {"left_bank": left, "left_pitch": 2, "right_bank": right, "right_pitch": 1, "result_bank": 5}
        return {"opcode": CaeOpcode.PRODUCT, "result_pitch": 1} | shape | banks

    in_place = {"opcode": CaeOpcode.VECTOR, "operation": VectorOperation.AFFINE, "rows": 2, "columns": 2}
    in_place |= {"left_bank": 4, "result_bank": 4, "alpha": 0x40000000}
    merge = {"opcode": CaeOpcode.MERGE, "rows": 6, "columns": 2, "depth": 3, "result_bank": 7, "result_pitch": 1}
    return [
        load(4, result_bank=2), store(4, left_bank=2), load(4, result_bank=2), store(4, left_bank=2),
        load(2, result_bank=2, result_address=size - 2), load(2, result_bank=2, result_address=size - 1),
        load(1, operation=2, memory_address=end - 2), load(1, operation=2, memory_address=end - 1),
        load(4, result_bank=0), load(4, result_bank=1),
        *(part(p) for p in (ProductPart.FIRST, ProductPart.LAST, ProductPart.LAST)),
        part(ProductPart.WHOLE) | {"rows": 12}, part(ProductPart.WHOLE, 1, 0), store(12, left_bank=5),
        in_place, in_place | {"left_pitch": 1, "result_pitch": 1},
        *[merge] * 4, store(6, left_bank=7),
    ]  # fmt: skip


FIRST_BUGS = [
    (
        "window",
        "a bank that is written is not waited for, if another unit writes it",
        "old.result & (new_reads | new.result)).any()",
        "old.result & new_reads).any()",
    ),
    (
        "window",
        "what a unit reads it overwrites too early",
        "(old_reads & new.result) | crossed",
        "crossed",
    ),
    ("window", "a read is taken for an end", "until_done[i] & ~ends", "until_done[i] & ~(ends | reads)"),
    (
        "window",
        "nothing waits for a SYNCHRONISE",
        "done | new_synchronises | old_synchronises",
        "done | new_synchronises",
    ),
    ("judge", "what is kept is kept for ever", "Mux(keeps, held.rows, 0)", "Mux(keeps, held.rows, kept_rows)"),
    ("transfer", "a request too many on the way", "waiting != REQUESTS_WAITING", "waiting != REQUESTS_WAITING + 1"),
    ("merge", "a sum is read while it is written", "valid & (taken.fresh | ~under_way)", "valid"),
    ("merge", "a slot that falls is added", "offered.first & (offered.index >= row)", "offered.first"),
]

MORE_BUGS = [
    ("window", "a SYNCHRONISE waits for nothing", "done | new_synchronises | old", "done | old"),
    ("window", "the order within a unit is lost", "& held & ~(issued | issues)", "& held & ~(issued | held)"),
    ("window", "a slot is free while its status is offered", "~Array(held)[tail]", "~Array(held & ~done)[tail]"),
    ("window", "an old code stays", "codes[i].eq(new.code),", ""),
    ("window", "read and write of a bank cross", "| crossed, old_reads", ", old_reads"),
    ("judge", "a row too many in a bank", "(ends > capacity)", "(ends > capacity + 1)"),
    ("judge", "rows on each other in place", "(rows == 1) | (held.result_pitch >= count)", "1"),
    ("judge", "memory's end is not seen for fp32", "Mux(kind == ElementType.FP32, count << 1, count)", "count"),
    ("transfer", "halves swapped", "Mux(here.high, exact[16 * lanes :], exact[: 16 * lanes])",
     "Mux(here.high, exact[: 16 * lanes], exact[16 * lanes :])"),
    ("transfer", "an end told a request too early", "put.payload.ends.eq(here.last & here.stores)",
     "put.payload.ends.eq(here.stores)"),
    ("transfer", "last lanes not cleared", "Mux(self.counts, self.a, 0)", "self.a"),
    ("transfer", "the pitch of a LOAD is lost", "offset.eq(row + instruction.result_pitch)", "offset.eq(offset + 1)"),
    ("merge", "no zeros behind the last vector", "Mux(offered.end, row != instruction.rows,", "Mux(offered.end, 0,"),
    ("merge", "the code of the merge before", "spoiled.eq(0),", ""),
    ("merge", "done before the last sum", "issued[1:depth]", "issued[1:depth - 1]"),
]  # fmt: skip


@pytest.fixture(autouse=True)
def impatient(monkeypatch):
    """Let a hang end soon."""
    monkeypatch.setattr(simulate_engine, "Bench", lambda **given: Bench(**{**given, "max_quiet_cycles": 400}))


def is_sound(engine=None):
    """Run programs until one shows a difference."""
    for seed in SEEDS:
        if seed is None:
            program = program_of(by_hand(), CONFIG, 5, spoiled=0.2)
        else:
            program = random_program(seed, CONFIG, 60, most_rows=5)
        options = {} if engine is None else {"engine": engine}
        try:
            simulation = simulate_program(
                program.instructions,
                CONFIG,
                memory=program.memory,
                partials=program.partials,
                stalls=cae_stalls("random" if seed == 0 else "none", seed or 0, CONFIG),
                backend="pysim",
                **options,
            )
        except BenchError:
            return False
        if not simulation.equal:
            return False
    return True


def engine_with(module, name, old, new):
    bug = Bug(name=name, module=f"hdl.cae.{module}", old=old, new=new)

    def buggy(config):
        return plant(bug, "hdl.cae.engine", "CentralEngine", config)

    return buggy


def short_name(case):
    return case[1].replace(" ", "-") if isinstance(case, tuple) else None


@pytest.mark.parametrize("bug", FIRST_BUGS, ids=short_name)
def test_bug_is_caught(bug):
    assert not is_sound(engine_with(*bug))


@pytest.mark.soak
@pytest.mark.parametrize("bug", MORE_BUGS, ids=short_name)
def test_each_other_bug_is_caught(bug):
    assert not is_sound(engine_with(*bug))


def test_nothing_is_caught_where_nothing_is_planted():
    """The same runs with a change that changes nothing: what catches the bugs is not the planting."""
    same = "before = held & ~(done | ends)"
    assert is_sound(engine_with("window", "none", same, "before = held & ~(ends | done)"))
