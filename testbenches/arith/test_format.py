"""Classes of numbers, and the rounding that no sum or product reaches."""

from amaranth.hdl import Cat, Const, Module
from amaranth.lib.wiring import In, Out

from hdl.arith.format import flush, round_and_pack, unpack
from hdl.arith.pipeline import Pipeline
from testbenches.arith import reference
from testbenches.arith.cases import SPECIALS
from testbenches.arith.rtl import results


class _Class(Pipeline):
    a: In(32)
    o: Out(3)

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        number = unpack(self.a)
        m.d.comb += self.o.eq(Cat(number.zero, number.infinite, number.nan))
        return m


class _Flush(Pipeline):
    a: In(32)
    o: Out(32)

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        m.d.comb += self.o.eq(flush(self.a))
        return m


class _Round(Pipeline):
    """Significand 1.0, of any exponent and kind: bits 0 to 9 of `a` are the exponent, 10 to 12 zero, infinite, nan."""

    a: In(13)
    o: Out(32)

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        m.d.comb += self.o.eq(
            round_and_pack(
                m,
                sign=Const(1, 1),
                exponent=self.a[:10].as_signed(),
                significand=Const(1 << 23, 24),
                guard=Const(0, 1),
                sticky=Const(0, 1),
                zero=self.a[10],
                infinite=self.a[11],
                nan=self.a[12],
            )
        )
        return m


def test_classes() -> None:
    words = SPECIALS.tolist()
    expected = [
        (reference.flushed(x) & 0x7FFFFFFF == 0) | reference.is_infinite(x) << 1 | reference.is_nan(x) << 2
        for x in words
    ]
    assert results(_Class, *((x,) for x in words)) == expected
    assert results(_Flush, *((x,) for x in words)) == [reference.flushed(x) for x in words]


def test_exponents_out_of_range() -> None:
    for exponent in (-512, -127, -1, 0, 1, 254, 255, 256, 511):
        expected = 0x80000000 if exponent < 1 else 0xFF800000 if exponent > 254 else 0x80000000 | exponent << 23
        assert results(_Round, (exponent % 1024,)) == [expected]


def test_nan_goes_before_infinity_before_zero() -> None:
    kinds = [(kind << 10 | 127,) for kind in range(8)]
    infinity, nan = 0xFF800000, 0x7FC00000
    assert results(_Round, *kinds) == [0xBF800000, 0x80000000, infinity, infinity, nan, nan, nan, nan]
