"""What the multipliers must give where multipliers are wrong; millions more in `test_vectors`, all in the proofs."""

from hdl.arith.mul import Bf16Mul, Fp32Mul
from testbenches.arith.rtl import results

CASES = [
    # a, b, product
    (0x40000000, 0xC0400000, 0xC0C00000),  # 2 * -3
    (0x00000000, 0xC0400000, 0x80000000),
    (0x80000000, 0x80000000, 0x00000000),
    (0x7F800000, 0xC0400000, 0xFF800000),
    (0x7F800000, 0x80000000, 0x7FC00000),  # infinity * 0
    (0xFF800000, 0x007FFFFF, 0x7FC00000),  # a subnormal is 0 there too
    (0x7F7FFFFF, 0x007FFFFF, 0x00000000),  # and everywhere, though the product is normal
    (0xFFC12345, 0x00000000, 0x7FC00000),
    (0x7F800001, 0x7F800000, 0x7FC00000),
    (0x3F800001, 0x3FC00000, 0x3FC00002),  # tie, even above
    (0x3F800003, 0x3FC00000, 0x3FC00004),  # tie, even below
    (0x3F800001, 0x3F800001, 0x3F800002),  # only the sticky bit
    (0x3FFFFFFF, 0x3FFFFFFF, 0x407FFFFE),
    (0x3F7FFFFF, 0x3F800001, 0x3F800000),  # rounding carries into the exponent
    (0x00FFFFFF, 0x3F000000, 0x00800000),  # rises to the least normal number
    (0x80FFFFFF, 0x3F000000, 0x80800000),
    (0x00FFFFFE, 0x3F000000, 0x00000000),  # the greatest subnormal number does not
    (0x00800000, 0x3F7FFFFF, 0x00800000),  # nor need the product be above the unbounded tie
    (0x00800000, 0x3F7FFFFE, 0x00000000),
    (0x00800000, 0xBF000000, 0x80000000),
    (0x00800000, 0x00800000, 0x00000000),  # far below
    (0x7F7FFFFF, 0x3F800001, 0x7F800000),
    (0x7F000000, 0x3FFFFFFF, 0x7F7FFFFF),
    (0xFF7FFFFF, 0x7F7FFFFF, 0xFF800000),  # far above
]

BF16_CASES = [
    (0x4000, 0xC040, 0xC0C00000),
    (0x3FFF, 0x3FFF, 0x407E0100),  # all sixteen places
    (0x0080, 0x3F7F, 0x00000000),  # below normal
    (0x0080, 0x3F80, 0x00800000),
    (0x007F, 0x7F7F, 0x00000000),  # subnormal operand
    (0x7F7F, 0x7F7F, 0x7F800000),
    (0x7F80, 0x8000, 0x7FC00000),
    (0xFF81, 0x3F80, 0x7FC00000),
    (0xFF80, 0x3F80, 0xFF800000),
]


def test_fp32_cases_in_both_orders() -> None:
    expected = [case[2] for case in CASES]
    assert results(Fp32Mul, *CASES) == expected
    assert results(Fp32Mul, *((b, a, product) for a, b, product in CASES)) == expected


def test_bf16_cases_in_both_orders() -> None:
    expected = [case[2] for case in BF16_CASES]
    assert results(Bf16Mul, *BF16_CASES) == expected
    assert results(Bf16Mul, *((b, a, product) for a, b, product in BF16_CASES)) == expected
