"""Bugs planted in all parts of the Near-Memory Engine are caught by the comparison that the engine's tests make."""

from functools import cache

import numpy as np
import pytest

from testbenches.bench import Bench
from testbenches.models.rules import BenchError
from testbenches.nme import dimms, simulate_engine
from testbenches.nme.engine_corners import (
    mixed_slots,
    narrow_over_wide,
    one_shard,
    rising_slots,
    small_system,
    with_slots,
)
from testbenches.nme.engine_traces import random_program
from testbenches.nme.simulate_engine import engine_stalls, simulate_engines
from testbenches.planted import Bug, plant

CONFIG = small_system(
    **{"dram.dimms_per_channel": 2, "dram.window_requests": 2, "dram.rows": 256, "nme.max_beats": 16, "nme.interval": 4}
)
SEEDS = (None, 35, 100, 191, 256)
"""Of the runs; random programs that are short, yet have wide vectors, stores, every second reason to refuse, and waits
for the window. The first run is made by hand."""

FIRST_BUGS = [
    Bug(
        name="slot free too early: a vector is asked for over the last beat of the one before",
        module="hdl.nme.gather",
        old="room = used != slots",
        new="room = (used != slots) | freed",
    ),
    Bug(
        name="no zeros behind narrow vectors: a line keeps what an older one left in the buffer",
        module="hdl.nme.store",
        old="Mux(place == 0, (1 << beats_of_word) - 1, 1 << place)",
        new="(1 << place)",
    ),
    Bug(
        name="flag of another pass: a shard of several slices leaves the marks of its invalid numbers behind",
        module="hdl.nme.tickets",
        old="flags.held.ready.eq(self.reduced.ready)",
        new="flags.held.ready.eq(self.reduced.ready & ticket.last_pass)",
    ),
    Bug(
        name="window too wide: a shard begins one slot too early",
        module="hdl.nme.front",
        old="allowed.eq(shard.slot < self.horizon",
        new="allowed.eq(shard.slot <= self.horizon",
    ),
    Bug(
        name="beat twice between the clocks: a partial sum leaves in cycles that the compute clock does not see",
        module="hdl.nme.engine",
        old="outer.valid.eq(inner.valid & clock.enable)",
        new="outer.valid.eq(inner.valid)",
    ),
    Bug(
        name="request dropped: one is taken while the register is full",
        module="hdl.nme.requests",
        old="wanted.ready.eq(register.beats.ready & ~chosen)",
        new="wanted.ready.eq(~chosen)",
    ),
]

MORE_BUGS = [
    Bug(
        name="fill of another unit: the lines of lists go to the vector buffer too",
        module="hdl.nme.gather",
        old="mine = fill.valid & (fill.unit == Unit.VECTORS)",
        new="mine = fill.valid & (fill.unit != Unit.DESCRIPTORS)",
    ),
    Bug(
        name="order of pieces: the lines of one bank group stand together",
        module="hdl.nme.gather",
        old="line.eq(Cat(fill.piece[: ceil_log2(geometry.groups)], fill.burst))",
        new="line.eq(Cat(fill.burst[0], fill.piece[: ceil_log2(geometry.groups)], fill.burst[1:]))",
    ),
    Bug(
        name="vector whole too early: after its first piece",
        module="hdl.nme.gather",
        old="with m.If(pieces[slot] == 1):",
        new="with m.If(pieces[slot] != 0):",
    ),
    Bug(
        name="column of slices: each is read from where the first lies",
        module="hdl.nme.gather",
        old="self.requests.payload.first_burst.eq(job.first_burst)",
        new="self.requests.payload.first_burst.eq(0)",
    ),
    Bug(
        name="invalid vector not blank: what the slot held before is added",
        module="hdl.nme.gather",
        old="blank.eq(zero[head])",
        new="blank.eq(0)",
    ),
    Bug(
        name="mark kept: a pass reports the invalid number of the one before",
        module="hdl.nme.gather",
        old="left.eq(self.jobs.payload.sources), flagged.eq(0)]",
        new="left.eq(self.jobs.payload.sources)]",
    ),
    Bug(
        name="mark of the last source lost",
        module="hdl.nme.gather",
        old="self.invalid.eq(bad | flagged)",
        new="self.invalid.eq(flagged)",
    ),
    Bug(
        name="one number too many: the first one beyond the memory is read",
        module="hdl.nme.gather",
        old="valid_number = self.sources.payload.number < job.limit",
        new="valid_number = self.sources.payload.number <= job.limit",
    ),
    Bug(
        name="blocked too late: the counter misses the cycles of a source without a slot",
        module="hdl.nme.gather",
        old="self.blocked.eq(here & ~room)",
        new="self.blocked.eq(here & ~room & (piece != 0))",
    ),
    Bug(
        name="chunk over chunk: one more is asked for than there are slots",
        module="hdl.nme.list_reader",
        old="self.requests.valid.eq((left != 0) & (used != slots))",
        new="self.requests.valid.eq(left != 0)",
    ),
    Bug(
        name="list read before it is there: a chunk counts as full with its first line",
        module="hdl.nme.list_reader",
        old="with m.If(mine & self.fill.last):",
        new="with m.If(mine):",
    ),
    Bug(
        name="lists mixed up: a reader takes the lines of all lists",
        module="hdl.nme.list_reader",
        old="mine = self.fill.valid & (self.fill.unit == self._unit)",
        new="mine = self.fill.valid & (self.fill.unit <= Unit.EDGES)",
    ),
    Bug(
        name="line too many: a list whose last line is full reads one more",
        module="hdl.nme.list_reader",
        old="(wanted + per_line - 1) >> ceil_log2(per_line)",
        new="(wanted + per_line) >> ceil_log2(per_line)",
    ),
    Bug(
        name="priorities upside down: the gather goes before the lists",
        module="hdl.nme.requests",
        old="for unit in Unit:",
        new="for unit in reversed(Unit):",
    ),
    Bug(
        name="kind cut short: two kinds lie in the same rows",
        module="hdl.nme.requests",
        old="made.row.eq(Cat(kind[: ceil_log2(KINDS)], place[column_bits:]))",
        new="made.row.eq(Cat(kind[:2], Const(0, 1), place[column_bits:]))",
    ),
    Bug(
        name="piece not named: all lines come back as those of the first bank group",
        module="hdl.nme.requests",
        old="made.tag.eq(Cat(Const(unit, UNIT_BITS), piece, request.slot))",
        new="made.tag.eq(Cat(Const(unit, UNIT_BITS), Const(0, PIECE_BITS), request.slot))",
    ),
    Bug(
        name="store over store: a slice is taken while its slot waits to be written",
        module="hdl.nme.store",
        old="(vectors_left != 0) & (pieces[tail] == 0))",
        new="(vectors_left != 0))",
    ),
    Bug(
        name="store done too early: writes are still to come",
        module="hdl.nme.store",
        old="& ~asking & ~Cat(p.any() for p in pieces).any())",
        new="& ~asking)",
    ),
    Bug(
        name="vectors dropped count as written",
        module="hdl.nme.store",
        old="self.written.eq(self.written + valid_number)",
        new="self.written.eq(self.written + 1)",
    ),
    Bug(
        name="number of the last beat counts",
        module="hdl.nme.store",
        old="starts = beats_left == job.beats",
        new="starts = beats_left != 0",
    ),
    Bug(
        name="column of stored slices: each is written where the first lies",
        module="hdl.nme.store",
        old="self.requests.payload.first_burst.eq(first_burst)",
        new="self.requests.payload.first_burst.eq(0)",
    ),
    Bug(
        name="write data a cycle early",
        module="hdl.nme.store",
        old="delayed(m, self.given, self._data_delay - 1,",
        new="delayed(m, self.given, self._data_delay - 2,",
    ),
    Bug(
        name="code of the shard before: an earlier slice's reason is kept beyond its shard",
        module="hdl.nme.tickets",
        old="earlier.eq(Mux(tells, EngineCode.OK, code))",
        new="earlier.eq(code)",
    ),
    Bug(
        name="last on every status",
        module="hdl.nme.tickets",
        old="out.beats.payload.last.eq(ticket.last)",
        new="out.beats.payload.last.eq(1)",
    ),
    Bug(
        name="status lost: one is dropped while the one before is not taken",
        module="hdl.nme.tickets",
        old="begun.held.ready.eq(over & (out.beats.ready | ~tells))",
        new="begun.held.ready.eq(over)",
    ),
    Bug(
        name="idle too early: a command is accepted before the last status is handed over",
        module="hdl.nme.tickets",
        old="self.pending.eq(begun.held.valid | out.held.valid)",
        new="self.pending.eq(begun.held.valid)",
    ),
    Bug(
        name="order of the ends: what is refused does not wait for the shards before",
        module="hdl.nme.tickets",
        old="self.reduced.ready.eq(begun.held.ready & ticket.is_pass)",
        new="self.reduced.ready.eq(begun.held.ready)",
    ),
    Bug(
        name="refused shard fetched all the same",
        module="hdl.nme.front",
        old="begin.eq(good & allowed & room)",
        new="begin.eq(self.descriptors.valid & allowed & room)",
    ),
    Bug(
        name="job lost: a pass begins though a queue is full",
        module="hdl.nme.front",
        old="room = self.tickets.ready & Cat(job.ready for job in jobs).all()",
        new="room = self.tickets.ready",
    ),
    Bug(
        name="pass too many: a vector of whole slices gets an empty one more",
        module="hdl.nme.front",
        old="self._last_pass.eq(beats_left <= geometry.slice_beats)",
        new="self._last_pass.eq(beats_left < geometry.slice_beats)",
    ),
    Bug(
        name="last too early: on the last but one status too",
        module="hdl.nme.front",
        old="ticket.last.eq(left == 1)",
        new="ticket.last.eq(left <= 2)",
    ),
    Bug(
        name="kind of lists allowed: vectors are read from the lists",
        module="hdl.nme.front",
        old="(EngineCode.BAD_KIND, shard.kind >= LIST_KIND)",
        new="(EngineCode.BAD_KIND, shard.kind > LIST_KIND)",
    ),
    Bug(
        name="end of the memory: a list may end one chunk beyond",
        module="hdl.nme.front",
        old="return last >= self._geometry.chunks",
        new="return last > self._geometry.chunks",
    ),
    Bug(
        name="no start told: the others run away from an engine whose first descriptor is on its way",
        module="hdl.nme.front",
        old="self.progress.eq(Mux(starts, 0, (1 << 32) - 1))",
        new="self.progress.eq((1 << 32) - 1)",
    ),
    Bug(
        name="stride too short: the second of two vectors lies within the first",
        module="hdl.nme.vector_shape",
        old="sum((bursts > 1 << k for k in",
        new="sum((bursts > 2 << k for k in",
    ),
    Bug(
        name="beat lost between the clocks: an edge is taken though the compute clock does not see it",
        module="hdl.nme.engine",
        old="outer.ready.eq(inner.ready & clock.enable)",
        new="outer.ready.eq(inner.ready)",
    ),
    Bug(
        name="counters: a request in the register does not count as waiting",
        module="hdl.nme.engine",
        old='"row": scheduler.waiting | requests.requests.valid',
        new='"row": scheduler.waiting',
    ),
    Bug(
        name="counters: a refresh counts without a command",
        module="hdl.nme.engine",
        old='"refresh": scheduler.refreshing & front.busy',
        new='"refresh": scheduler.refreshing',
    ),
    Bug(
        name="uneven clock: the phase is lost at each compute cycle",
        module="hdl.nme.compute_clock",
        old="phase.eq(following - down)",
        new="phase.eq(0)",
    ),
    Bug(
        name="queue overrun: a full one takes one more",
        module="hdl.stream.queue",
        old="self.beats.ready.eq(level != self._depth)",
        new="self.beats.ready.eq((level != self._depth) | self.held.ready)",
    ),
    Bug(
        name="half the rate: a register waits to be empty",
        module="hdl.stream.register",
        old="self.beats.ready.eq(~valid | self.held.ready)",
        new="self.beats.ready.eq(~valid)",
    ),
]

WINDOW_BUGS = [
    Bug(
        name="the fastest counts: the window follows the greatest progress",
        module="hdl.nme.window",
        old="Mux(values[i] < values[i + 1]",
        new="Mux(values[i] > values[i + 1]",
    ),
    Bug(
        name="window a cycle early",
        module="hdl.nme.window",
        old="m.d.sync += self.horizon",
        new="m.d.comb += self.horizon",
    ),
]


@pytest.fixture(autouse=True)
def _short_patience(monkeypatch):
    """End a hang before the next refresh, which would count as progress."""
    patience = CONFIG.dram.gates.refresh_interval // 2
    monkeypatch.setattr(simulate_engine, "Bench", lambda **given: Bench(**{**given, "max_quiet_cycles": patience}))


@cache
def programs_of(seed):
    """Return what the two engines do in one of the runs."""
    if seed is None:
        short = one_shard(CONFIG, np.arange(3), 2, slot=1, first_chunk=40)
        return [narrow_over_wide(CONFIG, 3), narrow_over_wide(CONFIG, 4).then(short)]
    rule = (rising_slots, mixed_slots)[seed % 2]
    some = [random_program(CONFIG, 10 * seed + d, commands=3, max_edges=5, bad=0.25, vectors=3) for d in range(2)]
    return [with_slots(program, CONFIG, rule, d) for d, program in enumerate(some)]


def is_sound(engine=None):
    """Make the runs until one shows a difference."""
    for seed in SEEDS:
        stalls = engine_stalls("none" if seed is None else "random", seed or 0, 2)
        options = {} if engine is None else {"engine": engine}
        try:
            if not simulate_engines(programs_of(seed), CONFIG, stalls=stalls, backend="pysim", **options).equal:
                return False
        except BenchError:
            return False
    return True


def engine_with(bug):
    def buggy(config):
        return plant(bug, "hdl.nme.engine", "NearMemoryEngine", config)

    return buggy


def short_name(bug):
    return bug.name.partition(":")[0].replace(" ", "-")


@pytest.mark.parametrize("bug", FIRST_BUGS, ids=short_name)
def test_bug_is_caught(bug):
    assert not is_sound(engine_with(bug))


@pytest.mark.soak
@pytest.mark.parametrize("bug", MORE_BUGS, ids=short_name)
def test_each_other_bug_is_caught(bug):
    assert not is_sound(engine_with(bug))


@pytest.mark.soak
@pytest.mark.parametrize("bug", WINDOW_BUGS, ids=short_name)
def test_bug_of_the_window_is_caught(bug, monkeypatch):
    monkeypatch.setattr(dimms, "WindowSync", lambda n: plant(bug, "hdl.nme.window", "WindowSync", n))
    assert not is_sound()


def test_nothing_is_caught_where_nothing_is_planted():
    """The same runs with a change that changes nothing: what catches the bugs is not the planting."""
    same = "room = used != slots"
    assert is_sound(engine_with(Bug(name="none", module="hdl.nme.gather", old=same, new="room = slots != used")))
