"""Timing model of what a Near-Memory Engine's units fetch and store: from when on they ask, and what follows."""

import numpy as np
from numpy.typing import NDArray

from sim.jit import njit_in_place
from sim.program.geometry import KINDS, LIST_KIND
from sim.timing import dram_steps as dram
from sim.timing.dram_steps import FAR
from sim.timing.nme import state as st
from sim.timing.nme.state import Tables


@njit_in_place
def record_offered(e: Tables, reader: int) -> int:
    """Return from when on a list reader offers its next record."""
    row = e.readers[reader]
    if row[st.R_HEAD] == row[st.R_CHUNKS]:
        return FAR
    if row[st.R_INDEX] > 0:
        return int(row[st.R_GIVEN] + 1)
    filled = e.slots[st.S_FILLED + reader, row[st.R_HEAD] % e.sizes[st.Z_LIST_SLOTS]]
    return FAR if filled == FAR else int(max(filled + 2, row[st.R_GIVEN] + 1))


@njit_in_place
def take_record(e: Tables, reader: int, cycle: int) -> None:
    """Take it."""
    row = e.readers[reader]
    slot = row[st.R_HEAD] % e.sizes[st.Z_LIST_SLOTS]
    row[st.R_GIVEN] = cycle
    row[st.R_INDEX] += 1
    if row[st.R_INDEX] == e.slots[st.S_RECORDS + reader, slot]:
        e.slots[st.S_FREED + reader, slot] = cycle
        row[st.R_HEAD] += 1
        row[st.R_INDEX] = 0


@njit_in_place
def chunk_wanted(e: Tables, reader: int) -> int:
    """Return from when on a list reader asks for its next chunk."""
    row = e.readers[reader]
    if row[st.R_LEFT] == 0:
        return FAR
    freed = e.slots[st.S_FREED + reader, row[st.R_CHUNKS] % e.sizes[st.Z_LIST_SLOTS]]
    return FAR if freed == FAR else int(max(row[st.R_TAKEN], row[st.R_ASKED], freed) + 1)


@njit_in_place
def source_here(e: Tables) -> int:
    """Return from when on the gather has a source."""
    if e.now[st.GATHER_LEFT] == 0:
        return FAR
    offered = record_offered(e, st.SOURCES)
    return FAR if offered == FAR else int(max(e.now[st.GATHER_TAKEN] + 1, e.now[st.GATHER_BEGUN] + 1, offered))


@njit_in_place
def vector_room(e: Tables) -> int:
    """Return from when on the gather has a slot for the next vector."""
    freed = e.slots[st.S_VECTOR_FREED, e.now[st.VECTOR] % e.sizes[st.Z_VECTOR_SLOTS]]
    return FAR if freed == FAR else int(freed + 1)


@njit_in_place
def vector_wanted(e: Tables) -> int:
    """Return from when on the gather asks for the next piece, or passes an invalid source over."""
    wanted = max(source_here(e), vector_room(e))
    return wanted if e.now[st.GATHER_PIECE] == 0 else int(max(wanted, e.now[st.GATHER_ASKED] + 1))


@njit_in_place
def vector_begun(e: Tables, cycle: int) -> None:
    """Note that all of a vector was asked for, or that its source is invalid."""
    now = e.now
    e.slots[st.S_VECTOR_FREED, now[st.VECTOR] % e.sizes[st.Z_VECTOR_SLOTS]] = FAR
    take_record(e, st.SOURCES, cycle)
    now[st.GATHER_BEGUN] = cycle
    now[st.GATHER_PIECE] = 0
    now[st.GATHER_SOURCE] += 1
    now[st.GATHER_LEFT] -= 1
    now[st.VECTOR] += 1
    if now[st.GATHER_LEFT] == 0:
        e.passes[now[st.GATHER_JOB] - 1, st.P_ASKED] = cycle


@njit_in_place
def slice_beats(e: Tables) -> int:
    """Return the beats of the slice that is being stored."""
    beats = e.commands[e.now[st.STORE_COMMAND], st.C_BEATS]
    return int(min(e.sizes[st.Z_SLICE_BEATS], beats - e.now[st.STORE_SLICE] * e.sizes[st.Z_SLICE_BEATS]))


@njit_in_place
def slice_stored(e: Tables, cycle: int) -> None:
    """Note that all of a slice was asked for, or that its vector is invalid."""
    now = e.now
    now[st.STORE_FREE] = cycle + 1
    now[st.STORE_WANTS] = FAR
    now[st.STORE_PIECE] = 0
    now[st.STORE_SLICE] += 1
    if now[st.STORE_SLICE] * e.sizes[st.Z_SLICE_BEATS] >= e.commands[now[st.STORE_COMMAND], st.C_BEATS]:
        now[st.STORE_SLICE] = 0
        now[st.STORE_UPDATE] += 1


@njit_in_place
def begin_wanted(e: Tables) -> int:
    """Return from when on the next pass or refusal could begin, were it not for the window."""
    now = e.now
    at = now[st.WANTS_FROM]
    if at < 0:
        return FAR
    n = now[st.TICKET]
    if n >= st.TICKETS:
        at = max(at, e.tickets[n - st.TICKETS, st.T_POPPED] + 1)
    p = now[st.PASS] - e.sizes[st.Z_QUEUED]
    if p >= 0 and e.descriptors[now[st.DESCRIPTOR], st.D_CODE] == 0:
        for column in range(st.P_SOURCES_TAKEN, st.P_REDUCE_TAKEN + 1):
            at = max(at, e.passes[p, column] + 1)
    return int(min(at, FAR))


@njit_in_place
def note_wants(e: Tables) -> None:
    """Work out from when on the units ask for something, and the next pass can begin."""
    now = e.now
    now[st.HERE], now[st.ROOM] = source_here(e), vector_room(e)
    at = min(chunk_wanted(e, st.DESCRIPTORS), chunk_wanted(e, st.SOURCES), chunk_wanted(e, st.EDGES))
    now[st.BAD_WANTED] = FAR
    if now[st.GATHER_LEFT] > 0:
        if e.sources[now[st.GATHER_SOURCE]] >= 0:
            at = min(at, vector_wanted(e))
        else:
            now[st.BAD_WANTED] = vector_wanted(e)
    now[st.WANTED] = min(at, now[st.STORE_WANTS])
    now[st.BEGIN_WANTED] = begin_wanted(e)
    if now[st.WANTS_FROM] >= 0:
        shard = e.descriptors[now[st.DESCRIPTOR]]
        now[st.FRONT_SLOT] = shard[st.D_SLOT] if shard[st.D_CODE] == 0 else -1


@njit_in_place
def ask(e: Tables, cycle: int) -> None:
    """Put the request of the first unit that has one in the request register."""
    now = e.now
    place = now[st.N_REQUESTS] % st.REQUESTS
    now[st.N_REQUESTS] += 1
    request = e.requests[place]
    for unit in (st.DESCRIPTORS, st.SOURCES, st.EDGES):
        if chunk_wanted(e, unit) <= cycle:
            _ask_chunk(e, unit, request, cycle)
            break
    else:
        if now[st.GATHER_LEFT] > 0 and e.sources[now[st.GATHER_SOURCE]] >= 0 and vector_wanted(e) <= cycle:
            _ask_vector(e, request, cycle)
        else:
            _ask_store(e, request, cycle)
    now[st.HELD] = place
    now[st.HELD_FROM] = cycle + 1


@njit_in_place
def _ask_chunk(e: Tables, unit: int, request: NDArray[np.int64], cycle: int) -> None:
    row = e.readers[unit]
    slot = row[st.R_CHUNKS] % e.sizes[st.Z_LIST_SLOTS]
    records = min(row[st.R_LEFT], e.sizes[st.Z_PER_CHUNK + unit])
    per_line = e.sizes[st.Z_PER_LINE + unit]
    _place(e, request, row[st.R_CHUNK], LIST_KIND, 2, 0, -1)
    request[st.Q_UNIT], request[st.Q_SLOT], request[dram.REQUEST_WRITE] = unit, slot, 0
    request[dram.REQUEST_BURSTS] = (records + per_line - 1) // per_line
    e.slots[st.S_RECORDS + unit, slot] = records
    e.slots[st.S_FILLED + unit, slot] = FAR
    e.slots[st.S_FREED + unit, slot] = FAR
    row[st.R_LEFT] -= records
    row[st.R_CHUNK] += 1
    row[st.R_CHUNKS] += 1
    row[st.R_ASKED] = cycle


@njit_in_place
def _ask_vector(e: Tables, request: NDArray[np.int64], cycle: int) -> None:
    now, groups = e.now, e.sizes[st.Z_GROUPS]
    passed = e.passes[now[st.GATHER_JOB] - 1]
    shard = e.descriptors[passed[st.P_DESCRIPTOR]]
    lines, piece = passed[st.P_LINES], now[st.GATHER_PIECE]
    slot = now[st.VECTOR] % e.sizes[st.Z_VECTOR_SLOTS]
    number = e.sources[now[st.GATHER_SOURCE]]
    _place(
        e, request, number, shard[st.D_KIND], shard[st.D_STRIDE], passed[st.P_FIRST_BURST], piece if groups > 1 else -1
    )
    request[st.Q_UNIT], request[st.Q_SLOT], request[dram.REQUEST_WRITE] = st.VECTORS, slot, 0
    request[dram.REQUEST_BURSTS] = lines // groups + (piece < lines % groups)
    if piece == 0:
        e.slots[st.S_WHOLE, slot] = FAR
        e.slots[st.S_PIECES, slot] = min(lines, groups)
    now[st.GATHER_ASKED] = cycle
    now[st.GATHER_PIECE] += 1
    if now[st.GATHER_PIECE] == min(lines, groups):
        vector_begun(e, cycle)


@njit_in_place
def _ask_store(e: Tables, request: NDArray[np.int64], cycle: int) -> None:
    now, sizes = e.now, e.sizes
    groups, piece, slot = sizes[st.Z_GROUPS], now[st.STORE_PIECE], now[st.STORE_TAIL]
    command = e.commands[now[st.STORE_COMMAND]]
    lines = (slice_beats(e) * sizes[st.Z_BEAT_BYTES] + sizes[st.Z_LINE_BYTES] - 1) // sizes[st.Z_LINE_BYTES]
    first = now[st.STORE_SLICE] * sizes[st.Z_SLICE_BURSTS]
    number = e.updates[now[st.STORE_UPDATE]]
    _place(e, request, number, command[st.C_KIND], command[st.C_STRIDE], first, piece if groups > 1 else -1)
    request[st.Q_UNIT], request[st.Q_SLOT], request[dram.REQUEST_WRITE] = st.STORE, slot, 1
    request[dram.REQUEST_BURSTS] = lines // groups + (piece < lines % groups)
    if piece == 0:
        e.slots[st.S_STORED, slot] = FAR
        e.slots[st.S_STORE_PIECES, slot] = min(lines, groups)
    now[st.STORE_WANTS] = cycle + 1
    now[st.STORE_PIECE] += 1
    if now[st.STORE_PIECE] == min(lines, groups):
        now[st.STORE_TAIL] = (slot + 1) % st.STORE_SLOTS
        slice_stored(e, cycle)


@njit_in_place
def _place(e: Tables, request: NDArray[np.int64], number: int, kind: int, stride: int, first: int, piece: int) -> None:
    """Work out where a vector or chunk lies (`sim.program.address`); `piece` is -1 if all of it lies in one bank."""
    sizes = e.sizes
    if piece < 0:
        request[dram.REQUEST_GROUP] = number % sizes[st.Z_BANK_GROUPS]
        number //= sizes[st.Z_BANK_GROUPS]
    else:
        request[dram.REQUEST_GROUP] = piece
    request[dram.REQUEST_BANK] = number % sizes[st.Z_BANKS]
    burst = number // sizes[st.Z_BANKS] << stride
    request[dram.REQUEST_COLUMN] = burst % sizes[st.Z_BURSTS] + first
    request[dram.REQUEST_ROW] = burst // sizes[st.Z_BURSTS] * KINDS + kind


@njit_in_place
def moved(e: Tables, request: NDArray[np.int64], data_at: int) -> None:
    """Note that the last burst of a request moves in a cycle."""
    unit, slot = request[st.Q_UNIT], request[st.Q_SLOT]
    if unit < st.VECTORS:
        e.slots[st.S_FILLED + unit, slot] = data_at
    elif unit == st.VECTORS:
        e.slots[st.S_PIECES, slot] -= 1
        if e.slots[st.S_PIECES, slot] == 0:
            e.slots[st.S_WHOLE, slot] = data_at + 1
    else:
        e.slots[st.S_STORE_PIECES, slot] -= 1
        if e.slots[st.S_STORE_PIECES, slot] == 0:
            e.slots[st.S_STORED, slot] = data_at - 1
