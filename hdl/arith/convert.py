"""Conversions between fp32 and bf16."""

from amaranth.hdl import Cat, Const, Module, Mux
from amaranth.lib.wiring import In, Out

from hdl.arith.format import BF16_NAN, FP32_NAN, flush, unpack
from hdl.arith.pipeline import Pipeline, share


class Fp32ToBf16(Pipeline):
    """Rounding of fp32 to bf16: nearest, ties to even.

    Equals `sim.golden.numbers.fp32_to_bf16` bit for bit.

    Parameters
    ----------
    latency : int, optional
        0 .. 1 cycles; 1 if not given.

    Attributes
    ----------
    a : In(32)
        Operand, fp32; a subnormal counts as zero of its sign.
    o : Out(16)
        The nearest bf16 number, `latency` cycles later.
    """

    CUTS = ((), (1,))
    DEFAULT_LATENCY = 1

    a: In(32)
    o: Out(16)

    def elaborate(self, _platform: object) -> Module:
        """Build the data path."""
        m = Module()
        cut = self.cuts(m)
        flushed = share(m, "flushed", flush(self.a))
        raised = flushed[15] & (flushed[16] | flushed[:15].any())
        # A carry out of the fraction goes into the exponent: that is right, and from the greatest it makes infinity.
        rounded = (flushed[16:] + raised)[:16]
        m.d.comb += self.o.eq(cut(result=Mux(unpack(self.a).nan, BF16_NAN, rounded)).result)
        return m


class Bf16ToFp32(Pipeline):
    """Widening of bf16 to fp32: exact, but subnormals are flushed and NaN becomes canonical.

    Equals `sim.golden.numbers.bf16_to_fp32` bit for bit.

    Parameters
    ----------
    latency : int, optional
        0 .. 1 cycles; 1 if not given.

    Attributes
    ----------
    a : In(16)
        Operand, bf16.
    o : Out(32)
        The same number as fp32, `latency` cycles later.
    """

    CUTS = ((), (1,))
    DEFAULT_LATENCY = 1

    a: In(16)
    o: Out(32)

    def elaborate(self, _platform: object) -> Module:
        """Build the data path."""
        m = Module()
        cut = self.cuts(m)
        widened = Cat(Const(0, 16), flush(self.a))
        m.d.comb += self.o.eq(cut(result=Mux(unpack(self.a).nan, FP32_NAN, widened)).result)
        return m
