"""Multipliers: fp32 by fp32, and bf16 by bf16 into fp32."""

from amaranth.hdl import Cat, Const, Module, Mux, Value
from amaranth.lib.wiring import In, Out

from hdl.arith.format import BIAS, SIGNIFICAND_BITS, round_and_pack, unpack
from hdl.arith.pipeline import Pipeline, share


class _Multiplier(Pipeline):
    """Data path of both: classify, multiply, normalise, round."""

    # 1 operands, 2 multiplied, 3 normalised, 4 rounded.
    CUTS = ((), (4,), (2, 4), (2, 3, 4), (1, 2, 3, 4))

    def elaborate(self, _platform: object) -> Module:
        """Build the data path."""
        m = Module()
        cut = self.cuts(m)

        x = cut(a=self.a, b=self.b)

        a, b = unpack(x.a), unpack(x.b)
        zero = share(m, "zero", a.zero | b.zero)
        infinite = share(m, "infinite", a.infinite | b.infinite)
        x = cut(
            sign=a.sign ^ b.sign,
            exponent=(a.exponent + b.exponent - BIAS)[:10].as_signed(),
            product=a.significand * b.significand,
            zero=zero,
            infinite=infinite,
            nan=a.nan | b.nan | (zero & infinite),
        )

        x = cut(sign=x.sign, **self.normalise(m, x.exponent, x.product), zero=x.zero, infinite=x.infinite, nan=x.nan)

        m.d.comb += self.o.eq(cut(result=round_and_pack(m, **vars(x))).result)
        return m

    @staticmethod
    def normalise(m: Module, exponent: Value, product: Value) -> dict[str, Value]:
        """Bring the product's leading one, which has two possible places, to the top.

        Parameters
        ----------
        m : Module
            Where it is built.
        exponent : Value
            Biased exponent of the product if its leading one is in the lower place, signed.
        product : Value
            Product of two significands.

        Returns
        -------
        dict of str to Value
            `exponent`, `significand`, `guard` and `sticky` for rounding.
        """
        high = product[-1]
        aligned = share(m, "aligned", Mux(high, product, Cat(Const(0, 1), product[:-1])))
        # A product of two bf16 numbers has fewer places than fp32 keeps: nothing is left to round.
        padded = Cat(Const(0, max(0, SIGNIFICAND_BITS + 1 - len(product))), aligned)
        return {
            "exponent": (exponent + high)[: len(exponent)].as_signed(),
            "significand": padded[-SIGNIFICAND_BITS:],
            "guard": padded[-SIGNIFICAND_BITS - 1],
            "sticky": padded[: -SIGNIFICAND_BITS - 1].any(),
        }


class Fp32Mul(_Multiplier):
    """Product of two fp32 numbers.

    Equals `sim.golden.numbers.fp32_mul` bit for bit.

    Parameters
    ----------
    latency : int, optional
        0 .. 4 cycles; 2 if not given.

    Attributes
    ----------
    a, b : In(32)
        Operands.
    o : Out(32)
        Their product, `latency` cycles later.
    """

    DEFAULT_LATENCY = 2

    a: In(32)
    b: In(32)
    o: Out(32)


class Bf16Mul(_Multiplier):
    """Product of two bf16 numbers as fp32: exact but for overflow and underflow.

    Equals `sim.golden.numbers.bf16_mul` bit for bit.

    Parameters
    ----------
    latency : int, optional
        0 .. 4 cycles; 1 if not given.

    Attributes
    ----------
    a, b : In(16)
        Operands, bf16.
    o : Out(32)
        Their product, fp32, `latency` cycles later.
    """

    DEFAULT_LATENCY = 1

    a: In(16)
    b: In(16)
    o: Out(32)
