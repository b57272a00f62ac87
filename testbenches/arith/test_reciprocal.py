"""What the reciprocal must give where such blocks are wrong; many more in `test_functions`."""

from hdl.arith.reciprocal import Fp32Reciprocal
from testbenches.arith.rtl import results

CASES = [
    # a, 1 / a
    (0x3F800000, 0x3F800000),
    (0xBF800000, 0xBF800000),
    (0x40400000, 0x3EAAAAAB),  # a third, rounded up
    (0x40A00000, 0x3E4CCCCD),
    (0x3F800001, 0x3F7FFFFE),
    (0x3FFFFFFF, 0x3F000001),  # 1/2 + 2**-25 and a little: just above a tie
    (0x3F7FFFFF, 0x3F800001),  # 1 + 2**-24 and a little: just above a tie
    (0x00800000, 0x7E800000),  # the least normal number
    (0x7E7FFFFF, 0x00800001),
    (0x7E800000, 0x00800000),  # the last result that is normal
    (0x7E800001, 0x00000000),
    (0xFE800001, 0x80000000),
    (0x7F7FFFFF, 0x00000000),
    (0x00000000, 0x7F800000),
    (0x80000000, 0xFF800000),
    (0x007FFFFF, 0x7F800000),  # subnormals are zeros
    (0x80000001, 0xFF800000),
    (0x7F800000, 0x00000000),
    (0xFF800000, 0x80000000),
    (0xFFC12345, 0x7FC00000),
    (0x7F800001, 0x7FC00000),
]


def test_cases() -> None:
    assert [hex(result) for result in results(Fp32Reciprocal, *CASES)] == [hex(case[1]) for case in CASES]
