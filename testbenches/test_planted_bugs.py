"""Bugs planted in the RTL are caught by the same comparisons that the engines' tests make."""

import pytest

from sim.config import load_config
from testbenches.cae.simulate import product_stalls, simulate_product
from testbenches.cae.traces import joined, minus_zero_trace, random_tiles, tiles_trace
from testbenches.models.rules import BenchError
from testbenches.nme.simulate import reduce_stalls, simulate_reduce
from testbenches.nme.traces import random_trace
from testbenches.planted import Bug, plant

TINY = load_config("tiny").replace(**{"nme.pes": 1, "nme.lanes_per_pe": 1, "cae.rows": 2, "cae.columns": 3})

REDUCE_BUGS = [
    Bug(
        name="dropped edge: the last edge of some shards is taken but not added",
        module="hdl.nme.run",
        old="self.issue.eq(step & ~drop)",
        new="self.issue.eq(step & ~drop & ((shard.edges != 1) | shard.tag[0]))",
    ),
    Bug(
        name="missed interlock: the window of the hazard check is a cycle short",
        module="hdl.nme.accumulator",
        old="for i in range(1, self.config.hazard_cycles)",
        new="for i in range(1, self.config.hazard_cycles - 1)",
    ),
    Bug(
        name="wrong rounding: ties go up instead of to even",
        module="hdl.arith.format",
        old="return (guard & (lsb | sticky)) | (exponent == 0)",
        new="return guard | (exponent == 0)",
    ),
    Bug(
        name="lost stall: the drain goes on while its beat is not taken",
        module="hdl.nme.drain",
        old="step.eq(draining & ~self.unwritten & (~self.partials.valid | self.partials.ready))",
        new="step.eq(draining & ~self.unwritten)",
    ),
    Bug(
        name="stale sum: a destination keeps what the shard before left in its place",
        module="hdl.nme.run",
        old="self.fresh.eq(~touched.bit_select(slot, 1))",
        new="self.fresh.eq(~touched.bit_select(slot, 1) & (slot != 2))",
    ),
    Bug(
        name="outside edge accepted: the check against the shard's destinations is off by one",
        module="hdl.nme.run",
        old="outside = edge.destination >= shard.destinations",
        new="outside = edge.destination > shard.destinations",
    ),
    Bug(
        name="overrun: a vector loads over the one that is still being read",
        module="hdl.nme.vector_buffer",
        old="self.vectors.ready.eq((loads_left != 0) & ~whole[load_bank])",
        new="self.vectors.ready.eq(loads_left != 0)",
    ),
    Bug(
        name="one cycle too many: right values, but the interlock holds for longer than it must",
        module="hdl.nme.accumulator",
        old="for i in range(1, self.config.hazard_cycles)",
        new="for i in range(1, min(self.config.hazard_cycles + 1, len(active)))",
    ),
    Bug(
        name="hang: a status is never offered",
        module="hdl.nme.drain",
        old="self.status.valid.eq(reporting)",
        new="self.status.valid.eq(reporting & (self.status.payload.tag != 5))",
    ),
    Bug(
        name="read from the other bank: a sum comes from the bank of the edge at hand",
        module="hdl.nme.accumulator",
        old="totals.eq(sums[adding.bank])",
        new="totals.eq(sums[self.bank])",
    ),
    Bug(
        name="written to the other bank: a sum goes to the bank of the edge at hand",
        module="hdl.nme.accumulator",
        old="write.en.eq(active[store] & (step[store].bank == bank))",
        new="write.en.eq(active[store] & (self.bank == bank))",
    ),
    Bug(
        name="drained from the other bank: what is read out is the bank that runs",
        module="hdl.nme.reduce",
        old="accumulator.drain_bank.eq(drain.bank)",
        new="accumulator.drain_bank.eq(run.bank)",
    ),
    Bug(
        name="bank kept: the next shard adds to the bank that drains",
        module="hdl.nme.run",
        old="self.bank.eq(~self.bank)",
        new="self.bank.eq(self.bank)",
    ),
    Bug(
        name="interlock of one bank: additions to the other do not wait",
        module="hdl.nme.accumulator",
        old="& (step[stage].bank == self.bank)",
        new="& ~step[stage].bank & ~self.bank",
    ),
    Bug(
        name="interlock across banks: right values, but an edge waits for an addition of the shard before",
        module="hdl.nme.accumulator",
        old="(step[stage].place == self.place) & (step[stage].bank == self.bank)",
        new="(step[stage].place == self.place)",
    ),
    Bug(
        name="drained too early: the last sum is read in the cycle in which it is written",
        module="hdl.nme.accumulator",
        old="for i in range(1, depth + 1)).any()",
        new="for i in range(1, depth)).any()",
    ),
    Bug(
        name="drained too late: right values, but the drain waits for the shard that runs",
        module="hdl.nme.accumulator",
        old="Cat(active[i] & (step[i].bank == self.drain_bank) for",
        new="Cat(active[i] for",
    ),
    Bug(
        name="left too early: a shard goes with sources left",
        module="hdl.nme.run",
        old="& (shard.edges == step.take) & (shard.sources == self.release)",
        new="& (shard.edges == step.take)",
    ),
    Bug(
        name="left too late: right values, but a shard goes in the cycle after its last edge",
        module="hdl.nme.run",
        old="running & (shard.edges == step.take) & (shard.sources == self.release)",
        new="running & (shard.edges == 0) & (shard.sources == 0)",
    ),
    Bug(
        name="handed over too early: a shard overtakes a status that is not taken",
        module="hdl.nme.drain",
        old="self.ended.ready.eq(~draining & (~reporting | self.status.ready))",
        new="self.ended.ready.eq(~draining)",
    ),
    Bug(
        name="touched not cleared: a shard drains what the one before it had touched",
        module="hdl.nme.run",
        old="touched.eq(0), accumulated.eq(0)]",
        new="accumulated.eq(0)]",
    ),
    Bug(
        name="status out of order: the tag is that of the shard that runs",
        module="hdl.nme.drain",
        old="self.status.payload[name].eq(shard[name])",
        new="self.status.payload[name].eq(self.ended.payload[name])",
    ),
    Bug(
        name="command overwritten: one is taken while another has not moved on",
        module="hdl.nme.load",
        old="self.command.ready.eq(~held & self.loaded)",
        new="self.command.ready.eq(self.loaded)",
    ),
    Bug(
        name="command taken too late: right values, but a cycle is lost after the last beat of a vector",
        module="hdl.nme.vector_buffer",
        old="self.loaded.eq(loads_left == last_beat)",
        new="self.loaded.eq(loads_left == 0)",
    ),
    Bug(
        name="maximum and minimum swapped",
        module="hdl.nme.load",
        old="taken.minimum.eq(command.opcode == ReduceOpcode.MIN)",
        new="taken.minimum.eq(command.opcode == ReduceOpcode.MAX)",
    ),
    Bug(
        name="opcode of the next shard: an addition ends as what the edge at hand is",
        module="hdl.nme.accumulator",
        old="lane.compare.eq(step[depth].compare)",
        new="lane.compare.eq(self.compare)",
    ),
    Bug(
        name="plus zero compared: a maximum starts from +0 instead of its first element",
        module="hdl.nme.lane",
        old="choose.a.eq(Mux(self.fresh, multiply.o, self.total))",
        new="choose.a.eq(Mux(self.fresh, 0, self.total))",
    ),
    Bug(
        name="weight of a maximum: it is looked at",
        module="hdl.nme.run",
        old="Mux(shard.weighted, edge.weight",
        new="Mux(shard.weighted | shard.compare, edge.weight",
    ),
]

PRODUCT_BUGS = [
    Bug(
        name="off-by-one row: the rows of a block are counted from 0 again one row too early",
        module="hdl.cae.accumulator",
        old="row.eq(Mux(last[store], 0, row + 1))",
        new="row.eq(Mux(last[store - 1], 0, row + 1))",
    ),
    Bug(
        name="early swap: new weights load before the last row has taken over the old ones",
        module="hdl.cae.load",
        old="swap_timer.eq(self.config.swap_cycles - 1)",
        new="swap_timer.eq(self.config.swap_cycles - 2)",
    ),
    Bug(
        name="missed accumulator: a row does not wait for its sum of the block before",
        module="hdl.cae.run",
        old="(in_flight < tile.rows)",
        new="(in_flight <= tile.rows)",
    ),
    Bug(
        name="idle wait: the first block waits for sums of the tile before",
        module="hdl.cae.run",
        old="self.fresh | (in_flight < tile.rows)",
        new="in_flight < tile.rows",
    ),
    Bug(
        name="rubbish beyond the depth reaches the product",
        module="hdl.cae.pe",
        old="multiply.a.eq(Mux(current_active, self.x_in, 0))",
        new="multiply.a.eq(self.x_in)",
    ),
    Bug(
        name="plus zero beyond the depth: it turns a sum of -0 into +0",
        module="hdl.cae.pe",
        old="MINUS_ZERO = 0x8000",
        new="MINUS_ZERO = 0x0000",
    ),
    Bug(
        name="lost row: the drain goes on while its row is not taken",
        module="hdl.cae.drain",
        old="(tile.unwritten == 0) & (~self.results.valid | self.results.ready)",
        new="(tile.unwritten == 0)",
    ),
    Bug(
        name="stale result: the drain starts before the last column is written",
        module="hdl.cae.run",
        old="Mux(self.issue, config.pipeline_cycles,",
        new="Mux(self.issue, config.pipeline_cycles - 1,",
    ),
    Bug(
        name="lost status: a tile is taken while the one before has not reported",
        module="hdl.cae.drain",
        old="alone.eq((untold == 0) | ((untold == 1) & reported))",
        new="alone.eq(untold != MATRIX_REPORTS)",
    ),
    Bug(
        name="wrong bank: a sum comes from the bank of the row after",
        module="hdl.cae.accumulator",
        old="sums[bank[fetch + c + 1]]",
        new="sums[bank[fetch + c]]",
    ),
    Bug(
        name="one bank: a tile adds to the sums that the one before still drains",
        module="hdl.cae.run",
        old="self.bank.eq(~self.bank)",
        new="self.bank.eq(self.bank)",
    ),
    Bug(
        name="wrong weights: a command is taken while weights of the one before are left",
        module="hdl.cae.load",
        old="self.command.ready.eq(~held & loaded)",
        new="self.command.ready.eq(~held)",
    ),
    Bug(
        name="late entry: a tile moves in only when the one before has been gone for a cycle",
        module="hdl.cae.run",
        old="self.tile.ready.eq(~running | leave)",
        new="self.tile.ready.eq(~running)",
    ),
]


def reduce_is_sound(design):
    trace = random_trace(TINY.nme, seed=1, commands=60, max_edges=14, bad=0.1, special=0.1)
    try:
        return simulate_reduce(trace, TINY.nme, stalls=reduce_stalls("random", 1), design=design, backend="pysim").equal
    except BenchError:
        return False


def product_is_sound(design):
    tiles = random_tiles(TINY.cae, seed=2, count=25, max_depth=7) + [(1, 5, 3), (2, 7, 2)] * 5
    tiles = [(min(m, 12), k, n) for m, k, n in tiles]
    trace = joined([tiles_trace(TINY.cae, tiles, seed=3, special=0.35), minus_zero_trace(TINY.cae)])
    try:
        return simulate_product(
            trace, TINY.cae, stalls=product_stalls("random", 1), design=design, backend="pysim"
        ).equal
    except BenchError:
        return False


@pytest.mark.parametrize("bug", REDUCE_BUGS, ids=lambda bug: bug.name.partition(":")[0].replace(" ", "-"))
def test_bug_in_the_reduce_unit_is_caught(bug):
    assert not reduce_is_sound(plant(bug, "hdl.nme.reduce", "ReduceUnit", TINY.nme))


@pytest.mark.parametrize("bug", PRODUCT_BUGS, ids=lambda bug: bug.name.partition(":")[0].replace(" ", "-"))
def test_bug_in_the_product_unit_is_caught(bug):
    assert not product_is_sound(plant(bug, "hdl.cae.product", "ProductUnit", TINY.cae))


def test_nothing_is_caught_where_nothing_is_planted():
    """The same runs with a change that changes nothing: what catches the bugs is not the planting."""
    same = "self.ended.ready.eq(~draining & (~reporting | self.status.ready))"
    harmless = Bug(name="none", module="hdl.nme.drain", old=same, new=same.replace("&", " &"))
    assert reduce_is_sound(plant(harmless, "hdl.nme.reduce", "ReduceUnit", TINY.nme))
    same = "((untold == 1) & reported)"
    harmless = Bug(name="none", module="hdl.cae.drain", old=same, new=same.replace("&", " &"))
    assert product_is_sound(plant(harmless, "hdl.cae.product", "ProductUnit", TINY.cae))


def test_a_bug_must_still_fit_the_source():
    gone = Bug(name="gone", module="hdl.nme.reduce", old="this text stands nowhere", new="")
    with pytest.raises(ValueError, match="does not stand exactly once"):
        plant(gone, "hdl.nme.reduce", "ReduceUnit", TINY.nme)
