"""Proofs of the Near-Memory Engine's control, at small sizes, for all inputs and all ways in which they come.

All are for all time, from reset, by property-directed reachability. Lanes count instead of adding numbers
(`CountingLane`); everything else is the RTL as it is shipped. docs/verification.md lists what is proved, at which
sizes, and what is not.
"""

from fractions import Fraction

import pytest

from hdl.nme.accumulator import Accumulator
from hdl.nme.compute_clock import ComputeClock
from hdl.nme.drain import DrainStage
from hdl.nme.fetch import Unit
from hdl.nme.front import Front
from hdl.nme.gather import Gather
from hdl.nme.list_reader import ListReader
from hdl.nme.reduce import ReduceUnit
from hdl.nme.tickets import Tickets
from hdl.nme.window import WindowSync
from hdl.stream.queue import StreamQueue
from hdl.stream.register import StreamRegister
from sim.config import NmeConfig, SystemConfig, load_config
from sim.program.geometry import Geometry
from sim.program.layout import Field, Layout
from testbenches.formal.accumulator_claims import CountedPlace
from testbenches.formal.clock_claims import EvenSpread
from testbenches.formal.control import check, report
from testbenches.formal.drain_claims import DrainedOnce
from testbenches.formal.gather_claims import TrackedVector
from testbenches.formal.list_claims import TrackedRecord
from testbenches.formal.shard_claims import EndingShards, MovingShards, TrackedShard
from testbenches.formal.stream_claims import TrackedBeat
from testbenches.formal.ticket_claims import TrackedTicket
from testbenches.formal.window_claims import TwoInStep
from testbenches.planted import Bug, plant

pytestmark = pytest.mark.formal

TINY = load_config("tiny")
RECORD = Layout("Record", (Field(name="data", bits=8, meaning="anything"),))


def holds(component, cycles: int | None = None) -> bool:
    verdict = check(component, cycles=cycles)
    report(component, verdict)
    return verdict.broken is None


def engine(interval: int = 2, beats: int = 2, mul_latency: int = 0, add_latency: int = 0, slots: int = 2) -> NmeConfig:
    return TINY.nme.replace(
        pes=1, lanes_per_pe=1, interval=interval, max_beats=beats, mul_latency=mul_latency, add_latency=add_latency,
        vector_slots=slots,
    )  # fmt: skip


def windowed(shards: int) -> SystemConfig:
    return TINY.replace(partition=TINY.partition.replace(window_shards=shards))


def memory(line_bytes: int, beat_bytes: int = 2, groups: int = 1, slice_beats: int = 2) -> Geometry:
    return Geometry(
        line_bytes=line_bytes, beat_bytes=beat_bytes, groups=groups, bank_groups=2, banks=1, bursts=4, rows=1,
        slice_beats=slice_beats,
    )  # fmt: skip


def ends_after(config: NmeConfig) -> int:
    """Cycles without any event in a fair run: the pipeline and the drain's first read."""
    return max(3, config.pipeline_cycles + 1)


def lists(make, line_bytes: int, slots: int, chunk_lines: int, records: int, *claims: str) -> TrackedRecord:
    geometry = memory(line_bytes)
    reader = make(RECORD, Unit.SOURCES, geometry, slots)
    return TrackedRecord(reader, geometry, slots, chunk_lines, records, 3, claims or TrackedRecord.CLAIMS)


def vectors(make, geometry: Geometry, *claims: str) -> TrackedVector:
    config = engine(beats=geometry.slice_beats)
    return TrackedVector(config, geometry, make(config, geometry), 3, 3, claims or TrackedVector.CLAIMS)


def in_step(config: SystemConfig, fronts=None, sync=None) -> TwoInStep:
    return TwoInStep(
        config, fronts or (Front(config), Front(config)), (Tickets(), Tickets()), sync or WindowSync(2), patience=3
    )


def test_a_register_keeps_every_beat():
    assert holds(TrackedBeat(StreamRegister(2), 1, 2))


@pytest.mark.parametrize("depth", [1, 2, 3, 4])
def test_a_queue_keeps_every_beat(depth):
    assert holds(TrackedBeat(StreamQueue(2, depth), depth, 2))


@pytest.mark.parametrize("ratio", ["5/12", "1/1", "5/16", "5/24", "1/64"])
def test_the_compute_clock_is_even(ratio):
    assert holds(EvenSpread(Fraction(ratio), ComputeClock(Fraction(ratio))))


@pytest.mark.parametrize(("mul_latency", "add_latency"), [(0, 0), (1, 0), (0, 1), (1, 1), (0, 2), (2, 1), (1, 2)])
def test_no_addition_is_lost(mul_latency, add_latency):
    config = engine(beats=1, mul_latency=mul_latency, add_latency=add_latency)
    assert holds(CountedPlace(Accumulator(config)))


@pytest.mark.parametrize(("interval", "beats"), [(1, 1), (2, 1), (2, 2), (3, 2), (4, 4)])
def test_each_touched_place_is_drained_once(interval, beats):
    config = engine(interval, beats)
    assert holds(DrainedOnce(config, DrainStage(config)))


@pytest.mark.parametrize("sizes", [(2, 1, 0, 0), (2, 2, 1, 1), (2, 2, 0, 3), (4, 4, 1, 3)])
def test_something_always_moves_and_banks_are_never_mixed(sizes):
    config = engine(*sizes)
    assert holds(MovingShards(config, ReduceUnit(config), ends_after(config)))


@pytest.mark.parametrize(("beats", "cycles"), [(1, 16), (2, 24)])
def test_a_status_comes(beats, cycles):
    config = engine(2, beats)
    assert holds(EndingShards(config, ReduceUnit(config), cycles))


def test_a_status_takes_time():
    config = engine(2, 1)
    assert not holds(EndingShards(config, ReduceUnit(config), 8))


@pytest.mark.parametrize("sizes", [(2, 2, 0, 0), (2, 1, 0, 1)])
def test_a_shard_has_all_its_edges_and_no_others(sizes):
    config = engine(*sizes)
    assert holds(TrackedShard(config, ReduceUnit(config)))


@pytest.mark.parametrize("claim", TrackedRecord.CLAIMS)
@pytest.mark.parametrize("sizes", [(1, 2, 2, 3), (2, 2, 1, 3)])
def test_records_come_once_and_in_order(sizes, claim):
    assert holds(lists(ListReader, *sizes, claim))


GEOMETRIES = {
    "one_group": memory(2),
    "two_groups": memory(2, groups=2),
    "two_beats_in_a_line": memory(4),
    "two_lines_in_a_beat": memory(1, slice_beats=1),
}


@pytest.mark.parametrize("claim", TrackedVector.CLAIMS)
@pytest.mark.parametrize("geometry", GEOMETRIES.values(), ids=GEOMETRIES)
def test_vectors_come_once_and_in_order(geometry, claim):
    assert holds(vectors(Gather, geometry, claim))


def test_statuses_come_once_and_in_order():
    assert holds(TrackedTicket(Tickets(), 2))


@pytest.mark.parametrize("window", [1, 2])
def test_engines_keep_the_window_and_none_waits_for_ever(window):
    assert holds(in_step(windowed(window)))


def bug(name: str, module: str, old: str, new: str) -> Bug:
    return Bug(name=name, module=f"hdl.{module}", old=old, new=new)


def planted(name: str, module: str, old: str, new: str, class_name: str, within: str | None = None):
    """Return a maker of a design with a bug in a module; `within` names the module of the design, if another."""

    def make(*args: object):
        return plant(bug(name, module, old, new), f"hdl.{within or module}", class_name, *args)

    make.__name__ = name
    return make


def _broken(make):
    """Return how a design with a bug is put to the claims, by what they are about."""
    config = engine(add_latency=1)
    small = engine(beats=1)
    return {
        "StreamRegister": lambda: TrackedBeat(make(2), 1, 2),
        "StreamQueue": lambda: TrackedBeat(make(2, 2), 2, 2),
        "ComputeClock": lambda: EvenSpread(Fraction(5, 12), make(Fraction(5, 12))),
        "Accumulator": lambda: CountedPlace(make(config)),
        "DrainStage": lambda: DrainedOnce(config, make(config)),
        "moving": lambda: MovingShards(small, make(small), ends_after(small)),
        "tracked": lambda: TrackedShard(small, make(small)),
        "ListReader": lambda: lists(make, 1, 2, 2, 3),
        "Gather": lambda: vectors(make, memory(2, groups=2)),
        "Tickets": lambda: TrackedTicket(make(), 2),
        "Front": lambda: in_step(windowed(1), fronts=(make(windowed(1)), make(windowed(1)))),
        "WindowSync": lambda: in_step(windowed(1), sync=make(2)),
    }


REDUCE = ("ReduceUnit", "nme.reduce")
BUGS = [
    ("StreamRegister", planted("takes while full", "stream.register", "eq(~valid | self.held.ready)", "eq(1)",
                               "StreamRegister")),
    ("StreamQueue", planted("one place too many", "stream.queue", "(level != self._depth)", "(level <= self._depth)",
                            "StreamQueue")),
    ("ComputeClock", planted("phase forgotten", "nme.compute_clock", "phase.eq(following - down)", "phase.eq(0)",
                             "ComputeClock")),
    ("Accumulator", planted("interlock a cycle short", "nme.accumulator", "range(1, self.config.hazard_cycles)",
                            "range(1, self.config.hazard_cycles - 1)", "Accumulator")),
    ("Accumulator", planted("read before the write", "nme.accumulator", "for i in range(1, depth + 1)",
                            "for i in range(1, depth)", "Accumulator")),
    ("DrainStage", planted("slot lost", "nme.drain", "shard.touched & ~lowest",
                           "shard.touched & ~(lowest | lowest << 1)", "DrainStage")),
    ("DrainStage", planted("beat doubled", "nme.drain", "(~self.partials.valid | self.partials.ready)", "1",
                           "DrainStage")),
    ("moving", planted("bank kept", "nme.run", "self.bank.eq(~self.bank)", "self.bank.eq(self.bank)", *REDUCE)),
    ("moving", planted("source never given up", "nme.run", "(take & edge.last_of_source & ~orphan) | give_up",
                       "take & edge.last_of_source & ~orphan", *REDUCE)),
    ("moving", planted("orphans wait for a vector", "nme.run", "(self.full | orphan) &", "self.full &", *REDUCE)),
    ("tracked", planted("interlock a cycle short in the unit", "nme.accumulator",
                        "range(1, self.config.hazard_cycles)", "range(1, self.config.hazard_cycles - 1)", *REDUCE)),
    ("tracked", planted("touched kept for the next shard", "nme.run", "touched.eq(0), ", "", *REDUCE)),
    ("ListReader", planted("slot too many", "nme.list_reader", "(used != slots)", "(used <= slots)", "ListReader")),
    ("ListReader", planted("chunk said to be here", "nme.list_reader", "mine & self.fill.last", "mine", "ListReader")),
    ("ListReader", planted("last line missed in one slot", "nme.list_reader", "mine & self.fill.last",
                           "mine & self.fill.last & (self.fill.slot == 0)", "ListReader")),
    ("ListReader", planted("first chunk again", "nme.list_reader", "chunk.eq(chunk + 1)", "chunk.eq(chunk)",
                           "ListReader")),
    ("Gather", planted("slot too many for vectors", "nme.gather", "room = used != slots", "room = used <= slots",
                       "Gather")),
    ("Gather", planted("first piece is enough", "nme.gather", "(pieces[slot] == 1)", "(pieces[slot] != 0)", "Gather")),
    ("Gather", planted("invalid vector never given", "nme.gather", "[flagged.eq(1), full[tail].eq(1)]",
                       "flagged.eq(1)", "Gather")),
    ("Gather", planted("invalid number not told", "nme.gather", "self.invalid.eq(bad | flagged)",
                       "self.invalid.eq(flagged)", "Gather")),
    ("Tickets", planted("status lost", "nme.tickets", "over & (out.beats.ready | ~tells)", "over", "Tickets")),
    ("Tickets", planted("first reason forgotten", "nme.tickets", "Mux(earlier != EngineCode.OK, earlier, of_pass)",
                        "of_pass", "Tickets")),
    ("Front", planted("window too wide", "nme.front", "self._config.partition.window_shards)",
                      "self._config.partition.window_shards + 1)", "Front")),
    ("Front", planted("window too narrow", "nme.front", "self._config.partition.window_shards)",
                      "self._config.partition.window_shards - 1)", "Front")),
    ("Front", planted("progress waits for a pass", "nme.front", "self.progress.eq(self.descriptors.payload.slot)",
                      "self.progress.eq(self.progress)", "Front")),
    ("WindowSync", planted("greatest instead of least", "nme.window", "values[i] < values[i + 1]",
                           "values[i] > values[i + 1]", "WindowSync")),
]  # fmt: skip


@pytest.mark.parametrize(("claims", "make"), BUGS, ids=[make.__name__.replace(" ", "-") for _, make in BUGS])
def test_planted_bugs_are_found(claims, make):
    # Those of the whole unit are found the fastest by looking only so far.
    assert not holds(_broken(make)[claims](), cycles=14 if claims == "tracked" else None)
