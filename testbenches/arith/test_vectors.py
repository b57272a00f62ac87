"""Every block at every latency against the golden model and TestFloat, on millions of operands, compiled."""

import numpy as np
import numpy.typing as npt
import pytest

from sim.golden import numbers
from testbenches import bench
from testbenches.arith import reference
from testbenches.arith.cases import assert_same, pairs, testfloat, under_contract
from testbenches.arith.units import OPERANDS_DTYPE, RESULTS_DTYPE, VARIANTS, Units

U32 = npt.NDArray[np.uint32]
Results = npt.NDArray[np.void]

COUNT = 2_000_000


def through_units(a: U32, b: U32, minimum: npt.NDArray[np.integer]) -> Results:
    """Send operands through all units.

    Parameters
    ----------
    a, b : ndarray of uint32
        fp32 bits.
    minimum : ndarray of 0 or 1
        Which of maximum and minimum.

    Returns
    -------
    ndarray of `RESULTS_DTYPE`
        The results of the default latencies; the other latencies have given the same.
    """
    beats = np.empty(len(a), OPERANDS_DTYPE)
    beats["a"], beats["b"], beats["minimum"] = a, b, minimum
    source = bench.Source(payloads=beats.view(np.uint8).reshape(len(a), -1))
    result = bench.run(Units(), bench.Bench(sources={"i": source}, sinks={"o": bench.Sink(count=len(a))}))
    results = np.ascontiguousarray(result.payloads["o"]).view(RESULTS_DTYPE)[:, 0]
    for bit, (unit, latency) in enumerate(VARIANTS):
        odd = np.flatnonzero(results["odd"] >> np.uint32(bit) & np.uint32(1))
        assert not len(odd), (
            f"{unit.block.__name__}, latency {latency}: differs first for {a[odd[0]]:#x}, {b[odd[0]]:#x}"
        )
    return results


def test_units_equal_golden() -> None:
    a, b = pairs(COUNT, seed=6)
    minimum = np.arange(COUNT) % 2
    got = through_units(a, b, minimum)
    high_a, high_b = ((column >> 16).astype(np.uint16) for column in (a, b))
    lt, eq, unordered = numbers.fp32_compare(a, b)
    assert_same(got["sum"], numbers.fp32_add(a, b), a=a, b=b)
    assert_same(got["product"], numbers.fp32_mul(a, b), a=a, b=b)
    assert_same(got["bf16_product"], numbers.bf16_mul(high_a, high_b), a=high_a, b=high_b)
    chosen = np.where(minimum, numbers.fp32_min(a, b), numbers.fp32_max(a, b))
    assert_same(got["chosen"], chosen, a=a, b=b, minimum=minimum)
    assert_same(got["widened"], numbers.bf16_to_fp32(high_a), a=high_a)
    assert_same(got["narrowed"], numbers.fp32_to_bf16(a), a=a)
    assert_same(got["order"], (lt | eq << 1 | unordered << 2).astype(np.uint8), a=a, b=b)


def test_conversion_of_every_bf16_number() -> None:
    every = np.arange(1 << 16, dtype=np.uint32)
    got = through_units(every << 16, every << 16, np.zeros_like(every))
    assert_same(got["widened"], numbers.bf16_to_fp32(every.astype(np.uint16)), a=every)
    back = np.where(got["widened"] == reference.NAN, numbers.BF16_NAN, got["widened"] >> 16).astype(np.uint16)
    assert_same(got["narrowed"], back, a=every)


@pytest.mark.parametrize(
    ("operation", "field", "exact"),
    [("f32_add", "sum", reference.add), ("f32_mul", "product", reference.mul)],
)
def test_units_equal_testfloat(operation: str, field: str, exact: object) -> None:
    (a, b), expected = under_contract(operation, exact)
    got = through_units(a, b, np.zeros(len(a), np.uint8))
    assert_same(got[field], expected, a=a, b=b)


def test_comparison_equals_testfloat() -> None:
    a, b, less = testfloat("f32_lt")
    at_most = testfloat("f32_le")[2]
    order = through_units(a, b, np.zeros(len(a), np.uint8))["order"]
    normal = (numbers.flush(a) == a) & (numbers.flush(b) == b)
    assert_same((order & 1)[normal], less[normal].astype(np.uint8), a=a[normal], b=b[normal])
    assert_same(((order & 3) != 0)[normal], at_most[normal].astype(bool), a=a[normal], b=b[normal])


def test_conversions_equal_testfloat() -> None:
    a, narrowed = testfloat("f32_to_bf16")
    b, widened = testfloat("bf16_to_f32")
    assert_same(through_units(a, a, a & 1)["narrowed"], np.where(numbers.flush(a) == a, narrowed, a >> 31 << 15), a=a)
    got = through_units(b << 16, b, b & 1)["widened"]
    assert_same(got, numbers.flush(widened), b=b)
