"""Exponential function of an fp32 number."""

from amaranth.hdl import Const, Module, Mux
from amaranth.lib.wiring import In, Out

from hdl.arith.format import BIAS, FRACTION_BITS, SIGNIFICAND_BITS, round_and_pack, unpack
from hdl.arith.pipeline import Pipeline, share
from hdl.arith.table import fitted
from sim.program.functions import EXP, INDEX_BITS, LOG2_E, LOG2_E_BITS, RESULT_BITS

_INTEGER_BITS = 7  # of the greatest operand whose result depends on its fraction
_LEAST_INFINITE_EXPONENT = BIAS + _INTEGER_BITS
_POWER_BITS = RESULT_BITS + _INTEGER_BITS + 1  # log2(e) lies between 1 and 2


class Fp32Exp(Pipeline):
    """e to the power of an fp32 number: times log2(e), a table for the fraction, the integer into the exponent.

    Equals `sim.golden.functions.fp32_exp` bit for bit.

    Parameters
    ----------
    latency : int, optional
        0 .. 6 cycles; 4 if not given.

    Attributes
    ----------
    a : In(32)
        Operand.
    o : Out(32)
        e**a, `latency` cycles later: +infinity from overflow and +infinity, +0 from underflow and -infinity.
    """

    # 1 multiplied by log2(e), 2 fixed point, 3 coefficients, 4 slope, 5 value, 6 rounded.
    CUTS = ((), (6,), (3, 6), (1, 4, 6), (1, 3, 4, 6), (1, 3, 4, 5, 6), (1, 2, 3, 4, 5, 6))
    DEFAULT_LATENCY = 4

    a: In(32)
    o: Out(32)

    def elaborate(self, _platform: object) -> Module:
        """Build the data path."""
        m = Module()
        cut = self.cuts(m)

        a = unpack(self.a)
        beyond = share(m, "beyond", a.exponent >= _LEAST_INFINITE_EXPONENT)
        # As if the operand had the greatest exponent; places below the result's are of no use even there.
        useless = LOG2_E_BITS + FRACTION_BITS - RESULT_BITS - (_INTEGER_BITS - 1)
        x = cut(
            product=(a.significand * LOG2_E)[useless : useless + _POWER_BITS],
            distance=(_LEAST_INFINITE_EXPONENT - 1 - a.exponent)[:8],
            sign=a.sign,
            infinite=beyond & ~a.sign,
            zero=beyond & a.sign,
            nan=a.nan,
        )

        # 63 places leave nothing: so small a number, zero too, gives 1.
        magnitude = share(m, "magnitude", x.product >> Mux(x.distance[6:].any(), 63, x.distance[:6]))
        power = Mux(x.sign, -magnitude, magnitude)[: _POWER_BITS + 1].as_signed()
        x = cut(power=power, infinite=x.infinite, zero=x.zero, nan=x.nan)

        x = fitted(
            m,
            cut,
            EXP,
            part=x.power[RESULT_BITS - INDEX_BITS : RESULT_BITS],
            rest=x.power[: RESULT_BITS - INDEX_BITS],
            exponent=BIAS + x.power[RESULT_BITS:].as_signed(),
            infinite=x.infinite,
            zero=x.zero,
            nan=x.nan,
        )
        rounded = round_and_pack(
            m,
            sign=Const(0, 1),
            exponent=x.exponent,
            significand=x.value[-SIGNIFICAND_BITS:],
            guard=x.value[-SIGNIFICAND_BITS - 1],
            sticky=x.value[: -SIGNIFICAND_BITS - 1].any(),
            zero=x.zero,
            infinite=x.infinite,
            nan=x.nan,
        )
        m.d.comb += self.o.eq(cut(result=rounded).result)
        return m
