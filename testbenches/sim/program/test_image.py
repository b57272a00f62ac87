"""The memory of a DIMM: what was written last is what is read, and nothing else."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sim.program.image import DimmImage
from testbenches.sim.program.strategies import relaxed

EMPTY = DimmImage.empty(2)


def lines(*values):
    return np.array([[value, 255 - value] for value in values], np.uint8)


def contents(image):
    return dict(zip(image.addresses.tolist(), map(tuple, image.lines.tolist()), strict=True))


@given(st.lists(st.lists(st.tuples(st.integers(0, 12), st.integers(0, 255)), max_size=8), max_size=5))
@relaxed
def test_writes_in_order(writes):
    image, want = EMPTY, {}
    for some in writes:
        before = contents(image)
        addresses = np.array([address for address, _ in some], np.int64)
        after = image.write(addresses, lines(*(value for _, value in some)).reshape(-1, 2))
        assert contents(image) == before
        image = after
        want |= {address: (value, 255 - value) for address, value in some}
    assert contents(image) == want
    assert image.addresses.tolist() == sorted(want)
    for address, line in want.items():
        assert tuple(image.read(np.array(address)).tolist()) == line
    absent = sorted(set(range(14)) - set(want))
    for address in absent:
        with pytest.raises(ValueError, match=f"line {address} is read, but was never written"):
            image.read(np.array([*want, address], np.int64))


def test_shapes():
    image = EMPTY.write(np.array([[4, 2], [9, 3]]), lines(40, 20, 90, 30).reshape(2, 2, 2))
    assert image.read(np.array([[[9], [2]]])).tolist() == [[[[90, 165]], [[20, 235]]]]
    assert image.read(np.zeros((3, 0), np.int64)).shape == (3, 0, 2)
    assert EMPTY.read(np.zeros(0, np.int64)).shape == (0, 2)


def test_the_other_image_goes_over():
    one, other = (EMPTY.write(np.array(at), lines(*values)) for at, values in (([1, 5], [10, 50]), ([5, 7], [51, 70])))
    assert contents(one.merge(other)) == {1: (10, 245), 5: (51, 204), 7: (70, 185)}
    assert contents(other.merge(one))[5] == (50, 205)
