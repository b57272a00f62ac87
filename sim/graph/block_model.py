"""Planted communities with labels and features: what a graph neural network can be trained on without any file."""

import math

import numpy as np

from sim.graph.csr import MOST_NODES, IntArray
from sim.graph.generators import require
from sim.graph.graph import Graph
from sim.graph.rules import EdgeRules, graph_from_edges
from sim.jit import njit


@njit
def _draw_pairs(random: np.random.Generator, sizes: IntArray, p_in: float, p_out: float, pairs: IntArray) -> int:
    """Draw each pair once, by geometric skips over those that are not joined; fills as far as `pairs` [2, n] goes."""
    n_nodes = sizes.sum()
    found = 0
    end = 0
    for size in sizes:
        begin, end = end, end + size
        for first in range(begin, end):
            for low, high, p in ((first + 1, end, p_in), (end, n_nodes, p_out)):
                if p <= 0.0:
                    continue
                second = low
                while second < high:
                    if p < 1.0:
                        # Compared as a float: a skip may be beyond any integer.
                        skip = math.log1p(-random.random()) / math.log1p(-p)
                        if skip >= high - second:
                            break
                        second += int(skip)
                    if found < pairs.shape[1]:
                        pairs[0, found] = first
                        pairs[1, found] = second
                    found += 1
                    second += 1
    return found


def sbm(
    *,
    nodes: int,
    blocks: int,
    p_in: float,
    p_out: float,
    seed: int = 0,
    features: int = 0,
    signal: float = 1.0,
    train_per_class: int = 20,
) -> Graph:
    """Draw a stochastic block model (planted partition), undirected, without self-loops or repeats.

    Parameters
    ----------
    nodes, blocks : int
        Nodes are split into that many blocks of consecutive ids, as equal as can be; the block is the label.
    p_in, p_out : float
        Probability of an edge between two nodes of one block, and of different blocks.
    seed : int
        From 0.
    features : int
        Features of a node: a standard normal vector, plus `signal` times its block's own standard normal vector.
    signal : float
        See `features`.
    train_per_class : int
        The first so many nodes of each block are for training; of the rest every other one for validation, then test.

    Returns
    -------
    Graph
        With labels, split and, if asked for, features.

    Raises
    ------
    GraphError
        An argument out of its range.
    """
    require(min(seed, train_per_class) >= 0, "sbm: seed and train_per_class must not be negative")
    require(0 <= nodes <= MOST_NODES, f"sbm: nodes={nodes} lies outside 0..2^40")
    require(0 < blocks <= MOST_NODES, f"sbm: blocks={blocks} lies outside 1..2^40")
    require(0 <= features <= 1 << 20, f"sbm: features={features} lies outside 0..2^20")
    require(0 <= p_in <= 1 and 0 <= p_out <= 1, f"sbm: p_in={p_in}, p_out={p_out} are no probabilities")
    require(math.isfinite(signal), f"sbm: signal={signal} is not finite")
    sizes = np.full(blocks, nodes // blocks, np.int64)
    sizes[: nodes % blocks] += 1

    labels = np.repeat(np.arange(blocks), sizes)
    place = np.arange(nodes) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    beyond = place - train_per_class

    # Counted first, then drawn again from the same seed: exact memory without growing.
    none = np.empty((2, 0), np.int64)
    n_pairs = _draw_pairs(np.random.default_rng(seed), sizes, p_in, p_out, none)
    pairs = np.empty((2, n_pairs), np.int64)
    random = np.random.default_rng(seed)
    _draw_pairs(random, sizes, p_in, p_out, pairs)

    vectors = None
    if features:
        centres = random.standard_normal((blocks, features), np.float32)
        vectors = random.standard_normal((nodes, features), np.float32) + np.float32(signal) * centres[labels]
    return graph_from_edges(
        f"sbm:nodes={nodes},blocks={blocks},p_in={p_in},p_out={p_out},seed={seed}",
        pairs.reshape(-1),
        pairs[::-1].reshape(-1),
        nodes,
        EdgeRules(),
        features=vectors,
        labels=labels,
        n_classes=blocks,
        train_mask=beyond < 0,
        val_mask=(beyond >= 0) & (beyond % 2 == 0),
        test_mask=(beyond >= 0) & (beyond % 2 == 1),
    )
