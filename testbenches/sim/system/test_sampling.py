"""Figures of a run of the sampling engine."""

import numpy as np

from sim.config import load_config
from sim.golden.sampling.engine import Sampled
from sim.golden.sampling.hops import Hop
from sim.program.ssd import NO_ID, SsdStatus
from sim.program.ssd_counters import CHANNEL_COUNTERS
from sim.system.sampling import sampling_figures

TINY = load_config("tiny").ssd


def hop(nodes, owner, ids, page, unreadable):
    n = len(ids)
    return Hop(
        node=np.array(nodes, np.uint64), degree=np.full(len(nodes), 9), count=np.bincount(owner, minlength=len(nodes)),
        bad=np.zeros(len(nodes), bool), looked_up=np.zeros(len(nodes), bool), owner=np.array(owner),
        edge=np.zeros(n, np.int64), ids=np.array(ids, np.uint64), page=np.array(page), address=np.zeros(n, np.int64),
        unreadable=np.array(unreadable), rejected=np.zeros(n, np.uint8), divided=np.zeros(n, bool),
    )  # fmt: skip


def test_figures_by_hand():
    first = hop([1, 2], [0, 0, 1], [5, 6, 5], [3, 3, 4], [False, False, False])
    second = hop([5, 6, 5], [0, 1], [1, NO_ID], [3, 8], [False, True])
    done = Sampled(
        status=SsdStatus.UNRECOVERED_READ, detail=8, hops=[first, second],
        counts=np.array([2, 1, 1, 1 << 31 | 1, 0], np.uint32), ids=np.concatenate([first.ids, second.ids]),
    )  # fmt: skip
    cycles = [dict.fromkeys(CHANNEL_COUNTERS, 0) | {"transfer": 100}, dict.fromkeys(CHANNEL_COUNTERS, 0)]
    figures = sampling_figures(
        [done], TINY, cycles=1000, hot_samples=1, pages=[2, 1], beats=[128, 256], channel_cycles=cycles
    )
    assert (figures.targets, figures.samples) == ([2, 3], [3, 2])
    assert (figures.distinct_nodes, figures.failed_targets) == (4, 1)
    # Pages 3 and 4 of the first hop, 3 and 8 of the second.
    assert (figures.distinct_pages, figures.samples_per_page) == (4, 4 / 3)
    assert figures.bound_cycles == 256 * TINY.beat_cycles
    assert figures.over_bound == 1000 / figures.bound_cycles
    assert figures.channel_utilization == 0.05
    assert figures.samples_per_second == 5 / (1000 / TINY.clock_hz)


def test_nothing_sampled():
    figures = sampling_figures([], TINY, cycles=0, hot_samples=0, pages=[0, 0], beats=[0, 0], channel_cycles=[])
    assert (figures.over_bound, figures.samples_per_page, figures.samples_per_second) == (None, 0.0, 0.0)
