"""Second stage of the reduce unit: issues the edges of a shard, a beat a cycle."""

from typing import NamedTuple

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import ceil_log2

from hdl.layout import struct_layout
from hdl.nme.load import shard_layout
from sim.config import NmeConfig
from sim.program.commands import EDGE_RECORD, ReduceCode

_ONE = {"bf16": 0x3F80, "fp32": 0x3F800000}


def ended_layout(config: NmeConfig) -> data.StructLayout:
    """Return what the drain stage must know of a shard whose edges were issued.

    Parameters
    ----------
    config : NmeConfig
        The engine.

    Returns
    -------
    data.StructLayout
        Fields: ``bank`` of the sums, ``beats`` of each, ``touched`` (a bit for each slot), and those of the status:
        ``tag``, ``code``, ``edges``.
    """
    return data.StructLayout(
        {
            "bank": 1,
            "beats": range(config.max_beats + 1),
            "touched": config.interval,
            "tag": 16,
            "code": 8,
            "edges": 32,
        }
    )


class _Step(NamedTuple):
    """What becomes of the edge at hand in this cycle, or whether a source is given up instead."""

    slot: Value
    outside: Value
    drop: Value
    take: Value
    give_up: Value


class RunStage(wiring.Component):
    """Runs one shard at a time; the last edge's cycle may be that in which the next shard moves in.

    Parameters
    ----------
    config : NmeConfig
        The engine.

    Attributes
    ----------
    shard : In(stream of `shard_layout`)
        Shards to run.
    edges : In(stream of `EDGE_RECORD`)
        Edges, source by source.
    full : In(1)
        The front vector is whole.
    beat : Out
        Beat of the front vector that is issued.
    release : Out(1)
        Gives up the front vector.
    bank, place, issue, fresh, compare, minimum, weight : Out
        What the accumulator is to do.
    hazard : In(1)
        It must not be done now.
    ended : Out(stream of `ended_layout`)
        Shards that have run; offered in the cycle of the last edge, or of the last source given up. A shard without
        edges is offered in its first cycle.
    busy, wait_edge, wait_vector, wait_hazard, wait_drain : Out(1)
        What the cycle is spent on, in order of precedence; none where there is no shard.
    """

    def __init__(self, config: NmeConfig) -> None:
        self.config = config
        # Even one slot has a number of one bit: a net without any is not Verilog.
        self._slot_bits, self._beat_bits = max(1, ceil_log2(config.interval)), ceil_log2(config.max_beats)
        super().__init__(
            {
                "shard": In(stream.Signature(shard_layout(config))),
                "edges": In(stream.Signature(struct_layout(EDGE_RECORD))),
                "full": In(1),
                "beat": Out(range(max(2, config.max_beats))),
                "release": Out(1),
                "bank": Out(1),
                "place": Out(max(1, ceil_log2(config.interval) + ceil_log2(config.max_beats))),
                "issue": Out(1),
                "fresh": Out(1),
                "compare": Out(1),
                "minimum": Out(1),
                "weight": Out(8 * config.element_bytes),
                "hazard": In(1),
                "ended": Out(stream.Signature(ended_layout(config))),
                **{name: Out(1) for name in ("busy", "wait_edge", "wait_vector", "wait_hazard", "wait_drain")},
            }
        )

    def elaborate(self, _platform: object) -> Module:
        """Build the stage."""
        m = Module()
        shard = Signal(shard_layout(self.config))
        running = Signal()
        touched = Signal(self.config.interval)
        accumulated = Signal(32)
        step = self._issue(m, shard, running, touched)
        self._end(m, step, shard, running, touched, accumulated)
        self._enter(m, shard, running, touched, accumulated)
        return m

    def _issue(self, m: Module, shard: Signal, running: Signal, touched: Signal) -> _Step:
        """Issue one beat of the edge at hand; return what becomes of it."""
        edge = self.edges.payload
        slot = edge.destination[: self._slot_bits]
        orphan = shard.sources == 0
        outside = edge.destination >= shard.destinations
        pending = running & (shard.edges != 0)
        drop, step, take, give_up = Signal(name="drop"), Signal(name="step"), Signal(name="take"), Signal(name="give")
        m.d.comb += [
            drop.eq(orphan | outside),
            step.eq(pending & self.edges.valid & (self.full | orphan) & (drop | ~self.hazard)),
            take.eq(step & (drop | (self.beat + 1 == shard.beats))),
            # After the last edge, sources that no edge closed are given up one by one, so that the streams stay in
            # step.
            give_up.eq(running & (shard.edges == 0) & (shard.sources != 0) & self.full),
            self.edges.ready.eq(take),
            self.issue.eq(step & ~drop),
            self.place.eq(Cat(self.beat[: self._beat_bits], slot)),
            self.fresh.eq(~touched.bit_select(slot, 1)),
            self.weight.eq(Mux(shard.weighted, edge.weight, _ONE[self.config.element])),
            self.compare.eq(shard.compare),
            self.minimum.eq(shard.minimum),
            self.release.eq((take & edge.last_of_source & ~orphan) | give_up),
            self.busy.eq(step | give_up),
            self.wait_edge.eq(pending & ~self.edges.valid),
            self.wait_vector.eq(running & ~orphan & ~self.full),
            self.wait_hazard.eq(pending),
            self.wait_drain.eq(running),
        ]
        with m.If(step):
            m.d.sync += self.beat.eq(Mux(take, 0, self.beat + 1))
        return _Step(slot, outside, drop, take, give_up)

    def _end(
        self, m: Module, step: _Step, shard: Signal, running: Signal, touched: Signal, accumulated: Signal
    ) -> None:
        """Bring the shard up to date with this cycle, and offer it to the drain if nothing is left."""
        ended = self.ended.payload
        added = step.take & ~step.drop
        code: Value = Mux(step.outside, ReduceCode.EDGE_DESTINATION, ReduceCode.SOURCE_COUNT)
        m.d.comb += [
            ended.bank.eq(self.bank),
            ended.beats.eq(shard.beats),
            ended.touched.eq(touched),
            ended.tag.eq(shard.tag),
            ended.code.eq(shard.code),
            ended.edges.eq(accumulated + added),
            self.ended.valid.eq(running & (shard.edges == step.take) & (shard.sources == self.release)),
        ]
        with m.If(added):
            m.d.comb += ended.touched.bit_select(step.slot, 1).eq(1)
        with m.If(shard.code == ReduceCode.OK):
            with m.If(step.take & step.drop):
                m.d.comb += ended.code.eq(code)
            with m.Elif(step.give_up):
                m.d.comb += ended.code.eq(ReduceCode.SOURCE_COUNT)
        m.d.sync += [
            shard.edges.eq(shard.edges - step.take),
            shard.sources.eq(shard.sources - self.release),
            shard.code.eq(ended.code),
            touched.eq(ended.touched),
            accumulated.eq(ended.edges),
        ]

    def _enter(self, m: Module, shard: Signal, running: Signal, touched: Signal, accumulated: Signal) -> None:
        """Let the shard go when the drain takes it, and the next one in."""
        leave = Signal(name="leave")
        m.d.comb += [leave.eq(self.ended.valid & self.ended.ready), self.shard.ready.eq(~running | leave)]
        with m.If(leave):
            m.d.sync += [running.eq(0), self.bank.eq(~self.bank)]
        with m.If(self.shard.valid & self.shard.ready):
            m.d.sync += [running.eq(1), shard.eq(self.shard.payload), touched.eq(0), accumulated.eq(0)]
