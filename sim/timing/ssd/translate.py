"""`hdl.ssd.translate` cycle by cycle: the page map's look-ups."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sim.config import SsdConfig
from sim.jit import njit_in_place
from sim.timing.ssd.dram_words import HERE, OLDEST, Words, make_words, step_words
from sim.timing.ssd.ring import Ring, can_pop, can_push, front, push, put

PLACE_MASK = (1 << 40) - 1


class TranslateState(NamedTuple):
    """Look-ups under way, rows of page and page slot; and the map."""

    words: Words
    entries: NDArray[np.int64]


def make_translate(config: SsdConfig, entries: NDArray[np.int64]) -> TranslateState:
    """Make a translation without look-ups.

    Parameters
    ----------
    config : SsdConfig
        The engine.
    entries : ndarray of int64, shape [n]
        The map's first entries as the DRAM holds them (`sim.program.ssd.PAGE_ENTRY`; negative: a hot page). A page
        beyond them lies at the place of its own number.

    Returns
    -------
    TranslateState
        The state after reset.
    """
    return TranslateState(make_words(config.dram_reads_in_flight, 2), entries)


@njit_in_place
def step_translate(s: TranslateState, opened: Ring, map_request: Ring, map_data: Ring, placed: Ring) -> bool:
    """Do one cycle.

    Parameters
    ----------
    s : TranslateState
        The state.
    opened : Ring
        Rows of page and page slot.
    map_request : Ring
        Beats of the map, counted from its begin.
    map_data : Ring
        Answers; what they hold does not count.
    placed : Ring
        Rows of page, page slot, hot and place.

    Returns
    -------
    bool
        Whether anything moved.
    """
    words = s.words
    takes = words.at[HERE] > 0 and can_push(placed)
    if takes:
        page = words.keys[words.at[OLDEST], 0]
        entry = s.entries[page] if page < len(s.entries) else page
        put(placed, 0, page)
        put(placed, 1, words.keys[words.at[OLDEST], 1])
        put(placed, 2, 1 if entry < 0 else 0)
        put(placed, 3, entry & PLACE_MASK)
        push(placed)
    address = front(opened, 0) >> 1 if can_pop(opened) else 0
    return step_words(words, opened, address, map_request, map_data, takes)
