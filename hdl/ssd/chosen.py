"""What a target's draws have taken already."""

from amaranth.hdl import Array, Cat, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from hdl.ssd.bounded import BOUND_BITS


class Chosen(wiring.Component):
    """Remembers the edges of a target that were taken, and compares a new one with all of them at once.

    R. W. Floyd's sampling without replacement: one that was taken before is replaced by the last of its draw's range,
    which no earlier draw can have taken. J. Bentley, "Programming pearls: a sample of brilliance", 1987.

    Parameters
    ----------
    places : int
        Samples of a target at most.

    Attributes
    ----------
    number, last : In(31)
        The edge drawn, and the last edge of its range.
    begins : In(1)
        It is the first draw of its target: all before are forgotten.
    index : In(range(places))
        Number of the draw within the target.
    add : In(1)
        Takes `edge` down.
    edge : Out(31)
        The edge taken, in the same cycle.
    """

    def __init__(self, places: int) -> None:
        self._places = places
        super().__init__(
            {
                "number": In(BOUND_BITS),
                "last": In(BOUND_BITS),
                "begins": In(1),
                "index": In(range(max(2, places))),
                "add": In(1),
                "edge": Out(BOUND_BITS),
            }
        )

    def elaborate(self, _platform: object) -> Module:
        """Build the places and their comparisons."""
        m = Module()
        taken = Array(Signal(BOUND_BITS, name=f"taken_{i}", reset_less=True) for i in range(self._places))
        held, before = Signal(self._places), Signal(self._places)
        hits = Signal(self._places)
        m.d.comb += [
            before.eq(Mux(self.begins, 0, held)),
            hits.eq(before & Cat(edge == self.number for edge in taken)),
            self.edge.eq(Mux(hits.any(), self.last, self.number)),
        ]
        with m.If(self.add):
            m.d.sync += [held.eq(before | (1 << self.index)), taken[self.index].eq(self.edge)]
        return m
