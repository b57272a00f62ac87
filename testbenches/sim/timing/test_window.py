"""Window synchronisation against a walk from cycle to cycle, and against bounds that hold for every window."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sim.timing.window import window_cycles
from testbenches.sim.program.strategies import relaxed


def walked(durations, window):
    """Step all engines cycle by cycle; a shard of no length ends in the cycle in which it may start."""
    n_engines, n_slots = durations.shape
    finished = [0] * n_engines
    left = [None] * n_engines
    cycle = 0
    while min(finished) < n_slots:
        moved = True
        while moved:
            moved = False
            for engine in range(n_engines):
                if left[engine] is None and finished[engine] < n_slots:
                    slot = finished[engine]
                    if slot < window or min(finished) > slot - window:
                        left[engine] = int(durations[engine, slot])
                        moved = True
                if left[engine] == 0:
                    finished[engine] += 1
                    left[engine] = None
                    moved = True
        if min(finished) < n_slots:
            cycle += 1
            left = [None if cycles is None else cycles - 1 for cycles in left]
            for engine in range(n_engines):
                if left[engine] == 0:
                    finished[engine] += 1
                    left[engine] = None
    return cycle


@st.composite
def durations(draw):
    n_engines, n_slots = draw(st.integers(1, 4)), draw(st.integers(0, 7))
    cells = draw(st.lists(st.integers(0, 9), min_size=n_engines * n_slots, max_size=n_engines * n_slots))
    return np.array(cells, np.int64).reshape(n_engines, n_slots)


@given(durations(), st.integers(1, 8))
@relaxed
def test_window(cycles, window):
    assert window_cycles(cycles, window) == walked(cycles, window)


@given(durations())
@relaxed
def test_bounds(cycles):
    results = [window_cycles(cycles, window) for window in range(1, 9)]
    assert results == sorted(results, reverse=True)  # a wider window never costs time
    assert results[0] == cycles.max(axis=0, initial=0).sum()  # lock step
    assert results[-1] == cycles.sum(axis=1).max(initial=0)  # no waiting at all


def test_by_hand():
    cycles = np.array([[1, 1, 1, 9], [5, 1, 1, 1]])
    # Window 2: engine 0 finishes shards 0 and 1 in cycle 2, starts shard 2 in 5 and, as shard 1 is finished in 6,
    # shard 3 in 6: 6 + 9.
    assert window_cycles(cycles, 2) == 15
    assert window_cycles(cycles, 1) == 16
    assert window_cycles(cycles, 4) == 12


@pytest.mark.parametrize("shape", [(1, 0), (16, 0)])
def test_without_shards(shape):
    assert window_cycles(np.zeros(shape, np.int64), 4) == 0
