"""Where vectors and lists lie in a DIMM: one place, for golden model, RTL and timing model alike."""

import numpy as np
from numpy.typing import NDArray

from sim.config import DramConfig, PartitionConfig
from sim.program.geometry import CHUNK_LINES, KINDS, LIST_KIND, Geometry
from sim.program.layout import LayoutError
from sim.program.memory import DRAM_REQUEST

_CHUNK_STRIDE = (CHUNK_LINES - 1).bit_length()


def local_index(vertices: NDArray[np.int64], dram: DramConfig, partition: PartitionConfig) -> NDArray[np.int64]:
    """Return the number of each vertex among those of its DIMM.

    Parameters
    ----------
    vertices : ndarray of int64
        Vertex ids.
    dram : DramConfig
        Channels and DIMMs.
    partition : PartitionConfig
        Vertices in a block.

    Returns
    -------
    ndarray of int64
        0, 1, ... in each DIMM, rising with the id.
    """
    block = partition.block_vertices
    return vertices // (block * dram.dimms) * block + vertices % block


def vector_requests(
    numbers: NDArray[np.int64],
    kind: int,
    beats: int,
    geometry: Geometry,
    *,
    slice_index: int = 0,
    write: bool = False,
) -> NDArray[np.uint8]:
    """Make the requests that move one slice of some vectors between the memory of a DIMM and its engine.

    All ranks of a DIMM hold their part of a line in the same place, so the requests are the same for each. From low
    to high, a vector's number in its DIMM chooses: bank group, bank, place in the row, row. With the mapping
    ``vector_in_bank`` a vector lies in one bank (GNNear's layout); with ``bursts_over_groups`` its lines go round the
    bank groups, so that one vector alone keeps the bus busy, and the number chooses no bank group.

    Parameters
    ----------
    numbers : ndarray of int64, shape [n]
        Numbers of vectors in the DIMM.
    kind : int
        Kind of vector, 0 to 6.
    beats : int
        Beats of a whole vector.
    geometry : Geometry
        The memory.
    slice_index : int
        Which slice.
    write : bool
        Write instead of read.

    Returns
    -------
    ndarray of uint8, shape [n * pieces, DRAM_REQUEST.bytes]
        Requests for rank 0, vector by vector, one for each bank group that a slice has lines in; the tag is the
        position of the vector, modulo 65,536.

    Raises
    ------
    LayoutError
        A vector lies beyond the end of the memory, or vectors of this width do not fit in a row.
    ValueError
        There is no such kind or slice.
    """
    lines = _lines_of_slice(kind, beats, slice_index, geometry)
    pieces = min(geometry.groups, lines)
    bank_group, bank, row, column = _place_of_vectors(numbers, kind, beats, slice_index, geometry)
    piece = np.arange(pieces)
    bursts = (lines - piece + geometry.groups - 1) // geometry.groups
    return DRAM_REQUEST.encode(
        len(numbers) * pieces,
        {
            "write": write,
            "bank_group": np.repeat(bank_group, pieces) + np.tile(piece, len(numbers)),
            "bank": np.repeat(bank, pieces),
            "row": np.repeat(row, pieces),
            "column": np.repeat(column, pieces),
            "bursts": np.tile(bursts, len(numbers)),
            "tag": np.repeat(np.arange(len(numbers)) % 65536, pieces),
        },
    )


def vector_lines(
    numbers: NDArray[np.int64], kind: int, beats: int, slice_index: int, geometry: Geometry
) -> NDArray[np.int64]:
    """Return the addresses of the lines that hold one slice of some vectors.

    Parameters
    ----------
    numbers : ndarray of int64, shape [n]
        Numbers of vectors in the DIMM.
    kind : int
        Kind of vector, 0 to 6.
    beats : int
        Beats of a whole vector.
    slice_index : int
        Which slice.
    geometry : Geometry
        The memory.

    Returns
    -------
    ndarray of int64, shape [n, lines]
        ``((row * bank_groups + bank_group) * banks + bank) * bursts + column`` of each line, in the order in which a
        slice's beats fill them.

    Raises
    ------
    LayoutError, ValueError
        As for `vector_requests`.
    """
    line = np.arange(_lines_of_slice(kind, beats, slice_index, geometry))
    bank_group, bank, row, column = (
        field[:, None] for field in _place_of_vectors(numbers, kind, beats, slice_index, geometry)
    )
    return _address(bank_group + line % geometry.groups, bank, row, column + line // geometry.groups, geometry)


def chunk_requests(chunks: NDArray[np.int64], lines: NDArray[np.int64] | int, geometry: Geometry) -> NDArray[np.uint8]:
    """Make the requests that fetch chunks of lists. A chunk lies in one row of one bank, whatever the mapping.

    Parameters
    ----------
    chunks : ndarray of int64, shape [n]
        Numbers of chunks.
    lines : ndarray of int64, shape [n], or int
        Lines to fetch of each, 1 to `CHUNK_LINES`.
    geometry : Geometry
        The memory.

    Returns
    -------
    ndarray of uint8, shape [n, DRAM_REQUEST.bytes]
        Requests for rank 0; the tag is the position of the chunk, modulo 65,536.

    Raises
    ------
    LayoutError
        A chunk lies beyond the end of the memory.
    """
    bank_group, bank, row, column = _place_of_chunks(chunks, geometry)
    return DRAM_REQUEST.encode(
        len(chunks),
        {
            "bank_group": bank_group,
            "bank": bank,
            "row": row,
            "column": column,
            "bursts": lines,
            "tag": np.arange(len(chunks)) % 65536,
        },
    )


def chunk_lines(chunks: NDArray[np.int64], geometry: Geometry) -> NDArray[np.int64]:
    """Return the addresses of the lines of chunks.

    Parameters
    ----------
    chunks : ndarray of int64, shape [n]
        Numbers of chunks.
    geometry : Geometry
        The memory.

    Returns
    -------
    ndarray of int64, shape [n, CHUNK_LINES]
        Addresses as `vector_lines` gives them.

    Raises
    ------
    LayoutError
        A chunk lies beyond the end of the memory.
    """
    bank_group, bank, row, column = (field[:, None] for field in _place_of_chunks(chunks, geometry))
    return _address(bank_group, bank, row, column + np.arange(CHUNK_LINES), geometry)


_Place = tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]
"""Bank group, bank, row and column at which something begins."""


def _lines_of_slice(kind: int, beats: int, slice_index: int, geometry: Geometry) -> int:
    if not 0 <= kind < LIST_KIND:
        raise ValueError(f"kind {kind}: there are kinds 0 to {LIST_KIND - 1}")
    if not 0 <= slice_index < geometry.slices(beats):
        raise ValueError(f"slice {slice_index}: vectors of {beats} beats have {geometry.slices(beats)} slices")
    return geometry.lines(geometry.beats_of_slice(beats, slice_index))


def _place_of_vectors(
    numbers: NDArray[np.int64], kind: int, beats: int, slice_index: int, geometry: Geometry
) -> _Place:
    room = geometry.vectors(beats)
    outside = (numbers < 0) | (numbers >= room)
    if outside.any():
        raise LayoutError(
            f"vector {numbers[outside.argmax()]}: a DIMM holds {room} vectors of {beats} beats of each kind, 0 to "
            f"{room - 1}; if the graph does not fit, use more DIMMs"
        )
    stride = geometry.stride_log2(beats)
    bank_group, bank, row, column = _place(numbers, kind, stride, geometry, geometry.groups)
    return bank_group, bank, row, column + slice_index * geometry.slice_bursts


def _place_of_chunks(chunks: NDArray[np.int64], geometry: Geometry) -> _Place:
    outside = (chunks < 0) | (chunks >= geometry.chunks)
    if outside.any():
        raise LayoutError(
            f"chunk {chunks[outside.argmax()]}: a DIMM holds {geometry.chunks} chunks for lists; use more DIMMs"
        )
    return _place(chunks, LIST_KIND, _CHUNK_STRIDE, geometry, groups=1)


def _place(numbers: NDArray[np.int64], kind: int, stride_log2: int, geometry: Geometry, groups: int) -> _Place:
    """Return where the first lines of things lie that go round so many bank groups."""
    rest, bank_group = np.divmod(numbers, geometry.bank_groups // groups)
    rest, bank = np.divmod(rest, geometry.banks)
    row, column = np.divmod(rest << stride_log2, geometry.bursts)
    return bank_group, bank, row * KINDS + kind, column


def _address(
    bank_group: NDArray[np.int64],
    bank: NDArray[np.int64],
    row: NDArray[np.int64],
    column: NDArray[np.int64],
    geometry: Geometry,
) -> NDArray[np.int64]:
    return ((row * geometry.bank_groups + bank_group) * geometry.banks + bank) * geometry.bursts + column
