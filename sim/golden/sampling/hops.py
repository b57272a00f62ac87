"""Golden model of sampling: a mini-batch's hops, with what every target and every sample was."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sim.golden.sampling.draws import draw_edges
from sim.program.ssd import ALL_NEIGHBOURS, EDGE_BITS, MOST_HOPS, NO_ID, NODE_BITS
from sim.program.ssd_host import EdgeList
from sim.program.ssd_storage import Storage

MOST_DEGREE = (1 << 31) - 1
"""Edges of a list at most."""

_NO_NODE = (1 << NODE_BITS) - 1


@dataclass(frozen=True, kw_only=True)
class SampleJob:
    """What one command asks for, as far as it decides what is sampled.

    Attributes
    ----------
    edges : EdgeList
        Where the edge list is said to lie.
    fanouts : tuple of int
        Of each hop.
    seed, number : int
        Of the draws.
    replace : bool
        Draw with replacement.
    look_up : bool
        Look the first targets up.
    """

    edges: EdgeList
    fanouts: tuple[int, ...]
    seed: int
    number: int
    replace: bool
    look_up: bool


@dataclass(frozen=True, kw_only=True, eq=False)
class Hop:
    """One hop.

    Attributes
    ----------
    node : ndarray of uint64, shape [targets]
        Its targets.
    degree, count : ndarray of int64, shape [targets]
        Edges of each target's list, as far as it is known; its samples.
    bad : ndarray of bool, shape [targets]
        Targets without a list: their number, or their list, is out of range.
    looked_up : ndarray of bool, shape [targets]
        Targets whose record was read.
    owner : ndarray of int64, shape [samples]
        Target of each sample, counted within the hop.
    edge : ndarray of int64, shape [samples]
        Edges drawn.
    ids : ndarray of uint64, shape [samples]
        Their ids, `NO_ID` where the page cannot be read.
    page : ndarray of int64, shape [samples]
        Logical pages of the ids.
    address : ndarray of int64, shape [samples]
        Bytes of the SSD at which they lie.
    unreadable : ndarray of bool, shape [samples]
        Samples whose page cannot be read.
    rejected : ndarray of uint8, shape [samples]
        Words that were rejected before the draw.
    divided : ndarray of bool, shape [samples]
        Draws whose word was accepted only after a division.
    """

    node: NDArray[np.uint64]
    degree: NDArray[np.int64]
    count: NDArray[np.int64]
    bad: NDArray[np.bool_]
    looked_up: NDArray[np.bool_]
    owner: NDArray[np.int64]
    edge: NDArray[np.int64]
    ids: NDArray[np.uint64]
    page: NDArray[np.int64]
    address: NDArray[np.int64]
    unreadable: NDArray[np.bool_]
    rejected: NDArray[np.uint8]
    divided: NDArray[np.bool_]


def sample_hops(
    job: SampleJob,
    node: NDArray[np.uint64],
    offset: NDArray[np.uint64],
    degree: NDArray[np.uint64],
    storage: Storage,
    *,
    page_bytes: int,
    frontier_entries: int,
) -> list[Hop]:
    """Sample a mini-batch.

    Parameters
    ----------
    job : SampleJob
        What is asked for.
    node, offset, degree : ndarray of uint64, shape [targets]
        The first targets.
    storage : Storage
        Contents of the SSD.
    page_bytes : int
        Bytes of a page.
    frontier_entries : int
        Samples of a hop that can be targets of the next.

    Returns
    -------
    list of Hop
        One for each fan-out; those after one without samples are empty.
    """
    hops: list[Hop] = []
    for number, fanout in enumerate(job.fanouts[:MOST_HOPS]):
        look_up = job.look_up or number > 0
        if number:
            ids = hops[-1].ids[:frontier_entries]
            node = np.where(ids > np.uint64(_NO_NODE), np.uint64(_NO_NODE), ids)
        hops.append(_hop(job, number, fanout, look_up, node, offset, degree, storage, page_bytes))
    return hops


def _hop(
    job: SampleJob,
    number: int,
    fanout: int,
    look_up: bool,
    node: NDArray[np.uint64],
    offset: NDArray[np.uint64],
    degree: NDArray[np.uint64],
    storage: Storage,
    page_bytes: int,
) -> Hop:
    edges = job.edges
    known = node < np.uint64(edges.nodes)
    looked_up = known & look_up
    if look_up:
        begin, length = storage.records(np.where(known, node, 0).astype(np.int64))
        offset, degree = begin.astype(np.uint64), length.astype(np.uint64)
    fits = (offset < np.uint64(1 << EDGE_BITS)) & (degree <= np.uint64(MOST_DEGREE))
    end = np.where(fits, offset, 0) + np.where(fits, degree, 0)
    good = known & fits & (end <= np.uint64(edges.edges))
    degrees = np.where(good, degree, 0).astype(np.int64)
    count = degrees if fanout == ALL_NEIGHBOURS else np.minimum(degrees, fanout)
    draws, rejected, divided = draw_edges(
        node, degrees, count, seed=job.seed, batch=job.number, hop=number, replace=job.replace
    )
    owner = np.repeat(np.arange(len(node)), count)
    edge = np.where(good, offset, 0).astype(np.int64)[owner] + draws
    address = edges.address + edge * edges.id_bytes
    page = address // page_bytes
    place, hot = storage.page_map.look_up(page)
    unreadable = ~hot & np.isin(place, storage.bad_pages)
    ids = np.where(unreadable, np.uint64(NO_ID), storage.ids(address, edges.id_bytes))
    return Hop(
        node=node,
        degree=degrees,
        count=count,
        bad=~good,
        looked_up=looked_up,
        owner=owner,
        edge=edge,
        ids=ids,
        page=page,
        address=address,
        unreadable=unreadable,
        rejected=rejected,
        divided=divided,
    )
