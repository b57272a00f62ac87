"""One beat's place in a stream: cuts the path of its payload, at no loss of rate."""

from amaranth.hdl import Module, ShapeLike, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out


class StreamRegister(wiring.Component):
    """Holds one beat; takes the next in the cycle in which that one leaves. Latency: one cycle.

    Parameters
    ----------
    shape : shape-like
        The payload.

    Attributes
    ----------
    beats : In(stream)
        Beats in. Its valid may fall before a beat is taken: the register looks at each cycle on its own.
    held : Out(stream)
        The same beats, from the cycle after.
    """

    def __init__(self, shape: ShapeLike) -> None:
        self._shape = shape
        super().__init__({"beats": In(stream.Signature(shape)), "held": Out(stream.Signature(shape))})

    def elaborate(self, _platform: object) -> Module:
        """Build the register."""
        m = Module()
        payload = Signal(self._shape, reset_less=True)
        valid = Signal()
        m.d.comb += [
            self.beats.ready.eq(~valid | self.held.ready),
            self.held.valid.eq(valid),
            self.held.payload.eq(payload),
        ]
        with m.If(self.beats.ready):
            m.d.sync += [valid.eq(self.beats.valid), payload.eq(self.beats.payload)]
        return m
