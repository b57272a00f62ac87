"""Operands that find mistakes, and the vectors of Berkeley TestFloat."""

import gzip
import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

from testbenches.arith import reference

U32 = npt.NDArray[np.uint32]

_POSITIVE = [
    *(0x00000000, 0x00000001, 0x00000002, 0x00400000, 0x007F8000, 0x007FFFFF),  # zero, subnormals
    *(0x00800000, 0x00800001, 0x00FFFFFF, 0x01000000, 0x0B800000, 0x0C000000),  # near the least normal number
    *(0x3EFFFFFF, 0x3F000000, 0x3F7FFFFF, 0x3F800000, 0x3F800001, 0x3FFFFFFF, 0x40000000, 0x40400000),  # near one
    *(0x3F807FFF, 0x3F808000, 0x3F808001, 0x3F818000, 0x3FFF8000),  # ties of bf16
    *(0x4B7FFFFF, 0x4B800000, 0x4B800001, 0x4C000000, 0x33800000, 0x34000000),  # 24 places from one
    *(0x7E800000, 0x7F000000, 0x7F7F0000, 0x7F7F7FFF, 0x7F7F8000, 0x7F7FFFFF),  # near overflow
    *(0x7F800000, 0x7F800001, 0x7FA00000, 0x7FC00000, 0x7FC00001, 0x7FFFFFFF),  # infinity, signalling and quiet NaN
]
SPECIALS = np.array([sign | bits for bits in _POSITIVE for sign in (0, reference.SIGN)], np.uint32)


def _fractions(rng: np.random.Generator, count: int) -> U32:
    """Fractions of which many are sparse or all ones but for a bit: those make ties and long carries."""
    dense = rng.integers(0, 1 << 23, count)
    bit = 1 << rng.integers(0, 24, count)
    kinds = [dense, dense & -bit, bit & 0x7FFFFF, 0x7FFFFF ^ (bit & 0x7FFFFF), dense | (bit - 1)]
    return np.choose(rng.integers(0, len(kinds), count), kinds)


def _numbers(rng: np.random.Generator, exponents: npt.NDArray[np.int64]) -> U32:
    count = len(exponents)
    return (rng.integers(0, 2, count) << 31 | exponents.clip(0, 255) << 23 | _fractions(rng, count)).astype(np.uint32)


def pairs(count: int, *, seed: int) -> tuple[U32, U32]:
    """Make pairs of fp32 operands: every special one with every other, then random ones of every difficult kind.

    Parameters
    ----------
    count : int
        Number of pairs, more than `len(SPECIALS) ** 2`.
    seed : int
        For numpy's generator.

    Returns
    -------
    a, b : ndarray of uint32, shape [count]
        fp32 bits.
    """
    rng = np.random.default_rng(seed)
    special_a, special_b = (grid.ravel() for grid in np.meshgrid(SPECIALS, SPECIALS))
    rest = count - len(special_a)
    exponents = rng.integers(0, 256, rest)
    a = _numbers(rng, exponents)
    partners = [
        rng.integers(0, 256, rest),  # anything
        exponents + rng.integers(-28, 29, rest),  # alignment
        127 - exponents + rng.integers(-3, 4, rest),  # products near underflow
        381 - exponents + rng.integers(-3, 4, rest),  # products near overflow
    ]
    b = _numbers(rng, np.choose(rng.integers(0, len(partners), rest), partners))
    cancelling = rng.random(rest) < 0.15
    b = np.where(cancelling, (a ^ reference.SIGN) + rng.integers(-3, 4, rest).astype(np.uint32), b).astype(np.uint32)
    special = rng.random(rest) < 0.02
    b[special] = rng.choice(SPECIALS, np.count_nonzero(special))
    return np.concatenate([special_a, a]), np.concatenate([special_b, b])


def testfloat(operation: str) -> list[U32]:
    """Read the vectors of an operation, or skip the test where there are none.

    Parameters
    ----------
    operation : str
        TestFloat's name of it, such as `f32_add`.

    Returns
    -------
    list of ndarray of uint32
        Operands and result, without the flags.
    """
    folder = os.environ.get("NEARSAGE_ORACLES")
    if not folder:
        pytest.skip("needs Berkeley TestFloat's vectors: set NEARSAGE_ORACLES to the folder that holds testfloat/")
    (file,) = Path(folder, "testfloat").glob(f"{operation}.rne*.txt.gz")
    with gzip.open(file, "rt") as lines:
        rows = [[int(word, 16) for word in line.split()[:-1]] for line in lines]
    return list(np.array(rows, np.uint32).T)


testfloat.__test__ = False  # a helper, not a test


def by_rows(
    function: Callable[..., object], *columns: npt.NDArray[np.generic], dtype: type = np.uint32
) -> npt.NDArray[np.generic]:
    """Apply a function of `reference`, on Python's integers, to each row of operands."""
    return np.array([function(*row) for row in zip(*(column.tolist() for column in columns), strict=True)], dtype)


def under_contract(operation: str, exact: Callable[..., int]) -> tuple[list[U32], U32]:
    """Give TestFloat's operands with the results that the contract asks for.

    Parameters
    ----------
    operation : str
        TestFloat's name of an operation on fp32 that gives fp32.
    exact : callable
        The same operation of `reference`. It stands in where an operand is subnormal, which TestFloat does not flush.

    Returns
    -------
    operands : list of ndarray of uint32
        fp32 bits.
    expected : ndarray of uint32
        fp32 bits.
    """
    *operands, result = testfloat(operation)
    subnormal = np.any([by_rows(reference.is_subnormal, column, dtype=bool) for column in operands], axis=0)
    return operands, np.where(subnormal, by_rows(exact, *operands), by_rows(reference.flushed, result))


def assert_same(
    got: npt.NDArray[np.generic], expected: npt.NDArray[np.generic], **operands: npt.NDArray[np.generic]
) -> None:
    """Compare bit by bit, and show the first difference with its operands."""
    assert got.shape == expected.shape
    wrong = np.flatnonzero(got != expected)
    if len(wrong):
        first = wrong[0]
        shown = ", ".join(f"{name}={int(column[first]):#010x}" for name, column in operands.items())
        pytest.fail(
            f"{len(wrong)} of {len(got)} differ; the first, at {first}: {shown} "
            f"gives {int(got[first]):#010x}, not {int(expected[first]):#010x}"
        )
