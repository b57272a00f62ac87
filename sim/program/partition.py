"""Where vertices and edges go: GNNear's layout over channels and DIMMs, its hybrid partition and interval schedule."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sim.config import DramConfig, PartitionConfig
from sim.graph import Adjacency
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


@dataclass(frozen=True, kw_only=True, eq=False)
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
def _shard_of(
    u: int, v: int, home: NDArray[np.int64], duplicated: NDArray[np.bool_], sizes: tuple[int, int, int]
) -> int:
    """Return the number of an edge's shard, shards without edges counted: interval by interval, DIMM by DIMM."""
    interval, dimms_per_channel, dimms = sizes
    index = v // interval
    dimm = home[u]
    if duplicated[u]:
        dimm = dimm // dimms_per_channel * dimms_per_channel + index % dimms_per_channel
    return int(index * dimms + dimm)


@njit
def _count(
    outgoing: tuple[NDArray[np.int64], NDArray[np.int64]],
    home: NDArray[np.int64],
    duplicated: NDArray[np.bool_],
    sizes: tuple[int, int, int],
    edges: NDArray[np.int64],
    loads: NDArray[np.int64],
) -> None:
    """Count the edges and the sources of each shard."""
    indptr, destinations = outgoing
    last_source = np.full(len(edges), -1)
    for u in range(len(indptr) - 1):
        for e in range(indptr[u], indptr[u + 1]):
            shard = _shard_of(u, destinations[e], home, duplicated, sizes)
            edges[shard] += 1
            if last_source[shard] != u:
                last_source[shard] = u
                loads[shard] += 1


@njit
def _fill(
    outgoing: tuple[NDArray[np.int64], NDArray[np.int64]],
    weights: NDArray[np.float32],
    home: NDArray[np.int64],
    duplicated: NDArray[np.bool_],
    sizes: tuple[int, int, int],
    next_edge: NDArray[np.int64],
    next_load: NDArray[np.int64],
    sources: NDArray[np.int64],
    edge_destination: NDArray[np.uint16],
    edge_last: NDArray[np.bool_],
    edge_weight: NDArray[np.float32],
) -> None:
    """Put each edge in its shard. Sources come in rising order, and so do the destinations of each."""
    indptr, destinations = outgoing
    last_source = np.full(len(next_edge), -1)
    for u in range(len(indptr) - 1):
        for e in range(indptr[u], indptr[u + 1]):
            shard = _shard_of(u, destinations[e], home, duplicated, sizes)
            place = next_edge[shard]
            if last_source[shard] == u:
                edge_last[place - 1] = False
            else:
                last_source[shard] = u
                sources[next_load[shard]] = u
                next_load[shard] += 1
            edge_destination[place] = destinations[e] % sizes[0]
            edge_weight[place] = weights[e]
            edge_last[place] = True
            next_edge[shard] += 1


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
    # Taken by source, edges fall into their shards in the order wanted there: a counting sort in two passes.
    outgoing = Adjacency(indptr=indptr, indices=indices, weights=weights).transposed()
    duplicated = duplicated_sources(np.diff(outgoing.indptr), dram, partition)
    edges_of = outgoing.indptr, outgoing.indices
    sizes = interval, dram.dimms_per_channel, dram.dimms
    n_all = -(-n_nodes // interval) * dram.dimms
    edges, loads = np.zeros(n_all, np.int64), np.zeros(n_all, np.int64)
    _count(edges_of, home, duplicated, sizes, edges, loads)
    edge_start, source_start = (np.concatenate([[0], np.cumsum(count)]) for count in (edges, loads))
    sources = np.zeros(source_start[-1], np.int64)
    edge_destination, edge_last = np.zeros(n_edges, np.uint16), np.zeros(n_edges, np.bool_)
    edge_weight = np.zeros(n_edges, np.float32)
    _fill(
        edges_of,
        outgoing.weights,
        home,
        duplicated,
        sizes,
        edge_start[:-1].copy(),
        source_start[:-1].copy(),
        sources,
        edge_destination,
        edge_last,
        edge_weight,
    )
    real = np.flatnonzero(edges)
    interval_index = real // dram.dimms
    return Shards(
        interval=interval,
        n_nodes=n_nodes,
        dimm=real % dram.dimms,
        interval_index=interval_index,
        slot=schedule_slots(-(-n_nodes // interval))[interval_index],
        source_start=np.append(source_start[real], source_start[-1]),
        edge_start=np.append(edge_start[real], n_edges),
        sources=sources,
        edge_destination=edge_destination,
        edge_last=edge_last,
        edge_weight=edge_weight,
    )
