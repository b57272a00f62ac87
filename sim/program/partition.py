"""Where vertices and edges go: GNNear's layout over channels and DIMMs, its hybrid partition and interval schedule."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sim.config import DramConfig, PartitionConfig
from sim.jit import njit

SCHEDULE_RANGES = 4
"""Destination ranges that consecutive schedule slots rotate over. Source: GNNear's artifact."""


def home_dimm(vertices: NDArray[np.int64], dram: DramConfig, partition: PartitionConfig) -> NDArray[np.int64]:
    """Return the DIMM that holds each vertex.

    Blocks of vertices go round-robin over the channels, then over the DIMMs of a channel. Source: GNNear's artifact.

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
        ``channel * dimms_per_channel + dimm``, the same shape.
    """
    block = vertices // partition.block_vertices
    channel = block % dram.channels
    return channel * dram.dimms_per_channel + block // dram.channels % dram.dimms_per_channel


def schedule_slots(n_intervals: int) -> NDArray[np.int64]:
    """Return the place of each destination interval in the order of execution.

    Parameters
    ----------
    n_intervals : int
        Intervals of the graph.

    Returns
    -------
    ndarray of int64, shape [n_intervals]
        Distinct slots; consecutive slots rotate over four ranges of destinations. Source: GNNear's artifact.
    """
    interval = np.arange(n_intervals)
    span = max(1, -(-n_intervals // SCHEDULE_RANGES))
    return interval // span + SCHEDULE_RANGES * (interval % span)


def duplicated_sources(
    out_degrees: NDArray[np.int64], dram: DramConfig, partition: PartitionConfig
) -> NDArray[np.bool_]:
    """Choose the sources that stand in all DIMMs of their channel (hybrid graph partition).

    Parameters
    ----------
    out_degrees : ndarray of int64, shape [N]
        Edges that leave each vertex.
    dram : DramConfig
        Channels and DIMMs.
    partition : PartitionConfig
        The share to duplicate.

    Returns
    -------
    ndarray of bool, shape [N]
        In each channel, the top share by out-degree; equal degrees by rising id.
    """
    chosen = np.zeros(len(out_degrees), np.bool_)
    channel = home_dimm(np.arange(len(out_degrees)), dram, partition) // dram.dimms_per_channel
    for index in range(dram.channels):
        members = np.flatnonzero(channel == index)
        order = np.argsort(-out_degrees[members], kind="stable")
        chosen[members[order[: int(len(members) * partition.duplicated_share)]]] = True
    return chosen


@dataclass(frozen=True, kw_only=True)
class Shards:
    """All shards of one Reduce, the edges of each grouped by source.

    Shards stand by destination interval, then by DIMM; a shard without edges does not exist.

    Attributes
    ----------
    interval : int
        Destinations of an interval.
    n_nodes : int
        Vertices of the graph.
    dimm, interval_index, slot : ndarray of int64, shape [n_shards]
        Which DIMM runs the shard, for which destinations, and its place in the schedule.
    source_start, edge_start : ndarray of int64, shape [n_shards + 1]
        Bounds of each shard in the arrays below.
    sources : ndarray of int64, shape [n_loads]
        Source vertices: one vector load each.
    edge_destination : ndarray of uint16, shape [n_edges]
        Slot in the interval.
    edge_last : ndarray of bool, shape [n_edges]
        True on the final edge of each source.
    edge_weight : ndarray of float32, shape [n_edges]
        Weights.
    """

    interval: int
    n_nodes: int
    dimm: NDArray[np.int64]
    interval_index: NDArray[np.int64]
    slot: NDArray[np.int64]
    source_start: NDArray[np.int64]
    edge_start: NDArray[np.int64]
    sources: NDArray[np.int64]
    edge_destination: NDArray[np.uint16]
    edge_last: NDArray[np.bool_]
    edge_weight: NDArray[np.float32]

    def __len__(self) -> int:
        return len(self.dimm)

    @property
    def n_intervals(self) -> int:
        """Destination intervals of the graph, those without edges included."""
        return -(-self.n_nodes // self.interval)

    def of_dimm(self, dimm: int) -> NDArray[np.int64]:
        """Return the shards of one DIMM in their order of execution.

        Parameters
        ----------
        dimm : int
            The DIMM.

        Returns
        -------
        ndarray of int64
            Indices of shards.
        """
        mine = np.flatnonzero(self.dimm == dimm)
        return mine[np.argsort(self.slot[mine], kind="stable")]

    def destinations(self, shard: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return how many destinations each shard has: the last interval of a graph may be short.

        Parameters
        ----------
        shard : ndarray of int64
            Indices of shards.

        Returns
        -------
        ndarray of int64
            Destinations.
        """
        return np.minimum(self.interval, self.n_nodes - self.interval_index[shard] * self.interval)


@njit
def _group_by_shard(
    indptr: NDArray[np.int64],
    indices: NDArray[np.int64],
    home_of: NDArray[np.int64],
    duplicated: NDArray[np.bool_],
    interval: int,
    dimms_per_channel: int,
    order: NDArray[np.int64],
    edge_dimm: NDArray[np.int64],
    row: NDArray[np.int64],
) -> None:
    """Order the edges of each interval by (DIMM, source, destination)."""
    n_nodes = len(indptr) - 1
    for first in range(0, n_nodes, interval):
        last = min(first + interval, n_nodes)
        low, high = indptr[first], indptr[last]
        index = first // interval
        key = np.empty(high - low, np.int64)
        for v in range(first, last):
            for e in range(indptr[v], indptr[v + 1]):
                u = indices[e]
                home = home_of[u]
                if duplicated[u]:
                    home = home // dimms_per_channel * dimms_per_channel + index % dimms_per_channel
                edge_dimm[e] = home
                row[e] = v
                key[e - low] = home * n_nodes + u
        order[low:high] = low + np.argsort(key, kind="mergesort")


def shard_graph(
    indptr: NDArray[np.int64],
    indices: NDArray[np.int64],
    weights: NDArray[np.float32],
    *,
    interval: int,
    dram: DramConfig,
    partition: PartitionConfig,
) -> Shards:
    """Cut a weighted graph into shards.

    Parameters
    ----------
    indptr, indices, weights : ndarray
        CSR of the incoming edges: row v lists the sources u of the edges u -> v. Shapes [N + 1], [E], [E].
    interval : int
        Destinations of an interval.
    dram : DramConfig
        Channels and DIMMs.
    partition : PartitionConfig
        Blocks and duplication.

    Returns
    -------
    Shards
        The shards; in each, sources ascend, and the edges of a source ascend by destination (repeated edges keep
        their order).
    """
    n_nodes, n_edges = len(indptr) - 1, len(indices)
    home = home_dimm(np.arange(n_nodes), dram, partition)
    duplicated = duplicated_sources(np.bincount(indices, minlength=n_nodes), dram, partition)
    order, edge_dimm, row = (np.empty(n_edges, np.int64) for _ in range(3))
    _group_by_shard(indptr, indices, home, duplicated, interval, dram.dimms_per_channel, order, edge_dimm, row)
    source, dimm, destination = indices[order], edge_dimm[order], row[order]
    index = destination // interval
    new_shard = np.ones(n_edges, np.bool_)
    new_shard[1:] = (index[1:] != index[:-1]) | (dimm[1:] != dimm[:-1])
    new_source = new_shard.copy()
    new_source[1:] |= source[1:] != source[:-1]
    shard_first = np.flatnonzero(new_shard)
    source_first = np.flatnonzero(new_source)
    last = np.ones(n_edges, np.bool_)
    last[:-1] = new_source[1:]
    return Shards(
        interval=interval,
        n_nodes=n_nodes,
        dimm=dimm[shard_first],
        interval_index=index[shard_first],
        slot=schedule_slots(-(-n_nodes // interval))[index[shard_first]],
        source_start=np.append(np.searchsorted(source_first, shard_first), len(source_first)),
        edge_start=np.append(shard_first, n_edges),
        sources=source[source_first],
        edge_destination=(destination % interval).astype(np.uint16),
        edge_last=last,
        edge_weight=weights[order],
    )
