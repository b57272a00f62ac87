"""A short queue of beats."""

from amaranth.hdl import Array, Module, ShapeLike, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from hdl.stream.ring import after


class StreamQueue(wiring.Component):
    """Beats in order, each seen from the cycle after it was taken; full, it takes none.

    Parameters
    ----------
    shape : shape-like
        The payload.
    depth : int
        Beats that it holds, 1 or more.

    Attributes
    ----------
    beats : In(stream)
        Beats in.
    held : Out(stream)
        The same beats.
    """

    def __init__(self, shape: ShapeLike, depth: int) -> None:
        self._shape = shape
        self._depth = depth
        super().__init__({"beats": In(stream.Signature(shape)), "held": Out(stream.Signature(shape))})

    def elaborate(self, _platform: object) -> Module:
        """Build the queue."""
        m = Module()
        places = Array(Signal(self._shape, name=f"place_{i}", reset_less=True) for i in range(self._depth))
        head, tail = Signal(range(max(2, self._depth))), Signal(range(max(2, self._depth)))
        level = Signal(range(self._depth + 1))
        put, got = self.beats.valid & self.beats.ready, self.held.valid & self.held.ready
        m.d.comb += [
            self.beats.ready.eq(level != self._depth),
            self.held.valid.eq(level != 0),
            self.held.payload.eq(places[head]),
        ]
        m.d.sync += level.eq(level + put - got)
        with m.If(put):
            m.d.sync += [places[tail].eq(self.beats.payload), tail.eq(after(tail, self._depth))]
        with m.If(got):
            m.d.sync += head.eq(after(head, self._depth))
        return m
