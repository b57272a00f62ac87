"""Bugs planted in the product engine's own parts, and in what keeps sums, are caught by its comparison."""

import pytest

from sim.config import load_config
from testbenches.cae.product_jobs import bank_contents, bare_design, difference, random_jobs
from testbenches.models.rules import BenchError
from testbenches.planted import Bug, plant

CONFIG = load_config("tiny").cae.replace(
    rows=2, columns=3, accumulator_rows=9, operand_bank_beats=48, vector_bank_beats=48, window_instructions=5
)

BUGS = [
    Bug(
        name="lost rotation: a turned row is put as a plain one",
        module="hdl.cae.transpose",
        old="amount = Mux(self.turned, index, 0)",
        new="amount = 0 * index",
    ),
    Bug(
        name="too early: a turned slot is given while it fills",
        module="hdl.cae.transpose",
        old="Mux(self.turned, self.last, index == 0)",
        new="(index == 0)",
    ),
    Bug(
        name="overrun: a slot that is still given fills again",
        module="hdl.cae.transpose",
        old="self.room.eq(free != 0)",
        new="self.room.eq(1)",
    ),
    Bug(
        name="late slot: one is never used, right values",
        module="hdl.cae.transpose",
        old="self.room.eq(free != 0)",
        new="self.room.eq(free > 1)",
    ),
    Bug(
        name="ragged slot given in full",
        module="hdl.cae.operand_reader",
        old="Mux(operand.turned, columns_left, rows_left)",
        new="rows_left",
    ),
    Bug(
        name="wrong beat: a row that goes beyond a beat stays in it",
        module="hdl.cae.operand_reader",
        old="offset.eq(offset + over)",
        new="offset.eq(offset)",
    ),
    Bug(
        name="first part forgotten: the next rows begin in part 0",
        module="hdl.cae.operand_reader",
        old="part.eq(operand.part)",
        new="part.eq(0)",
    ),
    Bug(
        name="rows beyond the depth read again",
        module="hdl.cae.operand_reader",
        old="last.eq(last_row | ",
        new="last.eq((last_row & ~operand.turned) | ",
    ),
    Bug(
        name="idle cycle between two operands",
        module="hdl.cae.operand_reader",
        old="self.operand.ready.eq(~active | self.finished)",
        new="self.operand.ready.eq(~active)",
    ),
    Bug(
        name="half an operand read is told as all",
        module="hdl.cae.product_engine",
        old="self.read.valid.eq(both[0] & both[1])",
        new="self.read.valid.eq(both[0])",
    ),
    Bug(
        name="pitch lost in the result",
        module="hdl.cae.product_engine",
        old="port.address + place.pitch",
        new="port.address + 1",
    ),
    Bug(
        name="wrong part of the result's beat",
        module="hdl.cae.product_engine",
        old="place.part == part",
        new="part == 0",
    ),
    Bug(
        name="right operand not turned",
        module="hdl.cae.product_engine",
        old="right.turned.eq(kind == ProductKind.DYWT)",
        new="right.turned.eq(0)",
    ),
    Bug(
        name="kept sums start from zero",
        module="hdl.cae.run",
        old="self.fresh.eq(~self.tile.payload.continued)",
        new="self.fresh.eq(1)",
    ),
    Bug(
        name="kept sums in the other bank",
        module="hdl.cae.run",
        old="with m.If(leave & ~tile.silent):",
        new="with m.If(leave):",
    ),
    Bug(
        name="kept sums written as a result",
        module="hdl.cae.load",
        old="tile.silent.eq(~good | _keeps(command))",
        new="tile.silent.eq(~good)",
    ),
    Bug(
        name="report out of turn: a tile that keeps its sums waits for none",
        module="hdl.cae.drain",
        old="Mux(ended.silent, reports.beats.ready, alone)",
        new="reports.beats.ready",
    ),
    Bug(
        name="kept sums wait for the drain, right values",
        module="hdl.cae.drain",
        old="Mux(ended.silent, reports.beats.ready, alone)",
        new="alone",
    ),
]


def is_sound(engine):
    jobs = random_jobs(CONFIG, seed=21, count=40, max_depth=9, kept=0.5)
    try:
        unit = bare_design(CONFIG, engine)
        return (
            difference(CONFIG, jobs, bank_contents(CONFIG, seed=22, special=0.05), backend="pysim", unit=unit) is None
        )
    except BenchError:
        return False


@pytest.mark.parametrize("bug", BUGS, ids=lambda bug: bug.name.partition(":")[0].replace(" ", "-"))
def test_bug_is_caught(bug):
    assert not is_sound(plant(bug, "hdl.cae.product_engine", "ProductEngine", CONFIG))


def test_nothing_is_caught_where_nothing_is_planted():
    same = "self.read.valid.eq(both[0] & both[1])"
    harmless = Bug(name="none", module="hdl.cae.product_engine", old=same, new=same.replace("&", " &"))
    assert is_sound(plant(harmless, "hdl.cae.product_engine", "ProductEngine", CONFIG))
