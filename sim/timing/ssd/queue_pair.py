"""Timing model of the sampling engine's submission and completion queue, one cycle a step."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sim.config import SsdConfig
from sim.jit import njit_in_place
from sim.timing.ssd.ring import Ring, can_pop, can_push, front, pop, push, put
from sim.timing.ssd.trace import FAR

DOORBELL_QUEUE, DOORBELL_VALUE = range(2)
"""Fields of the ring of doorbells."""

GOOD, REFUSED_AT_ENTRY, REFUSED = range(3)
"""What comes of a command: it runs; its opcode or PRP1 refuses it; its configuration does."""

IDLE, ASK_ENTRY, ENTRY, ASK_CONFIG, CONFIG, JUDGE, CONTEXT, JOB = range(8)

(
    MOST_COMMANDS,
    SQ_ENTRIES,
    CQ_ENTRIES,
    STATE,
    NUMBER,
    SQ_HEAD,
    SQ_TAIL,
    RUNNING,
    CQ_HEAD,
    RESERVED,
    WRITTEN,
    ERROR,
) = range(12)


class PairState(NamedTuple):
    """The unit's registers, as far as they decide about time.

    Attributes
    ----------
    at : ndarray of int64, shape [12]
        Sizes; the state of the command that is being taken, and its number; places of the queues; commands that run;
        whether a doorbell was ignored.
    """

    at: NDArray[np.int64]


class Submitted(NamedTuple):
    """What the commands are, in order of their submission.

    Attributes
    ----------
    fate : ndarray of int64, shape [n]
        `GOOD`, `REFUSED_AT_ENTRY` or `REFUSED`.
    contexts : ndarray of int64, shape [n, fields]
        What the packer's queue gets.
    jobs : ndarray of int64, shape [n, fields]
        What the targets' queue gets of those that are `GOOD`: `sim.timing.ssd.targets.COMMAND_TARGETS` ...
    """

    fate: NDArray[np.int64]
    contexts: NDArray[np.int64]
    jobs: NDArray[np.int64]


def make_pair(config: SsdConfig, *, sq_entries: int, cq_entries: int) -> PairState:
    """Return the unit after reset.

    Parameters
    ----------
    config : SsdConfig
        The engine.
    sq_entries, cq_entries : int
        Entries of the queues.

    Returns
    -------
    PairState
        The state.
    """
    state = PairState(np.zeros(12, np.int64))
    state.at[MOST_COMMANDS] = config.commands_in_flight
    state.at[SQ_ENTRIES] = sq_entries
    state.at[CQ_ENTRIES] = cq_entries
    return state


@njit_in_place
def _take_doorbell(at: NDArray[np.int64], doorbells: Ring) -> None:
    """Move the end of a queue, or ignore the doorbell."""
    value = front(doorbells, DOORBELL_VALUE)
    if front(doorbells, DOORBELL_QUEUE) == 0:
        if value < at[SQ_ENTRIES]:
            at[SQ_TAIL] = value
        else:
            at[ERROR] = 1
    else:
        freed = value - at[CQ_HEAD] + (at[CQ_ENTRIES] if value < at[CQ_HEAD] else 0)
        if value < at[CQ_ENTRIES] and freed <= at[WRITTEN]:
            at[CQ_HEAD] = value
            at[RESERVED] -= freed
            at[WRITTEN] -= freed
        else:
            at[ERROR] = 1
    pop(doorbells)


@njit_in_place
def _put_row(ring: Ring, rows: NDArray[np.int64], number: int) -> None:
    for field in range(rows.shape[1]):
        put(ring, field, rows[number, field])
    push(ring)


@njit_in_place
def _take_command(
    at: NDArray[np.int64], lines_request: Ring, lines: Ring, contexts: Ring, jobs: Ring, commands: Submitted
) -> int:
    """Go on with the command that is being taken, if it can; return the next state."""
    state, number = at[STATE], at[NUMBER]
    following = state
    if state == ASK_ENTRY:
        if can_push(lines_request):
            push(lines_request)
            following = ENTRY
    elif state == ENTRY:
        if can_pop(lines):
            pop(lines)
            following = CONTEXT if commands.fate[number] == REFUSED_AT_ENTRY else ASK_CONFIG
    elif state == ASK_CONFIG:
        if can_push(lines_request):
            push(lines_request)
            following = CONFIG
    elif state == CONFIG:
        if can_pop(lines):
            pop(lines)
            following = JUDGE
    elif state == JUDGE:
        following = CONTEXT
    elif state == CONTEXT:
        if can_push(contexts):
            _put_row(contexts, commands.contexts, number)
            following = JOB if commands.fate[number] == GOOD else IDLE
    elif state == JOB and can_push(jobs):
        _put_row(jobs, commands.jobs, number)
        following = IDLE
    return int(following)


@njit_in_place
def step_pair(
    s: PairState,
    doorbells: Ring,
    lines_request: Ring,
    lines: Ring,
    contexts: Ring,
    jobs: Ring,
    completed: int,
    commands: Submitted,
) -> bool:
    """Let one cycle pass.

    Parameters
    ----------
    s : PairState
        The unit.
    doorbells : Ring
        Its queue of doorbells, of depth 2: `DOORBELL_QUEUE`, `DOORBELL_VALUE`.
    lines_request : Ring
        Queue of whoever reads the host's memory; the field is not set.
    lines : Ring
        The unit's own room for a line; the fields are not looked at.
    contexts, jobs : Ring
        Queues of packer and targets.
    completed : int
        1 if a completion is written in this cycle (the wire of the packer, as of this cycle).
    commands : Submitted
        The commands. When all have been taken, no other is.

    Returns
    -------
    bool
        Whether the next cycle could differ.
    """
    at = s.at
    state = at[STATE]
    moved = completed != 0
    takes = (
        state == IDLE
        and at[SQ_HEAD] != at[SQ_TAIL]
        and at[RUNNING] < at[MOST_COMMANDS]
        and at[RESERVED] + 1 < at[CQ_ENTRIES]
        and at[NUMBER] < len(commands.fate)
    )
    if can_pop(doorbells):
        _take_doorbell(at, doorbells)
        moved = True
    at[RUNNING] += int(takes) - completed
    at[RESERVED] += int(takes)
    at[WRITTEN] += completed
    if takes:
        at[SQ_HEAD] = 0 if at[SQ_HEAD] + 1 == at[SQ_ENTRIES] else at[SQ_HEAD] + 1
        following = ASK_ENTRY
    else:
        following = _take_command(at, lines_request, lines, contexts, jobs, commands)
    if following != state:
        at[STATE] = following
        moved = True
        if following == IDLE:
            at[NUMBER] += 1
    return bool(moved)


@njit_in_place
def next_pair(_s: PairState) -> int:
    """Return the next cycle in which the unit does something by itself: none, `step_pair` says so beforehand."""
    return FAR
