"""Sub-graphs with each node once, against pyg-lib."""

import numpy as np
import pytest

from sim.golden.sampling.subgraph import subgraph
from sim.program.ssd import COUNT_FAILED, NO_ID


def cycle_neighbours(node):
    return sorted([(node - 1) % 6, (node + 1) % 6])


def all_neighbours(seeds, hops):
    """Sample the 6-cycle as the engine does: every sample of a hop is a target of the next."""
    counts, ids, edges, targets = [], [], [], list(seeds)
    for _ in range(hops):
        found = []
        for node in targets:
            counts.append(2)
            found += cycle_neighbours(node)
            edges += [2 * node, 2 * node + 1]
        ids += found
        targets = found
    return np.array(counts, np.uint32), np.array(ids, np.uint64), np.array(edges)


def test_pyg_libs_example():
    # pyg-lib's own test: the 6-cycle, seeds 2 and 3, all neighbours for two hops.
    counts, ids, edges = all_neighbours([2, 3], 2)
    made = subgraph(np.array([2, 3], np.uint64), counts, ids, 2)
    assert made.row.tolist() == [0, 0, 1, 1, 2, 2, 3, 3]
    assert made.column.tolist() == [2, 1, 0, 3, 4, 0, 1, 5]
    assert made.nodes.tolist() == [2, 3, 1, 4, 0, 5]
    assert edges[made.edge].tolist() == [4, 5, 6, 7, 2, 3, 8, 9]
    assert (made.nodes_per_hop, made.edges_per_hop) == ([2, 2, 2], [4, 4])


def test_isolated_seeds():
    made = subgraph(np.arange(5, dtype=np.uint64), np.zeros(5, np.uint32), np.zeros(0, np.uint64), 2)
    assert made.nodes.tolist() == [0, 1, 2, 3, 4]
    assert (len(made.edge), made.nodes_per_hop, made.edges_per_hop) == (0, [5, 0, 0], [0, 0])


def test_a_seed_given_twice_is_expanded_once():
    counts, ids, _ = all_neighbours([2, 2], 1)
    made = subgraph(np.array([2, 2], np.uint64), counts, ids, 1)
    assert (made.nodes.tolist(), made.row.tolist(), made.edge.tolist()) == ([2, 1, 3], [0, 0], [0, 1])


def test_targets_that_failed_have_no_edges():
    # Two targets with two samples each, the first with one that could not be read; then four targets of one sample.
    counts = np.array([2 | COUNT_FAILED, 2, 1, COUNT_FAILED, 1, 1], np.uint32)
    ids = np.array([7, NO_ID, 8, 9, 3, 4, 5], np.uint64)
    made = subgraph(np.array([1, 2], np.uint64), counts, ids, 2)
    assert made.nodes.tolist() == [1, 2, 8, 9, 4, 5]
    assert made.row.tolist() == [1, 1, 2, 3]
    assert made.edge.tolist() == [2, 3, 5, 6]


def test_samples_beyond_the_frontier_are_not_expanded():
    # Hop 0: two targets with two samples each, of which three are targets of hop 1.
    counts = np.array([2, 2, 1, 1, 1], np.uint32)
    ids = np.array([7, 8, 9, 6, 3, 4, 5], np.uint64)
    made = subgraph(np.array([1, 2], np.uint64), counts, ids, 2, frontier_entries=3)
    assert made.nodes.tolist() == [1, 2, 7, 8, 9, 6, 3, 4, 5]
    assert made.row.tolist() == [0, 0, 1, 1, 2, 3, 4]


def test_results_that_are_cut_off_are_refused():
    counts, ids, _ = all_neighbours([2, 3], 2)
    with pytest.raises(ValueError, match="the counts want 12 ids, but there are 11"):
        subgraph(np.array([2, 3], np.uint64), counts, ids[:-1], 2)
    with pytest.raises(ValueError, match="4 targets from 2 on, but only 5 counts"):
        subgraph(np.array([2, 3], np.uint64), counts[:-1], ids, 2)
