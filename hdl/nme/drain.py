"""Third stage of the reduce unit: waits for the last sums, hands them over, and reports."""

from amaranth.hdl import Cat, Module, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import ceil_log2

from hdl.layout import struct_layout
from hdl.nme.run import ended_layout
from sim.config import NmeConfig
from sim.program.commands import REDUCE_STATUS, result_beat


class DrainStage(wiring.Component):
    """Drains one shard at a time while the next one runs.

    Parameters
    ----------
    config : NmeConfig
        The engine.

    Attributes
    ----------
    ended : In(stream of `ended_layout`)
        Shards that have run; the next is taken in the cycle of a status at the earliest.
    unwritten : In(1)
        Some addition to `bank` is still under way.
    bank, place, read : Out
        Reads a place of the output buffer.
    sums : In
        What was read, from the next cycle on.
    partials : Out(stream of `result_beat`)
        Sums of the touched destinations by rising slot, all beats of each.
    status : Out(stream of `REDUCE_STATUS`)
        One for each shard, from the cycle after its last partial sum.
    flush, drain, wait_partials, wait_status : Out(1)
        What the cycle is spent on, in order of precedence; none where there is no shard.
    """

    def __init__(self, config: NmeConfig) -> None:
        self.config = config
        self._slot_bits, self._beat_bits = max(1, ceil_log2(config.interval)), ceil_log2(config.max_beats)
        super().__init__(
            {
                "ended": In(stream.Signature(ended_layout(config))),
                "unwritten": In(1),
                "bank": Out(1),
                "place": Out(max(1, ceil_log2(config.interval) + ceil_log2(config.max_beats))),
                "read": Out(1),
                "sums": In(data.ArrayLayout(32, config.lanes)),
                "partials": Out(stream.Signature(struct_layout(result_beat(config.lanes)))),
                "status": Out(stream.Signature(struct_layout(REDUCE_STATUS))),
                **{name: Out(1) for name in ("flush", "drain", "wait_partials", "wait_status")},
            }
        )

    def elaborate(self, _platform: object) -> Module:
        """Build the stage."""
        m = Module()
        shard = Signal(ended_layout(self.config))
        draining, reporting = Signal(), Signal()
        step = Signal()
        self._read(m, shard, step)
        m.d.comb += [
            step.eq(draining & ~self.unwritten & (~self.partials.valid | self.partials.ready)),
            self.bank.eq(shard.bank),
            *(self.status.payload[name].eq(shard[name]) for name in ("tag", "code", "edges")),
            self.status.valid.eq(reporting),
            self.ended.ready.eq(~draining & (~reporting | self.status.ready)),
            self.flush.eq(draining & self.unwritten),
            self.drain.eq(step),
            self.wait_partials.eq(draining),
            self.wait_status.eq(reporting),
        ]
        with m.If(step & ~shard.touched.any()):
            m.d.sync += [draining.eq(0), reporting.eq(1)]
        with m.If(self.status.valid & self.status.ready):
            m.d.sync += reporting.eq(0)
        with m.If(self.ended.valid & self.ended.ready):
            m.d.sync += [shard.eq(self.ended.payload), draining.eq(1)]
        return m

    def _read(self, m: Module, shard: Signal, step: Signal) -> None:
        """Read the touched slot of the lowest number, beat by beat; what was read is offered in the next cycle."""
        interval = self.config.interval
        lowest = Signal(interval)
        slot = Signal(self._slot_bits)
        beat = Signal(range(max(2, self.config.max_beats)))
        last_beat = beat + 1 == shard.beats
        partial = self.partials.payload
        offered = Signal()
        index, first, last = Signal(self._slot_bits), Signal(), Signal()
        m.d.comb += [
            lowest.eq(shard.touched & -shard.touched),
            slot.eq(
                Cat(Cat(lowest[i] for i in range(interval) if i >> bit & 1).any() for bit in range(self._slot_bits))
            ),
            self.place.eq(Cat(beat[: self._beat_bits], slot)),
            self.read.eq(step & shard.touched.any()),
            self.partials.valid.eq(offered),
            partial.index.eq(index),
            partial.first.eq(first),
            partial.last.eq(last),
            partial.data.eq(self.sums),
        ]
        with m.If(step):
            m.d.sync += offered.eq(self.read)
        with m.If(self.read):
            m.d.sync += [index.eq(slot), first.eq(beat == 0), last.eq(last_beat), beat.eq(beat + 1)]
            with m.If(last_beat):
                m.d.sync += [shard.touched.eq(shard.touched & ~lowest), beat.eq(0)]
