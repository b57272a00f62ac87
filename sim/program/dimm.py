"""What one DIMM gets: the commands of its engine, the vectors that are stored through it, and its memory."""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from sim.config import NmeConfig, SystemConfig
from sim.program.commands import EDGE_RECORD, ReduceOpcode
from sim.program.engine_commands import (
    ENGINE_COMMAND,
    SHARD_DESCRIPTOR,
    SOURCE_RECORD,
    EngineOpcode,
    update_beat,
)
from sim.program.geometry import Geometry
from sim.program.image import DimmImage
from sim.program.layout import Layout, LayoutError
from sim.program.lists import pack_lists
from sim.program.partition import Shards
from sim.program.reduce_trace import beats_of, ranges
from sim.program.vectors import check_element, padded_beats, vector_image, vector_numbers


@dataclass(frozen=True, kw_only=True, eq=False)
class DimmProgram:
    """Streams into one Near-Memory Engine, and the memory that it finds.

    Attributes
    ----------
    commands : ndarray of uint8, shape [n_commands, ENGINE_COMMAND.bytes]
        Commands in order.
    updates : ndarray of uint8, shape [n_beats, update_beat(...).bytes]
        Beats of the vectors that the commands STORE take, in order.
    image : DimmImage
        The memory before the first command.
    next_chunk : int
        First chunk behind the lists: where those of a further program can begin.
    """

    commands: NDArray[np.uint8]
    updates: NDArray[np.uint8]
    image: DimmImage
    next_chunk: int = 0

    def then(self, other: "DimmProgram") -> "DimmProgram":
        """Run another program afterwards.

        Parameters
        ----------
        other : DimmProgram
            The other program. Its lists must lie in other chunks (from ``next_chunk`` on, say). Where both images hold
            a line, its line stays: vectors that the other program finds in its memory are there from the start.

        Returns
        -------
        DimmProgram
            Both.
        """
        return DimmProgram(
            commands=np.concatenate([self.commands, other.commands]),
            updates=np.concatenate([self.updates, other.updates]),
            image=self.image.merge(other.image),
            next_chunk=max(self.next_chunk, other.next_chunk),
        )


def run_program(
    shards: Shards,
    dimm: int,
    beats: int,
    numbers: NDArray[np.int64],
    config: SystemConfig,
    *,
    opcode: ReduceOpcode = ReduceOpcode.MULTIPLY_ADD,
    kind: int = 0,
    weights: NDArray[np.unsignedinteger] | None = None,
    first_chunk: int = 0,
    tag: int = 0,
) -> DimmProgram:
    """Make the command and the lists for a DIMM's shards; the vectors must be in the memory already.

    Parameters
    ----------
    shards : Shards
        The sharded graph.
    dimm : int
        The DIMM.
    beats : int
        Beats of a source vector.
    numbers : ndarray of int64, shape [N]
        Number of each vertex in the DIMM (`vector_numbers`).
    config : SystemConfig
        The hardware.
    opcode : ReduceOpcode
        What is done with each edge.
    kind : int
        Kind of the source vectors, 0 to 6.
    weights : ndarray of uint16 or uint32, shape [E], optional
        Bits of the edge weights in the order of `shards`; zeros without it.
    first_chunk : int
        Chunk in which the lists begin: descriptors, then source records, then edge records.
    tag : int
        Tag of the command.

    Returns
    -------
    DimmProgram
        One RUN, or none if the DIMM has no shards. Descriptors stand in order of execution; the tag of each is its
        position, modulo 65,536.

    Raises
    ------
    LayoutError
        A shard reads a vertex without a number, or the lists do not fit in the memory.
    ValueError
        MULTIPLY_ADD without weights, or weights that are not in the engine's element format.
    """
    if weights is None and opcode == ReduceOpcode.MULTIPLY_ADD:
        raise ValueError("MULTIPLY_ADD needs weights")
    if weights is not None:
        check_element("weights", weights, config.nme)
    geometry = Geometry.of(config)
    geometry.vector_bursts(beats)
    order = shards.of_dimm(dimm)
    n_sources, n_edges = np.diff(shards.source_start)[order], np.diff(shards.edge_start)[order]
    vertices = shards.sources[ranges(shards.source_start[order], n_sources)]
    sources = numbers[vertices]
    if (sources < 0).any():
        vertex = vertices[(sources < 0).argmax()]
        raise LayoutError(f"vertex {vertex} is read by DIMM {dimm}, but has no number there: see vector_numbers")
    pick = ranges(shards.edge_start[order], n_edges)
    descriptor_chunks = -(-len(order) // geometry.records(SHARD_DESCRIPTOR.bytes))
    source_lists = pack_lists(
        SOURCE_RECORD.encode(len(sources), {"number": sources}), n_sources, first_chunk + descriptor_chunks, geometry
    )
    edges = EDGE_RECORD.encode(
        len(pick),
        {
            "destination": shards.edge_destination[pick],
            "last_of_source": shards.edge_last[pick],
            "weight": 0 if weights is None else weights[pick],
        },
    )
    edge_lists = pack_lists(edges, n_edges, source_lists.next_chunk, geometry)
    descriptors = SHARD_DESCRIPTOR.encode(
        len(order),
        {
            "opcode": opcode,
            "kind": kind,
            "beats": beats,
            "destinations": shards.destinations(order),
            "tag": np.arange(len(order)) % 65536,
            "sources": n_sources,
            "edges": n_edges,
            "sources_address": source_lists.addresses,
            "edges_address": edge_lists.addresses,
            "slot": shards.slot[order],
        },
    )
    descriptor_list = pack_lists(descriptors, np.array([len(order)]), first_chunk, geometry)
    command = {"opcode": EngineOpcode.RUN, "tag": tag, "count": len(order), "address": first_chunk}
    return DimmProgram(
        commands=ENGINE_COMMAND.encode(min(1, len(order)), command),
        updates=_updates(config.nme).encode(0, {}),
        image=descriptor_list.image.merge(source_lists.image).merge(edge_lists.image),
        next_chunk=edge_lists.next_chunk,
    )


def reduce_program(
    shards: Shards,
    dimm: int,
    values: NDArray[np.unsignedinteger],
    config: SystemConfig,
    *,
    opcode: ReduceOpcode = ReduceOpcode.MULTIPLY_ADD,
    kind: int = 0,
    weights: NDArray[np.unsignedinteger] | None = None,
    numbers: NDArray[np.int64] | None = None,
    first_chunk: int = 0,
    tag: int = 0,
) -> DimmProgram:
    """Make the whole Reduce of a DIMM: command, lists, and the vectors in its memory.

    Parameters
    ----------
    shards : Shards
        The sharded graph.
    dimm : int
        The DIMM.
    values : ndarray of uint16 (bf16) or uint32 (fp32), shape [N, F]
        Bits of all vertices' vectors.
    config : SystemConfig
        The hardware.
    opcode, kind, weights, first_chunk, tag
        As for `run_program`.
    numbers : ndarray of int64, shape [N], optional
        Number of each vertex in the DIMM, or -1; those of `vector_numbers` without it.

    Returns
    -------
    DimmProgram
        The program.

    Raises
    ------
    LayoutError, ValueError
        As for `run_program` and `vector_image`.
    """
    if numbers is None:
        numbers = vector_numbers(shards, dimm, config)
    program = run_program(
        shards,
        dimm,
        beats_of(values.shape[1], config.nme.lanes),
        numbers,
        config,
        opcode=opcode,
        kind=kind,
        weights=weights,
        first_chunk=first_chunk,
        tag=tag,
    )
    image = program.image.merge(vector_image(values, numbers, kind, config))
    return replace(program, image=image)


def store_program(
    values: NDArray[np.unsignedinteger],
    numbers: NDArray[np.int64],
    kind: int,
    config: SystemConfig,
    *,
    tag: int = 0,
) -> DimmProgram:
    """Make the command that writes vectors into a DIMM, with the vectors.

    Parameters
    ----------
    values : ndarray of uint16 (bf16) or uint32 (fp32), shape [N, F]
        Bits of all vertices' vectors.
    numbers : ndarray of int64, shape [N]
        Number of each vertex in the DIMM (`vector_numbers`: its own and the duplicates it holds); -1 leaves it out.
    kind : int
        Kind of vector, 0 to 6.
    config : SystemConfig
        The hardware.
    tag : int
        Tag of the command.

    Returns
    -------
    DimmProgram
        One STORE of the vectors by rising number, or none if there are none; nothing in the memory.

    Raises
    ------
    LayoutError
        A vector does not fit in a row.
    ValueError
        The vectors are not in the engine's element format.
    """
    geometry = Geometry.of(config)
    held = np.flatnonzero(numbers >= 0)
    held = held[np.argsort(numbers[held], kind="stable")]
    beats = padded_beats(values[held], config.nme)
    n, width, beat_bytes = beats.shape
    geometry.vector_bursts(width)
    command = {"opcode": EngineOpcode.STORE, "kind": kind, "beats": width, "tag": tag, "count": n}
    data = beats.reshape(-1, beat_bytes).view(f"<u{config.nme.element_bytes}")
    return DimmProgram(
        commands=ENGINE_COMMAND.encode(min(1, n), command),
        updates=_updates(config.nme).encode(n * width, {"number": np.repeat(numbers[held], width), "data": data}),
        image=DimmImage.empty(geometry.line_bytes),
    )


def _updates(config: NmeConfig) -> Layout:
    return update_beat(config.lanes, 8 * config.element_bytes)
