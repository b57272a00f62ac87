"""Natural logarithm of an fp32 number."""

from amaranth.hdl import Cat, Const, Module, Mux
from amaranth.lib.wiring import In, Out

from hdl.arith.format import BIAS, SIGNIFICAND_BITS, round_and_pack, unpack
from hdl.arith.pipeline import Pipeline, share
from hdl.arith.table import fitted
from sim.program.functions import INDEX_BITS, LN_2, LN_2_BITS, LOG, RESULT_BITS

_PLACES = RESULT_BITS + SIGNIFICAND_BITS  # of the sum after the point; seven before it hold 128 ln(2)
_TOTAL_BITS = _PLACES + 7


class Fp32Log(Pipeline):
    """Natural logarithm of an fp32 number: (m - 1) times a table's ln(m) / (m - 1), and the exponent times ln(2).

    m lies between 3/4 and 3/2, so that nothing cancels: around 1 the exponent is 0 and the product alone is the result,
    with all of its places. Equals `sim.golden.functions.fp32_log` bit for bit.

    Parameters
    ----------
    latency : int, optional
        0 .. 6 cycles; 4 if not given.

    Attributes
    ----------
    a : In(32)
        Operand.
    o : Out(32)
        ln(a), `latency` cycles later: -infinity from a zero of either sign, NaN from what is below, +0 from 1.
    """

    # 1 coefficients, 2 slope, 3 value, 4 summed, 5 normalised, 6 rounded.
    CUTS = ((), (6,), (3, 6), (2, 3, 6), (2, 3, 4, 6), (1, 2, 3, 4, 6), (1, 2, 3, 4, 5, 6))
    DEFAULT_LATENCY = 4

    a: In(32)
    o: Out(32)

    def elaborate(self, _platform: object) -> Module:
        """Build the data path."""
        m = Module()
        cut = self.cuts(m)

        a = unpack(self.a)
        # m - 1 in units of 2**-24: twice the fraction, or what it lacks of one.
        halved = a.fraction[-1]
        above_one = Mux(halved, Cat(a.fraction, Const(3, 2)), Cat(Const(0, 1), a.fraction, Const(0, 1))).as_signed()
        scale = (a.exponent + halved - BIAS)[:9].as_signed()
        # The logarithm is negative below 1. Both terms change their sign there, so that their sum is its magnitude.
        sign = share(m, "sign", a.exponent < BIAS)
        x = fitted(
            m,
            cut,
            LOG,
            part=a.fraction[-INDEX_BITS:],
            rest=a.fraction[:-INDEX_BITS],
            above_one=Mux(sign, -above_one, above_one)[: len(above_one)].as_signed(),
            scale=Mux(sign, -scale, scale)[: len(scale)].as_signed(),
            sign=sign,
            infinite=a.infinite | a.zero,
            nan=a.nan | (a.sign & ~a.zero),
        )

        product = share(m, "product", x.above_one * x.value)
        below = _PLACES - LN_2_BITS  # places that ln(2) does not reach
        upper = product[below:].as_signed() + x.scale * LN_2
        x = cut(total=Cat(product[:below], upper)[:_TOTAL_BITS], sign=x.sign, infinite=x.infinite, nan=x.nan)

        # The least result but zero is 2**-24, 30 places below the greatest.
        moved, leading_zeros = x.total, []
        for places in (16, 8, 4, 2, 1):
            empty = share(m, f"empty_{places}", ~moved[-places:].any())
            moved = share(m, f"moved_{places}", Mux(empty, Cat(Const(0, places), moved[:-places]), moved))
            leading_zeros.insert(0, empty)
        x = cut(
            sign=x.sign,
            exponent=(BIAS + _TOTAL_BITS - 1 - _PLACES - Cat(*leading_zeros))[:9].as_signed(),
            significand=moved[-SIGNIFICAND_BITS:],
            guard=moved[-SIGNIFICAND_BITS - 1],
            sticky=moved[: -SIGNIFICAND_BITS - 1].any(),
            zero=~moved[-1],
            infinite=x.infinite,
            nan=x.nan,
        )
        m.d.comb += self.o.eq(cut(result=round_and_pack(m, **vars(x))).result)
        return m
