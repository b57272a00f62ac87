"""Ids with gaps, through the table and through the hash, against NumPy."""

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from sim.graph.renumber import renumber
from testbenches.sim.graph.strategies import relaxed

LARGEST = 2**63 - 1


@relaxed
@given(
    st.sampled_from([0, 3, 12, 10**6, LARGEST]).flatmap(
        lambda top: st.lists(st.tuples(st.integers(0, top), st.integers(0, top)), min_size=1, max_size=30)
    )
)
@example([(LARGEST, LARGEST)])
@example([(LARGEST - 1, 0)])
def test_ids_become_their_rank(pairs):
    sources, destinations = np.array(pairs, np.int64).T.copy()
    expected, inverse = np.unique(np.array(pairs, np.int64), return_inverse=True)
    n_nodes, ids = renumber(sources, destinations)
    assert n_nodes == expected.size
    assert np.array_equal(np.stack([sources, destinations], 1), inverse.reshape(-1, 2))
    if np.array_equal(expected, np.arange(n_nodes)):
        assert ids is None
    else:
        assert np.array_equal(ids, expected)


@pytest.mark.parametrize("stride", [1 << 40, 0x9E3779B97F4A7C15 >> 1, 1])
def test_many_far_ids(stride):
    wanted = (np.arange(5000, dtype=np.uint64) * np.uint64(stride) + np.uint64(10**7)) & np.uint64(LARGEST)
    ids = np.unique(wanted.astype(np.int64))
    places = np.random.default_rng(1).integers(0, ids.size, (2, 20_000))
    places[0, : ids.size] = np.arange(ids.size)
    sources, destinations = ids[places]
    n_nodes, found = renumber(sources, destinations)
    assert n_nodes == ids.size
    assert np.array_equal(found, ids)
    assert np.array_equal(np.stack([sources, destinations]), places)
