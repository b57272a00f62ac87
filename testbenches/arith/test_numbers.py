"""The golden number contract against TestFloat, exact whole numbers, doubles, numpy and ml_dtypes."""

from collections.abc import Callable

import ml_dtypes
import numpy as np
import numpy.typing as npt
import pytest

from sim.golden import numbers
from sim.jit import njit
from testbenches.arith import reference
from testbenches.arith.cases import SPECIALS, assert_same, by_rows, pairs, testfloat, under_contract

U32 = npt.NDArray[np.uint32]

EXACT_COUNT = 60_000
MANY = 3_000_000


@pytest.fixture(scope="module")
def many() -> tuple[U32, U32]:
    return pairs(MANY, seed=1)


@pytest.mark.parametrize(
    ("operation", "golden", "exact"),
    [("f32_add", numbers.fp32_add, reference.add), ("f32_mul", numbers.fp32_mul, reference.mul)],
)
def test_arithmetic_equals_testfloat(
    operation: str, golden: Callable[[U32, U32], U32], exact: Callable[[int, int], int]
) -> None:
    (a, b), expected = under_contract(operation, exact)
    assert_same(golden(a, b), expected, a=a, b=b)
    assert_same(by_rows(exact, a, b), expected, a=a, b=b)


def test_comparison_equals_testfloat() -> None:
    a, b, less = testfloat("f32_lt")
    at_most_a, at_most_b, at_most = testfloat("f32_le")
    assert_same(at_most_a, a)
    assert_same(at_most_b, b)
    lt, eq, unordered = numbers.fp32_compare(a, b)
    normal = ~(by_rows(reference.is_subnormal, a, dtype=bool) | by_rows(reference.is_subnormal, b, dtype=bool))
    assert_same(lt[normal], less[normal].astype(bool), a=a[normal], b=b[normal])
    assert_same((lt | eq)[normal], at_most[normal].astype(bool), a=a[normal], b=b[normal])
    expected = by_rows(reference.compare, a, b, dtype=bool).T
    for got, wanted in zip((lt, eq, unordered), expected, strict=True):
        assert_same(got, wanted, a=a, b=b)


def test_conversions_equal_testfloat() -> None:
    a, narrowed = testfloat("f32_to_bf16")
    subnormal = by_rows(reference.is_subnormal, a, dtype=bool)
    assert_same(numbers.fp32_to_bf16(a), np.where(subnormal, a >> 31 << 15, narrowed).astype(np.uint16), a=a)
    b, widened = testfloat("bf16_to_f32")
    assert_same(numbers.bf16_to_fp32(b.astype(np.uint16)), by_rows(reference.flushed, widened), b=b)


def test_products_of_bf16_are_exact() -> None:
    # A fused multiply-add of bf16 numbers is a bf16 product and a sum, if the product is exact.
    a, b, c, expected = testfloat("f32_mulAdd")
    exact = by_rows(reference.mul, a, b)
    bf16 = ((a | b) & 0xFFFF) == 0
    chosen = bf16 & ((exact >> 23) % 256 % 255 != 0) & ~by_rows(reference.is_subnormal, c, dtype=bool)
    assert np.count_nonzero(chosen) > 500
    a, b, c, expected = (column[chosen] for column in (a, b, c, expected))
    product = numbers.bf16_mul((a >> 16).astype(np.uint16), (b >> 16).astype(np.uint16))
    assert_same(numbers.fp32_add(product, c), by_rows(reference.flushed, expected), a=a, b=b, c=c)


@pytest.mark.parametrize(
    ("golden", "exact"),
    [
        (numbers.fp32_add, reference.add),
        (numbers.fp32_mul, reference.mul),
        (numbers.fp32_max, reference.maximum),
        (numbers.fp32_min, reference.minimum),
    ],
)
def test_binary_operations_equal_whole_numbers(
    golden: Callable[[U32, U32], U32], exact: Callable[[int, int], int]
) -> None:
    a, b = pairs(EXACT_COUNT, seed=2)
    assert_same(golden(a, b), by_rows(exact, a, b), a=a, b=b)


def test_bf16_product_equals_whole_numbers() -> None:
    a, b = (column & np.uint32(0xFFFF0000) for column in pairs(EXACT_COUNT, seed=3))
    got = numbers.bf16_mul((a >> 16).astype(np.uint16), (b >> 16).astype(np.uint16))
    assert_same(got, by_rows(reference.mul, a, b), a=a, b=b)


def test_comparison_equals_whole_numbers() -> None:
    a, b = pairs(EXACT_COUNT, seed=4)
    expected = by_rows(reference.compare, a, b, dtype=bool).T
    for got, wanted in zip(numbers.fp32_compare(a, b), expected, strict=True):
        assert_same(got, wanted, a=a, b=b)


def test_rounding_to_bf16_equals_whole_numbers() -> None:
    a = np.concatenate(pairs(EXACT_COUNT, seed=5))
    assert_same(numbers.fp32_to_bf16(a), by_rows(reference.narrow, a, dtype=np.uint16), a=a)


def _by_doubles(values: npt.NDArray[np.float64]) -> U32:
    """Round to fp32 and flush. Doubles hold more than twice the places, so that rounding once more does no harm."""
    with np.errstate(all="ignore"):
        single = values.astype(np.float32)
    single = np.where(np.abs(single) < np.float32(2**-126), np.copysign(np.float32(0), single), single)
    return np.where(np.isnan(single), np.uint32(0x7FC00000), single.view(np.uint32))


def _doubles(bits: U32) -> npt.NDArray[np.float64]:
    values = bits.view(np.float32).astype(np.float64)
    return np.where(np.abs(values) < 2.0**-126, np.copysign(0.0, values), values)


def test_arithmetic_equals_doubles(many: tuple[U32, U32]) -> None:
    a, b = many
    with np.errstate(all="ignore"):
        x, y = _doubles(a), _doubles(b)
        assert_same(numbers.fp32_add(a, b), _by_doubles(x + y), a=a, b=b)
        assert_same(numbers.fp32_mul(a, b), _by_doubles(x * y), a=a, b=b)


def test_maximum_and_minimum_equal_numpy(many: tuple[U32, U32]) -> None:
    a, b = many
    with np.errstate(all="ignore"):
        x, y = _doubles(a), _doubles(b)
        different = x != y  # numpy takes either zero
        for golden, numpys in ((numbers.fp32_max, np.maximum), (numbers.fp32_min, np.minimum)):
            got, expected = golden(a, b)[different], _by_doubles(numpys(x, y))[different]
            assert_same(got, expected, a=a[different], b=b[different])


def test_conversions_equal_ml_dtypes(many: tuple[U32, U32]) -> None:
    a, _ = many
    with np.errstate(all="ignore"):
        normal = _doubles(a).astype(np.float32)
        expected = normal.astype(ml_dtypes.bfloat16).view(np.uint16)
    expected = np.where(np.isnan(normal), np.uint16(0x7FC0), expected)
    assert_same(numbers.fp32_to_bf16(a), expected, a=a)
    assert_same(numbers.to_bf16(a.view(np.float32)), expected, a=a)
    every = np.arange(1 << 16).astype(np.uint16)
    with np.errstate(invalid="ignore"):
        widened = every.view(ml_dtypes.bfloat16).astype(np.float64)
    widened = np.where(np.abs(widened) < 2.0**-126, np.copysign(0.0, widened), widened)
    assert_same(numbers.bf16_to_fp32(every), _by_doubles(widened), a=every)


def test_product_that_rounds_up_to_the_least_normal_number_is_kept() -> None:
    a, b = np.uint32(0x00FFFFFF), np.uint32(0x3F000000)  # (2 - 2**-23) * 2**-126 / 2
    assert numbers.fp32_mul(a, b) == numbers.FP32_MIN_NORMAL
    assert numbers.fp32_mul(a - np.uint32(1), b) == 0
    assert numbers.fp32_mul(a, b | numbers.FP32_SIGN) == numbers.FP32_MIN_NORMAL | numbers.FP32_SIGN


def test_shapes_broadcast_and_scalars_work() -> None:
    table = numbers.fp32_max(SPECIALS[:, None], SPECIALS)
    assert table.shape == (len(SPECIALS), len(SPECIALS))
    assert numbers.fp32_add(numbers.FP32_ONE, numbers.FP32_ONE) == 0x40000000
    assert numbers.to_bf16(np.ones((3, 4), np.float32).T).shape == (4, 3)


def test_rounding_twice_is_refused() -> None:
    with pytest.raises(TypeError, match="float32, not float64"):
        numbers.to_bf16(np.ones(3))


@njit
def _kernel(a: npt.NDArray[np.float32], b: npt.NDArray[np.float32], out: npt.NDArray[np.float32]) -> None:
    for i in range(len(a)):
        out[0, i] = numbers.add32(a[i], b[i])
        out[1, i] = numbers.mul32(a[i], b[i])
        out[2, i] = numbers.max32(a[i], b[i])
        out[3, i] = numbers.min32(a[i], b[i])
        out[4, i] = numbers.add32(numbers.mul32(a[i], b[i]), -numbers.mul32(a[i], a[i]))


def test_kernel_helpers_equal_array_functions(many: tuple[U32, U32]) -> None:
    a, b = map(numbers.flush, many)
    out = np.empty((5, len(a)), np.float32)
    _kernel(a.view(np.float32), b.view(np.float32), out)
    got = numbers.canonical(out.view(np.uint32))
    functions = (numbers.fp32_add, numbers.fp32_mul, numbers.fp32_max, numbers.fp32_min)
    for row, function in zip(got[:4], functions, strict=True):
        assert_same(row, function(a, b), a=a, b=b)
    # Contracted to a fused multiply-add, this difference would keep the product's lost places.
    unfused = numbers.fp32_add(numbers.fp32_mul(a, b), numbers.fp32_mul(a, a) ^ numbers.FP32_SIGN)
    assert_same(got[4], unfused, a=a, b=b)
