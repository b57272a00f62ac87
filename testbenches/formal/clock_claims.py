"""Claims about the compute clock."""

from fractions import Fraction

from amaranth.hdl import Array, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import Out


class EvenSpread(wiring.Component):
    """Counts the enabled cycles of each period, in which there must be ``floor(n * ratio)`` after n cycles.

    A period is as many cycles as the ratio's denominator; whole periods add its numerator to both sides.
    """

    uneven: Out(1)

    def __init__(self, ratio: Fraction, clock: wiring.Component) -> None:
        self._ratio, self._clock = ratio, clock
        super().__init__()

    def elaborate(self, _platform: object) -> Module:
        """Build the claims."""
        m = Module()
        m.submodules.clock = clock = self._clock
        period = self._ratio.denominator
        due = Array((n * self._ratio.numerator) // period for n in range(period + 1))
        n, seen = Signal(range(period + 1)), Signal(range(period + 1))
        ends = n == period - 1
        m.d.comb += self.uneven.eq(seen + clock.enable != due[n + 1])
        m.d.sync += [n.eq(Mux(ends, 0, n + 1)), seen.eq(Mux(ends, 0, seen + clock.enable))]
        return m
