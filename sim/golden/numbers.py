"""The number contract in numpy: fp32 and bf16 arithmetic as the hardware does it, bit for bit.

Round to nearest, ties to even. An operation is IEEE 754's (with gradual underflow) on operands whose subnormals have
been flushed to zero of their sign; a subnormal result is then flushed to zero of its sign. So a product just below
2**-126 which IEEE rounding brings up to 2**-126 stays 2**-126. Every NaN result is `FP32_NAN` (bf16: `BF16_NAN`).

The array functions take and give *bits* (`uint32` for fp32, `uint16` for bf16) of any shape and broadcast as numpy
does. The scalar helpers at the end are for compiled kernels and take `float32` values.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from sim.jit import elementwise, njit

U16 = npt.NDArray[np.uint16]
U32 = npt.NDArray[np.uint32]
F32 = npt.NDArray[np.float32]

FP32_NAN = np.uint32(0x7FC00000)
FP32_INFINITY = np.uint32(0x7F800000)
FP32_ONE = np.uint32(0x3F800000)
FP32_SIGN = np.uint32(0x80000000)
FP32_MIN_NORMAL = np.uint32(0x00800000)
BF16_NAN = np.uint16(0x7FC0)
BF16_INFINITY = np.uint16(0x7F80)
BF16_ONE = np.uint16(0x3F80)

MIN_NORMAL = np.float32(2.0**-126)
"""The smallest magnitude, other than zero, that a result can have."""

_FP32_MAGNITUDE = np.uint32(0x7FFFFFFF)
_HALF_BITS = np.uint32(16)


@elementwise("uint32(uint32)")
def _flushed_bits(bits: Any) -> Any:
    return bits if bits & FP32_INFINITY else bits & FP32_SIGN


@elementwise("uint32(uint32)")
def _canonical_bits(bits: Any) -> Any:
    return FP32_NAN if (bits & _FP32_MAGNITUDE) > FP32_INFINITY else bits


def flush(bits: U32) -> U32:
    """Replace subnormal fp32 values with zero of the same sign.

    Parameters
    ----------
    bits : ndarray of uint32
        fp32 bits.

    Returns
    -------
    ndarray of uint32
        The same bits, without subnormals.
    """
    flushed: U32 = _flushed_bits(bits)
    return flushed


def canonical(bits: U32) -> U32:
    """Replace every fp32 NaN, of either sign and any payload, with `FP32_NAN`.

    Parameters
    ----------
    bits : ndarray of uint32
        fp32 bits.

    Returns
    -------
    ndarray of uint32
        The same bits, with one kind of NaN.
    """
    one_nan: U32 = _canonical_bits(bits)
    return one_nan


def _operand(bits: U32) -> F32:
    """Flushed operand as floats."""
    return flush(bits).view(np.float32)


def _result(values: F32) -> U32:
    """Bits of an IEEE result, flushed and canonical."""
    return canonical(flush(values.view(np.uint32)))


def fp32_add(a: U32, b: U32) -> U32:
    """Add fp32 numbers; x - x is +0.

    Parameters
    ----------
    a, b : ndarray of uint32
        fp32 bits.

    Returns
    -------
    ndarray of uint32
        fp32 bits of the rounded sum.
    """
    with np.errstate(all="ignore"):
        return _result(_operand(a) + _operand(b))


def fp32_mul(a: U32, b: U32) -> U32:
    """Multiply fp32 numbers.

    Parameters
    ----------
    a, b : ndarray of uint32
        fp32 bits.

    Returns
    -------
    ndarray of uint32
        fp32 bits of the rounded product.
    """
    with np.errstate(all="ignore"):
        return _result(_operand(a) * _operand(b))


def bf16_mul(a: U16, b: U16) -> U32:
    """Multiply bf16 numbers into fp32: exact but for overflow and underflow.

    Parameters
    ----------
    a, b : ndarray of uint16
        bf16 bits.

    Returns
    -------
    ndarray of uint32
        fp32 bits of the product.
    """
    return fp32_mul(bf16_to_fp32(a), bf16_to_fp32(b))


def _order(bits: U32) -> U32:
    """Unsigned keys that sort as the flushed values do, with -0 just below +0 (NaN sorts outside the infinities)."""
    flushed = flush(bits)
    return np.where(flushed & FP32_SIGN, ~flushed, flushed | FP32_SIGN)


def _either_nan(a: U32, b: U32) -> npt.NDArray[np.bool_]:
    return ((a & _FP32_MAGNITUDE) > FP32_INFINITY) | ((b & _FP32_MAGNITUDE) > FP32_INFINITY)


def fp32_max(a: U32, b: U32) -> U32:
    """IEEE 754-2019 `maximum`: NaN if either is NaN, and +0 above -0.

    Parameters
    ----------
    a, b : ndarray of uint32
        fp32 bits.

    Returns
    -------
    ndarray of uint32
        fp32 bits of the greater operand, flushed.
    """
    return np.where(_either_nan(a, b), FP32_NAN, flush(np.where(_order(a) > _order(b), a, b)))


def fp32_min(a: U32, b: U32) -> U32:
    """IEEE 754-2019 `minimum`: NaN if either is NaN, and -0 below +0.

    Parameters
    ----------
    a, b : ndarray of uint32
        fp32 bits.

    Returns
    -------
    ndarray of uint32
        fp32 bits of the lesser operand, flushed.
    """
    return np.where(_either_nan(a, b), FP32_NAN, flush(np.where(_order(a) > _order(b), b, a)))


def fp32_compare(a: U32, b: U32) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.bool_], npt.NDArray[np.bool_]]:
    """Compare fp32 numbers: -0 equals +0, and a NaN is unordered with everything.

    Parameters
    ----------
    a, b : ndarray of uint32
        fp32 bits.

    Returns
    -------
    lt, eq, unordered : ndarray of bool
        Whether a is less than b, equals b, or cannot be ordered against b; at most one holds (none: a is greater).
    """
    x, y = _operand(a), _operand(b)
    with np.errstate(invalid="ignore"):
        return x < y, x == y, _either_nan(a, b)


def fp32_to_bf16(bits: U32) -> U16:
    """Round fp32 to bf16; a subnormal fp32 operand becomes zero of its sign.

    Parameters
    ----------
    bits : ndarray of uint32
        fp32 bits.

    Returns
    -------
    ndarray of uint16
        bf16 bits, nearest, ties to even; never subnormal.
    """
    x = canonical(flush(bits))
    # Just under half of the last kept place, and one more where that place is odd, carry exactly when rounding is
    # upward. The canonical NaN and infinity are not changed, and the largest finite numbers carry into infinity.
    bias = np.uint32(0x7FFF) + ((x >> _HALF_BITS) & np.uint32(1))
    return ((x + bias) >> _HALF_BITS).astype(np.uint16)


def bf16_to_fp32(bits: U16) -> U32:
    """Widen bf16 to fp32: exact, but subnormals become zero of their sign and NaN becomes canonical.

    Parameters
    ----------
    bits : ndarray of uint16
        bf16 bits.

    Returns
    -------
    ndarray of uint32
        fp32 bits.
    """
    return canonical(flush(np.asarray(bits).astype(np.uint32) << _HALF_BITS))


def to_bf16(values: npt.NDArray[np.float32]) -> U16:
    """Round floats to bf16 bits.

    Parameters
    ----------
    values : ndarray of float32
        Numbers of any shape. Other float types are refused, as rounding twice would give another answer.

    Returns
    -------
    ndarray of uint16
        bf16 bits, as `fp32_to_bf16` gives.

    Raises
    ------
    TypeError
        If `values` is not float32.
    """
    if values.dtype != np.float32:
        raise TypeError(f"to_bf16 takes float32, not {values.dtype}: call .astype(np.float32) first if that is meant")
    return fp32_to_bf16(np.ascontiguousarray(values).view(np.uint32))


@njit
def _flushed(value: np.float32) -> np.float32:
    """Give zero of the same sign for a subnormal. A product with zero keeps the sign, and NaN, without a branch."""
    return value if abs(value) >= MIN_NORMAL else value * np.float32(0)


@njit
def add32(a: np.float32, b: np.float32) -> np.float32:
    """Add in compiled kernels. No contraction to a fused multiply-add: rounding happens here.

    Parameters
    ----------
    a, b : float32
        Operands **without subnormals** (results of these helpers have none; pass stored data through `flush` first).

    Returns
    -------
    float32
        The rounded sum, flushed. A NaN's payload is the machine's: apply `canonical` to the bits at the kernel's end.
    """
    return _flushed(a + b)


@njit
def mul32(a: np.float32, b: np.float32) -> np.float32:
    """Multiply in compiled kernels. No contraction to a fused multiply-add: rounding happens here.

    Parameters
    ----------
    a, b : float32
        Operands **without subnormals**, as for `add32`.

    Returns
    -------
    float32
        The rounded product, flushed; NaN payloads as for `add32`.
    """
    return _flushed(a * b)


@njit
def max32(a: np.float32, b: np.float32) -> np.float32:
    """Take the `maximum` in compiled kernels.

    Parameters
    ----------
    a, b : float32
        Operands **without subnormals**, as for `add32`.

    Returns
    -------
    float32
        The greater operand, +0 above -0, NaN if either is NaN; NaN payloads as for `add32`.
    """
    if a > b or (a == b and a != 0):
        return a
    # Adding gives NaN from NaN, and +0 from two zeros unless both are negative.
    return b if a < b else a + b


@njit
def min32(a: np.float32, b: np.float32) -> np.float32:
    """Take the `minimum` in compiled kernels.

    Parameters
    ----------
    a, b : float32
        Operands **without subnormals**, as for `add32`.

    Returns
    -------
    float32
        The lesser operand, -0 below +0, NaN if either is NaN; NaN payloads as for `add32`.
    """
    return -max32(-a, -b)
