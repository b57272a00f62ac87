"""What a Near-Memory Engine has to do, as plain arrays: commands, descriptors, sources and edges, each judged."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sim.config import SystemConfig
from sim.program.commands import EDGE_RECORD, ReduceOpcode
from sim.program.dimm import DimmProgram
from sim.program.engine_commands import (
    ENGINE_COMMAND,
    SHARD_DESCRIPTOR,
    SOURCE_RECORD,
    EngineCode,
    EngineOpcode,
    update_beat,
)
from sim.program.geometry import LIST_KIND, Geometry
from sim.program.layout import check_length
from sim.program.lists import list_chunks, read_lists
from sim.program.reduce_trace import ranges


class CommandWork(NamedTuple):
    """Commands.

    Attributes
    ----------
    opcode, kind, beats, tag, length, address : ndarray of int64, shape [n_commands]
        Fields of `ENGINE_COMMAND`; ``length`` is its ``count``.
    code : ndarray of int64, shape [n_commands]
        `EngineCode` with which each is received: OK, or the reason to refuse it.
    first_descriptor, first_update : ndarray of int64, shape [n_commands + 1]
        Bounds of each in `DescriptorWork` and `UpdateWork`; refused commands have nothing there.
    """

    opcode: NDArray[np.int64]
    kind: NDArray[np.int64]
    beats: NDArray[np.int64]
    tag: NDArray[np.int64]
    length: NDArray[np.int64]
    address: NDArray[np.int64]
    code: NDArray[np.int64]
    first_descriptor: NDArray[np.int64]
    first_update: NDArray[np.int64]


class DescriptorWork(NamedTuple):
    """Descriptors of the commands RUN that were not refused.

    Attributes
    ----------
    command : ndarray of int64, shape [n_descriptors]
        Index of the command.
    opcode, kind, beats, destinations, tag, sources, edges, sources_address, edges_address, slot : ndarray of int64
        Fields of `SHARD_DESCRIPTOR`.
    code : ndarray of int64, shape [n_descriptors]
        `EngineCode` with which each is received: OK, or the reason to refuse it.
    first_source, first_edge : ndarray of int64, shape [n_descriptors + 1]
        Bounds of each in `SourceWork` and `EdgeWork`; refused descriptors have nothing there.
    """

    command: NDArray[np.int64]
    opcode: NDArray[np.int64]
    kind: NDArray[np.int64]
    beats: NDArray[np.int64]
    destinations: NDArray[np.int64]
    tag: NDArray[np.int64]
    sources: NDArray[np.int64]
    edges: NDArray[np.int64]
    sources_address: NDArray[np.int64]
    edges_address: NDArray[np.int64]
    slot: NDArray[np.int64]
    code: NDArray[np.int64]
    first_source: NDArray[np.int64]
    first_edge: NDArray[np.int64]


class SourceWork(NamedTuple):
    """Source vectors of the descriptors that were not refused; each is fetched once in each pass.

    Attributes
    ----------
    number : ndarray of int64, shape [n_sources]
        Number of the vector in the DIMM.
    valid : ndarray of bool, shape [n_sources]
        False if it lies beyond the end of the memory.
    """

    number: NDArray[np.int64]
    valid: NDArray[np.bool_]


class EdgeWork(NamedTuple):
    """Edges of the descriptors that were not refused; each is fetched once in each pass.

    Attributes
    ----------
    destination, weight : ndarray of int64, shape [n_edges]
        Slot in the interval, and the weight's 32 bits.
    last : ndarray of bool, shape [n_edges]
        Mark of the final edge of a source.
    """

    destination: NDArray[np.int64]
    weight: NDArray[np.int64]
    last: NDArray[np.bool_]


class UpdateWork(NamedTuple):
    """Vectors that the commands STORE take.

    Attributes
    ----------
    number : ndarray of int64, shape [n_updates]
        Number of the vector in the DIMM.
    valid : ndarray of bool, shape [n_updates]
        False if it lies beyond the end of the memory: it is not written.
    first_beat : ndarray of int64, shape [n_updates + 1]
        Bounds of its beats in the stream of updates.
    """

    number: NDArray[np.int64]
    valid: NDArray[np.bool_]
    first_beat: NDArray[np.int64]


class PassWork(NamedTuple):
    """Passes: what the engine runs, one for each slice of each descriptor that was not refused.

    Attributes
    ----------
    descriptor, slice_index, beats : ndarray of int64, shape [n_passes]
        Index of the descriptor, its slice, and the slice's beats.
    """

    descriptor: NDArray[np.int64]
    slice_index: NDArray[np.int64]
    beats: NDArray[np.int64]


class EngineWork(NamedTuple):
    """All that an engine has to do, in order; for compiled kernels.

    Attributes
    ----------
    commands : CommandWork
        Commands.
    descriptors : DescriptorWork
        Descriptors.
    passes : PassWork
        Passes.
    sources : SourceWork
        Source vectors.
    edges : EdgeWork
        Edges.
    updates : UpdateWork
        Vectors to store.
    """

    commands: CommandWork
    descriptors: DescriptorWork
    passes: PassWork
    sources: SourceWork
    edges: EdgeWork
    updates: UpdateWork


def decode_engine_work(program: DimmProgram, config: SystemConfig) -> EngineWork:
    """Decode a program's commands and follow them through its memory.

    No command changes a list: STORE writes other rows.

    Parameters
    ----------
    program : DimmProgram
        Commands, updates and memory.
    config : SystemConfig
        The hardware, whose sizes commands and descriptors must fit.

    Returns
    -------
    EngineWork
        The arrays.

    Raises
    ------
    LayoutError
        A list was never written to the memory.
    ValueError
        There are more or fewer updates than the commands take.
    """
    geometry = Geometry.of(config)
    fields = _decoded(ENGINE_COMMAND.decode(program.commands))
    command_code = _judge_commands(fields, geometry)
    runs = (command_code == EngineCode.OK) & (fields["opcode"] == EngineOpcode.RUN)
    stores = (command_code == EngineCode.OK) & (fields["opcode"] == EngineOpcode.STORE)
    n_descriptors = np.where(runs, fields["count"], 0)
    n_updates = np.where(stores, fields["count"], 0)
    commands = CommandWork(
        length=fields.pop("count"),
        **fields,
        code=command_code,
        first_descriptor=_bounds(n_descriptors),
        first_update=_bounds(n_updates),
    )

    def read(addresses: NDArray[np.int64], lengths: NDArray[np.int64], record_bytes: int) -> NDArray[np.uint8]:
        return read_lists(program.image, addresses, lengths, record_bytes, geometry)

    records = read(commands.address[runs], commands.length[runs], SHARD_DESCRIPTOR.bytes)
    shard = _decoded(SHARD_DESCRIPTOR.decode(records))
    code = _judge_descriptors(shard, geometry, config.nme.interval)
    taken = code == EngineCode.OK
    n_sources, n_edges = np.where(taken, shard["sources"], 0), np.where(taken, shard["edges"], 0)
    descriptors = DescriptorWork(
        command=np.repeat(np.arange(len(n_descriptors)), n_descriptors),
        **shard,
        code=code,
        first_source=_bounds(n_sources),
        first_edge=_bounds(n_edges),
    )
    number = SOURCE_RECORD.decode(read(shard["sources_address"], n_sources, SOURCE_RECORD.bytes))["number"]
    edge = _decoded(EDGE_RECORD.decode(read(shard["edges_address"], n_edges, EDGE_RECORD.bytes)))
    return EngineWork(
        commands=commands,
        descriptors=descriptors,
        passes=_passes(descriptors, geometry),
        sources=_sources(number.astype(np.int64), np.repeat(shard["beats"], n_sources), geometry),
        edges=EdgeWork(edge["destination"], edge["weight"], edge["last_of_source"] != 0),
        updates=_updates(program, commands, config),
    )


def _decoded(fields: dict[str, NDArray[np.unsignedinteger]]) -> dict[str, NDArray[np.int64]]:
    return {name: values.astype(np.int64) for name, values in fields.items()}


def _bounds(counts: NDArray[np.int64]) -> NDArray[np.int64]:
    return np.concatenate([[0], np.cumsum(counts)])


def _of_each_width(beats: NDArray[np.int64], function: Callable[[int], int]) -> NDArray[np.int64]:
    """Work out something of every number of beats, once for each that occurs."""
    widths, place = np.unique(beats, return_inverse=True)
    return np.array([int(function(int(width))) for width in widths], np.int64)[place]


def _judge_commands(fields: dict[str, NDArray[np.int64]], geometry: Geometry) -> NDArray[np.int64]:
    opcode, count = fields["opcode"], fields["count"]
    run, store = opcode == EngineOpcode.RUN, opcode == EngineOpcode.STORE
    return np.select(
        [
            ~run & ~store,
            count == 0,
            run & _beyond(fields["address"], count, SHARD_DESCRIPTOR.bytes, geometry),
            store & (_of_each_width(fields["beats"], geometry.fits) == 0),
            store & (fields["kind"] >= LIST_KIND),
        ],
        [
            EngineCode.BAD_OPCODE,
            EngineCode.EMPTY,
            EngineCode.BAD_ADDRESS,
            EngineCode.BAD_BEATS,
            EngineCode.BAD_KIND,
        ],
        EngineCode.OK,
    ).astype(np.int64)


def _judge_descriptors(shard: dict[str, NDArray[np.int64]], geometry: Geometry, interval: int) -> NDArray[np.int64]:
    sources, edges, destinations = shard["sources"], shard["edges"], shard["destinations"]
    return np.select(
        [
            ~np.isin(shard["opcode"], [int(opcode) for opcode in ReduceOpcode]),
            _of_each_width(shard["beats"], geometry.fits) == 0,
            (destinations == 0) | (destinations > interval),
            sources == 0,
            edges == 0,
            shard["kind"] >= LIST_KIND,
            _beyond(shard["sources_address"], sources, SOURCE_RECORD.bytes, geometry)
            | _beyond(shard["edges_address"], edges, EDGE_RECORD.bytes, geometry),
        ],
        [
            EngineCode.BAD_OPCODE,
            EngineCode.BAD_BEATS,
            EngineCode.BAD_DESTINATIONS,
            EngineCode.NO_SOURCES,
            EngineCode.NO_EDGES,
            EngineCode.BAD_KIND,
            EngineCode.BAD_ADDRESS,
        ],
        EngineCode.OK,
    ).astype(np.int64)


def _beyond(
    address: NDArray[np.int64], length: NDArray[np.int64], record_bytes: int, geometry: Geometry
) -> NDArray[np.bool_]:
    return address + list_chunks(length, record_bytes, geometry) > geometry.chunks


def _passes(descriptors: DescriptorWork, geometry: Geometry) -> PassWork:
    accepted = descriptors.code == EngineCode.OK
    slices = np.where(accepted, -(-descriptors.beats // geometry.slice_beats), 0)
    descriptor = np.repeat(np.arange(len(slices)), slices)
    slice_index = ranges(np.zeros(len(slices), np.int64), slices)
    rest = descriptors.beats[descriptor] - slice_index * geometry.slice_beats
    return PassWork(descriptor, slice_index, np.minimum(rest, geometry.slice_beats))


def _sources(number: NDArray[np.int64], beats: NDArray[np.int64], geometry: Geometry) -> SourceWork:
    return SourceWork(number, number < _of_each_width(beats, geometry.vectors))


def _updates(program: DimmProgram, commands: CommandWork, config: SystemConfig) -> UpdateWork:
    beats = np.repeat(commands.beats, np.diff(commands.first_update))
    first_beat = _bounds(beats)
    check_length("updates", int(first_beat[-1]), len(program.updates))
    layout = update_beat(config.nme.lanes, 8 * config.nme.element_bytes)
    number = layout.decode(program.updates[first_beat[:-1]])["number"].astype(np.int64)
    return UpdateWork(number, number < _of_each_width(beats, Geometry.of(config).vectors), first_beat)
