"""The streams that one Near-Memory Engine is fed with: commands, edge records and source vectors, as bytes."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sim.config import NmeConfig
from sim.program.commands import EDGE_RECORD, REDUCE_COMMAND, ReduceCode, ReduceOpcode
from sim.program.layout import check_length
from sim.program.partition import Shards


@dataclass(frozen=True, kw_only=True)
class ReduceTrace:
    """Streams of a reduce unit.

    Attributes
    ----------
    commands : ndarray of uint8, shape [n_commands, REDUCE_COMMAND.bytes]
        Commands in order.
    edges : ndarray of uint8, shape [n_edges, EDGE_RECORD.bytes]
        Edge records of all commands in order.
    vectors : ndarray of uint8, shape [n_beats, lanes * element bytes]
        Beats of the source vectors of all commands in order.
    """

    commands: NDArray[np.uint8]
    edges: NDArray[np.uint8]
    vectors: NDArray[np.uint8]


class Work(NamedTuple):
    """Commands and edges as plain arrays, for compiled kernels.

    Attributes
    ----------
    opcode, beats, destinations, sources, edges : ndarray of int64, shape [n_commands]
        Fields of `REDUCE_COMMAND`.
    code : ndarray of int64, shape [n_commands]
        `ReduceCode` with which each command is received: OK, or the reason to refuse it.
    edge_destination : ndarray of int64, shape [n_edges]
        Slot of each edge.
    edge_last : ndarray of bool, shape [n_edges]
        Mark of the final edge of a source.
    """

    opcode: NDArray[np.int64]
    beats: NDArray[np.int64]
    destinations: NDArray[np.int64]
    sources: NDArray[np.int64]
    edges: NDArray[np.int64]
    code: NDArray[np.int64]
    edge_destination: NDArray[np.int64]
    edge_last: NDArray[np.bool_]

    @property
    def result_room(self) -> int:
        """The most beats of partial sums: at most one vector for each destination, and for each edge."""
        vectors = np.minimum(self.edges, self.destinations) * (self.code == ReduceCode.OK)
        return int((vectors * self.beats).sum())


def decode_work(trace: ReduceTrace, config: NmeConfig) -> Work:
    """Decode the commands and edges of a trace, and judge the commands.

    Parameters
    ----------
    trace : ReduceTrace
        The streams.
    config : NmeConfig
        The engine, whose sizes the commands must fit.

    Returns
    -------
    Work
        The arrays.

    Raises
    ------
    ValueError
        The other streams are shorter or longer than the commands ask for.
    """
    commands, records = REDUCE_COMMAND.decode(trace.commands), EDGE_RECORD.decode(trace.edges)
    opcode, beats, destinations, sources, edges = (
        commands[name].astype(np.int64) for name in ("opcode", "beats", "destinations", "sources", "edges")
    )
    code = np.select(
        [
            ~np.isin(opcode, list(ReduceOpcode)),
            (beats == 0) | (beats > config.max_beats),
            (destinations == 0) | (destinations > config.interval),
            sources == 0,
            edges == 0,
        ],
        [
            ReduceCode.BAD_OPCODE,
            ReduceCode.BAD_BEATS,
            ReduceCode.BAD_DESTINATIONS,
            ReduceCode.NO_SOURCES,
            ReduceCode.NO_EDGES,
        ],
        ReduceCode.OK,
    ).astype(np.int64)
    taken = code == ReduceCode.OK
    check_length("edges", int(edges[taken].sum()), len(trace.edges))
    check_length("vectors", int((sources * beats)[taken].sum()), len(trace.vectors))
    return Work(
        opcode,
        beats,
        destinations,
        sources,
        edges,
        code,
        records["destination"].astype(np.int64),
        records["last_of_source"] != 0,
    )


def shard_work(shards: Shards, order: NDArray[np.int64], beats: int) -> Work:
    """Make the arrays of a sequence of shards without going through bytes.

    Parameters
    ----------
    shards : Shards
        The sharded graph.
    order : ndarray of int64, shape [n]
        Shards to run, in order.
    beats : int
        Beats of a source vector.

    Returns
    -------
    Work
        The arrays, as `decode_work` gives them for the trace of the same shards.
    """
    loads, edges = np.diff(shards.source_start)[order], np.diff(shards.edge_start)[order]
    pick = ranges(shards.edge_start[order], edges)
    n = len(order)
    return Work(
        np.full(n, int(ReduceOpcode.MULTIPLY_ADD)),
        np.full(n, beats),
        shards.destinations(order),
        loads,
        edges,
        np.zeros(n, np.int64),
        shards.edge_destination[pick].astype(np.int64),
        shards.edge_last[pick],
    )


def beats_of(features: int, lanes: int) -> int:
    """Return the beats of a vector.

    Parameters
    ----------
    features : int
        Elements of the vector.
    lanes : int
        Elements of a beat.

    Returns
    -------
    int
        Beats, the last one filled up with zeros.
    """
    return -(-features // lanes)


def feature_slices(features: int, config: NmeConfig) -> list[slice]:
    """Cut a feature vector into slices that fit one pass of the engine.

    Parameters
    ----------
    features : int
        Width of the vector.
    config : NmeConfig
        The engine.

    Returns
    -------
    list of slice
        Slices of at most ``config.max_features`` elements, in order.
    """
    width = config.max_features
    return [slice(low, min(low + width, features)) for low in range(0, features, width)]


def reduce_trace(
    shards: Shards,
    order: NDArray[np.int64],
    values: NDArray[np.unsignedinteger],
    config: NmeConfig,
    *,
    weights: NDArray[np.unsignedinteger] | None,
) -> ReduceTrace:
    """Make the streams of a sequence of shards for one slice of the features.

    Parameters
    ----------
    shards : Shards
        The sharded graph.
    order : ndarray of int64, shape [n]
        Shards to run, in order; the tag of each is its position here, modulo 65,536.
    values : ndarray of uint16 (bf16) or uint32 (fp32), shape [N, F]
        Bits of all vertices' vectors, F at most ``config.max_features``.
    config : NmeConfig
        The engine.
    weights : ndarray of uint16 or uint32, shape [E], or None
        Bits of the edge weights in the order of `shards`; None adds without weights.

    Returns
    -------
    ReduceTrace
        The streams.

    Raises
    ------
    ValueError
        The vectors are too wide, or not in the engine's element format.
    """
    element = np.dtype(f"<u{config.element_bytes}")
    features = values.shape[1]
    if not 0 < features <= config.max_features:
        raise ValueError(
            f"vectors of {features} features: one pass takes 1 to {config.max_features}; cut them in slices"
        )
    for name, bits in (("vectors", values), ("weights", weights)):
        if bits is not None and bits.dtype != element:
            raise ValueError(f"{name} must be bits of {config.element} ({element}), not {bits.dtype}")
    beats = beats_of(features, config.lanes)
    loads = np.diff(shards.source_start)[order]
    n_edges = np.diff(shards.edge_start)[order]
    pick = ranges(shards.edge_start[order], n_edges)
    commands = REDUCE_COMMAND.encode(
        len(order),
        {
            "opcode": ReduceOpcode.ADD if weights is None else ReduceOpcode.MULTIPLY_ADD,
            "beats": beats,
            "destinations": shards.destinations(order),
            "tag": np.arange(len(order)) % 65536,
            "sources": loads,
            "edges": n_edges,
        },
    )
    edges = EDGE_RECORD.encode(
        len(pick),
        {
            "destination": shards.edge_destination[pick],
            "last_of_source": shards.edge_last[pick],
            "weight": 0 if weights is None else weights[pick],
        },
    )
    padded = np.zeros((len(values), beats * config.lanes), element)
    padded[:, :features] = values
    sources = shards.sources[ranges(shards.source_start[order], loads)]
    vectors = padded[sources].reshape(-1, config.lanes).view(np.uint8)
    return ReduceTrace(commands=commands, edges=edges, vectors=vectors)


def ranges(starts: NDArray[np.int64], lengths: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return start, start + 1, ... of each range, one after the other.

    Parameters
    ----------
    starts, lengths : ndarray of int64, shape [n]
        The ranges.

    Returns
    -------
    ndarray of int64, shape [sum of lengths]
        All their numbers.
    """
    offsets = np.repeat(starts - np.cumsum(lengths) + lengths, lengths)
    return offsets + np.arange(len(offsets))
