"""Reciprocal square root of an fp32 number."""

from amaranth.hdl import Cat, Module
from amaranth.lib.wiring import In, Out

from hdl.arith.format import BIAS, SIGNIFICAND_BITS, round_and_pack, unpack
from hdl.arith.pipeline import Pipeline
from hdl.arith.table import fitted
from sim.program.functions import INDEX_BITS, RECIPROCAL_SQRT, RESULT_BITS


class Fp32ReciprocalSqrt(Pipeline):
    """1 / sqrt(a): a table with one half for even and one for odd exponents.

    Equals `sim.golden.functions.fp32_reciprocal_sqrt` bit for bit.

    Parameters
    ----------
    latency : int, optional
        0 .. 4 cycles; 4 if not given.

    Attributes
    ----------
    a : In(32)
        Operand.
    o : Out(32)
        1 / sqrt(a), `latency` cycles later. As IEEE 754's rSqrt, infinity of its sign from a zero; +0 from +infinity,
        NaN from what is below zero.
    """

    # 1 coefficients, 2 slope, 3 value, 4 rounded.
    CUTS = ((), (4,), (2, 4), (1, 2, 4), (1, 2, 3, 4))
    DEFAULT_LATENCY = 4

    a: In(32)
    o: Out(32)

    def elaborate(self, _platform: object) -> Module:
        """Build the data path."""
        m = Module()
        cut = self.cuts(m)

        a = unpack(self.a)
        x = fitted(
            m,
            cut,
            RECIPROCAL_SQRT,
            # The bias is odd: an even stored exponent is an odd one, of which a factor of two goes to the significand.
            part=Cat(a.fraction[-INDEX_BITS:], ~a.exponent[0]),
            rest=a.fraction[:-INDEX_BITS],
            sign=a.sign,
            exponent=((3 * BIAS - 1 - a.exponent) >> 1)[:9].as_signed(),
            zero=a.infinite,
            infinite=a.zero,
            nan=a.nan | (a.sign & ~a.zero),
        )
        rounded = round_and_pack(
            m,
            sign=x.sign,
            exponent=x.exponent,
            significand=x.value[RESULT_BITS - SIGNIFICAND_BITS : RESULT_BITS],
            guard=x.value[RESULT_BITS - SIGNIFICAND_BITS - 1],
            sticky=x.value[: RESULT_BITS - SIGNIFICAND_BITS - 1].any(),
            zero=x.zero,
            infinite=x.infinite,
            nan=x.nan,
        )
        m.d.comb += self.o.eq(cut(result=rounded).result)
        return m
