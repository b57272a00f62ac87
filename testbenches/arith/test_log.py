"""What the logarithm must give where such blocks are wrong; many more in `test_functions`."""

from hdl.arith.log import Fp32Log
from testbenches.arith.rtl import results

CASES = [
    # a, ln(a)
    (0x3F800000, 0x00000000),  # +0 from 1
    (0x3F800001, 0x33FFFFFF),  # nothing cancels around 1: 2**-23 - 2**-47
    (0x3F7FFFFF, 0xB3800000),  # -2**-24 - 2**-49
    (0x3FBFFFFF, 0x3ECF991D),  # either side of where the significand is halved
    (0x3FC00000, 0x3ECF991F),
    (0x40000000, 0x3F317218),  # ln 2
    (0x3F000000, 0xBF317218),
    (0x402DF854, 0x3F7FFFFF),  # the nearest number to e is less than e
    (0x00800000, 0xC2AEAC50),  # the least normal number
    (0x7F7FFFFF, 0x42B17218),  # the greatest
    (0x00000000, 0xFF800000),
    (0x80000000, 0xFF800000),
    (0x007FFFFF, 0xFF800000),  # subnormals are zeros
    (0x807FFFFF, 0xFF800000),
    (0x80800000, 0x7FC00000),
    (0xBF800000, 0x7FC00000),
    (0xFF7FFFFF, 0x7FC00000),
    (0xFF800000, 0x7FC00000),
    (0x7F800000, 0x7F800000),
    (0xFFC12345, 0x7FC00000),
    (0x7F800001, 0x7FC00000),
]


def test_cases() -> None:
    assert [hex(result) for result in results(Fp32Log, *CASES)] == [hex(case[1]) for case in CASES]
