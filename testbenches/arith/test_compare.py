"""What comparison, maximum and minimum must give of zeros, subnormals, infinities and NaN."""

import numpy as np

from hdl.arith.compare import Fp32Compare, Fp32MaxMin
from testbenches.arith.rtl import results, simulate

CASES = [
    # a, b, maximum, minimum, (lt, eq, unordered)
    (0x3F800000, 0x40000000, 0x40000000, 0x3F800000, (1, 0, 0)),
    (0xBF800000, 0xC0000000, 0xBF800000, 0xC0000000, (0, 0, 0)),
    (0xBF800000, 0x3F800000, 0x3F800000, 0xBF800000, (1, 0, 0)),
    (0x3F800000, 0x3F800000, 0x3F800000, 0x3F800000, (0, 1, 0)),
    (0x00000000, 0x80000000, 0x00000000, 0x80000000, (0, 1, 0)),
    (0x80000000, 0x80000000, 0x80000000, 0x80000000, (0, 1, 0)),
    (0x80000001, 0x00000001, 0x00000000, 0x80000000, (0, 1, 0)),
    (0x007FFFFF, 0x00800000, 0x00800000, 0x00000000, (1, 0, 0)),
    (0x7F800000, 0xFF800000, 0x7F800000, 0xFF800000, (0, 0, 0)),
    (0xFF800000, 0xFF7FFFFF, 0xFF7FFFFF, 0xFF800000, (1, 0, 0)),
    (0x7FC00000, 0x7F800000, 0x7FC00000, 0x7FC00000, (0, 0, 1)),
    (0xFF800001, 0x7FFFFFFF, 0x7FC00000, 0x7FC00000, (0, 0, 1)),
    (0x3F800000, 0xFFC00001, 0x7FC00000, 0x7FC00000, (0, 0, 1)),
]


def test_maximum_and_minimum_in_both_orders() -> None:
    for column, minimum in ((2, 0), (3, 1)):
        expected = [case[column] for case in CASES]
        assert results(Fp32MaxMin, *((case[0], case[1], minimum) for case in CASES)) == expected
        assert results(Fp32MaxMin, *((case[1], case[0], minimum) for case in CASES)) == expected


def test_order() -> None:
    a, b = (np.array([case[at] for case in CASES], np.uint32) for at in (0, 1))
    seen = simulate(Fp32Compare(latency=0), a=a, b=b)
    assert list(zip(seen["lt"], seen["eq"], seen["unordered"], strict=True)) == [case[4] for case in CASES]
