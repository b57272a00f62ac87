"""`hdl.ssd.dram_words` cycle by cycle: words of the SSD's DRAM, several reads under way."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sim.jit import njit_in_place
from sim.timing.ssd.ring import Ring, can_pop, can_push, front, pop, push, put

USED, HERE, OLDEST, NEWEST = range(4)


class Words(NamedTuple):
    """Reads under way: a row for each place with what comes back with its word, and where they stand."""

    keys: NDArray[np.int64]
    at: NDArray[np.int64]


def make_words(reads: int, fields: int) -> Words:
    """Make a reader that has nothing under way.

    Parameters
    ----------
    reads : int
        Reads under way at most.
    fields : int
        Columns of a row that comes back.

    Returns
    -------
    Words
        The state after reset.
    """
    return Words(np.zeros((reads, fields), np.int64), np.zeros(4, np.int64))


@njit_in_place
def step_words(s: Words, wanted: Ring, address: int, request: Ring, answer: Ring, takes: bool) -> bool:
    """Do one cycle; the caller hands over the row `OLDEST` before, if there is one and it is taken.

    Parameters
    ----------
    s : Words
        The state.
    wanted : Ring
        Reads; a row is remembered until its word is taken.
    address : int
        Beat of the row that `wanted` shows.
    request, answer : Ring
        Of the DRAM: addresses, and rows whose contents do not count.
    takes : bool
        The oldest word is handed over.

    Returns
    -------
    bool
        Whether anything moved.
    """
    at, reads = s.at, len(s.keys)
    asks = can_pop(wanted) and at[USED] < reads and can_push(request)
    comes = can_pop(answer)
    if asks:
        for field in range(s.keys.shape[1]):
            s.keys[at[NEWEST], field] = front(wanted, field)
        pop(wanted)
        put(request, 0, address)
        push(request)
        at[NEWEST] = (at[NEWEST] + 1) % reads
        at[USED] += 1
    if comes:
        pop(answer)
        at[HERE] += 1
    if takes:
        at[OLDEST] = (at[OLDEST] + 1) % reads
        at[USED] -= 1
        at[HERE] -= 1
    return asks or comes or takes
