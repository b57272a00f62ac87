"""Cycles of the memory's clock and cycles of the compute clock: `hdl.nme.compute_clock`, in the timing model."""

import numpy as np
from numpy.typing import NDArray

from sim.jit import njit_in_place
from sim.timing.nme import state as st


@njit_in_place
def cycle_of(sizes: NDArray[np.int64], compute_cycle: int) -> int:
    """Return the cycle in which a compute cycle lies."""
    up = sizes[st.Z_UP]
    return int(((compute_cycle + 1) * sizes[st.Z_DOWN] + up - 1) // up - 1)


@njit_in_place
def compute_cycle_from(sizes: NDArray[np.int64], cycle: int) -> int:
    """Return the first compute cycle that lies in a cycle or after it."""
    return int(cycle * sizes[st.Z_UP] // sizes[st.Z_DOWN])
