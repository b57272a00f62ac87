"""What the conversions must give of ties, subnormals, overflow and NaN."""

from hdl.arith.convert import Bf16ToFp32, Fp32ToBf16
from testbenches.arith.rtl import results

NARROWING = [
    (0x3F800000, 0x3F80),
    (0x3F808000, 0x3F80),  # tie, even below
    (0x3F818000, 0x3F82),  # tie, even above
    (0x3F808001, 0x3F81),
    (0x3F807FFF, 0x3F80),
    (0x3FFF8000, 0x4000),  # carry into the exponent
    (0x7F7F7FFF, 0x7F7F),
    (0x7F7F8000, 0x7F80),  # to infinity
    (0xFF800000, 0xFF80),
    (0x007FFFFF, 0x0000),  # subnormal, though the nearest bf16 number is normal
    (0x807FFFFF, 0x8000),
    (0x80800000, 0x8080),
    (0x7F800001, 0x7FC0),  # NaN whose payload is in the lost half
    (0xFFFFFFFF, 0x7FC0),
]

WIDENING = [
    (0x3F80, 0x3F800000),
    (0xC049, 0xC0490000),
    (0x007F, 0x00000000),
    (0x8001, 0x80000000),
    (0x8080, 0x80800000),
    (0xFF80, 0xFF800000),
    (0x7F81, 0x7FC00000),
    (0xFFC0, 0x7FC00000),
]


def test_narrowing() -> None:
    assert results(Fp32ToBf16, *NARROWING) == [case[1] for case in NARROWING]


def test_widening() -> None:
    assert results(Bf16ToFp32, *WIDENING) == [case[1] for case in WIDENING]
