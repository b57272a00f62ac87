"""Comparison, maximum and minimum of fp32 numbers."""

from amaranth.hdl import Cat, Module, Mux, Value
from amaranth.lib.wiring import In, Out

from hdl.arith.format import FP32_NAN, flush, unpack
from hdl.arith.pipeline import Pipeline


def _order(flushed: Value) -> Value:
    """Unsigned key that sorts as the numbers do, with -0 just below +0."""
    return Cat(flushed[:-1] ^ flushed[-1].replicate(31), ~flushed[-1])


class Fp32Compare(Pipeline):
    """Order of two fp32 numbers.

    Equals `sim.golden.numbers.fp32_compare`.

    Parameters
    ----------
    latency : int, optional
        0 .. 2 cycles; 1 if not given.

    Attributes
    ----------
    a, b : In(32)
        Operands.
    lt, eq, unordered : Out(1)
        Whether `a` is less than `b`, equals it (-0 equals +0), or either is NaN, `latency` cycles later. At most one
        holds; none where `a` is greater.
    """

    # 1 flushed, 2 compared.
    CUTS = ((), (2,), (1, 2))
    DEFAULT_LATENCY = 1

    a: In(32)
    b: In(32)
    lt: Out(1)
    eq: Out(1)
    unordered: Out(1)

    def elaborate(self, _platform: object) -> Module:
        """Build the data path."""
        m = Module()
        cut = self.cuts(m)
        x = cut(a=flush(self.a), b=flush(self.b), unordered=unpack(self.a).nan | unpack(self.b).nan)
        both_zero = ~(x.a[:-1].any() | x.b[:-1].any())
        x = cut(
            lt=(_order(x.a) < _order(x.b)) & ~both_zero & ~x.unordered,
            eq=((x.a == x.b) | both_zero) & ~x.unordered,
            unordered=x.unordered,
        )
        m.d.comb += [self.lt.eq(x.lt), self.eq.eq(x.eq), self.unordered.eq(x.unordered)]
        return m


class Fp32MaxMin(Pipeline):
    """IEEE 754-2019 `maximum` or `minimum` of two fp32 numbers.

    Equals `sim.golden.numbers.fp32_max` and `fp32_min` bit for bit.

    Parameters
    ----------
    latency : int, optional
        0 .. 2 cycles; 1 if not given.

    Attributes
    ----------
    a, b : In(32)
        Operands.
    minimum : In(1)
        Take the lesser one instead of the greater; belongs to the operands of its cycle.
    o : Out(32)
        The flushed operand, or the canonical NaN if either is NaN, `latency` cycles later.
    """

    # 1 flushed, 2 chosen.
    CUTS = ((), (2,), (1, 2))
    DEFAULT_LATENCY = 1

    a: In(32)
    b: In(32)
    minimum: In(1)
    o: Out(32)

    def elaborate(self, _platform: object) -> Module:
        """Build the data path."""
        m = Module()
        cut = self.cuts(m)
        nan = unpack(self.a).nan | unpack(self.b).nan
        x = cut(a=flush(self.a), b=flush(self.b), minimum=self.minimum, nan=nan)
        take_a = (_order(x.a) > _order(x.b)) ^ x.minimum
        m.d.comb += self.o.eq(cut(result=Mux(x.nan, FP32_NAN, Mux(take_a, x.a, x.b))).result)
        return m
