"""Random graphs in which destinations near each other share their sources, as much as wanted."""

import math

import numpy as np
from numpy.typing import NDArray

from sim.graph.csr import IntArray
from sim.graph.errors import GraphError
from sim.graph.generators import MOST_EDGES, require
from sim.graph.graph import Graph
from sim.graph.rules import EdgeRules, graph_from_edges
from sim.jit import njit

MOST_NODES = 1 << 31
"""So that a pair of nodes is one number of 63 bits."""
TOLERANCE = 0.01
"""How far the reuse may be from the wanted one, relative to it."""
_MIX = np.uint64(0x9E3779B97F4A7C15)
TRIES_PER_PAIR = 64
"""Draws, those of pairs that there are already included, before it is said that there is no room."""


@njit
def _insert(table: IntArray, key: int) -> bool:
    """Put a number from 0 into a hash table of free places (-1), a power of two; tell whether it is new."""
    mask = table.size - 1
    place = np.int64((np.uint64(key) * _MIX) >> np.uint64(20)) & mask
    while table[place] != key:
        if table[place] < 0:
            table[place] = key
            return True
        place = (place + 1) & mask
    return False


@njit
def _pick(sums: NDArray[np.float64], low: int, high: int, draw: float) -> int:
    """Return a node from low to high - 1 by its share of the weights; `sums` [N + 1] are those before each node."""
    wanted = sums[low] + draw * (sums[high] - sums[low])
    first, last = low, high - 1
    while first < last:
        middle = (first + last) // 2
        if sums[middle + 1] <= wanted:
            first = middle + 1
        else:
            last = middle
    return first


@njit
def _draw_edges(
    random: np.random.Generator,
    sums: NDArray[np.float64],
    interval: int,
    n_loads: int,
    most_members: int,
    most_tries: int,
    edge_table: IntArray,
    load_table: IntArray,
    left: IntArray,
    right: IntArray,
) -> tuple[int, int]:
    """Draw as many different pairs as `left` and `right` have room for, of about `n_loads` loads; return both counts.

    Single pairs, for as long as bundles could keep the rest to the loads that are left; then bundles.
    """
    n_nodes = sums.size - 1
    n_intervals = (n_nodes + interval - 1) // interval
    ends, others = np.empty(most_members, np.int64), np.empty(most_members, np.int64)
    pairs = loads = tries = 0
    loads_per_pair = 4.0 / (2 + most_members)  # of bundles, followed as they are drawn
    while pairs < left.size and tries < most_tries:
        n_ends = n_others = 1
        ends[0] = _pick(sums, 0, n_nodes, random.random())
        others[0] = _pick(sums, 0, n_nodes, random.random())
        bundled = most_members > 1 and n_loads - loads < loads_per_pair * (left.size - pairs)
        if bundled:
            n_ends = int(random.integers(2, most_members + 1))
            n_others = int(random.integers(2, most_members + 1))
            for group, n_members in ((ends, n_ends), (others, n_others)):
                low = group[0] // interval * interval
                for place in range(1, n_members):
                    group[place] = _pick(sums, low, min(low + interval, n_nodes), random.random())
        pairs_before, loads_before = pairs, loads
        for u in ends[:n_ends]:
            for v in others[:n_others]:
                tries += 1
                if pairs == left.size or u == v or not _insert(edge_table, min(u, v) * n_nodes + max(u, v)):
                    continue
                left[pairs], right[pairs] = u, v
                pairs += 1
                loads += _insert(load_table, u * n_intervals + v // interval)
                loads += _insert(load_table, v * n_intervals + u // interval)
        if bundled and pairs > pairs_before:
            loads_per_pair += ((loads - loads_before) / (pairs - pairs_before) - loads_per_pair) / 64
    return pairs, loads


def clustered(*, nodes: int, edges: int, reuse: float, interval: int = 256, skew: float = 0.34, seed: int = 0) -> Graph:
    """Draw a graph with a power law of degrees and a wanted reuse of loaded sources.

    A Reduce that works on intervals of destinations loads a source once for each interval that it has edges into. The
    reuse is the edges per load, E / L with L = number of different pairs (source, interval of destination). Edges come
    with their reverse, so that the backward pass has the same reuse; there are no self-loops and no repeats.

    Both ends of a pair are drawn by weights rank^-skew, the ranks given to the ids at random. What reuse this leaves
    wanting is made by bundles: some nodes of one interval joined with some of another, all with all, up to three times
    as many as the reuse. (So large, a stand-in for Reddit follows its published times at other intervals.) A high reuse
    of few edges leaves nodes without any.

    Parameters
    ----------
    nodes : int
        From 2.
    edges : int
        Directed edges: an even number, of at most half the pairs that there are.
    reuse : float
        Edges per load, 1 to `interval`; what can be reached depends on all others.
    interval : int
        Destinations of an interval.
    skew : float
        0 (all alike) up to below 1; the highest expected degree is (1 - skew) nodes^skew times the mean.
    seed : int
        From 0.

    Returns
    -------
    Graph
        Without features; its notes tell the reuse, which is within 1 % of the wanted.

    Raises
    ------
    GraphError
        An argument out of its range, or a reuse that cannot be reached, with what can.
    """
    require(seed >= 0, f"clustered: seed={seed} is negative")
    require(2 <= nodes <= MOST_NODES, f"clustered: nodes={nodes} lies outside 2..2^31")
    require(0 < edges <= MOST_EDGES, f"clustered: edges={edges} lies outside 1..2^40")
    require(edges % 2 == 0, f"clustered: edges={edges} is odd; edges come with their reverse: take {edges + 1}")
    most = nodes * (nodes - 1) // 2
    require(edges <= most, f"clustered: edges={edges} are more than half of all pairs of {nodes} nodes: take {most}")
    require(1 <= interval <= MOST_NODES, f"clustered: interval={interval} lies outside 1..2^31")
    require(1 <= reuse <= interval, f"clustered: reuse={reuse} lies outside 1..{interval}, the interval")
    require(0 <= skew < 1, f"clustered: skew={skew} lies outside 0..1 (1 excluded)")
    random = np.random.default_rng(seed)
    weights = np.arange(1.0, nodes + 1)[random.permutation(nodes)] ** -skew
    sums = np.concatenate([np.zeros(1), np.cumsum(weights)])
    n_pairs = edges // 2
    left, right = np.empty((2, n_pairs), np.int64)
    most_members = min(interval, math.ceil(3 * reuse)) if reuse > 1 else 1
    edge_table, load_table = (np.full(1 << (3 * count // 2).bit_length(), -1, np.int64) for count in (n_pairs, edges))
    most_tries = TRIES_PER_PAIR * n_pairs + 1000
    found, loads = _draw_edges(
        random, sums, interval, round(edges / reuse), most_members, most_tries, edge_table, load_table, left, right
    )
    del edge_table, load_table
    name = f"clustered:nodes={nodes},edges={edges},reuse={reuse},interval={interval},skew={skew},seed={seed}"
    if found < n_pairs:
        raise GraphError(f"{name}: no room for so many different edges; take more nodes or less skew")
    reached = edges / loads
    if abs(reached / reuse - 1) > TOLERANCE:
        low = "without any bundle" if reached > reuse else "with bundles alone"
        mend = "fewer edges, more nodes, less skew" if reached > reuse else "more edges, fewer nodes, more skew"
        raise GraphError(f"{name}: {low} the reuse is {reached:.3f}; take about that, or {mend}")
    return graph_from_edges(
        name,
        np.concatenate([left, right]),
        np.concatenate([right, left]),
        nodes,
        EdgeRules(repeats="keep"),
        notes=(f"drew {reached:.3f} edges per load of a source, at intervals of {interval} destinations",),
    )
