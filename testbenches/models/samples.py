"""Small designs, good and bad, that the benches themselves are tested with."""

import enum

from amaranth.hdl import Assert, Module, Mux, Signal, signed
from amaranth.lib import data, fifo, stream, wiring
from amaranth.lib.wiring import In, Out


class Assortment(wiring.Component):
    """Streams of all sorts side by side: joined, queued, wired through, narrow, wide, in an array, of a struct."""

    TAGGED = data.StructLayout({"last": 1, "value": signed(12)})

    def __init__(self) -> None:
        super().__init__(
            {
                **{name: In(stream.Signature(32)) for name in ("a", "b")},
                "sum": Out(stream.Signature(33)),
                "bit_in": In(stream.Signature(1)),
                "bit_out": Out(stream.Signature(1)),
                "wide_in": In(stream.Signature(600)),
                "wide_out": Out(stream.Signature(600)),
                "lanes_in": In(stream.Signature(self.TAGGED)).array(2),
                "lanes_out": Out(stream.Signature(self.TAGGED)).array(2),
                "bias": In(signed(8)),
                "sums": Out(16),
                "balance": Out(signed(16)),
                "idle": Out(32),
            }
        )

    def elaborate(self, _platform: object) -> Module:
        """Wire a joining adder, a FIFO, a comb pass-through, and a register slice per lane."""
        m = Module()
        m.d.comb += [self.a.ready.eq(self.b.valid & (self.sum.ready | ~self.sum.valid))]
        m.d.comb += [self.b.ready.eq(self.a.valid & (self.sum.ready | ~self.sum.valid))]
        with m.If(self.sum.ready | ~self.sum.valid):
            m.d.sync += self.sum.valid.eq(self.a.valid & self.b.valid)
            m.d.sync += self.sum.payload.eq(self.a.payload + self.b.payload + self.bias)
        m.d.sync += self.sums.eq(self.sums + (self.sum.valid & self.sum.ready))
        m.d.sync += self.balance.eq(self.balance + self.bias)
        with m.If(~self.a.valid):
            m.d.sync += self.idle.eq(self.a.payload)

        m.submodules.queue = queue = fifo.SyncFIFOBuffered(width=1, depth=4)
        wiring.connect(m, wiring.flipped(self.bit_in), queue.w_stream)
        wiring.connect(m, queue.r_stream, wiring.flipped(self.bit_out))
        wiring.connect(m, wiring.flipped(self.wide_in), wiring.flipped(self.wide_out))
        for source, sink in zip(self.lanes_in, self.lanes_out, strict=True):
            m.d.comb += source.ready.eq(sink.ready | ~sink.valid)
            with m.If(source.ready):
                m.d.sync += [sink.valid.eq(source.valid), sink.payload.eq(source.payload)]
        return m


class Wire(wiring.Component):
    """A stream wired through: no clock at all."""

    i: In(stream.Signature(8))
    o: Out(stream.Signature(8))

    def elaborate(self, _platform: object) -> Module:
        """Connect."""
        m = Module()
        wiring.connect(m, wiring.flipped(self.i), wiring.flipped(self.o))
        return m


class Sin(enum.IntEnum):
    """What `Sinner` does at its sixth beat."""

    NONE = 0
    DROPS_VALID = 1
    CHANGES_PAYLOAD = 2
    REPEATS_BEAT = 3
    SWALLOWS_BEAT = 4
    HANGS = 5
    WAITS_FOR_READY = 6
    ASSERTS = 7


class Sinner(wiring.Component):
    """A register slice that breaks the rule its input tells it to break."""

    i: In(stream.Signature(16))
    o: Out(stream.Signature(16))
    sin: In(3)

    def elaborate(self, _platform: object) -> Module:
        """Build the slice, and each sin around it."""
        m = Module()
        full, waited, repeated = Signal(), Signal(), Signal()
        taken = Signal(16)
        sixth = taken == 6
        m.d.sync += waited.eq(self.o.valid & ~self.o.ready)
        m.d.comb += [
            self.i.ready.eq((~full | self.o.ready) & ~((self.sin == Sin.HANGS) & sixth)),
            self.o.valid.eq(full & ~((self.sin == Sin.DROPS_VALID) & sixth & waited)),
        ]
        with m.If((self.sin == Sin.WAITS_FOR_READY) & ~self.o.ready):
            m.d.comb += self.o.valid.eq(0)
        with m.If((self.sin == Sin.REPEATS_BEAT) & sixth & ~repeated):
            m.d.comb += self.i.ready.eq(~full)
        slot = Signal(16)
        m.d.comb += self.o.payload.eq(slot ^ ((self.sin == Sin.CHANGES_PAYLOAD) & sixth & waited))
        with m.If(self.o.valid & self.o.ready):
            repeats = (self.sin == Sin.REPEATS_BEAT) & sixth & ~repeated
            m.d.sync += [full.eq(repeats), repeated.eq(repeated | repeats)]
        with m.If(self.i.valid & self.i.ready):
            swallowed = (self.sin == Sin.SWALLOWS_BEAT) & (taken == 5)
            m.d.sync += [full.eq(~swallowed), taken.eq(taken + 1)]
            m.d.sync += slot.eq(Mux(swallowed, slot, self.i.payload))
        m.d.sync += Assert(~((self.sin == Sin.ASSERTS) & sixth))
        return m
