# amaranth: UnusedElaboratable=no
"""Bugs planted in the vector unit are caught by the comparison with the models."""

import numpy as np
import pytest

from hdl.cae.vector.unit import VectorUnit
from sim.program.counters import VECTOR_COUNTERS
from sim.program.instructions import RightOperand, VectorFunction, VectorOperation, VectorReduction
from testbenches.cae.unit_bench import UnitBench
from testbenches.cae.vector.jobs import COMBINATIONS, TINY, contents, shaped
from testbenches.cae.vector.simulate import READERS, WRITERS, difference
from testbenches.models.rules import BenchError
from testbenches.planted import Bug, plant

SMALL = {"operand_bank_beats": 40, "vector_bank_beats": 40}
CONFIG = TINY.replace(rows=1, columns=2, vector_mul_latency=1, add_latency=2, **SMALL)

BUGS = [
    (
        "lane",
        "LEAKY_RELU LEAKY_RELU_GRADIENT SELECT_POSITIVE",
        "positive zero counts as positive",
        "~(x.sign | x.zero | x.nan)",
        "~(x.sign | x.nan)",
    ),
    (
        "lane",
        "RELU_GRADIENT LEAKY_RELU_GRADIENT",
        "NaN counts as positive",
        "~(x.sign | x.zero | x.nan)",
        "~(x.sign | x.zero)",
    ),
    ("lane", "MULTIPLY MAXIMUM ROOT", "+0 added to what passes", "second.a.eq(MINUS_ZERO)", "second.a.eq(0)"),
    ("lane", "ROOT", "minus infinity is its own root", "(a.infinite & ~a.sign)", "a.infinite"),
    ("lane", "RELU", "ReLU loses NaN", "Mux(passed[-1], 0,", "Mux(passed[-1] | passed[22:31].all(), 0,"),
    ("lane", "DROPOUT", "dropped elements keep their sign", "~self.kept, 0,", "~self.kept, add.o & 0x80000000,"),
    ("lane", "ELU_GRADIENT", "ELU's slope without alpha", "second.b.eq(self.alpha)", "second.b.eq(ONE)"),
    ("dropout", "DROPOUT", "words of a draw swapped", "kept[0].eq(threefry.draw_0", "kept[0].eq(threefry.draw_1"),
    ("dropout", "DROPOUT", "one draw more is kept", "draw_1 < self.below", "draw_1 <= self.below"),
    ("rows", "ROW_SUM ROW_MAXIMUM", "chain not started anew", "Mux(first, self.neutral, total)", "total"),
    ("rows", "ROW_MAXIMUM", "maximum a cycle late", "choose.o, latency,", "choose.o, latency + 1,"),
    (
        "columns",
        "COLUMN_SUM",
        "chain not started anew",
        "Mux(self.fresh, MINUS_ZERO, chains[CHAINS - latency])",
        "chains[2]",
    ),
    ("columns", "COLUMN_SUM", "as many chains as the adder has stages", "chains[CHAINS - latency]", "chains[0]"),
    ("columns", "COLUMN_SUM", "wrong partner of an even last row", "MINUS_ZERO, chains[3]", "MINUS_ZERO, chains[2]"),
    ("columns", "COLUMN_SUM", "wrong other pair", "Mux(self.odd_rows, pairs[1], pairs[2])", "pairs[2]"),
    ("columns", "COLUMN_SUM", "a pair too many", "Mux(self.one_pair, MINUS_ZERO,", "Mux(0, MINUS_ZERO,"),
    ("front", "ROW_SUM", "turns of one row too few", "turn == turns - 1", "turn == turns - 2"),
    ("front", "ROW_SUM", "missing rows are read", "self.reading & (row < job.rows)", "self.reading"),
    (
        "front",
        "ROW_SUM COLUMN_SUM",
        "a full beat is never the last",
        "columns_left <= lanes",
        "columns_left < lanes",
    ),
    ("front", "BY_ROW", "right operand by row goes on with the beats", "~by_row, full", "1, full"),
    ("front", "DROPOUT", "number of the row without the first", "self.row.eq(job.depth + row)", "self.row.eq(row)"),
    ("front", "COLUMN_SUM", "five rows begin chains", "row < 4", "row < 5"),
    ("walk", "FULL", "group goes back to the row before", "Mux(first_beat, next_row, after)", "next_row"),
    (
        "unit",
        "COMBINE MULTIPLY AFFINE",
        "lanes beyond the columns are written",
        "lane.active.eq(present > number)",
        "lane.active.eq(1)",
    ),
    ("unit", "ROW_MAXIMUM", "maximum from +0", "Mux(maximum, MINUS_INFINITY,", "Mux(maximum, 0,"),
    ("unit", "COMBINE ROW_SUM", "stale beats written", "valid & is_row, by_row", "valid, by_row"),
    (
        "unit",
        "MULTIPLY",
        "done with the last row's first beat",
        "last.eq(beat[at].last_row & beat[at].last_beat)",
        "last.eq(beat[at].last_row)",
    ),
]
"""File, the kinds of jobs that it is looked for in, what is wrong, text, text in its place."""

N_JOBS = 24


def kinds(job):
    """Name what a job is: its operation, function, reduction and right operand."""
    enums = (VectorOperation, VectorFunction, VectorReduction, RightOperand)
    fields = ("operation", "function", "reduction", "right_operand")
    return {enum(job[field]).name for enum, field in zip(enums, fields, strict=True)}


def jobs(about):
    """Draw jobs of some kinds."""
    rng = np.random.default_rng(9)
    chosen: list[dict[str, int]] = []
    while len(chosen) < N_JOBS:
        job = COMBINATIONS[rng.integers(len(COMBINATIONS))]
        # Most functions are of no interest, and hide what is.
        if kinds(job) & about and (job["function"] == VectorFunction.NONE or rng.random() < 0.3):
            chosen.append(job | {"rows": int(rng.integers(1, 8))})
    half = len(chosen) // 2
    return [
        *shaped(CONFIG, chosen[:half], 2, max_beats=3),
        *shaped(CONFIG, chosen[half:], 1, kind="special", max_beats=3),
    ]


def caught(unit, about):
    # Half of the banks have mostly special values, minus infinity above all; in those nearly every sum is NaN.
    filled = contents(CONFIG, 3) | {bank: contents(CONFIG, 4, "special")[bank] for bank in (1, 3)}
    for bank in (1, 3):
        filled[bank][3::8] = 0xFF800000
    design = UnitBench(CONFIG, unit, READERS, WRITERS, tuple(VECTOR_COUNTERS))
    try:
        return difference(CONFIG, jobs(about), filled, design=design, max_quiet_cycles=200, backend="pysim")
    except BenchError as error:
        return str(error)


@pytest.mark.parametrize(
    ("file", "about", "wrong", "old", "new"), BUGS, ids=[f"{bug[0]}-{bug[2]}".replace(" ", "-") for bug in BUGS]
)
def test_bug_is_caught(file, about, wrong, old, new):
    bug = Bug(name=wrong, module=f"hdl.cae.vector.{file}", old=old, new=new)
    assert caught(lambda config: plant(bug, "hdl.cae.vector.unit", "VectorUnit", config), set(about.split()))


def test_nothing_is_caught_where_nothing_is_planted():
    everything = {kind for job in COMBINATIONS for kind in kinds(job)}
    assert caught(VectorUnit, everything) is None
    assert everything >= {kind for bug in BUGS for kind in bug[1].split()}
