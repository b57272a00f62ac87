"""How fast the golden model draws."""

import time

import numpy as np

from sim.golden.sampling.draws import draw_edges


def samples_per_second(*, replace: bool = False, targets: int = 200_000, fanout: int = 25, repeats: int = 3) -> float:
    """Measure draws from lists of hundreds of edges, on all cores.

    Parameters
    ----------
    replace : bool
        Draw with replacement.
    targets, fanout : int
        How many; samples of each.
    repeats : int
        Runs, of which the best counts, after one to warm up.

    Returns
    -------
    float
        Samples per second.
    """
    rng = np.random.default_rng(0)
    node = rng.integers(0, 1 << 40, targets).astype(np.uint64)
    degree, count = rng.integers(100, 1000, targets), np.full(targets, fanout)
    best = np.inf
    for run in range(repeats + 1):
        start = time.perf_counter()
        draw_edges(node, degree, count, seed=1, batch=2, hop=0, replace=replace)
        if run:
            best = min(best, time.perf_counter() - start)
    return targets * fanout / float(best)
