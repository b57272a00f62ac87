"""Compares what a design gave with what was expected, bit by bit, and tells the first difference by its coordinates."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, kw_only=True)
class Difference:
    """The first element in which two arrays differ.

    Attributes
    ----------
    coordinates : dict of str to int
        Name of each axis to the index (or label) along it.
    expected, got : int
        The bits of both elements as unsigned numbers.
    count, total : int
        How many elements differ, of how many.
    dtype : numpy.dtype
        Of the arrays.
    """

    coordinates: dict[str, int]
    expected: int
    got: int
    count: int
    total: int
    dtype: np.dtype

    def __str__(self) -> str:
        """Tell where, what was expected and what came, and how much else differs."""
        where = ", ".join(f"{name} {index}" for name, index in self.coordinates.items()) or "the only element"
        told = f"expected {self._value(self.expected)}, got {self._value(self.got)}"
        return f"{where}: {told} ({self.count} of {self.total} elements differ)"

    def _value(self, bits: int) -> str:
        size = self.dtype.itemsize
        text = f"0x{bits:0{2 * size}x}"
        if size == 4 and self.dtype.kind in "uf":
            return f"{text} ({np.uint32(bits).view(np.float32)})"
        if size == 2 and self.dtype.kind == "u":
            return f"{text} ({np.uint32(bits << 16).view(np.float32)})"
        return f"{text} ({np.array(bits, f'u{size}').view(self.dtype)})"


def first_difference(
    expected: NDArray,
    got: NDArray,
    *,
    names: Sequence[str] = (),
    labels: Mapping[str, NDArray[np.integer]] | None = None,
) -> Difference | None:
    """Find the first difference between two arrays, in row-major order.

    Parameters
    ----------
    expected, got : ndarray, same shape and dtype
        Floats are compared by their bits: -0.0 differs from 0.0, a NaN equals itself. Unsigned numbers of 32 and 16
        bits are told as the fp32 and bf16 they stand for.
    names : sequence of str
        A name for each axis; ``axis 0``, ``axis 1``, ... by default.
    labels : mapping of str to ndarray of int, optional
        What to tell instead of the index along an axis, such as vertex ids.

    Returns
    -------
    Difference or None
        None if they are equal.

    Raises
    ------
    ValueError
        If shapes or dtypes differ, or `names` does not fit the number of axes.
    """
    if expected.shape != got.shape or expected.dtype != got.dtype:
        raise ValueError(
            f"expected {expected.dtype} of shape {expected.shape}, but got {got.dtype} of shape {got.shape}: "
            "the two cannot be compared"
        )
    names = names or [f"axis {axis}" for axis in range(expected.ndim)]
    if len(names) != expected.ndim:
        raise ValueError(f"{len(names)} names ({', '.join(names)}) for {expected.ndim} axes")
    unsigned = f"u{expected.dtype.itemsize}"
    expected_bits = np.ascontiguousarray(expected).view(unsigned).reshape(expected.shape)
    got_bits = np.ascontiguousarray(got).view(unsigned).reshape(got.shape)
    differs = expected_bits != got_bits
    if not differs.any():
        return None
    at = np.unravel_index(int(differs.argmax()), expected.shape)
    labels = labels or {}
    return Difference(
        coordinates={name: int(labels[name][i] if name in labels else i) for name, i in zip(names, at, strict=True)},
        expected=int(expected_bits[at]),
        got=int(got_bits[at]),
        count=int(differs.sum()),
        total=differs.size,
        dtype=expected.dtype,
    )


def assert_equal(
    expected: NDArray,
    got: NDArray,
    *,
    names: Sequence[str] = (),
    labels: Mapping[str, NDArray[np.integer]] | None = None,
) -> None:
    """Assert that two arrays are equal bit for bit; parameters as of `first_difference`.

    Raises
    ------
    AssertionError
        With the first difference, if there is one.
    ValueError
        As `first_difference`.
    """
    difference = first_difference(expected, got, names=names, labels=labels)
    if difference is not None:
        raise AssertionError(str(difference))
