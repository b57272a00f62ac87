"""Golden model of a whole Near-Memory Engine: what leaves it and what it leaves in its memory, bit for bit."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sim.config import SystemConfig
from sim.golden.reduce import ReduceResult, reduce_streams
from sim.program.address import vector_lines
from sim.program.commands import EDGE_RECORD, REDUCE_COMMAND, REDUCE_STATUS
from sim.program.dimm import DimmProgram
from sim.program.engine_commands import ENGINE_STATUS, EngineCode, EngineOpcode, update_beat
from sim.program.engine_work import EngineWork, decode_engine_work
from sim.program.geometry import Geometry
from sim.program.image import DimmImage
from sim.program.reduce_trace import ReduceTrace, ranges
from sim.program.vectors import write_vectors


@dataclass(frozen=True, kw_only=True, eq=False)
class EngineResult:
    """What leaves a Near-Memory Engine.

    Attributes
    ----------
    partials : ndarray of uint8, shape [n_beats, result_beat(lanes).bytes]
        Partial sums of all passes, in order.
    partials_of : ndarray of int64, shape [n_passes]
        Beats of partial sums that each pass gives; the passes are those of `EngineWork`.
    status : ndarray of uint8, shape [n_status, ENGINE_STATUS.bytes]
        One status for each descriptor, each STORE and each refused command, in order.
    image : DimmImage
        The memory afterwards.
    """

    partials: NDArray[np.uint8]
    partials_of: NDArray[np.int64]
    status: NDArray[np.uint8]
    image: DimmImage


def engine_streams(program: DimmProgram, config: SystemConfig, work: EngineWork | None = None) -> EngineResult:
    """Run the golden model over a program of one DIMM.

    Parameters
    ----------
    program : DimmProgram
        Commands, updates and memory.
    config : SystemConfig
        The hardware.
    work : EngineWork, optional
        The program, decoded; without it that is done here.

    Returns
    -------
    EngineResult
        Streams out, and the memory.

    Raises
    ------
    LayoutError
        A list or a vector is read that was never written.
    ValueError
        There are more or fewer updates than the commands take.
    """
    if work is None:
        work = decode_engine_work(program, config)
    vectors, image = _run_memory(program, work, config)
    trace = _reduce_trace(work, vectors)
    reduced = reduce_streams(trace, config.nme)
    return EngineResult(
        partials=reduced.partials,
        partials_of=reduced.partials_of,
        status=_status(work, reduced),
        image=image,
    )


def _run_memory(program: DimmProgram, work: EngineWork, config: SystemConfig) -> tuple[NDArray[np.uint8], DimmImage]:
    """Read the vectors of all passes, each from the memory as the commands STORE before it left it."""
    geometry, image = Geometry.of(config), program.image
    commands, passes, descriptors = work.commands, work.passes, work.descriptors
    n_sources = np.diff(descriptors.first_source)[passes.descriptor]
    beats = np.repeat(passes.beats, n_sources)
    vectors = np.zeros((int(beats.sum()), geometry.beat_bytes), np.uint8)
    gather = _Gather(
        geometry,
        source=ranges(descriptors.first_source[passes.descriptor], n_sources),
        of_pass=np.repeat(np.arange(len(n_sources)), n_sources),
        first_beat=np.cumsum(beats) - beats,
    )
    command_of = descriptors.command[passes.descriptor]
    done = 0
    stores = np.flatnonzero((commands.code == EngineCode.OK) & (commands.opcode == EngineOpcode.STORE))
    for store in stores.tolist():
        ready = int(np.searchsorted(command_of, store))
        gather.read(image, work, done, ready, vectors)
        image, done = _store(image, program, work, store, config), ready
    gather.read(image, work, done, len(n_sources), vectors)
    return vectors, image


@dataclass(frozen=True)
class _Gather:
    """All vectors that are fetched, pass after pass: which source, in which pass, to which beats."""

    geometry: Geometry
    source: NDArray[np.int64]
    of_pass: NDArray[np.int64]
    first_beat: NDArray[np.int64]

    def read(
        self, image: DimmImage, work: EngineWork, first_pass: int, end_pass: int, vectors: NDArray[np.uint8]
    ) -> None:
        """Fetch what some passes need, all vectors of one shape together."""
        low, high = np.searchsorted(self.of_pass, [first_pass, end_pass]).tolist()
        descriptor = work.passes.descriptor[self.of_pass[low:high]]
        shapes = np.stack(
            [
                work.descriptors.kind[descriptor],
                work.descriptors.beats[descriptor],
                work.passes.slice_index[self.of_pass[low:high]],
            ],
            axis=1,
        )
        found, which = np.unique(shapes, axis=0, return_inverse=True)
        order = np.argsort(which.reshape(-1), kind="stable")
        bounds = np.searchsorted(which.reshape(-1)[order], np.arange(len(found) + 1)).tolist()
        for index, (kind, beats, slice_index) in enumerate(found.tolist()):
            some = low + order[bounds[index] : bounds[index + 1]]
            some = some[work.sources.valid[self.source[some]]]
            numbers = work.sources.number[self.source[some]]
            addresses = vector_lines(numbers, kind, beats, slice_index, self.geometry)
            width = self.geometry.beats_of_slice(beats, slice_index)
            lines = image.read(addresses)
            slices = lines.reshape(len(some), lines.shape[1] * lines.shape[2])[:, : width * self.geometry.beat_bytes]
            places = self.first_beat[some][:, None] + np.arange(width)
            vectors[places] = slices.reshape(len(some), width, self.geometry.beat_bytes)


def _store(image: DimmImage, program: DimmProgram, work: EngineWork, command: int, config: SystemConfig) -> DimmImage:
    low, high = work.commands.first_update[command : command + 2].tolist()
    valid = work.updates.valid[low:high]
    beats = program.updates[work.updates.first_beat[low] : work.updates.first_beat[high]]
    data = update_beat(config.nme.lanes, 8 * config.nme.element_bytes).decode(beats)["data"]
    data_bytes = np.ascontiguousarray(data).view(np.uint8).reshape(high - low, int(work.commands.beats[command]), -1)
    geometry, kind = Geometry.of(config), int(work.commands.kind[command])
    return write_vectors(image, work.updates.number[low:high][valid], data_bytes[valid], kind, geometry)


def _reduce_trace(work: EngineWork, vectors: NDArray[np.uint8]) -> ReduceTrace:
    """Make the streams of the reduce unit: a command for each pass, the edges of its descriptor again."""
    shard = work.passes.descriptor
    fields = {name: getattr(work.descriptors, name)[shard] for name in ("opcode", "destinations", "tag")}
    n_edges = np.diff(work.descriptors.first_edge)[shard]
    pick = ranges(work.descriptors.first_edge[shard], n_edges)
    return ReduceTrace(
        commands=REDUCE_COMMAND.encode(
            len(shard),
            {
                **fields,
                "beats": work.passes.beats,
                "sources": work.descriptors.sources[shard],
                "edges": work.descriptors.edges[shard],
            },
        ),
        edges=EDGE_RECORD.encode(
            len(pick),
            {
                "destination": work.edges.destination[pick],
                "last_of_source": work.edges.last[pick],
                "weight": work.edges.weight[pick],
            },
        ),
        vectors=vectors,
    )


def _status(work: EngineWork, reduced: ReduceResult) -> NDArray[np.uint8]:
    commands, descriptors = work.commands, work.descriptors
    passes = REDUCE_STATUS.decode(reduced.status)
    # All passes of a descriptor end alike, so that the last one says it: the same numbers, marks and slots.
    end_code, end_count = descriptors.code.copy(), np.zeros(len(descriptors.code), np.int64)
    end_code[work.passes.descriptor] = passes["code"]
    end_count[work.passes.descriptor] = passes["edges"]
    invalid = np.add.reduceat(np.append(~work.sources.valid, False), descriptors.first_source[:-1])
    unread = (np.diff(descriptors.first_source) > 0) & (invalid > 0)
    end_code[unread] = EngineCode.VECTOR_NUMBER
    # Descriptors' status words stand where their commands do; other commands have one of their own.
    n_descriptors = np.diff(commands.first_descriptor)
    alone = np.flatnonzero(n_descriptors == 0)
    written = np.zeros(len(alone), np.int64)
    alone_code = commands.code[alone].copy()
    for i, command in enumerate(alone.tolist()):
        valid = work.updates.valid[commands.first_update[command] : commands.first_update[command + 1]]
        written[i] = np.count_nonzero(valid)
        if not valid.all():
            alone_code[i] = EngineCode.VECTOR_NUMBER
    order = np.argsort(np.concatenate([descriptors.command, alone]), kind="stable")
    last = np.zeros(len(descriptors.code), bool)
    last[commands.first_descriptor[1:][n_descriptors > 0] - 1] = True
    status = {
        "tag": np.concatenate([descriptors.tag, commands.tag[alone]]),
        "code": np.concatenate([end_code, alone_code]),
        "last": np.concatenate([last, np.ones(len(alone), bool)]),
        "count": np.concatenate([end_count, written]),
    }
    return ENGINE_STATUS.encode(len(order), {name: values[order] for name, values in status.items()})
