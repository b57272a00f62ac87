"""The elementary functions against doubles: worst error, correct rounding, monotony, specials; over all operands."""

from typing import NamedTuple

import numpy as np
import pytest

from sim.golden import functions
from sim.golden.numbers import canonical, flush
from sim.jit import njit
from testbenches.arith.cases import SPECIALS, assert_same

FUNCTIONS = {
    "exp": functions.fp32_exp,
    "log": functions.fp32_log,
    "reciprocal": functions.fp32_reciprocal,
    "reciprocal_sqrt": functions.fp32_reciprocal_sqrt,
}
NAMES = tuple(FUNCTIONS)
FALLING = {"exp": (False, True), "log": (False, False), "reciprocal": (True, False), "reciprocal_sqrt": (True, True)}
"""Whether results fall as the bits of positive and of negative operands grow."""

CHUNK = 1 << 24
STEP = 257

each_function = pytest.mark.parametrize("name", NAMES)


class Found(NamedTuple):
    """What `checked` found.

    Attributes
    ----------
    worst : float
        Greatest error of a finite result, in units of the last place of the exact one.
    at : int
        The operand's bits.
    wrong : int
        Results that should be zero, infinity or NaN, or should not, or of the wrong sign.
    first_wrong : int
        The first one's operand.
    not_nearest : int
        Results that are not the nearest number to the double.
    turned : int
        Results on the wrong side of the one before.
    """

    worst: float
    at: int
    wrong: int
    first_wrong: int
    not_nearest: int
    turned: int


@njit
def _exact(which, x):
    if which == 0:
        return np.exp(x)
    if which == 1:
        return np.log(x)
    return np.reciprocal(x if which == 2 else np.sqrt(x))


@njit
def _check(which, bits, got, falling):
    worst, at, wrong, first_wrong, not_nearest, turned = 0.0, 0, 0, 0, 0, 0
    before = np.float32(np.nan)
    for i in range(len(bits)):
        word = bits[i]
        x = np.float64(np.uint32(word if word & 0x7F800000 else word & 0x80000000).view(np.float32))
        exact = _exact(which, x)
        result = np.uint32(got[i]).view(np.float32)
        if np.isnan(exact):
            wrong, first_wrong = (wrong, first_wrong) if got[i] == 0x7FC00000 else (wrong + 1, word)
            continue
        nearest = np.float32(exact)
        if abs(nearest) < np.float32(2.0**-126):
            nearest *= np.float32(0)
        not_nearest += result != nearest
        if nearest == 0 or np.isinf(nearest) or result == 0 or np.isinf(result) or np.isnan(result):
            same = got[i] == np.float32(nearest).view(np.uint32)
            wrong, first_wrong = (wrong, first_wrong) if same else (wrong + 1, word)
        else:
            size = abs(exact)
            exponent = np.int64(np.floor(np.log2(size)))
            if 2.0**exponent > size:
                exponent -= 1
            error = abs(np.float64(result) - exact) * 2.0 ** (23 - exponent)
            if error > worst:
                worst, at = error, word
        turned += result > before if falling else result < before
        before = result
    return worst, at, wrong, first_wrong, not_nearest, turned


def checked(name, bits, got=None):
    """Check results for operands that all have the same sign and grow.

    Parameters
    ----------
    name : str
        The function.
    bits : ndarray of uint32
        fp32 bits.
    got : ndarray of uint32, optional
        What to check, instead of the golden model's results.

    Returns
    -------
    Found
        What there is.
    """
    got = FUNCTIONS[name](bits) if got is None else got
    return Found(*_check(NAMES.index(name), bits, got, FALLING[name][int(bits[0] >> 31)]))


def whole_range(step):
    """Give all operands in rising order, every `step`-th, in chunks; each has the last one of the chunk before."""
    for sign in (0, 1 << 31):
        for first in range(0, 1 << 31, CHUNK * step):
            last = min(first + CHUNK * step, 1 << 31)
            yield np.arange(sign + max(first - step, 0), sign + last, step).astype(np.uint32)


def assert_as_stated(name, chunks):
    """Check that errors, specials and monotony are as stated, and return the worst error."""
    worst = 0.0
    for bits in chunks:
        found = checked(name, bits)
        assert found.wrong == 0, f"{name}({found.first_wrong:#x})"
        assert found.turned == 0
        assert found.worst <= functions.WORST_ULP[name], f"{name}({found.at:#x})"
        if name == "reciprocal":
            assert found.not_nearest == 0
        worst = max(worst, found.worst)
    return worst


@each_function
def test_every_257th_operand(name):
    worst = assert_as_stated(name, whole_range(STEP))
    assert worst > functions.WORST_ULP[name] - 0.03


@each_function
@pytest.mark.soak
def test_every_operand(name):
    worst = assert_as_stated(name, whole_range(1))
    assert worst > functions.WORST_ULP[name] - 0.001


@each_function
def test_around_the_ends_of_parts_and_exponents(name):
    """Both signs, each exponent, each of 256 parts of the significands, five operands at its beginning."""
    heads = np.arange(1 << 17, dtype=np.int64) << 15
    near = np.unique((heads[:, None] + np.arange(-2, 3)) % (1 << 32)).astype(np.uint32)
    half = np.searchsorted(near, np.uint32(1 << 31))
    assert_as_stated(name, [near[:half], near[half:]])


@each_function
def test_special_operands(name):
    for bits in (np.sort(SPECIALS[SPECIALS < 1 << 31]), np.sort(SPECIALS[SPECIALS >= 1 << 31])):
        assert_as_stated(name, [bits])


def test_reciprocal_is_ieee_division():
    bits = np.arange(0, 1 << 32, 1021).astype(np.uint32)
    with np.errstate(all="ignore"):
        quotient = np.float32(1) / flush(bits).view(np.float32)
    expected = canonical(flush(quotient.view(np.uint32)))
    assert_same(functions.fp32_reciprocal(bits), expected, a=bits)


@each_function
def test_planted_errors_are_found(name):
    bits = np.arange(0x3F900000, 0x3F900000 + 4096, dtype=np.uint32)
    good = FUNCTIONS[name](bits)
    assert checked(name, bits, good).turned == 0
    off = good.copy()
    off[77] += 2
    found = checked(name, bits, off)
    assert found.worst > 1.4
    assert found.at == bits[77]
    assert checked(name, bits, good[::-1].copy()).turned > 1000
    off[77] = 0x7FC00000
    assert checked(name, bits, off).first_wrong == bits[77]


@njit
def _kernel(values, out):
    for i in range(len(values)):
        out[0, i] = functions.exp32(values[i])
        out[1, i] = functions.log32(values[i])
        out[2, i] = functions.reciprocal32(values[i])
        out[3, i] = functions.reciprocal_sqrt32(values[i])


def test_kernel_helpers_equal_array_functions():
    bits = np.concatenate([SPECIALS, np.random.default_rng(3).integers(0, 1 << 32, 50_000).astype(np.uint32)])
    out = np.empty((4, len(bits)), np.float32)
    _kernel(bits.view(np.float32), out)
    for row, function in zip(out.view(np.uint32), FUNCTIONS.values(), strict=True):
        assert_same(row, function(bits), a=bits)


def test_exact_results_are_exact():
    """Of the functions that need not give the nearest number, only these have results that fp32 holds."""
    even = np.arange(-126, 128, 2)
    got = functions.fp32_reciprocal_sqrt((2.0**even).astype(np.float32).view(np.uint32)).view(np.float32)
    assert (got == 2.0 ** (-even / 2)).all()
    assert functions.fp32_exp(np.array([0, 1 << 31], np.uint32)).tolist() == [0x3F800000] * 2
    assert functions.fp32_log(np.array([0x3F800000], np.uint32)).tolist() == [0]
