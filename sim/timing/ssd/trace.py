"""What the timing model needs to know of the samples: targets and samples of all commands in order, as numbers."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sim.golden.sampling.engine import Sampled

FAR = 1 << 60
"""A cycle that never comes."""

T_COUNT, T_FLAGS, T_DRAWN, T_DEGREE, T_LOOKED_UP = range(5)
"""Of a target: its samples; bits `FLAG_*`; whether they are drawn (else they are its list in order); its degree;
whether the engine read its record in the DRAM."""

FLAG_FAILED, FLAG_LAST_OF_HOP, FLAG_LAST_OF_COMMAND, FLAG_LAST_HOP, FLAG_NOTHING = 1, 2, 4, 8, 16
"""As in the record of a descriptor."""

S_PAGE, S_BEAT, S_HALF, S_REJECTED, S_DIVIDED = range(5)
"""Of a sample: where its id lies; attempts that were rejected; whether the last one needed the divider."""


class Trace(NamedTuple):
    """Targets and samples.

    Attributes
    ----------
    targets : ndarray of int64, shape [n, 5]
        Columns `T_COUNT` ..., a row for each target; a hop without targets has one row, with `FLAG_NOTHING`.
    samples : ndarray of int64, shape [n, 5]
        Columns `S_PAGE` ...
    """

    targets: NDArray[np.int64]
    samples: NDArray[np.int64]


def make_trace(done: Sequence[Sampled], *, page_bytes: int) -> Trace:
    """Reduce what was sampled to what takes time.

    Parameters
    ----------
    done : sequence of Sampled
        The golden model's commands; those that were refused leave nothing.
    page_bytes : int
        Bytes of a page.

    Returns
    -------
    Trace
        Targets and samples.
    """
    targets, samples = [np.zeros((0, 5), np.int64)], [np.zeros((0, 5), np.int64)]
    for one in done:
        for number, hop in enumerate(one.hops):
            n, last_hop = len(hop.node), number + 1 == len(one.hops)
            flags = np.where(hop.bad, FLAG_FAILED, 0) | (FLAG_LAST_HOP if last_hop else 0)
            if n == 0:
                flags = np.array([FLAG_NOTHING | (FLAG_LAST_HOP if last_hop else 0)])
            flags[-1] |= FLAG_LAST_OF_HOP | (FLAG_LAST_OF_COMMAND if last_hop else 0)
            rows = np.zeros((max(1, n), 5), np.int64)
            rows[:, T_FLAGS] = flags
            rows[:n, T_COUNT] = hop.count
            rows[:n, T_DRAWN] = hop.count < hop.degree
            rows[:n, T_DEGREE] = hop.degree
            rows[:n, T_LOOKED_UP] = hop.looked_up
            targets.append(rows)
            beat, half = hop.address % page_bytes // 8, hop.address // 4 % 2
            samples.append(np.stack([hop.page, beat, half, hop.rejected, hop.divided], axis=1).astype(np.int64))
    return Trace(np.concatenate(targets), np.concatenate(samples))
