"""Elementary functions of fp32 numbers as the hardware computes them, bit for bit, in whole numbers only.

Operands and results follow the number contract (`sim.golden.numbers`): subnormals count as zero of their sign, a
subnormal result becomes zero of its sign, every NaN result is `FP32_NAN`. `fp32_reciprocal` is correctly rounded. The
others round a result that carries 7 or 8 places more than fp32; `WORST_ULP` has the worst errors over all operands. All
four are monotone.

The array functions take and give bits of any shape, as those of `sim.golden.numbers` do. The scalar ones at the end are
for compiled kernels and take `float32` values.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from sim.golden.numbers import FP32_INFINITY, FP32_NAN, FP32_ONE, FP32_SIGN, U32
from sim.jit import elementwise, njit
from sim.program import functions as tables

_EXP, _LOG, _RECIPROCAL, _RECIPROCAL_SQRT = (
    np.array(table, np.int64) for table in (tables.EXP, tables.LOG, tables.RECIPROCAL, tables.RECIPROCAL_SQRT)
)
_LOG2_E, _LN_2 = np.int64(tables.LOG2_E), np.int64(tables.LN_2)
_BITS = np.int64(tables.RESULT_BITS)
_SLOPE = np.int64(tables.SLOPE_BITS)
_PLACES = np.int64(tables.RESULT_BITS - 23)  # below the last of fp32
_FRACTION_REST = np.int64(23 - tables.INDEX_BITS)  # bits of a fraction below those that choose the part
_POWER_REST = np.int64(tables.RESULT_BITS - tables.INDEX_BITS)
_TO_POWER = np.int64(tables.LOG2_E_BITS + 23 - tables.RESULT_BITS - 6)  # exponents below 2**7 keep all their bits
_LN_2_TO_LOG = np.int64(tables.RESULT_BITS + 24 - tables.LN_2_BITS)

_LEAST_INFINITE_EXPONENT = 127 + 7
"""Biased exponent from which exp overflows or underflows whatever the fraction."""

WORST_ULP = {"exp": 0.525, "log": 0.562, "reciprocal": 0.5, "reciprocal_sqrt": 0.586}
"""Worst error of each function over all operands, in units of the last place of the exact result, rounded up."""


@njit
def _fitted(table: npt.NDArray[np.int64], index: np.int64, rest: np.int64, bits: np.int64) -> np.int64:
    """Evaluate the polynomial of a part; `rest`, of `bits` bits, is the place in it."""
    t = rest - (np.int64(1) << (bits - 1))
    slope = (table[index, 1] << _SLOPE) + ((table[index, 2] * t) >> (bits - 1 - _SLOPE))
    return np.int64(table[index, 0] + ((slope * t) >> (bits - 1 + _SLOPE)))


@njit
def _packed(sign: np.int64, exponent: np.int64, significand: np.int64, raised: np.int64) -> np.int64:
    """Round a significand of 24 bits as the number contract does: see `hdl.arith.format.round_and_pack`."""
    rounded = (exponent << 23) + (significand & 0x7FFFFF) + (raised | (exponent == 0))
    biased = rounded >> 23
    if biased >= 255:
        return sign | np.int64(FP32_INFINITY)
    return sign | (rounded if biased > 0 else 0)


@njit
def _rounded(sign: np.int64, exponent: np.int64, value: np.int64, places: np.int64) -> np.int64:
    """Round a significand of 24 + `places` bits to nearest, ties to even."""
    significand, guard = value >> places, (value >> (places - 1)) & 1
    sticky = (value & ((np.int64(1) << (places - 1)) - 1)) != 0
    return _packed(sign, exponent, significand, guard & (sticky | significand))


@njit
def _exp(bits: np.int64) -> np.int64:
    exponent, fraction, sign = (bits >> 23) & 0xFF, bits & 0x7FFFFF, bits & np.int64(FP32_SIGN)
    if exponent == 255 and fraction != 0:
        return np.int64(FP32_NAN)
    if exponent >= _LEAST_INFINITE_EXPONENT:
        return np.int64(0) if sign else np.int64(FP32_INFINITY)
    if exponent == 0:
        return np.int64(FP32_ONE)
    product = ((fraction | 0x800000) * _LOG2_E) >> _TO_POWER
    distance = _LEAST_INFINITE_EXPONENT - 1 - exponent
    power = product >> distance if distance < 63 else np.int64(0)
    if sign:
        power = -power
    fraction = power & ((np.int64(1) << _BITS) - 1)
    value = _fitted(_EXP, fraction >> _POWER_REST, fraction & ((np.int64(1) << _POWER_REST) - 1), _POWER_REST)
    return _rounded(np.int64(0), 127 + (power >> _BITS), value, _PLACES)


@njit
def _log(bits: np.int64) -> np.int64:
    exponent, fraction, sign = (bits >> 23) & 0xFF, bits & 0x7FFFFF, bits & np.int64(FP32_SIGN)
    if exponent == 0:
        return np.int64(FP32_SIGN | FP32_INFINITY)
    if sign or (exponent == 255 and fraction != 0):
        return np.int64(FP32_NAN)
    if exponent == 255:
        return np.int64(FP32_INFINITY)
    halved = fraction >> 22
    slope = _fitted(_LOG, fraction >> _FRACTION_REST, fraction & ((np.int64(1) << _FRACTION_REST) - 1), _FRACTION_REST)
    above_one = fraction - 0x800000 if halved else 2 * fraction  # in units of 2**-24
    total = above_one * slope + (((exponent - 127 + halved) * _LN_2) << _LN_2_TO_LOG)
    if total == 0:
        return np.int64(0)
    sign = np.int64(FP32_SIGN) if total < 0 else np.int64(0)
    value, places = abs(total), _BITS + 24
    top = np.int64(63)
    while not value >> top:
        top -= 1
    return _rounded(sign, 127 + top - places, value << (62 - top), np.int64(39))


@njit
def _reciprocal(bits: np.int64) -> np.int64:
    exponent, fraction, sign = (bits >> 23) & 0xFF, bits & 0x7FFFFF, bits & np.int64(FP32_SIGN)
    if exponent == 255:
        return np.int64(FP32_NAN) if fraction != 0 else sign
    if exponent == 0:
        return sign | np.int64(FP32_INFINITY)
    value = _fitted(
        _RECIPROCAL, fraction >> _FRACTION_REST, fraction & ((np.int64(1) << _FRACTION_REST) - 1), _FRACTION_REST
    )
    # The exact result is less than half a place from `value`, so it is rounded to this significand or the next one.
    significand = value >> (_BITS - 24)
    above_middle = (fraction | 0x800000) * (2 * significand + 1) < (np.int64(1) << 48)
    return _packed(sign, 253 - exponent, significand, np.int64(above_middle))


@njit
def _reciprocal_sqrt(bits: np.int64) -> np.int64:
    exponent, fraction, sign = (bits >> 23) & 0xFF, bits & 0x7FFFFF, bits & np.int64(FP32_SIGN)
    if exponent == 255 and fraction != 0:
        return np.int64(FP32_NAN)
    if exponent == 0:
        return sign | np.int64(FP32_INFINITY)
    if sign:
        return np.int64(FP32_NAN)
    if exponent == 255:
        return np.int64(0)
    doubled = ((exponent & 1) ^ 1) << tables.INDEX_BITS
    rest = fraction & ((np.int64(1) << _FRACTION_REST) - 1)
    value = _fitted(_RECIPROCAL_SQRT, doubled + (fraction >> _FRACTION_REST), rest, _FRACTION_REST)
    return _rounded(np.int64(0), (380 - exponent) >> 1, value, _PLACES - 1)


@elementwise("uint32(uint32)")
def _exp_bits(bits: Any) -> Any:
    return _exp(np.int64(bits))


@elementwise("uint32(uint32)")
def _log_bits(bits: Any) -> Any:
    return _log(np.int64(bits))


@elementwise("uint32(uint32)")
def _reciprocal_bits(bits: Any) -> Any:
    return _reciprocal(np.int64(bits))


@elementwise("uint32(uint32)")
def _reciprocal_sqrt_bits(bits: Any) -> Any:
    return _reciprocal_sqrt(np.int64(bits))


def fp32_exp(bits: U32) -> U32:
    """Raise e to the power of fp32 numbers.

    Parameters
    ----------
    bits : ndarray of uint32
        fp32 bits.

    Returns
    -------
    ndarray of uint32
        fp32 bits of e**a: +infinity from overflow and +infinity, +0 from underflow and -infinity, 1 from zeros.
    """
    result: U32 = _exp_bits(bits)
    return result


def fp32_log(bits: U32) -> U32:
    """Take natural logarithms of fp32 numbers.

    Parameters
    ----------
    bits : ndarray of uint32
        fp32 bits.

    Returns
    -------
    ndarray of uint32
        fp32 bits of ln(a): -infinity from a zero of either sign, NaN from what is below, +0 from 1.
    """
    result: U32 = _log_bits(bits)
    return result


def fp32_reciprocal(bits: U32) -> U32:
    """Divide 1 by fp32 numbers, rounded to nearest.

    Parameters
    ----------
    bits : ndarray of uint32
        fp32 bits.

    Returns
    -------
    ndarray of uint32
        fp32 bits of 1 / a: infinity of its sign from zero, zero of its sign from infinity.
    """
    result: U32 = _reciprocal_bits(bits)
    return result


def fp32_reciprocal_sqrt(bits: U32) -> U32:
    """Divide 1 by the square roots of fp32 numbers.

    Parameters
    ----------
    bits : ndarray of uint32
        fp32 bits.

    Returns
    -------
    ndarray of uint32
        fp32 bits of 1 / sqrt(a). As IEEE 754's rSqrt, infinity of its sign from a zero; +0 from +infinity, NaN from
        what is below zero.
    """
    result: U32 = _reciprocal_sqrt_bits(bits)
    return result


@njit
def exp32(value: np.float32) -> np.float32:
    """Raise e to the power of a number, in compiled kernels.

    Parameters
    ----------
    value : float32
        Operand; it may be subnormal.

    Returns
    -------
    float32
        What `fp32_exp` gives.
    """
    result: np.float32 = np.uint32(_exp(np.int64(np.float32(value).view(np.uint32)))).view(np.float32)
    return result


@njit
def log32(value: np.float32) -> np.float32:
    """Take the natural logarithm of a number, in compiled kernels.

    Parameters
    ----------
    value : float32
        Operand; it may be subnormal.

    Returns
    -------
    float32
        What `fp32_log` gives.
    """
    result: np.float32 = np.uint32(_log(np.int64(np.float32(value).view(np.uint32)))).view(np.float32)
    return result


@njit
def reciprocal32(value: np.float32) -> np.float32:
    """Divide 1 by a number, rounded to nearest, in compiled kernels.

    Parameters
    ----------
    value : float32
        Operand; it may be subnormal.

    Returns
    -------
    float32
        What `fp32_reciprocal` gives.
    """
    result: np.float32 = np.uint32(_reciprocal(np.int64(np.float32(value).view(np.uint32)))).view(np.float32)
    return result


@njit
def reciprocal_sqrt32(value: np.float32) -> np.float32:
    """Divide 1 by the square root of a number, in compiled kernels.

    Parameters
    ----------
    value : float32
        Operand; it may be subnormal.

    Returns
    -------
    float32
        What `fp32_reciprocal_sqrt` gives.
    """
    result: np.float32 = np.uint32(_reciprocal_sqrt(np.int64(np.float32(value).view(np.uint32)))).view(np.float32)
    return result
