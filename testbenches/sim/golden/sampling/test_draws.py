"""The golden draws: equal to the contract in plain integers, and evenly spread."""

import itertools
from math import comb

import numpy as np
import pytest
import scipy.stats

from sim.golden.sampling import draws
from sim.golden.sampling.draws import draw_edges, hop_key
from testbenches.sim.golden.sampling.draw_speed import samples_per_second
from testbenches.sim.golden.sampling.reference import reference_draws, reference_key

LEAST_P = 1e-4
"""A test of evenness fails below this probability; the seeds are fixed, so the answer is always the same."""

THIRD = (1 << 32) // 3 + 1000
"""A range for which a third of all words is rejected."""


def draw(node, degree, count, *, seed=1, batch=2, hop=0, replace=False):
    arrays = np.asarray(node, np.uint64), np.asarray(degree, np.int64), np.asarray(count, np.int64)
    return draw_edges(*arrays, seed=seed, batch=batch, hop=hop, replace=replace)


def same(targets, degree, count, **options):
    """Draw for many nodes of one degree; return the places, a row a target."""
    places, _, _ = draw(np.arange(targets), np.full(targets, degree), np.full(targets, count), **options)
    return places.reshape(targets, count)


@pytest.mark.parametrize("replace", [False, True])
def test_equal_to_the_reference(replace):
    rng = np.random.default_rng(0)
    fanouts, hubs = [0, 1, 2, 10, 25, 64], [1 << 20, 1 << 30, THIRD, (1 << 31) - 1]
    degree = np.concatenate([[max(0, f + d) for f in fanouts for d in (-1, 0, 1)], np.repeat(hubs, 6), [3383, 64]])
    count = np.minimum(degree, np.concatenate([np.repeat(fanouts, 3), np.tile(fanouts, len(hubs)), [64, 64]]))
    node = rng.integers(0, 1 << 48, len(degree))
    node[:2] = 0, (1 << 48) - 1
    seed = 0xFEDC_BA98_7654_3210
    key = reference_key(seed, 0xFFFF_FFFF, 3)
    assert hop_key(seed, 0xFFFF_FFFF, 3) == key
    places, rejected, divided = draw(node, degree, count, seed=seed, batch=0xFFFF_FFFF, hop=3, replace=replace)
    expected = [
        one
        for n, d, c in zip(node.tolist(), degree.tolist(), count.tolist(), strict=True)
        for one in reference_draws(n, d, c, key, replace)
    ]
    assert list(zip(places.tolist(), rejected.tolist(), divided.tolist(), strict=True)) == expected
    assert rejected.max() >= 3
    assert (divided & (rejected == 0)).any()
    assert (~divided & (rejected > 0)).any()


@pytest.mark.parametrize("replace", [False, True])
def test_the_same_draws_whatever_the_place_and_the_workers(replace, monkeypatch):
    rng = np.random.default_rng(1)
    node, degree = rng.integers(0, 1 << 48, 20_000), rng.integers(0, 60, 20_000)
    count, order = np.minimum(degree, 10), rng.permutation(20_000)
    options = {"seed": 5, "batch": 0, "hop": 1, "replace": replace}
    whole, _, _ = draw(node, degree, count, **options)
    parts = np.split(whole, np.cumsum(count)[:-1])
    shuffled, _, _ = draw(node[order], degree[order], count[order], **options)
    np.testing.assert_array_equal(np.concatenate([parts[i] for i in order]), shuffled)
    monkeypatch.setattr(draws, "_PART", 1 << 40)
    alone, _, _ = draw(node, degree, count, **options)
    np.testing.assert_array_equal(whole, alone)


@pytest.mark.parametrize("change", [{"seed": 1 << 63}, {"batch": 3}, {"hop": 1}])
def test_other_keys_other_draws(change):
    assert (same(100, 1000, 5) != same(100, 1000, 5, **change)).any(axis=1).all()


def even(seen, expected=None):
    """Return whether counts are as even as chance would have them, and no more than that."""
    p = scipy.stats.chisquare(seen, expected).pvalue
    return LEAST_P < p < 1 - LEAST_P


def subsets_even(places, degree, count):
    """Return whether all subsets come about equally often."""
    number = {subset: place for place, subset in enumerate(itertools.combinations(range(degree), count))}
    assert len(number) == comb(degree, count)
    seen = np.bincount([number[tuple(sorted(row))] for row in places.tolist()], minlength=len(number))
    return even(seen)


@pytest.mark.parametrize(("degree", "count"), [(n, k) for n in range(2, 7) for k in range(1, n)])
def test_all_subsets_are_as_likely(degree, count):
    assert subsets_even(same(2_000 * comb(degree, count) // 2, degree, count), degree, count)


def test_a_range_one_short_is_seen():
    """Floyd's method with ranges that leave out their last place, as a bug would have it, is not even."""
    rng = np.random.default_rng(0)
    places = []
    for _ in range(20_000):
        row = []
        for last in range(2, 5):
            drawn = int(rng.integers(last))
            row.append(last if drawn in row else drawn)
        places.append(row)
    assert not subsets_even(np.array(places), 5, 3)


@pytest.mark.parametrize("count", [1, 2, 10, 25, 64])
def test_a_long_list_is_evenly_drawn(count):
    places = same(200_000 // count, 3383, count)
    assert len({*places.ravel().tolist()}) == 3383
    assert even(np.bincount(places.ravel(), minlength=3383))
    assert (np.diff(np.sort(places, axis=1), axis=1) > 0).all(), "no edge twice"


def test_fanout_1_reaches_first_and_last():
    places = same(1_000, 7, 1)
    assert even(np.bincount(places.ravel(), minlength=7))
    assert places.min() == 0
    assert places.max() == 6
    huge = same(200_000, (1 << 31) - 1, 1)
    assert huge.min() < 1 << 15
    assert huge.max() >= (1 << 31) - (1 << 15)


def test_with_replacement_all_rows_are_as_likely():
    places = same(50_000, 5, 3, replace=True)
    assert even(np.bincount(places @ [25, 5, 1], minlength=125))


UNEVEN = (1 << 33) // 5
"""A range whose numbers have two words and three by turns if none is rejected; in its first half the even ones more."""


def by_turns(places):
    """Count even and odd numbers in each quarter of the range."""
    return np.bincount(places % 2 + 2 * (places * 4 // UNEVEN), minlength=8)


@pytest.mark.parametrize("replace", [False, True])
def test_a_range_that_rejects_is_evenly_drawn(replace):
    places = same(100_000, UNEVEN, 1, replace=replace)
    assert even(by_turns(places.ravel()))


def test_the_same_without_rejection_is_uneven():
    words = np.random.default_rng(0).integers(0, 1 << 32, 100_000, np.uint64)
    places = words * np.uint64(UNEVEN) >> np.uint64(32)
    assert not even(by_turns(places.astype(np.int64)))


@pytest.mark.parametrize("replace", [False, True])
def test_many_millions_a_second(replace):
    """More than 20 million on two cores that nobody else uses, of which a busy machine leaves a part."""
    assert samples_per_second(replace=replace) > 5e6


@pytest.mark.parametrize(("degree", "count"), [(5, 6), (100, 65), (1 << 31, 3), (4, -1)])
def test_what_cannot_be_drawn_is_refused(degree, count):
    with pytest.raises(ValueError, match="target 1: "):
        draw([0, 1], [3, degree], [1, count])


def test_nothing():
    places, rejected, divided = draw([], [], [])
    assert len(places) == len(rejected) == len(divided) == 0
    assert len(draw([5], [0], [0])[0]) == 0
