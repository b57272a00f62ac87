"""Which cycles of the memory's clock are cycles of the compute clock."""

from fractions import Fraction

from amaranth.hdl import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import Out


class ComputeClock(wiring.Component):
    """Enables the compute part in a fixed share of the cycles, spread as evenly as whole cycles allow.

    Compute cycle k is cycle ``ceil((k + 1) / ratio) - 1`` after reset. Both clocks come from one source, so every
    crossing has a known phase and needs no synchronizer; in silicon the enable gates the compute clock.

    Parameters
    ----------
    ratio : Fraction
        Compute cycles in one cycle, above 0, at most 1.

    Attributes
    ----------
    enable : Out(1)
        This cycle is one of the compute clock.
    """

    enable: Out(1)

    def __init__(self, ratio: Fraction) -> None:
        super().__init__()
        self._ratio = ratio

    def elaborate(self, _platform: object) -> Module:
        """Build the counter of the phase."""
        m = Module()
        up, down = self._ratio.numerator, self._ratio.denominator
        phase, following = Signal(range(max(2, down))), Signal(range(2 * down))
        m.d.comb += [following.eq(phase + up), self.enable.eq(following >= down)]
        with m.If(self.enable):
            m.d.sync += phase.eq(following - down)
        with m.Else():
            m.d.sync += phase.eq(following)
        return m
