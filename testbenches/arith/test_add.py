"""What the adder must give where adders are wrong; millions more in `test_vectors`, all in the proofs."""

from hdl.arith.add import Fp32Add
from testbenches.arith.rtl import results

CASES = [
    # a, b, sum
    (0x3F800000, 0x3F800000, 0x40000000),  # 1 + 1
    (0x3F800000, 0xBF800000, 0x00000000),  # 1 - 1 = +0
    (0xBF800000, 0x3F800000, 0x00000000),  # -1 + 1 = +0
    (0x80000000, 0x80000000, 0x80000000),  # -0 - 0 = -0
    (0x80000000, 0x00000000, 0x00000000),  # -0 + 0 = +0
    (0x80000001, 0x80000000, 0x80000000),  # a negative subnormal is -0
    (0x007FFFFF, 0x007FFFFF, 0x00000000),  # subnormals are zeros, though their sum is normal
    (0x00800001, 0x80800000, 0x00000000),  # subnormal difference
    (0x80800001, 0x00800000, 0x80000000),  # keeps its sign when flushed
    (0x01000000, 0x80800000, 0x00800000),  # difference that is just normal
    (0x3F800000, 0x33800000, 0x3F800000),  # tie, even below
    (0x3F800001, 0x33800000, 0x3F800002),  # tie, even above
    (0x3F800000, 0x33800001, 0x3F800001),  # just above the tie
    (0x3F800000, 0xB3000000, 0x3F800000),  # tie of a difference, a place lower
    (0x3F800000, 0xB3000001, 0x3F7FFFFF),  # only the sticky bit tells
    (0x3F800000, 0x00800000, 0x3F800000),  # out of reach
    (0x3FFFFFFF, 0x34000000, 0x40000000),  # rounding carries into the exponent
    (0x7F7FFFFF, 0x73000000, 0x7F800000),  # tie at the greatest number goes to infinity
    (0x7F7FFFFF, 0x72FFFFFF, 0x7F7FFFFF),  # and what is below it does not
    (0xFF7FFFFF, 0xFF7FFFFF, 0xFF800000),  # overflow
    (0x7F800000, 0xFF7FFFFF, 0x7F800000),  # infinity stays
    (0x7F800000, 0xFF800000, 0x7FC00000),  # infinity - infinity
    (0xFF800000, 0xFF800000, 0xFF800000),
    (0xFFC12345, 0x3F800000, 0x7FC00000),  # NaN becomes canonical
    (0x7F800001, 0x7F800000, 0x7FC00000),  # signalling NaN too
]


def test_cases_in_both_orders() -> None:
    expected = [case[2] for case in CASES]
    assert results(Fp32Add, *CASES) == expected
    assert results(Fp32Add, *((b, a, total) for a, b, total in CASES)) == expected
