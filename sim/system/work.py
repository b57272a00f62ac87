"""What one work item asks of the units: cycles, bytes and counted events."""

from dataclasses import dataclass, field
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from sim.config import SystemConfig
from sim.jit import njit_in_place
from sim.program.items import AnyItem, Merge, Product, Reduce, Vector
from sim.program.matrix_trace import product_tiles
from sim.program.partition import Shards
from sim.program.reduce_trace import beats_of, feature_slices
from sim.timing.product import tiles_cycles
from sim.timing.reduce import ReduceStalls, shard_cycles
from sim.timing.stalls import paced_pattern
from sim.timing.window import window_cycles

FP32_BYTES = 4


@dataclass(frozen=True, kw_only=True)
class Work:
    """Demand of one work item.

    Attributes
    ----------
    nme_cycles : int
        Cycles of the Near-Memory Engines, all running, window synchronisation included.
    array_cycles, vector_cycles : int
        Cycles of the systolic array and of the vector units.
    channel_bytes : int
        Bytes over the busiest channel.
    events : dict of str to int
        Counts over the whole system, by the names of `sim.system.energy`.
    """

    nme_cycles: int = 0
    array_cycles: int = 0
    vector_cycles: int = 0
    channel_bytes: int = 0
    events: dict[str, int] = field(default_factory=dict)


def work_of(item: AnyItem, on_chip: set[str], config: SystemConfig) -> Work:
    """Count the demand of one item.

    Parameters
    ----------
    item : item of a program
        The work.
    on_chip : set of str
        Tensors that earlier items of the same phase have just made: they need no read from memory.
    config : SystemConfig
        The hardware.

    Returns
    -------
    Work
        Its demand.
    """
    match item:
        case Reduce():
            return _reduce_work(item, config)
        case Merge():
            return _merge_work(item, config)
        case Product():
            return _product_work(item, on_chip, config)
        case Vector():
            return _vector_work(item, on_chip, config)


def _reduce_work(item: Reduce, config: SystemConfig) -> Work:
    nme, dram, shards = config.nme, config.dram, item.shards
    widths = [part.stop - part.start for part in feature_slices(item.features, nme)]
    known = _CYCLES.setdefault(shards, {})
    for width in set(widths):
        if (width, config) not in known:
            known[width, config] = _reduce_cycles(shards, width, config)
    n_loads, n_edges = len(shards.sources), len(shards.edge_weight)
    rank_bytes = [-(-width * nme.element_bytes // dram.ranks_per_dimm) for width in widths]
    return Work(
        nme_cycles=sum(known[width, config] for width in widths),
        events={
            "dram_activate": n_loads * dram.ranks_per_dimm * len(widths),
            "dram_read": n_loads * dram.ranks_per_dimm * sum(-(-size // dram.burst_bytes) for size in rank_bytes),
            "nme_multiply": n_edges * item.features,
            "nme_add": n_edges * item.features,
        },
    )


_CYCLES: WeakKeyDictionary[Shards, dict[tuple[int, SystemConfig], int]] = WeakKeyDictionary()
"""Cycles of one Reduce by width and configuration: an epoch asks for the same ones more than once."""


def _reduce_cycles(shards: Shards, width: int, config: SystemConfig) -> int:
    """Work out when the last engine finishes, all running, for vectors of so many features."""
    nme, dram = config.nme, config.dram
    beat_bytes = nme.lanes * nme.element_bytes
    period_cycles = max(1.0, beat_bytes * nme.clock_hz / dram.dimm_bandwidth_bytes_per_s)
    stalls = ReduceStalls(vectors=paced_pattern(period_cycles))
    rank = np.argsort(np.argsort(_slots(shards), kind="stable"), kind="stable")
    durations = np.zeros((dram.dimms, shards.n_intervals), np.int64)
    for dimm in range(dram.dimms):
        order = shards.of_dimm(dimm)
        cycles = shard_cycles(shards, order, beats_of(width, nme.lanes), nme, stalls)
        durations[dimm, rank[shards.interval_index[order]]] = cycles
    return window_cycles(durations, config.partition.window_shards)


def _slots(shards: Shards) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """Schedule slot of every interval, those without shards last (they take no time)."""
    slots = np.full(shards.n_intervals, np.iinfo(np.int64).max)
    slots[shards.interval_index] = shards.slot
    return slots


def partial_vectors(shards: Shards) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """Count the partial sums that each DIMM gives: its (destination, DIMM) pairs with an edge.

    Parameters
    ----------
    shards : Shards
        The sharded graph.

    Returns
    -------
    ndarray of int64, shape [largest DIMM with a shard + 1]
        Vectors by DIMM.
    """
    counts = np.zeros(int(shards.dimm.max(initial=-1)) + 1, np.int64)
    _count_destinations(
        shards.edge_start, shards.edge_destination, shards.dimm, np.full(shards.interval, -1, np.int64), counts
    )
    return counts


@njit_in_place
def _count_destinations(
    edge_start: NDArray[np.int64],
    edge_destination: NDArray[np.uint16],
    dimm: NDArray[np.int64],
    last_shard: NDArray[np.int64],
    counts: NDArray[np.int64],
) -> None:
    for shard in range(len(dimm)):
        for e in range(edge_start[shard], edge_start[shard + 1]):
            if last_shard[edge_destination[e]] != shard:
                last_shard[edge_destination[e]] = shard
                counts[dimm[shard]] += 1


def _merge_work(item: Merge, config: SystemConfig) -> Work:
    dram = config.dram
    vectors = np.zeros(dram.dimms, np.int64)
    counted = partial_vectors(item.shards)
    vectors[: len(counted)] = counted
    busiest = int(vectors.reshape(dram.channels, dram.dimms_per_channel).sum(axis=1).max())
    read = item.features * FP32_BYTES
    n_vectors = int(vectors.sum())
    stored_bytes = _tensor_bytes(item.shards.n_nodes * item.features, config)
    return Work(
        vector_cycles=n_vectors * beats_of(item.features, config.cae.vector_lanes),
        channel_bytes=busiest * read + stored_bytes,
        events={
            "vector_add": n_vectors * item.features,
            "channel_byte": n_vectors * read + stored_bytes * dram.channels,
            **_moved(0, stored_bytes, config),
        },
    )


def _product_work(item: Product, on_chip: set[str], config: SystemConfig) -> Work:
    tiles = product_tiles(item.rows, item.columns, config.cae)
    rows = np.array([tile.rows.stop - tile.rows.start for tile in tiles], np.int64)
    operands = {
        "xw": {item.left: item.rows * item.depth},
        "dywt": {item.left: item.rows * item.depth},
        "xtdy": {item.left: item.rows * item.depth, item.right: item.depth * item.columns},
    }[item.kind]
    read = sum(_tensor_bytes(elements, config) for name, elements in operands.items() if name not in on_chip)
    written = 0 if item.kind == "xtdy" else _tensor_bytes(item.rows * item.columns, config)
    multiply_adds = item.rows * item.depth * item.columns
    return Work(
        array_cycles=tiles_cycles(rows, np.full(len(rows), item.depth, np.int64), config.cae),
        channel_bytes=read + written,
        events={
            "array_multiply": multiply_adds,
            "array_add": multiply_adds,
            "channel_byte": (read + written) * config.dram.channels,
            **_moved(read, written, config),
        },
    )


def _vector_work(item: Vector, on_chip: set[str], config: SystemConfig) -> Work:
    in_memory = item.operation != "adam"
    written = _tensor_bytes(item.elements, config) if in_memory else 0
    read = written if item.source not in on_chip else 0
    if item.operation == "relu_gradient":
        read += written  # the activation's sign, from the forward pass
    return Work(
        vector_cycles=beats_of(item.elements, config.cae.vector_lanes) * PASSES[item.operation],
        channel_bytes=read + written,
        events={
            "vector_add": item.elements * PASSES[item.operation],
            "channel_byte": (read + written) * config.dram.channels,
            **_moved(read, written, config),
        },
    )


PASSES = {"relu": 1, "relu_gradient": 1, "loss": 4, "adam": 6}
"""Passes of the vector units over each element, until the units exist as RTL. Source: assumption (loss: maximum,
exponential and sum, divide, subtract; Adam: decay, two moments, root, divide, update)."""


def _tensor_bytes(elements: int, config: SystemConfig) -> int:
    """Bytes over each channel when a tensor is read or written once, spread evenly."""
    return -(-elements * config.nme.element_bytes // config.dram.channels)


def _moved(read_bytes: int, written_bytes: int, config: SystemConfig) -> dict[str, int]:
    """DRAM events of sequential transfers of so many bytes over every channel: whole rows, one activate each."""
    dram = config.dram
    reads, writes = (-(-size // dram.burst_bytes) * dram.channels for size in (read_bytes, written_bytes))
    rows = sum(-(-bursts * dram.burst_length // dram.columns) for bursts in (reads, writes))
    return {"dram_read": reads, "dram_write": writes, "dram_activate": rows}
