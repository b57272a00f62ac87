"""Matrices in the engine's memory."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sim.program.cae_memory import MemoryMap
from sim.program.instructions import ElementType


@given(
    lanes=st.integers(1, 9),
    shapes=st.lists(st.tuples(st.integers(1, 5), st.integers(1, 20), st.sampled_from(ElementType)), max_size=4),
    seed=st.integers(0, 99),
)
def test_what_is_written_is_read(lanes, shapes, seed):
    placed, rng = MemoryMap(lanes), np.random.default_rng(seed)
    given_bits = {}
    for number, (rows, columns, element) in enumerate(shapes):
        placed.add(f"m{number}", rows, columns, element)
        dtype = np.uint16 if element == ElementType.BF16 else np.uint32
        given_bits[f"m{number}"] = rng.integers(0, np.iinfo(dtype).max, (rows, columns), dtype, endpoint=True)
    memory = placed.empty()
    for name, bits in given_bits.items():
        placed.write(memory, name, bits)
    for name, bits in given_bits.items():
        np.testing.assert_array_equal(placed.read(memory, name), bits)
    assert placed.beats == sum(r * -(-c // lanes) * int(e) for r, c, e in shapes)


def test_low_lanes_of_fp32_stand_in_the_first_beat():
    placed = MemoryMap(2)
    placed.add("x", 1, 3, ElementType.FP32)
    memory = placed.empty()
    placed.write(memory, "x", np.array([[0x00010002, 0x00030004, 0x00050006]], np.uint32))
    assert memory.tolist() == [[2, 1], [4, 3], [6, 5], [0, 0]]


def test_a_name_is_given_once():
    placed = MemoryMap(4)
    placed.add("x", 1, 1, ElementType.BF16)
    with pytest.raises(ValueError, match="there is a matrix 'x' already"):
        placed.add("x", 2, 2, ElementType.FP32)


@pytest.mark.parametrize("bits", [np.zeros((2, 3), np.uint32), np.zeros((3, 2), np.uint16)])
def test_other_shapes_and_types_are_refused(bits):
    placed = MemoryMap(4)
    placed.add("x", 2, 3, ElementType.BF16)
    with pytest.raises(ValueError, match=r"it is uint16 of shape \(2, 3\)"):
        placed.write(placed.empty(), "x", bits)
