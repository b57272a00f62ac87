"""Adder of fp32 numbers."""

from amaranth.hdl import Cat, Const, Module, Mux, Value
from amaranth.lib.wiring import In, Out

from hdl.arith.format import round_and_pack, unpack
from hdl.arith.pipeline import Pipeline, share

_TOTAL_BITS = 28  # 24 of significand, 3 below it, 1 of carry


class Fp32Add(Pipeline):
    """Sum of two fp32 numbers: swap, align, add, normalise, round.

    Equals `sim.golden.numbers.fp32_add` bit for bit.

    Parameters
    ----------
    latency : int, optional
        0 .. 5 cycles; 3 if not given.

    Attributes
    ----------
    a, b : In(32)
        Operands.
    o : Out(32)
        Their sum, `latency` cycles later.
    """

    # 1 swapped, 2 aligned, 3 added, 4 normalised, 5 rounded.
    CUTS = ((), (5,), (3, 5), (2, 3, 5), (2, 3, 4, 5), (1, 2, 3, 4, 5))
    DEFAULT_LATENCY = 3

    a: In(32)
    b: In(32)
    o: Out(32)

    @staticmethod
    def align(m: Module, significand: Value, distance: Value) -> Value:
        """Move the smaller significand down to the greater one's place.

        Parameters
        ----------
        m : Module
            Where it is built.
        significand : Value
            24 bits.
        distance : Value
            Places to move, 8 bits.

        Returns
        -------
        Value
            27 bits: significand, guard, round, and a sticky bit for all that fell off.
        """
        # From 27 places on, only the sticky bit is left. 31 leave the leading one inside the 50 bits, and so in it.
        places = Mux(distance[5:].any(), 31, distance[:5])
        moved = share(m, "moved", (Cat(Const(0, 26), significand) >> places)[:50])
        return Cat(moved[:24].any(), moved[24:])

    @staticmethod
    def sign_of_zero(a_sign: Value, b_sign: Value) -> Value:
        """Give the sign of a sum that is exactly zero.

        Parameters
        ----------
        a_sign, b_sign : Value
            Signs of the operands.

        Returns
        -------
        Value
            Negative only where both are.
        """
        return a_sign & b_sign

    def elaborate(self, _platform: object) -> Module:
        """Build the data path."""
        m = Module()
        cut = self.cuts(m)

        # The greater magnitude gives the sign, holds any special value, and makes the difference non-negative.
        swap = share(m, "swap", self.b[:31] > self.a[:31])
        x = cut(great=Mux(swap, self.b, self.a), small=Mux(swap, self.a, self.b))

        great, small = unpack(x.great), unpack(x.small)
        opposed = great.sign ^ small.sign
        distance = share(m, "distance", (great.exponent - small.exponent)[:8])
        x = cut(
            sign=great.sign,
            zero_sign=self.sign_of_zero(great.sign, small.sign),
            opposed=opposed,
            exponent=great.exponent,
            great=Mux(great.zero, 0, great.significand),
            small=self.align(m, Mux(small.zero, 0, small.significand), distance),
            infinite=great.infinite,
            nan=great.nan | (great.infinite & small.infinite & opposed),
        )

        addend = Cat(x.small, Const(0, 1)) ^ x.opposed.replicate(_TOTAL_BITS)
        x = cut(
            total=(Cat(Const(0, 3), x.great) + addend + x.opposed)[:_TOTAL_BITS],
            sign=x.sign,
            zero_sign=x.zero_sign,
            exponent=x.exponent,
            infinite=x.infinite,
            nan=x.nan,
        )

        total, leading_zeros = x.total, []
        for places in (16, 8, 4, 2, 1):
            empty = share(m, f"empty_{places}", ~total[-places:].any())
            total = share(m, f"moved_{places}", Mux(empty, Cat(Const(0, places), total[:-places]), total))
            leading_zeros.insert(0, empty)
        zero = ~total[-1]
        x = cut(
            sign=Mux(zero, x.zero_sign, x.sign),
            exponent=(x.exponent + 1 - Cat(*leading_zeros))[:10].as_signed(),
            significand=total[4:],
            guard=total[3],
            sticky=total[:3].any(),
            zero=zero,
            infinite=x.infinite,
            nan=x.nan,
        )

        m.d.comb += self.o.eq(cut(result=round_and_pack(m, **vars(x))).result)
        return m
