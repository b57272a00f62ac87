"""Timing model of a Near-Memory Engine's units: what follows from what is known, worked out at once.

Nothing here waits for a cycle to come: a step is made as soon as all that it depends on is known, and notes the cycle
in which the hardware makes it.
"""

from sim.jit import njit_in_place
from sim.timing import reduce_steps as rs
from sim.timing.dram_steps import FAR
from sim.timing.nme import state as st
from sim.timing.nme.fetch import note_wants, record_offered, slice_beats, slice_stored
from sim.timing.nme.reduce import Outside, end_pass, feed
from sim.timing.nme.state import Tables
from sim.timing.streams import next_free


@njit_in_place
def push_ticket(e: Tables, cycle: int) -> None:
    """Begin something that will be told of."""
    e.tickets[e.now[st.TICKET], st.T_PUSHED] = cycle
    e.now[st.TICKET] += 1


@njit_in_place
def advance(e: Tables, r: rs.ReduceState, outside: Outside) -> None:
    """Work out all that can be."""
    while (
        _take_command(e, outside)
        or _take_jobs(e)
        or _store(e, outside)
        or feed(e, r, outside)
        or end_pass(e, r, outside)
        or _tell(e, outside)
    ):
        pass
    note_wants(e)


@njit_in_place
def _take_command(e: Tables, outside: Outside) -> bool:
    now, c = e.now, e.now[st.COMMAND]
    descriptor = now[st.DESCRIPTOR]
    if now[st.WANTS_FROM] < 0 and c > 0 and descriptor < e.commands[c - 1, st.C_END_DESCRIPTOR]:
        offered = record_offered(e, st.DESCRIPTORS)
        if offered < FAR:
            e.descriptors[descriptor, st.D_OFFERED] = offered
            now[st.WANTS_FROM] = offered
            return True
    if c == len(e.commands) or (c > 0 and e.commands[c - 1, st.C_IDLE] == FAR):
        return False
    idle = e.commands[c - 1, st.C_IDLE] if c > 0 else 0
    at = max(now[st.COMMAND_OFFER], idle, e.sizes[st.Z_LOADED])
    e.commands[c, st.C_ACCEPTED] = at
    now[st.COMMAND_OFFER] = next_free(outside.command_waits, at + 1)
    now[st.COMMAND] += 1
    if e.commands[c, st.C_CODE] != 0:
        push_ticket(e, at + 1)
    elif e.commands[c, st.C_RUN]:
        row = e.readers[st.DESCRIPTORS]
        row[st.R_TAKEN] = at + 1
        row[st.R_LEFT] = e.commands[c, st.C_END_DESCRIPTOR] - e.commands[c, st.C_FIRST_DESCRIPTOR]
        row[st.R_CHUNK] = e.commands[c, st.C_ADDRESS]
    else:
        now[st.STORE_COMMAND] = c
        now[st.STORE_UPDATE] = e.commands[c, st.C_FIRST_UPDATE]
        now[st.STORE_FREE] = at + 2
    return True


@njit_in_place
def _take_jobs(e: Tables) -> bool:
    """Take lists and passes from the queues."""
    now, passes = e.now, e.passes
    done = False
    for reader in (st.SOURCES, st.EDGES):
        job = now[st.SOURCE_JOB] if reader == st.SOURCES else now[st.EDGE_JOB]
        row = e.readers[reader]
        if row[st.R_LEFT] == 0 and job < now[st.PASS]:
            at = max(passes[job, st.P_BEGUN], row[st.R_ASKED]) + 1
            shard = e.descriptors[passes[job, st.P_DESCRIPTOR]]
            row[st.R_TAKEN] = at
            if reader == st.SOURCES:
                passes[job, st.P_SOURCES_TAKEN] = at
                row[st.R_LEFT], row[st.R_CHUNK] = shard[st.D_SOURCES], shard[st.D_SOURCES_AT]
                now[st.SOURCE_JOB] += 1
            else:
                passes[job, st.P_EDGES_TAKEN] = at
                row[st.R_LEFT], row[st.R_CHUNK] = shard[st.D_EDGES], shard[st.D_EDGES_AT]
                now[st.EDGE_JOB] += 1
            done = True
    job = now[st.GATHER_JOB]
    if now[st.GATHER_LEFT] == 0 and job < now[st.PASS]:
        at = max(passes[job, st.P_BEGUN], now[st.GATHER_BEGUN]) + 1
        shard = e.descriptors[passes[job, st.P_DESCRIPTOR]]
        passes[job, st.P_GATHER_TAKEN] = at
        now[st.GATHER_TAKEN] = at
        now[st.GATHER_LEFT], now[st.GATHER_SOURCE] = shard[st.D_SOURCES], shard[st.D_FIRST_SOURCE]
        now[st.GATHER_JOB] += 1
        done = True
    return done


@njit_in_place
def _store(e: Tables, outside: Outside) -> bool:
    """Take the next slice of a vector to be stored, or end the command."""
    now, c = e.now, e.now[st.STORE_COMMAND]
    if c < 0 or now[st.STORE_WANTS] < FAR:
        return False
    if now[st.STORE_UPDATE] == e.commands[c, st.C_END_UPDATE]:
        written = now[st.STORE_FREE]
        for slot in range(st.STORE_SLOTS):
            written = max(written, e.slots[st.S_STORED, slot])
        if written >= FAR:
            return False
        push_ticket(e, written + 1)
        now[st.STORE_COMMAND] = -1
        return True
    free = e.slots[st.S_STORED, now[st.STORE_TAIL]]
    if free == FAR:
        return False
    at = max(now[st.STORE_FREE], free) - 1
    for _ in range(slice_beats(e)):
        at = max(now[st.STORE_OFFER], at + 1)
        outside.updates[now[st.UPDATE_BEAT]] = at
        now[st.UPDATE_BEAT] += 1
        now[st.STORE_OFFER] = next_free(outside.update_waits, at + 1)
    if e.updates[now[st.STORE_UPDATE]] < 0:
        slice_stored(e, at + 1)
    else:
        now[st.STORE_WANTS] = at + 1
    return True


@njit_in_place
def _tell(e: Tables, outside: Outside) -> bool:
    """Pop the oldest ticket."""
    now, n = e.now, e.now[st.FIRST_TICKET]
    if n == now[st.TICKET]:
        return False
    ticket = e.tickets[n]
    at = max(ticket[st.T_PUSHED], now[st.POPPED]) + 1
    if ticket[st.T_TELLS]:
        at = max(at, now[st.STATUS_TAKEN])
    if ticket[st.T_PASS] >= 0:
        ended, asked = e.passes[ticket[st.T_PASS], st.P_ENDED], e.passes[ticket[st.T_PASS], st.P_ASKED]
        if max(ended, asked) == FAR:
            return False
        at = max(at, ended, asked + 1)
        now[st.PASSES_POPPED] += 1
        now[st.PASS_POPPED] = at
    ticket[st.T_POPPED] = at
    now[st.POPPED] = at
    now[st.FIRST_TICKET] += 1
    if ticket[st.T_TELLS]:
        now[st.STATUS_TAKEN] = next_free(outside.status_waits, at + 1)
        outside.status[now[st.STATUS]] = now[st.STATUS_TAKEN]
        now[st.STATUS] += 1
        command = now[st.COMMAND] - 1
        if n + 1 == e.commands[command, st.C_END_TICKET]:
            e.commands[command, st.C_IDLE] = now[st.STATUS_TAKEN] + 1
    return True
