"""What the exponential function must give where such blocks are wrong; many more in `test_functions`."""

from hdl.arith.exp import Fp32Exp
from testbenches.arith.rtl import results

CASES = [
    # a, e**a
    (0x00000000, 0x3F800000),
    (0x80000000, 0x3F800000),
    (0x007FFFFF, 0x3F800000),  # subnormal
    (0x3F800000, 0x402DF854),  # e
    (0xBF800000, 0x3EBC5AB2),  # 1 / e
    (0x3F317218, 0x40000000),  # ln 2
    (0x33800000, 0x3F800001),  # 1 + 2**-24 and a little: just above a tie
    (0x33700000, 0x3F800000),  # below it
    (0xB3100000, 0x3F7FFFFF),  # below the tie under 1
    (0xB2F00000, 0x3F800000),  # above it
    (0x42B17217, 0x7F7FFF84),  # the greatest that does not overflow
    (0x42B17218, 0x7F800000),
    (0x42FFFFFF, 0x7F800000),
    (0x43000000, 0x7F800000),  # 128: the fraction no longer counts
    (0x7F7FFFFF, 0x7F800000),
    (0xC2AEAC4F, 0x00800026),  # the least that gives a normal number
    (0xC2AEAC50, 0x00000000),
    (0xC2FFFFFF, 0x00000000),
    (0xC3000000, 0x00000000),
    (0xFF7FFFFF, 0x00000000),
    (0x7F800000, 0x7F800000),
    (0xFF800000, 0x00000000),
    (0xFFC12345, 0x7FC00000),
    (0x7F800001, 0x7FC00000),
]


def test_cases() -> None:
    assert [hex(result) for result in results(Fp32Exp, *CASES)] == [hex(case[1]) for case in CASES]
