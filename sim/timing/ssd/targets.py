"""Timing model of the sampling engine's walk through targets, one cycle a step."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sim.config import SsdConfig
from sim.jit import njit_in_place
from sim.timing.ssd.draws import JOB_BEGINS_HOP, JOB_COUNT
from sim.timing.ssd.ring import Ring, can_pop, can_push, front, pop, push, put
from sim.timing.ssd.trace import FAR, FLAG_LAST_OF_HOP, FLAG_NOTHING, T_COUNT, T_FLAGS, T_LOOKED_UP

COMMAND_TARGETS, COMMAND_HOPS, COMMAND_LOOK_UP = range(3)
"""Fields of the ring of commands."""

DESCRIPTOR_COUNT, DESCRIPTOR_FLAGS = range(2)
"""Fields of the ring of descriptors."""

PULSE_RELEASE, PULSE_RESET = range(2)
"""What the unit tells the frontier."""

IDLE, HOP, RUN, NEXT, NOTHING = range(5)

(
    MOST_LINES,
    MOST_READS,
    MOST_NODES,
    STATE,
    HOP_NUMBER,
    HOPS,
    LOOK_UP,
    TOTAL,
    LINES_TO_ASK,
    TO_GIVE,
    LINES_WAITING,
    LINE_OFFERED,
    LINE_SHOWN,
    SECOND,
    NODE_SHOWN,
    INDEX,
    TO_READ,
    WAITING,
    RECORD_OFFERED,
    RECORD_ROW,
    ASKED,
    ASKED_SHOWN,
    RECORD_SHOWN,
    LISTED,
    DRAW_OFFERED,
    DRAW_BEGINS_HOP,
    DRAW_COUNT,
    DESCRIPTOR_OFFERED,
    DESCRIPTOR_ROW,
    ROW_ENTERS,
    ROW_GIVEN,
    ROW,
) = range(32)


class TargetsState(NamedTuple):
    """The unit's registers, as far as they decide about time.

    Attributes
    ----------
    at : ndarray of int64, shape [32]
        Sizes; the state of the walk; the host's lines; the frontier's nodes; those that are looked up; the target whose
        list is there; what is offered; rows of the trace that enter the look-up, leave it, and are handed on next.
    """

    at: NDArray[np.int64]


def make_targets(config: SsdConfig) -> TargetsState:
    """Return the unit after reset."""
    state = TargetsState(np.zeros(32, np.int64))
    state.at[MOST_LINES] = config.host_lines_in_flight
    state.at[MOST_READS] = config.dram_reads_in_flight
    state.at[MOST_NODES] = config.frontier_entries
    return state


@njit_in_place
def step_targets(
    s: TargetsState,
    jobs: Ring,
    draws: Ring,
    descriptors: Ring,
    lines_request: Ring,
    lines: Ring,
    records_request: Ring,
    records: Ring,
    written: NDArray[np.int64],
    pulses: NDArray[np.int64],
    targets: NDArray[np.int64],
) -> bool:
    """Let one cycle pass.

    Parameters
    ----------
    s : TargetsState
        The unit.
    jobs : Ring
        Its queue of commands, of depth 2: `COMMAND_TARGETS`, `COMMAND_HOPS`, `COMMAND_LOOK_UP`.
    draws : Ring
        The draw unit's queue of jobs.
    descriptors : Ring
        The packer's queue: `DESCRIPTOR_COUNT`, `DESCRIPTOR_FLAGS`.
    lines_request, records_request : Ring
        Queues of whoever reads the memories; the field of the second is the target's row in the trace.
    lines, records : Ring
        The unit's own room for answers, as deep as the reads in flight; the fields are not looked at.
    written : ndarray of int64, shape [1]
        Nodes in the frontier's bank that is read, at the beginning of the cycle.
    pulses : ndarray of int64, shape [2]
        Set to 1 where the unit gives `PULSE_RELEASE` or `PULSE_RESET` in this cycle.
    targets : ndarray of int64, shape [targets, 5]
        The trace.

    Returns
    -------
    bool
        Whether the next cycle could differ.
    """
    at = s.at
    state, first_hop = at[STATE], at[HOP_NUMBER] == 0
    runs, looks_up = state == RUN, at[LOOK_UP] != 0 or at[HOP_NUMBER] != 0
    moved = _hand_over(at, draws, descriptors, lines_request, records_request, targets)
    draw_free, descriptor_free = at[DRAW_OFFERED] == 0, at[DESCRIPTOR_OFFERED] == 0
    finishes = at[LISTED] != 0 and draw_free and descriptor_free
    takes_list = at[LISTED] == 0 or finishes

    # Nodes that are looked up: into the queue and out of it. Or targets that the host tells with their lists.
    source = at[LINE_SHOWN] != 0 if first_hop else at[NODE_SHOWN] != 0
    enters = runs and looks_up and source and at[WAITING] < at[MOST_READS]
    is_known = enters and targets[at[ROW_ENTERS], T_LOOKED_UP] != 0
    enters = enters and not (is_known and at[RECORD_OFFERED] != 0)
    asked_known = at[ASKED_SHOWN] != 0 and targets[at[ROW_GIVEN], T_LOOKED_UP] != 0
    gives = at[ASKED_SHOWN] != 0 and (not asked_known or at[RECORD_SHOWN] != 0) and takes_list
    direct = runs and not looks_up and at[LINE_SHOWN] != 0 and takes_list
    moved = moved or finishes or enters or gives or direct
    moved = _host(at, lines, direct or (enters and first_hop)) or moved
    moved = _frontier(at, written[0], enters and not first_hop) or moved
    moved = _look_up(at, records, enters, is_known, gives, asked_known) or moved
    at[ROW_ENTERS] += int(enters or direct)
    at[ROW_GIVEN] += int(gives or direct)

    # What comes of the target whose list is there; then the walk.
    row = at[ROW]
    if finishes and targets[row, T_COUNT] > 0:
        at[DRAW_OFFERED] = 1
        at[DRAW_BEGINS_HOP] = 0
        at[DRAW_COUNT] = targets[row, T_COUNT]
    if finishes or (state == NOTHING and descriptor_free):
        at[DESCRIPTOR_OFFERED] = 1
        at[DESCRIPTOR_ROW] = row
        at[ROW] += 1
    if takes_list:
        at[LISTED] = 1 if gives or direct else 0
    if state == IDLE:
        moved = _begin(at, jobs) or moved
    elif runs:
        if finishes:
            at[TOTAL] = min(at[TOTAL] + targets[row, T_COUNT], at[MOST_NODES])
            at[STATE] = NEXT if targets[row, T_FLAGS] & FLAG_LAST_OF_HOP else RUN
    else:
        free = draw_free if state == HOP else descriptor_free
        moved = _go_on(at, state, free, targets[row, T_FLAGS] & FLAG_NOTHING, pulses) or moved
    return bool(moved)


@njit_in_place
def _hand_over(
    at: NDArray[np.int64],
    draws: Ring,
    descriptors: Ring,
    lines_request: Ring,
    records_request: Ring,
    targets: NDArray[np.int64],
) -> bool:
    """Hand over what is offered and taken."""
    moved = False
    if at[DRAW_OFFERED] and can_push(draws):
        put(draws, JOB_BEGINS_HOP, at[DRAW_BEGINS_HOP])
        put(draws, JOB_COUNT, at[DRAW_COUNT])
        push(draws)
        at[DRAW_OFFERED] = 0
        moved = True
    if at[DESCRIPTOR_OFFERED] and can_push(descriptors):
        put(descriptors, DESCRIPTOR_COUNT, targets[at[DESCRIPTOR_ROW], T_COUNT])
        put(descriptors, DESCRIPTOR_FLAGS, targets[at[DESCRIPTOR_ROW], T_FLAGS])
        push(descriptors)
        at[DESCRIPTOR_OFFERED] = 0
        moved = True
    if at[LINE_OFFERED] and can_push(lines_request):
        push(lines_request)
        at[LINE_OFFERED] = 0
        moved = True
    if at[RECORD_OFFERED] and can_push(records_request):
        put(records_request, 0, at[RECORD_ROW])
        push(records_request)
        at[RECORD_OFFERED] = 0
        moved = True
    return moved


@njit_in_place
def _host(at: NDArray[np.int64], lines: Ring, uses: bool) -> bool:
    """Ask for lines, show the next one, and give a target of it."""
    ends_line = uses and (at[SECOND] != 0 or at[TO_GIVE] == 1)
    fetches = can_pop(lines) and (at[LINE_SHOWN] == 0 or ends_line)
    asks = at[LINES_TO_ASK] > 0 and at[LINES_WAITING] < at[MOST_LINES] and at[LINE_OFFERED] == 0
    at[LINES_WAITING] += int(asks) - int(fetches)
    if fetches:
        pop(lines)
    if fetches or ends_line:
        at[LINE_SHOWN] = 1 if fetches else 0
    if uses:
        at[SECOND] = 0 if ends_line else 1
        at[TO_GIVE] -= 1
    if asks:
        at[LINE_OFFERED] = 1
        at[LINES_TO_ASK] -= 1
    return bool(asks or fetches)


@njit_in_place
def _frontier(at: NDArray[np.int64], written: int, uses: bool) -> bool:
    """Read the frontier's next node when it is written and the one before is used."""
    reads = at[STATE] == RUN and at[HOP_NUMBER] != 0 and at[TO_READ] > 0 and at[INDEX] < written
    reads = reads and (at[NODE_SHOWN] == 0 or uses)
    if reads or uses:
        at[NODE_SHOWN] = 1 if reads else 0
    if reads:
        at[INDEX] += 1
        at[TO_READ] -= 1
    if at[STATE] != RUN:
        at[INDEX] = 0
        at[TO_READ] = at[TOTAL]
    return bool(reads)


@njit_in_place
def _look_up(
    at: NDArray[np.int64], records: Ring, enters: bool, is_known: bool, gives: bool, asked_known: bool
) -> bool:
    """Let a node enter the look-up and one leave it with its record."""
    takes_record = gives and asked_known
    fetches_record = can_pop(records) and (at[RECORD_SHOWN] == 0 or takes_record)
    fetches_asked = at[ASKED] > 0 and (at[ASKED_SHOWN] == 0 or gives)
    if fetches_record:
        pop(records)
    if fetches_record or takes_record:
        at[RECORD_SHOWN] = 1 if fetches_record else 0
    if fetches_asked or gives:
        at[ASKED_SHOWN] = 1 if fetches_asked else 0
    if enters and is_known:
        at[RECORD_OFFERED] = 1
        at[RECORD_ROW] = at[ROW_ENTERS]
    at[ASKED] += int(enters) - int(fetches_asked)
    at[WAITING] += int(enters) - int(gives)
    return bool(fetches_record or fetches_asked)


@njit_in_place
def _begin(at: NDArray[np.int64], jobs: Ring) -> bool:
    """Take the next command."""
    if not can_pop(jobs):
        return False
    pop(jobs)
    at[HOP_NUMBER] = 0
    at[HOPS] = front(jobs, COMMAND_HOPS)
    at[LOOK_UP] = front(jobs, COMMAND_LOOK_UP)
    at[TO_GIVE] = front(jobs, COMMAND_TARGETS)
    at[LINES_TO_ASK] = (front(jobs, COMMAND_TARGETS) + 1) // 2
    at[STATE] = HOP
    return True


@njit_in_place
def _go_on(at: NDArray[np.int64], state: int, free: bool, nothing: int, pulses: NDArray[np.int64]) -> bool:
    """Hand a hop on, end one, or end one that has no targets."""
    last_hop = at[HOP_NUMBER] + 1 == at[HOPS]
    if state == NEXT:
        if last_hop:
            pulses[PULSE_RESET] = 1
            at[STATE] = IDLE
        elif nothing:
            at[STATE] = NOTHING
        else:
            pulses[PULSE_RELEASE] = 1 if at[HOP_NUMBER] > 0 else 0
            at[STATE] = HOP
        at[HOP_NUMBER] += 1
        return True
    if not free:
        return False
    if state == HOP:
        at[DRAW_OFFERED] = 1
        at[DRAW_BEGINS_HOP] = 1
        at[DRAW_COUNT] = 0
        at[TOTAL] = 0
        at[STATE] = RUN
    else:
        at[ROW_ENTERS] += 1
        at[ROW_GIVEN] += 1
        if last_hop:
            at[STATE] = NEXT
        else:
            at[HOP_NUMBER] += 1
    return True


@njit_in_place
def next_targets(_s: TargetsState) -> int:
    """Return the next cycle in which the unit does something by itself: none, `step_targets` says so beforehand."""
    return FAR
