"""Reciprocal of an fp32 number, correctly rounded."""

from amaranth.hdl import Cat, Const, Module, Value
from amaranth.lib.wiring import In, Out

from hdl.arith.format import BIAS, SIGNIFICAND_BITS, round_and_pack, unpack
from hdl.arith.pipeline import Pipeline, share
from hdl.arith.table import fitted
from sim.program.functions import INDEX_BITS, RECIPROCAL, RESULT_BITS


class Fp32Reciprocal(Pipeline):
    """1 / a, rounded to nearest: a table's value, then one product tells which of two neighbours is the nearer one.

    Equals `sim.golden.functions.fp32_reciprocal` bit for bit, and IEEE 754's division of 1 under the number contract.

    Parameters
    ----------
    latency : int, optional
        0 .. 5 cycles; 4 if not given.

    Attributes
    ----------
    a : In(32)
        Operand.
    o : Out(32)
        1 / a, `latency` cycles later: infinity of its sign from zero, zero of its sign from infinity.
    """

    # 1 coefficients, 2 slope, 3 value, 4 compared, 5 rounded.
    CUTS = ((), (5,), (2, 5), (2, 3, 5), (1, 2, 3, 5), (1, 2, 3, 4, 5))
    DEFAULT_LATENCY = 4

    a: In(32)
    o: Out(32)

    @staticmethod
    def above_middle(m: Module, operand: Value, significand: Value) -> Value:
        """Tell whether a reciprocal lies above the middle between a significand and the next one.

        Parameters
        ----------
        m : Module
            Where it is built.
        operand : Value
            Significand of the operand, 24 bits.
        significand : Value
            24 bits, less than one place and a half below the reciprocal and at most half a place above it.

        Returns
        -------
        Value
            1 bit. It is never in the middle.
        """
        # The exact reciprocal makes 2**48. The middle is at most one place away, which makes less than 2**26; so all
        # higher bits are equal, and one of them tells whether the product is less.
        product = share(m, "product", (operand * Cat(Const(1, 1), significand))[: SIGNIFICAND_BITS + 3])
        return product[-1]

    def elaborate(self, _platform: object) -> Module:
        """Build the data path."""
        m = Module()
        cut = self.cuts(m)

        a = unpack(self.a)
        x = fitted(
            m,
            cut,
            RECIPROCAL,
            part=a.fraction[-INDEX_BITS:],
            rest=a.fraction[:-INDEX_BITS],
            sign=a.sign,
            operand=a.significand,
            exponent=(2 * BIAS - 1 - a.exponent)[:10].as_signed(),
            zero=a.infinite,
            infinite=a.zero,
            nan=a.nan,
        )
        significand = x.value[RESULT_BITS - SIGNIFICAND_BITS : RESULT_BITS]
        x = cut(
            sign=x.sign,
            exponent=x.exponent,
            significand=significand,
            guard=self.above_middle(m, x.operand, significand),
            sticky=Const(1, 1),
            zero=x.zero,
            infinite=x.infinite,
            nan=x.nan,
        )
        m.d.comb += self.o.eq(cut(result=round_and_pack(m, **vars(x))).result)
        return m
