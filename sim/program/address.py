"""Where a vertex' vectors lie in its DIMM: one function, for golden model, RTL and timing model alike."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sim.config import DramConfig, PartitionConfig
from sim.program.layout import LayoutError
from sim.program.memory import DRAM_REQUEST

KINDS = 8
"""Kinds of vector that a vertex can have (feature, a, z, h, delta, ...): the three lowest row bits. Source: GNNear's
artifact."""


class VectorLayout(NamedTuple):
    """How one kind of vector is laid out in a rank.

    Attributes
    ----------
    pieces : int
        Requests that fetch a vector from one rank, each within one row of one bank.
    bursts : int
        Bursts of each.
    """

    pieces: int
    bursts: int

    @classmethod
    def of(cls, vector_bytes: int, dram: DramConfig) -> "VectorLayout":
        """Lay out a vector.

        Parameters
        ----------
        vector_bytes : int
            Bytes of the whole vector; each rank holds an equal part, filled up to whole bursts.
        dram : DramConfig
            Ranks, bursts, and the mapping.

        Returns
        -------
        VectorLayout
            One piece, or one for each bank group as far as there are bursts.

        Raises
        ------
        LayoutError
            A part does not fit in one row.
        """
        total = -(-vector_bytes // (dram.ranks_per_dimm * dram.burst_bytes))
        pieces = min(dram.bank_groups, total) if dram.mapping == "bursts_over_groups" else 1
        bursts = -(-total // pieces)
        if not 0 < bursts <= dram.columns // dram.burst_length:
            raise LayoutError(
                f"vectors of {vector_bytes} bytes: a row of a rank holds {dram.row_bytes}; use more ranks"
            )
        return cls(pieces, bursts)


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
    vertices: NDArray[np.int64],
    kind: int,
    vector_bytes: int,
    dram: DramConfig,
    partition: PartitionConfig,
    *,
    write: bool = False,
) -> NDArray[np.uint8]:
    """Make the requests that move vectors of some vertices between one rank of their DIMM and its engine.

    All ranks of a DIMM hold their part of a vector in the same place, so the requests are the same for each. From low
    to high, a vertex' number in its DIMM chooses: bank group, bank, place in the row, row. With the mapping
    ``vector_in_bank`` a vector lies in one bank (GNNear's layout); with ``bursts_over_groups`` its bursts go round the
    bank groups, so that one vector alone keeps the bus busy, and the number chooses no bank group.

    Parameters
    ----------
    vertices : ndarray of int64, shape [n]
        Vertices of one DIMM.
    kind : int
        Kind of vector, 0 to 7.
    vector_bytes : int
        Bytes of a whole vector.
    dram : DramConfig
        The memory and its mapping.
    partition : PartitionConfig
        Vertices in a block.
    write : bool
        Write instead of read.

    Returns
    -------
    ndarray of uint8, shape [n * pieces, DRAM_REQUEST.bytes]
        Requests for rank 0, vector by vector; the tag is the position of the vector, modulo 65,536.

    Raises
    ------
    LayoutError
        A vector lies beyond the last row.
    ValueError
        The kind is not known.
    """
    if not 0 <= kind < KINDS:
        raise ValueError(f"kind {kind}: there are kinds 0 to {KINDS - 1}")
    layout = VectorLayout.of(vector_bytes, dram)
    number = local_index(vertices, dram, partition)
    piece = np.tile(np.arange(layout.pieces), len(vertices))
    number = np.repeat(number, layout.pieces)
    if layout.pieces > 1:
        bank_group = piece
    else:
        bank_group, number = number % dram.bank_groups, number // dram.bank_groups
    bank, number = number % dram.banks_per_group, number // dram.banks_per_group
    per_row = dram.columns // dram.burst_length // layout.bursts
    place, number = number % per_row, number // per_row
    row = number * KINDS + kind
    if len(row) and row.max() >= dram.rows:
        worst = int(vertices[int(row.argmax()) // layout.pieces])
        raise LayoutError(
            f"vertex {worst} needs row {row.max()} of {dram.rows}: the graph does not fit; use more DIMMs"
        )
    return DRAM_REQUEST.encode(
        len(piece),
        {
            "write": write,
            "bank_group": bank_group,
            "bank": bank,
            "row": row,
            "column": place * layout.bursts,
            "bursts": layout.bursts,
            "tag": np.repeat(np.arange(len(vertices)) % 65536, layout.pieces),
        },
    )
