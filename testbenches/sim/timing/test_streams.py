"""The arithmetic of handovers against a walk from cycle to cycle."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from sim.timing.streams import hand_over, next_free, waits_of
from testbenches.sim.program.strategies import relaxed

patterns = st.lists(st.booleans(), min_size=1, max_size=9).filter(lambda stalled: not all(stalled))


@given(patterns, st.integers(0, 40))
@relaxed
def test_next_free(stalled, cycle):
    walked = cycle
    while stalled[walked % len(stalled)]:
        walked += 1
    assert next_free(waits_of(np.array(stalled)), cycle) == walked


@given(patterns, st.integers(-1, 40), st.integers(0, 6), st.integers(0, 3))
@relaxed
def test_hand_over(stalled, before, count, first):
    taken_at = np.full(first + count + 2, -7, np.int64)
    last = hand_over(waits_of(np.array(stalled)), before, count, taken_at, first)
    taken, cycle = [], before
    while len(taken) < count:
        cycle += 1
        if not stalled[cycle % len(stalled)]:
            taken.append(cycle)
    assert taken_at.tolist() == [-7] * first + taken + [-7, -7]
    assert last == (taken[-1] if taken else before)
