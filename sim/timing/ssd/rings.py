"""Several rings of the same kind, such as one for each flash channel, as one table that a kernel hands on."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sim.jit import njit_in_place
from sim.timing.ssd.ring import OPEN, Ring, commit


class Rings(NamedTuple):
    """Rings: their places, shape [rings, depth, fields], and where they stand, shape [rings, 5]."""

    data: NDArray[np.int64]
    at: NDArray[np.int64]


def make_rings(count: int, depth: int, fields: int) -> Rings:
    """Make empty rings.

    Parameters
    ----------
    count : int
        How many.
    depth, fields : int
        Of each, as for `sim.timing.ssd.ring.make_ring`.

    Returns
    -------
    Rings
        The rings, open for their writers.
    """
    at = np.zeros((count, 5), np.int64)
    at[:, OPEN] = 1
    return Rings(np.zeros((count, depth, fields), np.int64), at)


@njit_in_place
def ring_of(rings: Rings, i: int) -> Ring:
    """Return one of the rings; what happens to it happens to the table.

    For functions of `njit_in_place` only: a kernel that counts references would free the table.
    """
    return Ring(rings.data[i], rings.at[i])


@njit_in_place
def commit_all(rings: Rings) -> bool:
    """End the cycle of all rings; return whether anything moved."""
    moved = False
    for i in range(len(rings.at)):
        moved |= commit(ring_of(rings, i))
    return moved
