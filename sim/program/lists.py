"""Lists in the memory of a DIMM: records packed in chunks that follow each other."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sim.program.address import chunk_lines
from sim.program.geometry import Geometry
from sim.program.image import DimmImage
from sim.program.reduce_trace import ranges


class PackedLists(NamedTuple):
    """Lists in their chunks.

    Attributes
    ----------
    addresses : ndarray of int64, shape [n_lists]
        Chunk in which each list begins.
    next_chunk : int
        First chunk behind them.
    image : DimmImage
        Their lines; chunks are filled up with zeros.
    """

    addresses: NDArray[np.int64]
    next_chunk: int
    image: DimmImage


def list_chunks(lengths: NDArray[np.int64], record_bytes: int, geometry: Geometry) -> NDArray[np.int64]:
    """Return how many chunks lists take.

    Parameters
    ----------
    lengths : ndarray of int64, shape [n_lists]
        Records of each.
    record_bytes : int
        Bytes of a record.
    geometry : Geometry
        The memory.

    Returns
    -------
    ndarray of int64, shape [n_lists]
        Chunks.
    """
    return -(-lengths // geometry.records(record_bytes))


def pack_lists(
    records: NDArray[np.uint8], lengths: NDArray[np.int64], first_chunk: int, geometry: Geometry
) -> PackedLists:
    """Lay lists of records one behind the other, each from the first byte of a chunk on.

    Parameters
    ----------
    records : ndarray of uint8, shape [n_records, bytes of a record]
        Records of all lists in order.
    lengths : ndarray of int64, shape [n_lists]
        Records of each list; a list without records has the address of the next.
    first_chunk : int
        Where the first list begins.
    geometry : Geometry
        The memory.

    Returns
    -------
    PackedLists
        Addresses and lines.

    Raises
    ------
    LayoutError
        The lists do not fit in the memory.
    """
    chunks = list_chunks(lengths, records.shape[1], geometry)
    starts = np.cumsum(chunks) - chunks
    total = int(chunks.sum())
    # Sizes are powers of two, so no record lies in two chunks.
    packed = np.zeros((total * geometry.records(records.shape[1]), records.shape[1]), np.uint8)
    packed[ranges(starts * geometry.records(records.shape[1]), lengths)] = records
    numbers = first_chunk + np.arange(total)
    image = DimmImage.empty(geometry.line_bytes).write(chunk_lines(numbers, geometry), packed)
    return PackedLists(first_chunk + starts, first_chunk + total, image)


def read_lists(
    image: DimmImage,
    addresses: NDArray[np.int64],
    lengths: NDArray[np.int64],
    record_bytes: int,
    geometry: Geometry,
) -> NDArray[np.uint8]:
    """Read lists back; of the last chunk of each only the lines with records.

    Parameters
    ----------
    image : DimmImage
        The memory.
    addresses, lengths : ndarray of int64, shape [n_lists]
        Chunk in which each list begins, and its records.
    record_bytes : int
        Bytes of a record.
    geometry : Geometry
        The memory's sizes.

    Returns
    -------
    ndarray of uint8, shape [sum of lengths, record_bytes]
        Records of all lists in order.

    Raises
    ------
    LayoutError
        A list lies beyond the end of the memory, or was never written.
    """
    chunks = list_chunks(lengths, record_bytes, geometry)
    numbers = ranges(addresses, chunks)
    # Where line i of all these chunks is read from, and where the lines of each list begin among them.
    lines = chunk_lines(numbers, geometry).reshape(-1)
    per_chunk = geometry.chunk_bytes // geometry.line_bytes
    first_line = (np.cumsum(chunks) - chunks) * per_chunk
    used = ranges(first_line, -(-lengths * record_bytes // geometry.line_bytes))
    packed = np.zeros((len(lines), geometry.line_bytes), np.uint8)
    packed[used] = image.read(lines[used])
    first_record = first_line * geometry.line_bytes // record_bytes
    return packed.reshape(-1, record_bytes)[ranges(first_record, lengths)]
