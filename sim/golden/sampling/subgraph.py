"""From the engine's tree of samples to a sub-graph with each node once, as training libraries take it."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sim.program.ssd import COUNT_FAILED


@dataclass(frozen=True, kw_only=True, eq=False)
class Subgraph:
    """A sampled sub-graph with local numbers.

    Attributes
    ----------
    nodes : ndarray of uint64
        Global number of each local node: the seeds, then every new one in the order in which it was first sampled.
    row, column : ndarray of int64, shape [edges]
        Local numbers of each edge's target and of the neighbour that was sampled for it.
    edge : ndarray of int64, shape [edges]
        Place of each edge in the samples.
    nodes_per_hop : list of int
        Seeds, then the new nodes of each hop.
    edges_per_hop : list of int
        Edges of each hop.
    """

    nodes: NDArray[np.uint64]
    row: NDArray[np.int64]
    column: NDArray[np.int64]
    edge: NDArray[np.int64]
    nodes_per_hop: list[int]
    edges_per_hop: list[int]


def subgraph(
    seeds: NDArray[np.uint64],
    counts: NDArray[np.uint32],
    ids: NDArray[np.uint64],
    hops: int,
    *,
    frontier_entries: int = 1 << 24,
) -> Subgraph:
    """Give each node of a result one local number; a node is expanded where it is first met, as pyg-lib does it.

    The engine draws the same neighbours for a node wherever it stands in a hop, so nothing is lost.

    Parameters
    ----------
    seeds : ndarray of uint64
        The targets of the command; of equal ones the first counts.
    counts : ndarray of uint32
        The result's count words.
    ids : ndarray of uint64
        The result's ids.
    hops : int
        Hops of the command.
    frontier_entries : int
        Samples of a hop that the engine takes as targets of the next (`SsdConfig.frontier_entries`).

    Returns
    -------
    Subgraph
        The sub-graph; of targets that failed it has no edges.

    Raises
    ------
    ValueError
        Counts and ids do not fit each other: the result is cut off, or the frontier had another size.
    """
    local: dict[int, int] = {}
    nodes_per_hop, edges_per_hop = [0], []
    rows: list[NDArray[np.int64]] = []
    columns: list[NDArray[np.int64]] = []
    places: list[NDArray[np.int64]] = []
    targets: Sequence[int] = seeds.tolist()
    fresh = []
    for node in targets:
        fresh.append(node not in local)
        local.setdefault(node, len(local))
    nodes_per_hop[0] = len(local)
    at_target, at_id = 0, 0
    for _ in range(hops):
        words = counts[at_target : at_target + len(targets)]
        if len(words) < len(targets):
            raise ValueError(f"{len(targets)} targets from {at_target} on, but only {len(counts)} counts: cut off?")
        count = (words & np.uint32(COUNT_FAILED - 1)).astype(np.int64)
        found = ids[at_id : at_id + int(count.sum())].tolist()
        kept = np.array(fresh, np.bool_) & (words < COUNT_FAILED)
        sample_kept = np.repeat(kept, count)
        if len(found) < len(sample_kept):
            raise ValueError(f"the counts want {at_id + len(sample_kept)} ids, but there are {len(ids)}: cut off?")
        row = np.repeat(np.array([local.get(node, -1) for node in targets], np.int64), count)[sample_kept]
        before = len(local)
        next_fresh = []
        column = []
        for node, keep in zip(found, sample_kept.tolist(), strict=True):
            new = keep and node not in local
            next_fresh.append(new)
            if new:
                local[node] = len(local)
            if keep:
                column.append(local[node])
        rows.append(row)
        columns.append(np.array(column, np.int64))
        places.append(at_id + np.flatnonzero(sample_kept))
        nodes_per_hop.append(len(local) - before)
        edges_per_hop.append(len(row))
        at_target, at_id = at_target + len(targets), at_id + len(found)
        targets, fresh = found[:frontier_entries], next_fresh[:frontier_entries]
    return Subgraph(
        nodes=np.array(list(local), np.uint64),
        row=np.concatenate(rows) if rows else np.zeros(0, np.int64),
        column=np.concatenate(columns) if columns else np.zeros(0, np.int64),
        edge=np.concatenate(places) if places else np.zeros(0, np.int64),
        nodes_per_hop=nodes_per_hop,
        edges_per_hop=edges_per_hop,
    )
