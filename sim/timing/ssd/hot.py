"""`hdl.ssd.hot` cycle by cycle: samples that are read in the SSD's DRAM."""

from sim.config import SsdConfig
from sim.jit import njit_in_place
from sim.timing.ssd.dram_words import HERE, OLDEST, Words, make_words, step_words
from sim.timing.ssd.ring import Ring, can_push, push, put


def make_hot(config: SsdConfig) -> Words:
    """Make a hot reader without reads.

    Parameters
    ----------
    config : SsdConfig
        The engine.

    Returns
    -------
    Words
        The state after reset; rows of one slot.
    """
    return make_words(config.dram_reads_in_flight, 1)


@njit_in_place
def step_hot(s: Words, reads: Ring, request: Ring, answer: Ring, matches: Ring) -> bool:
    """Do one cycle.

    Parameters
    ----------
    s : Words
        The state.
    reads, matches : Ring
        Rows of a slot.
    request, answer : Ring
        Of the DRAM; what their rows hold does not count.

    Returns
    -------
    bool
        Whether anything moved.
    """
    takes = s.at[HERE] > 0 and can_push(matches)
    if takes:
        put(matches, 0, s.keys[s.at[OLDEST], 0])
        push(matches)
    return step_words(s, reads, 0, request, answer, takes)
