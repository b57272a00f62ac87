"""The first difference is found, by bits, and told with its coordinates."""

import numpy as np
import pytest

from testbenches.models.scoreboard import assert_equal, first_difference

EXPECTED = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
NAMES = ("shard", "destination", "lane")


def test_equal_arrays() -> None:
    assert first_difference(EXPECTED, EXPECTED.copy()) is None
    assert_equal(EXPECTED, EXPECTED.copy(), names=NAMES)


def test_first_difference_is_the_first_in_order() -> None:
    got = EXPECTED.copy()
    got[1, 2, 0], got[1, 0, 3] = 7, 1
    difference = first_difference(EXPECTED, got, names=NAMES)
    assert difference is not None
    assert difference.coordinates == {"shard": 1, "destination": 0, "lane": 3}
    assert (difference.expected, difference.got) == (0x41700000, 0x3F800000)
    assert (difference.count, difference.total) == (2, 24)
    assert str(difference) == (
        "shard 1, destination 0, lane 3: expected 0x41700000 (15.0), got 0x3f800000 (1.0) (2 of 24 elements differ)"
    )


def test_labels_stand_for_indices() -> None:
    got = EXPECTED.copy()
    got[0, 2, 1] = 0
    with pytest.raises(AssertionError, match="shard 0, destination 907, lane 1: expected 0x41100000"):
        assert_equal(EXPECTED, got, names=NAMES, labels={"destination": np.array([3, 5, 907])})


@pytest.mark.parametrize(
    ("expected", "got", "message"),
    [
        (np.float32(0.0), np.float32(-0.0), "got 0x80000000 (-0.0)"),
        (np.uint32(0x7FC00000), np.uint32(0x7FC00001), "got 0x7fc00001 (nan)"),
        (np.uint16(0x3F80), np.uint16(0x4000), "expected 0x3f80 (1.0), got 0x4000 (2.0)"),
        (np.int8(-1), np.int8(5), "expected 0xff (-1), got 0x05 (5)"),
        (np.int64(2**40), np.int64(0), "expected 0x0000010000000000 (1099511627776)"),
        (np.True_, np.False_, "expected 0x01 (True), got 0x00 (False)"),
    ],
)
def test_bits_are_compared(expected: np.generic, got: np.generic, message: str) -> None:
    assert message in str(first_difference(np.array([expected]), np.array([got])))
    assert message in str(first_difference(np.array(expected), np.array(got)))


def test_nan_equals_itself() -> None:
    assert first_difference(np.array([np.nan], np.float32), np.array([np.nan], np.float32)) is None


def test_strided_and_empty_arrays() -> None:
    assert first_difference(EXPECTED[:, ::2], EXPECTED.copy()[:, ::2]) is None
    assert first_difference(EXPECTED[:0], EXPECTED[:0]) is None
    difference = first_difference(EXPECTED.T, (EXPECTED + (EXPECTED == 5)).T)
    assert difference is not None
    assert difference.coordinates == {"axis 0": 1, "axis 1": 1, "axis 2": 0}


def test_arrays_that_cannot_be_compared_are_refused() -> None:
    with pytest.raises(ValueError, match=r"float32 of shape \(2, 3, 4\), but got float32 of shape \(3, 4\)"):
        first_difference(EXPECTED, EXPECTED[0])
    with pytest.raises(ValueError, match="float64"):
        first_difference(EXPECTED, EXPECTED.astype(np.float64))
    with pytest.raises(ValueError, match="2 names"):
        first_difference(EXPECTED, EXPECTED, names=NAMES[:2])
