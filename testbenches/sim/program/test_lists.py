"""Lists in chunks: packed by hand, and read back as they were."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sim.config import load_config
from sim.program.address import chunk_lines
from sim.program.geometry import Geometry
from sim.program.image import DimmImage
from sim.program.lists import list_chunks, pack_lists, read_lists
from testbenches.sim.program.strategies import relaxed

GEOMETRY = Geometry.of(load_config("tiny"))
NARROW = Geometry.of(load_config("tiny").replace(**{"dram.bus_width_bits": 32, "dram.ranks_per_dimm": 1}))


def test_chunks_by_hand():
    """A chunk has 4 lines of 128 bytes: 128 source records, 64 edge records, 16 descriptors."""
    lengths = np.array([0, 1, 16, 17, 64, 65, 128, 129])
    assert list_chunks(lengths, 4, GEOMETRY).tolist() == [0, 1, 1, 1, 1, 1, 1, 2]
    assert list_chunks(lengths, 8, GEOMETRY).tolist() == [0, 1, 1, 1, 1, 2, 2, 3]
    assert list_chunks(lengths, 32, GEOMETRY).tolist() == [0, 1, 1, 2, 4, 5, 8, 9]


def test_bytes_by_hand():
    records = np.arange(70 * 8).reshape(70, 8).astype(np.uint8)
    packed = pack_lists(records, np.array([65, 0, 5]), 11, GEOMETRY)
    assert (packed.addresses.tolist(), packed.next_chunk) == ([11, 13, 13], 14)
    chunk = packed.image.read(chunk_lines(np.array([11, 12, 13]), GEOMETRY)).reshape(3, 512)
    assert chunk[0].tobytes() == records[:64].tobytes()
    assert chunk[1].tobytes() == records[64].tobytes() + bytes(504)
    assert chunk[2].tobytes() == records[65:].tobytes() + bytes(472)


@given(
    lengths=st.lists(st.integers(0, 150), max_size=6),
    size=st.sampled_from([4, 8, 32]),
    geometry=st.sampled_from([GEOMETRY, NARROW]),
    first=st.sampled_from([0, 7, 1000]),
)
@relaxed
def test_lists_are_read_back(lengths, size, geometry, first):
    rng = np.random.default_rng(len(lengths))
    lengths = np.array(lengths, np.int64)
    records = rng.integers(0, 256, (int(lengths.sum()), size)).astype(np.uint8)
    packed = pack_lists(records, lengths, first, geometry)
    assert np.array_equal(read_lists(packed.image, packed.addresses, lengths, size, geometry), records)
    # Only lines with records are read.
    numbers = [first + chunk for chunk in range(packed.next_chunk - first)]
    lines = chunk_lines(np.array(numbers, np.int64), geometry).reshape(-1)
    used = []
    for start, length in zip((packed.addresses - first).tolist(), lengths.tolist(), strict=True):
        used += range(4 * start, 4 * start + -(-length * size // geometry.line_bytes))
    image = DimmImage.empty(geometry.line_bytes).write(lines[used], packed.image.read(lines[used]))
    assert np.array_equal(read_lists(image, packed.addresses, lengths, size, geometry), records)
    order = np.arange(len(lengths))[::-1]
    turned = read_lists(image, packed.addresses[order], lengths[order], size, geometry)
    starts = np.cumsum(lengths) - lengths
    want = [records[starts[i] : starts[i] + lengths[i]] for i in order]
    assert np.array_equal(turned, np.concatenate([records[:0], *want]))


def test_the_end_of_the_memory():
    records = np.zeros((20, 32), np.uint8)
    packed = pack_lists(records, np.array([20]), GEOMETRY.chunks - 2, GEOMETRY)
    assert packed.next_chunk == GEOMETRY.chunks
    with pytest.raises(ValueError, match=f"chunk {GEOMETRY.chunks}: a DIMM holds"):
        pack_lists(records, np.array([20]), GEOMETRY.chunks - 1, GEOMETRY)
    with pytest.raises(ValueError, match=r"line \d+ is read, but was never written"):
        read_lists(packed.image, packed.addresses - 1, np.array([20]), 32, GEOMETRY)
