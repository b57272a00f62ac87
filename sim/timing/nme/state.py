"""What the timing model of Near-Memory Engines remembers: tables of numbers, for its kernel.

A cycle that is not known yet is ``FAR``. Everything that follows from what is known is worked out at once, so a cycle
is always known before the model reaches it.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sim.jit import njit_in_place

NO_SLOT = (1 << 32) - 1

# Columns of `Tables.commands`: what is asked, and when it was accepted and the engine was idle again.
C_CODE, C_RUN, C_FIRST_DESCRIPTOR, C_END_DESCRIPTOR, C_FIRST_UPDATE, C_END_UPDATE, C_BEATS = range(7)
C_KIND, C_STRIDE, C_ADDRESS, C_END_TICKET, C_ACCEPTED, C_IDLE = range(7, 13)
# Columns of `Tables.tickets`: the pass (-1 for none), whether it gives a status, its slot; cycles of coming and going.
T_PASS, T_TELLS, T_SLOT, T_PUSHED, T_POPPED = range(5)
# Columns of `Tables.descriptors`, and when each was offered and taken.
D_CODE, D_SLOT, D_PASSES, D_SOURCES, D_EDGES, D_SOURCES_AT, D_EDGES_AT, D_FIRST_SOURCE, D_FIRST_EDGE = range(9)
D_DESTINATIONS, D_KIND, D_STRIDE, D_OFFERED, D_TAKEN = range(9, 14)
# Columns of `Tables.passes`: what it is; when it began, when each unit took its job from its queue, when the gather had
# asked for all, when its end was seen by the tickets.
P_DESCRIPTOR, P_BEATS, P_LINES, P_FIRST_BURST, P_BEGUN, P_SOURCES_TAKEN, P_EDGES_TAKEN, P_GATHER_TAKEN = range(8)
P_REDUCE_TAKEN, P_ASKED, P_ENDED = range(8, 11)
# Rows of `Tables.slots`: of each list reader, when a chunk was there, its records, when its slot was free; of the
# vector buffer, when a vector was seen whole, pieces to come, when its slot was free; of the store, the same.
S_FILLED, S_RECORDS, S_FREED = 0, 3, 6
S_WHOLE, S_PIECES, S_VECTOR_FREED, S_STORED, S_STORE_PIECES = range(9, 14)
# Columns of `Tables.readers`, a row for each list reader: records to be asked for, first chunk, when its list was
# taken, when it last asked; chunks asked for; the record at hand (chunk, place in it), when the one before was taken.
R_LEFT, R_CHUNK, R_TAKEN, R_ASKED, R_CHUNKS, R_HEAD, R_INDEX, R_GIVEN = range(8)
# Columns of `Tables.requests`, a ring: those of `sim.timing.dram`, and the unit and the slot.
Q_UNIT, Q_SLOT = 7, 8
REQUESTS = 128

DESCRIPTORS, SOURCES, EDGES, VECTORS, STORE = range(5)
STORE_SLOTS = 4
TICKETS = 8

# Places of `Tables.now`.
(
    NOW,  # next cycle to account for
    NEXT,  # cycle of the next event
    STOP,  # cycle of a change that is no event, if it comes first
    KIND_OF_CYCLE,  # what the cycles up to the next event are
    MOVING,  # cycle from which the data bus is free
    COMMAND_FROM,  # cycle from which the command bus is free
    CHOSEN,  # entry of the window that is served at the next command, -1 for a refresh
    REFRESH_COMMAND,
    SERVED_AT,  # cycle of the next command
    N_WINDOW,
    HELD_FROM,  # cycle from which the request register offers, FAR while it is empty
    HELD,  # its request
    N_REQUESTS,
    N_LOG,
    COMMAND,  # command to accept next
    COMMAND_OFFER,
    BUSY_COMMAND,  # command that the cycles are counted for
    DESCRIPTOR,  # descriptor at hand
    PASS_OF_DESCRIPTOR,
    WANTS_FROM,  # cycle from which it is at hand, -1 while that is not known
    TICKET,  # ticket to push next
    PASS,  # pass to begin next
    FIRST_TICKET,  # ticket to pop next
    POPPED,  # when the one before was popped
    STATUS,  # statuses handed over
    STATUS_TAKEN,  # when the last was
    PARTIAL_TAKEN,  # when the last partial sum was
    SOURCE_JOB,
    EDGE_JOB,
    GATHER_JOB,  # passes whose job the units take next
    GATHER_LEFT,
    GATHER_TAKEN,
    GATHER_BEGUN,  # when the vector before was asked for whole
    GATHER_PIECE,
    GATHER_ASKED,
    GATHER_SOURCE,  # index of the source at hand
    VECTOR,  # vectors asked for
    VECTOR_READ,  # vectors handed to the reduce unit
    VECTOR_OFFER,  # compute cycle from which the next is offered, FAR while it is not known
    VECTOR_LAST,  # compute cycle in which the beat before was taken
    VECTOR_PASS,  # pass of the next vector to load, and how many of it are left
    VECTORS_LEFT,
    EDGE_OFFER,
    EDGE_LAST,
    EDGE_OF_PASS,  # edges of the running pass issued
    REDUCE_OFFER,
    REDUCE_LAST,
    REDUCE_ACCEPTED,
    REDUCE_ENTERED,
    REDUCE_LEFT,
    REDUCE_REPORTED,
    STATUS_OFFER,  # compute cycle from which the drained pass' status is offered, FAR for none
    STORE_COMMAND,  # command under way, -1 for none
    STORE_UPDATE,
    STORE_SLICE,
    STORE_FREE,
    STORE_OFFER,
    STORE_TAIL,
    STORE_WANTS,  # cycle from which it asks, FAR for not
    STORE_PIECE,
    UPDATE_BEAT,
    WATCHES,  # whether what happens to others matters to it
    FIRST_OPEN,  # where the window last found its ticket, descriptor and command
    OPEN_DESCRIPTOR,
    IDLE_COMMAND,
    WANTED,  # cycle from which some unit asks for something
    BAD_WANTED,  # cycle in which the gather passes an invalid source over
    BEGIN_WANTED,  # cycle from which the next pass, or refusal, can begin, were it not for the window
    HERE,  # cycle from which the gather has a source, and from which it has a slot for it
    ROOM,
    FRONT_SLOT,  # slot of the shard at hand, -1 if it is to be refused
    IS_HELD,  # whether the window holds it back
    PASSES_POPPED,
    PASS_POPPED,  # when the last of them was
    DONE,
) = range(75)

# Places of `Tables.sizes`.
(
    Z_UP,
    Z_DOWN,
    Z_LIST_SLOTS,
    Z_VECTOR_SLOTS,
    Z_QUEUED,
    Z_WINDOW_SHARDS,
    Z_GROUPS,
    Z_BANK_GROUPS,
    Z_BANKS,
    Z_BURSTS,
    Z_BEAT_BYTES,
    Z_LINE_BYTES,
    Z_SLICE_BEATS,
    Z_SLICE_BURSTS,
    Z_LOADED,
) = range(15)
Z_PER_CHUNK, Z_PER_LINE = 15, 18
N_SIZES = 21


class Tables(NamedTuple):
    """The tables of one engine, or of all with one more axis in front (those marked *: one behind the other).

    Attributes
    ----------
    now : ndarray of int64
        The engine's state.
    sizes : ndarray of int64
        Sizes of the hardware, the same for all.
    commands*, tickets*, descriptors*, passes* : ndarray of int64, shape [n, columns]
        What there is to do, and when it is done.
    sources* : ndarray of int64
        Number of each source vector, -1 if it is invalid.
    edges* : ndarray of int64
        Twice the slot of each edge, plus 1 on the final edge of a source.
    updates* : ndarray of int64
        Number of each vector to store, -1 if it is invalid.
    slots, readers, requests : ndarray of int64
        The buffers and queues.
    """

    now: NDArray[np.int64]
    sizes: NDArray[np.int64]
    commands: NDArray[np.int64]
    tickets: NDArray[np.int64]
    descriptors: NDArray[np.int64]
    passes: NDArray[np.int64]
    sources: NDArray[np.int64]
    edges: NDArray[np.int64]
    updates: NDArray[np.int64]
    slots: NDArray[np.int64]
    readers: NDArray[np.int64]
    requests: NDArray[np.int64]


# Rows of the bounds of engines whose tables stand one behind the other, and of what stands beside them.
B_COMMANDS, B_TICKETS, B_DESCRIPTORS, B_PASSES, B_SOURCES, B_EDGES, B_UPDATES = range(7)
B_UPDATE_BEATS, B_PARTIALS, B_STATUS, B_LOG = range(7, 11)


@njit_in_place
def one_engine(every: Tables, bounds: NDArray[np.int64], d: int) -> Tables:
    """Return the tables of one engine of several.

    Parameters
    ----------
    every : Tables
        The tables of all.
    bounds : ndarray of int64, shape [11, n_engines + 1]
        Where each engine's part begins and ends.
    d : int
        The engine.

    Returns
    -------
    Tables
        Its part.
    """
    return Tables(
        every.now[d],
        every.sizes,
        every.commands[bounds[B_COMMANDS, d] : bounds[B_COMMANDS, d + 1]],
        every.tickets[bounds[B_TICKETS, d] : bounds[B_TICKETS, d + 1]],
        every.descriptors[bounds[B_DESCRIPTORS, d] : bounds[B_DESCRIPTORS, d + 1]],
        every.passes[bounds[B_PASSES, d] : bounds[B_PASSES, d + 1]],
        every.sources[bounds[B_SOURCES, d] : bounds[B_SOURCES, d + 1]],
        every.edges[bounds[B_EDGES, d] : bounds[B_EDGES, d + 1]],
        every.updates[bounds[B_UPDATES, d] : bounds[B_UPDATES, d + 1]],
        every.slots[d],
        every.readers[d],
        every.requests[d],
    )
