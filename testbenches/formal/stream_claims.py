"""Claims about the parts of streams: no beat is lost, doubled, changed or overtaken."""

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from testbenches.formal.watch import unsteady


class TrackedBeat(wiring.Component):
    """A buffer of beats between a source and a sink that do as they like, and any one beat followed through it."""

    def __init__(self, buffer: wiring.Component, depth: int, bits: int) -> None:
        self._buffer, self._depth, self._bits = buffer, depth, bits
        claims = ("invented", "refused", "unsteady", "wrong")
        super().__init__(
            {"valid": In(1), "payload": In(bits), "ready": In(1), "follow": In(1), **{n: Out(1) for n in claims}}
        )

    def elaborate(self, _platform: object) -> Module:
        """Build the claims."""
        m = Module()
        m.submodules.buffer = buffer = self._buffer
        comes, goes = Signal(), Signal()
        count, ahead = Signal(range(self._depth + 1)), Signal(range(self._depth + 1))
        followed, payload = Signal(), Signal(self._bits)
        m.d.comb += [
            buffer.beats.valid.eq(self.valid),
            buffer.beats.payload.eq(self.payload),
            buffer.held.ready.eq(self.ready),
            comes.eq(buffer.beats.valid & buffer.beats.ready),
            goes.eq(buffer.held.valid & buffer.held.ready),
        ]
        m.d.sync += count.eq(count + comes - goes)
        with m.If(~followed & comes & self.follow):
            m.d.sync += [followed.eq(1), payload.eq(self.payload), ahead.eq(count - goes)]
        with m.If(followed & goes):
            m.d.sync += [ahead.eq(Mux(ahead == 0, 0, ahead - 1)), followed.eq(ahead != 0)]
        m.d.comb += [
            self.invented.eq(buffer.held.valid != (count != 0)),
            self.refused.eq((count != self._depth) & ~buffer.beats.ready),
            self.unsteady.eq(unsteady(m, buffer.held, "held")),
            self.wrong.eq(followed & (ahead == 0) & (buffer.held.payload != payload)),
        ]
        return m
