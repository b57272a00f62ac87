"""`hdl.ssd.packer` and `hdl.ssd.frontier` cycle by cycle: ids go to the host's memory and to the next hop."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sim.config import SsdConfig
from sim.jit import njit_in_place
from sim.timing.ssd.collect import CollectState, phase_read
from sim.timing.ssd.ring import Ring, can_pop, can_push, front, pop, push, put
from sim.timing.ssd.targets import DESCRIPTOR_COUNT, DESCRIPTOR_FLAGS, PULSE_RELEASE, PULSE_RESET
from sim.timing.ssd.trace import FLAG_LAST_HOP, FLAG_LAST_OF_COMMAND, FLAG_LAST_OF_HOP, FLAG_NOTHING

CONTEXT_REFUSED, CONTEXT_WIDE, CONTEXT_COUNT_LINES, CONTEXT_ID_LINES = range(4)
"""Fields of the ring of contexts: of one that is refused only the first counts; lines of the result for each part."""

LINE_IS_ENTRY = 0
"""Field of the ring of lines: 1 for a completion entry."""

WIRE_RETIRED, WIRE_COMPLETED = range(2)
"""What the unit tells others in the cycle itself."""

WORDS = 16

IDLE, RUN, COUNTS, IDS, COMPLETE = range(5)
(
    STATE, SHOWN, COUNT, FLAGS, NUMBER, SLOT, LAP, PHASE, ITEM, HAS_ID, ITEM_FLAGS, ENDS_TARGET, COUNT_WAITS, ID_WAITS,
    COUNTS_FIRST, IS_ENTRY, COUNT_ROOM, COUNT_PLACE, ID_ROOM, ID_PLACE, ID_WORDS,
) = range(21)  # fmt: skip
FOUND, ENDS_HOP, ENDS_COMMAND, MOST, WRITE_BANK, READ_BANK, PLACE, LEVEL_0, LEVEL_1 = range(9)


class PackerState(NamedTuple):
    """All that packer and frontier remember.

    Attributes
    ----------
    at : ndarray of int64, shape [21]
        The command's way; the target whose turn it is, and how many of its ids were taken; the slot that is read, the
        lap's parity, and the phase of the word that was read; the id in the second step; lines that wait at the way
        out; room for lines, and words in the line that fills up, of both parts of the result.
    frontier : ndarray of int64, shape [9]
        What is found in this cycle: an id, the end of a hop, of a command; nodes of a bank, the bank that is written,
        the one that is read, nodes of the hop, nodes in each bank.
    """

    at: NDArray[np.int64]
    frontier: NDArray[np.int64]


def make_packer(config: SsdConfig) -> PackerState:
    """Return packer and frontier after reset.

    Parameters
    ----------
    config : SsdConfig
        The engine.

    Returns
    -------
    PackerState
        The state.
    """
    state = PackerState(np.zeros(21, np.int64), np.zeros(9, np.int64))
    state.frontier[MOST] = config.frontier_entries
    return state


@njit_in_place
def step_packer(
    s: PackerState,
    contexts: Ring,
    descriptors: Ring,
    collect: CollectState,
    lines: Ring,
    wires: NDArray[np.int64],
    now: int,
) -> bool:
    """Do one cycle; `commit_frontier` ends it.

    Parameters
    ----------
    s : PackerState
        The state.
    contexts : Ring
        The unit's queue of commands, as deep as commands in flight: `CONTEXT_REFUSED` and so on.
    descriptors : Ring
        Its queue of targets, as deep as targets in flight: `DESCRIPTOR_COUNT`, `DESCRIPTOR_FLAGS`.
    collect : CollectState
        The collector, whose ids are read: whenever it has written one, the next cycle needs a step of the packer.
    lines : Ring
        Lines that are written: `LINE_IS_ENTRY`.
    wires : ndarray of int64, shape [2]
        Set to whether an id is taken in this cycle (`WIRE_RETIRED`), and whether a completion entry is handed over
        (`WIRE_COMPLETED`).
    now : int
        The cycle.

    Returns
    -------
    bool
        Whether the next cycle could differ.
    """
    at = s.at
    state, item, flags = at[STATE], at[ITEM] != 0, at[ITEM_FLAGS]
    wires[WIRE_RETIRED] = 0
    wires[WIRE_COMPLETED] = 0
    count_waits, id_waits = at[COUNT_WAITS] != 0, at[ID_WAITS] != 0
    moved = _hand_over(at, lines, wires)

    # The second step: the id and the count of it, or the end of a command.
    has_id, has_count = at[HAS_ID] != 0, at[ENDS_TARGET] != 0
    fills_ids = has_id and at[ID_ROOM] > 0 and at[ID_PLACE] == WORDS - at[ID_WORDS]
    fills_counts = has_count and at[COUNT_ROOM] > 0 and at[COUNT_PLACE] == WORDS - 1
    packs = state == RUN and item and not (fills_ids and id_waits) and not (fills_counts and count_waits)
    if packs:
        _pack(at, fills_ids, fills_counts)
        s.frontier[FOUND] = int(has_id and not flags & FLAG_LAST_HOP)
        s.frontier[ENDS_HOP] = int(flags & FLAG_LAST_OF_HOP != 0)
        s.frontier[ENDS_COMMAND] = int(flags & FLAG_LAST_OF_COMMAND != 0)
        if flags & FLAG_LAST_OF_COMMAND:
            at[STATE] = COUNTS
        moved = True
    elif state == IDLE:
        if can_pop(contexts):
            pop(contexts)
            at[STATE] = COMPLETE if front(contexts, CONTEXT_REFUSED) else RUN
            at[ID_WORDS] = 1 + front(contexts, CONTEXT_WIDE)
            at[COUNT_ROOM] = front(contexts, CONTEXT_COUNT_LINES)
            at[ID_ROOM] = front(contexts, CONTEXT_ID_LINES)
            at[COUNT_PLACE] = 0
            at[ID_PLACE] = 0
            moved = True
    elif state != RUN:
        moved = _end(at, state, count_waits, id_waits) or moved

    moved = _fetch(at, descriptors, len(collect.phase), not item or packs, wires) or moved
    phase = phase_read(collect, at[SLOT], now)
    if phase != at[PHASE]:
        at[PHASE] = phase
        moved = True
    return bool(moved)


@njit_in_place
def _fetch(at: NDArray[np.int64], descriptors: Ring, slots: int, free: bool, wires: NDArray[np.int64]) -> bool:
    """Take the next id, or what a target without ids has; then the next target's turn comes."""
    moved = False
    if free:
        takes = at[SHOWN] != 0 and (at[COUNT] == 0 or at[PHASE] != at[LAP])
        at[ITEM] = int(takes)
        if takes:
            is_last = at[NUMBER] + 1 >= at[COUNT]
            at[HAS_ID] = int(at[COUNT] > 0)
            at[ITEM_FLAGS] = at[FLAGS] if is_last else at[FLAGS] & FLAG_LAST_HOP
            at[ENDS_TARGET] = int(is_last and not at[FLAGS] & FLAG_NOTHING)
            at[NUMBER] = 0 if is_last else at[NUMBER] + 1
            at[SHOWN] = int(not is_last)
            if at[COUNT] > 0:
                wires[WIRE_RETIRED] = 1
                at[SLOT] += 1
                if at[SLOT] == slots:
                    at[SLOT] = 0
                    at[LAP] = 1 - at[LAP]
            moved = True
    if at[SHOWN] == 0 and can_pop(descriptors):
        pop(descriptors)
        at[SHOWN] = 1
        at[COUNT] = front(descriptors, DESCRIPTOR_COUNT)
        at[FLAGS] = front(descriptors, DESCRIPTOR_FLAGS)
        moved = True
    return bool(moved)


@njit_in_place
def _hand_over(at: NDArray[np.int64], lines: Ring, wires: NDArray[np.int64]) -> bool:
    """Hand over the older one of the lines that wait."""
    if (at[COUNT_WAITS] == 0 and at[ID_WAITS] == 0) or not can_push(lines):
        return False
    if at[COUNT_WAITS] and (at[COUNTS_FIRST] or at[ID_WAITS] == 0):
        at[COUNT_WAITS] = 0
        put(lines, LINE_IS_ENTRY, 0)
    else:
        at[ID_WAITS] = 0
        put(lines, LINE_IS_ENTRY, at[IS_ENTRY])
        wires[WIRE_COMPLETED] = at[IS_ENTRY]
    push(lines)
    return True


@njit_in_place
def _pack(at: NDArray[np.int64], fills_ids: bool, fills_counts: bool) -> None:
    """Put an id and a count where they belong."""
    if fills_ids:
        at[ID_ROOM] -= 1
        at[ID_PLACE] = 0
        at[ID_WAITS] = 1
        at[IS_ENTRY] = 0
        at[COUNTS_FIRST] = 1
    elif at[HAS_ID] and at[ID_ROOM] > 0:
        at[ID_PLACE] += at[ID_WORDS]
    if fills_counts:
        at[COUNT_ROOM] -= 1
        at[COUNT_PLACE] = 0
        at[COUNT_WAITS] = 1
        at[COUNTS_FIRST] = 0
    elif at[ENDS_TARGET] and at[COUNT_ROOM] > 0:
        at[COUNT_PLACE] += 1


@njit_in_place
def _end(at: NDArray[np.int64], state: int, count_waits: bool, id_waits: bool) -> bool:
    """Let the lines that are not full leave, and then the completion entry."""
    if state == COUNTS:
        if count_waits:
            return False
        if at[COUNT_PLACE] > 0:
            at[COUNT_PLACE] = 0
            at[COUNT_WAITS] = 1
            at[COUNTS_FIRST] = 0
        at[STATE] = IDS
        return True
    if id_waits:
        return False
    if state == COMPLETE or at[ID_PLACE] > 0:
        at[ID_PLACE] = 0
        at[ID_WAITS] = 1
        at[IS_ENTRY] = int(state == COMPLETE)
        at[COUNTS_FIRST] = 1
    at[STATE] = IDLE if state == COMPLETE else COMPLETE
    return True


@njit_in_place
def commit_frontier(s: PackerState, pulses: NDArray[np.int64], written: NDArray[np.int64]) -> bool:
    """End the cycle of the frontier.

    Parameters
    ----------
    s : PackerState
        The state; what was found in the cycle counts once.
    pulses : ndarray of int64, shape [2]
        What `sim.timing.ssd.targets` told in the cycle; set to 0.
    written : ndarray of int64, shape [1]
        Set to the nodes in the bank that is read.

    Returns
    -------
    bool
        Whether anything moved.
    """
    at = s.frontier
    if not (at[FOUND] or at[ENDS_HOP] or at[ENDS_COMMAND] or pulses[PULSE_RELEASE] or pulses[PULSE_RESET]):
        return False
    if at[FOUND] and at[PLACE] < at[MOST]:
        at[PLACE] += 1
        at[LEVEL_0 + at[WRITE_BANK]] = at[PLACE]
    if at[ENDS_HOP]:
        at[PLACE] = 0
        at[WRITE_BANK] = 1 - at[WRITE_BANK]
    if at[ENDS_COMMAND]:
        at[PLACE] = 0
        at[WRITE_BANK] = 0
    if pulses[PULSE_RELEASE]:
        at[LEVEL_0 + at[READ_BANK]] = 0
        at[READ_BANK] = 1 - at[READ_BANK]
    if pulses[PULSE_RESET]:
        at[LEVEL_0] = 0
        at[LEVEL_1] = 0
        at[READ_BANK] = 0
    at[FOUND] = 0
    at[ENDS_HOP] = 0
    at[ENDS_COMMAND] = 0
    pulses[PULSE_RELEASE] = 0
    pulses[PULSE_RESET] = 0
    written[0] = at[LEVEL_0 + at[READ_BANK]]
    return True
