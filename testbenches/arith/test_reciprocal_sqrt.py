"""What the reciprocal square root must give where such blocks are wrong; many more in `test_functions`."""

from hdl.arith.reciprocal_sqrt import Fp32ReciprocalSqrt
from testbenches.arith.rtl import results

CASES = [
    # a, 1 / sqrt(a)
    (0x3F800000, 0x3F800000),
    (0x40800000, 0x3F000000),
    (0x3E800000, 0x40000000),
    (0x40000000, 0x3F3504F3),  # odd exponent
    (0x3F000000, 0x3FB504F3),
    (0x3F7FFFFF, 0x3F800000),  # 1 + 2**-25 and a little
    (0x3F7FFFFE, 0x3F800001),  # 1 + 2**-24 and a little: just above a tie
    (0x3F800001, 0x3F7FFFFF),
    (0x407FFFFF, 0x3F000000),
    (0x00800000, 0x5F000000),  # the least normal number
    (0x7F7FFFFF, 0x1F800000),  # the greatest
    (0x00000000, 0x7F800000),
    (0x80000000, 0xFF800000),  # as IEEE 754's rSqrt
    (0x007FFFFF, 0x7F800000),  # subnormals are zeros
    (0x80000001, 0xFF800000),
    (0x80800000, 0x7FC00000),
    (0xBF800000, 0x7FC00000),
    (0xFF800000, 0x7FC00000),
    (0x7F800000, 0x00000000),
    (0xFFC12345, 0x7FC00000),
    (0x7F800001, 0x7FC00000),
]


def test_cases() -> None:
    assert [hex(result) for result in results(Fp32ReciprocalSqrt, *CASES)] == [hex(case[1]) for case in CASES]
