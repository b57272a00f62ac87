"""Window synchronisation between Near-Memory Engines: none runs too far ahead of the slowest."""

import numpy as np
from numpy.typing import NDArray

from sim.jit import njit


@njit
def window_cycles(durations: NDArray[np.int64], window: int) -> int:
    """Return when the last engine finishes the last shard.

    Engine d starts shard s once it has finished shard s - 1 and all engines have finished shard s - `window`. Source of
    the rule: GNNear's artifact.

    Parameters
    ----------
    durations : ndarray of int64, shape [n_engines, n_slots]
        Cycles of each engine's shard in each slot of the schedule; 0 where it has none.
    window : int
        Shards that an engine may be ahead, >= 1.

    Returns
    -------
    int
        Cycles from the start of the first shard.
    """
    n_engines, n_slots = durations.shape
    finished = np.zeros(n_engines, np.int64)
    all_finished = np.zeros(n_slots, np.int64)
    last = 0
    for slot in range(n_slots):
        gate = all_finished[slot - window] if slot >= window else 0
        for engine in range(n_engines):
            finished[engine] = max(finished[engine], gate) + durations[engine, slot]
            last = max(last, finished[engine])
        all_finished[slot] = last
    return last
