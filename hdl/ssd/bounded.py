"""Unbiased numbers below a bound from random words."""

from amaranth.hdl import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

WORD_BITS, BOUND_BITS = 32, 31
"""Widths of a random word and of a bound."""

STEPS = WORD_BITS + 1
"""Cycles of a division."""


class Bounded(wiring.Component):
    """Multiplies a word by a bound; the high half is the number, if the low half says that the word favours none.

    The product is there in the cycle after `load`. A low half that is not below the bound is good. Otherwise it must
    not be below the remainder of 2^32 by the bound, which is then worked out, a bit a cycle: the verdict comes
    `STEPS` cycles later. D. Lemire, "Fast random integer generation in an interval", 2019.

    Attributes
    ----------
    load : In(1)
        Takes word and bound.
    word : In(32)
        The random word.
    bound : In(31)
        The number's bound, at least 1.
    judges : In(1)
        What was loaded last is to be judged; held until it is good or rejected.
    good, rejected : Out(1)
        The verdict, until the next `load`; neither while it is not known.
    number : Out(31)
        Below the bound, if the word is good.
    """

    load: In(1)
    word: In(WORD_BITS)
    bound: In(BOUND_BITS)
    judges: In(1)
    good: Out(1)
    rejected: Out(1)
    number: Out(BOUND_BITS)

    def elaborate(self, _platform: object) -> Module:
        """Build the multiplier, the comparisons and the divider."""
        m = Module()
        product = Signal(WORD_BITS + BOUND_BITS, reset_less=True)
        bound = Signal(BOUND_BITS, reset_less=True)
        step, remainder = Signal(range(STEPS + 1)), Signal(BOUND_BITS, reset_less=True)
        low, surely, known, even = Signal(WORD_BITS), Signal(), Signal(), Signal()
        m.d.comb += [
            low.eq(product),
            surely.eq(low >= bound),
            known.eq(step == STEPS),
            even.eq(low >= remainder),
            self.number.eq(product >> WORD_BITS),
            self.good.eq(surely | (known & even)),
            self.rejected.eq(~surely & known & ~even),
        ]
        # 2^32 has one bit, the first; the others are zeros.
        shifted = Signal(BOUND_BITS + 1)
        m.d.comb += shifted.eq((remainder << 1) | (step == 0))
        with m.If(self.load):
            m.d.sync += [product.eq(self.word * self.bound), bound.eq(self.bound), step.eq(0), remainder.eq(0)]
        with m.Elif(self.judges & ~surely & ~known):
            m.d.sync += step.eq(step + 1)
            with m.If(shifted >= bound):
                m.d.sync += remainder.eq(shifted - bound)
            with m.Else():
                m.d.sync += remainder.eq(shifted)
        return m
