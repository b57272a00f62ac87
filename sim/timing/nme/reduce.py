"""Timing model of how a Near-Memory Engine feeds its reduce unit, and takes what leaves it."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sim.jit import njit_in_place
from sim.timing import reduce_steps as rs
from sim.timing.dram_steps import FAR
from sim.timing.nme import state as st
from sim.timing.nme.clock import compute_cycle_from, cycle_of
from sim.timing.nme.fetch import record_offered, take_record
from sim.timing.nme.state import Tables
from sim.timing.streams import next_free


class Outside(NamedTuple):
    """What stands around an engine: the stall patterns of its streams, and room for the cycles of its handovers.

    Attributes
    ----------
    command_waits, update_waits, partial_waits, status_waits : ndarray of int64, shape [period]
        Patterns as `waits_of` gives them.
    never : ndarray of int64, shape [1]
        The pattern that never stalls.
    updates, partials, status : ndarray of int64
        Cycles of the handovers.
    scratch : ndarray of int64
        Room for the beats of a vector.
    """

    command_waits: NDArray[np.int64]
    update_waits: NDArray[np.int64]
    partial_waits: NDArray[np.int64]
    status_waits: NDArray[np.int64]
    never: NDArray[np.int64]
    updates: NDArray[np.int64]
    partials: NDArray[np.int64]
    status: NDArray[np.int64]
    scratch: NDArray[np.int64]


@njit_in_place
def feed(e: Tables, r: rs.ReduceState, outside: Outside) -> bool:
    """Feed the reduce unit: commands, vectors, edges, each through a register of the compute clock."""
    now, sizes = e.now, e.sizes
    done = False
    accepted = now[st.REDUCE_ACCEPTED]
    if now[st.REDUCE_OFFER] == FAR and accepted < now[st.PASS]:
        at = max(compute_cycle_from(sizes, e.passes[accepted, st.P_BEGUN] + 1), now[st.REDUCE_LAST])
        e.passes[accepted, st.P_REDUCE_TAKEN] = cycle_of(sizes, at)
        now[st.REDUCE_OFFER] = at + 1
        done = True
    if now[st.REDUCE_OFFER] < FAR and now[st.REDUCE_ENTERED] == accepted and r.load[rs.LOADS_LEFT] == 0:
        shard = e.descriptors[e.passes[accepted, st.P_DESCRIPTOR]]
        beats = e.passes[accepted, st.P_BEATS]
        now[st.REDUCE_LAST] = rs.accept(
            r, now[st.REDUCE_OFFER], beats, shard[st.D_SOURCES], shard[st.D_EDGES], shard[st.D_DESTINATIONS], False
        )
        now[st.REDUCE_OFFER] = FAR
        now[st.REDUCE_ACCEPTED] += 1
        done = True
    if now[st.REDUCE_ENTERED] < now[st.REDUCE_ACCEPTED] and now[st.REDUCE_LEFT] == now[st.REDUCE_ENTERED]:
        rs.enter(r)
        now[st.REDUCE_ENTERED] += 1
        now[st.EDGE_OF_PASS] = 0
        done = True
    return _vector(e, r, outside) or _edge(e, r) or done


@njit_in_place
def _vector(e: Tables, r: rs.ReduceState, outside: Outside) -> bool:
    now, sizes = e.now, e.sizes
    if now[st.VECTOR_READ] == now[st.VECTOR]:
        return False
    if now[st.VECTORS_LEFT] == 0:
        now[st.VECTORS_LEFT] = e.descriptors[e.passes[now[st.VECTOR_PASS], st.P_DESCRIPTOR], st.D_SOURCES]
        now[st.VECTOR_PASS] += 1
    slot = now[st.VECTOR_READ] % sizes[st.Z_VECTOR_SLOTS]
    one_beat = e.passes[now[st.VECTOR_PASS] - 1, st.P_BEATS] == 1
    done = False
    if now[st.VECTOR_OFFER] == FAR and e.slots[st.S_WHOLE, slot] < FAR:
        read = max(compute_cycle_from(sizes, e.slots[st.S_WHOLE, slot]), now[st.VECTOR_LAST])
        now[st.VECTOR_OFFER] = read + 1
        if one_beat:
            e.slots[st.S_VECTOR_FREED, slot] = cycle_of(sizes, read)
        done = True
    if now[st.VECTOR_OFFER] < FAR and rs.can_load(r):
        last = rs.load_vector(r, now[st.VECTOR_OFFER], outside.never, outside.scratch, 0)
        if not one_beat:
            e.slots[st.S_VECTOR_FREED, slot] = cycle_of(sizes, last - 1)
        now[st.VECTOR_LAST] = last
        now[st.VECTOR_OFFER] = FAR
        now[st.VECTOR_READ] += 1
        now[st.VECTORS_LEFT] -= 1
        done = True
    return done


@njit_in_place
def _edge(e: Tables, r: rs.ReduceState) -> bool:
    now, sizes = e.now, e.sizes
    done = False
    if now[st.EDGE_OFFER] == FAR:
        offered = record_offered(e, st.EDGES)
        if offered < FAR:
            at = max(compute_cycle_from(sizes, offered), now[st.EDGE_LAST])
            take_record(e, st.EDGES, cycle_of(sizes, at))
            now[st.EDGE_OFFER] = at + 1
            done = True
    if now[st.REDUCE_ENTERED] == now[st.REDUCE_LEFT] or not rs.front_known(r):
        return done
    if r.run[rs.EDGES_LEFT] > 0:
        if now[st.EDGE_OFFER] == FAR:
            return done
        shard = e.passes[now[st.REDUCE_ENTERED] - 1, st.P_DESCRIPTOR]
        edge = e.edges[e.descriptors[shard, st.D_FIRST_EDGE] + now[st.EDGE_OF_PASS]]
        now[st.EDGE_LAST] = rs.issue_edge(r, now[st.EDGE_OFFER], edge >> 1, edge & 1 != 0)
        now[st.EDGE_OFFER] = FAR
        now[st.EDGE_OF_PASS] += 1
        return True
    if r.run[rs.SOURCES_LEFT] > 0:
        rs.give_up(r)
        return True
    return done


@njit_in_place
def _drain(e: Tables, r: rs.ReduceState, outside: Outside) -> None:
    """Hand over the partial sums of the pass that left, each through a register of the memory's clock."""
    at = r.drain[rs.FIRST_READ]
    first = r.drain[rs.FIRST_PARTIAL]
    for beat in range(first, first + r.drain[rs.N_PARTIALS]):
        at = max(at + 1, compute_cycle_from(e.sizes, e.now[st.PARTIAL_TAKEN]))
        r.partials[beat] = at
        e.now[st.PARTIAL_TAKEN] = next_free(outside.partial_waits, cycle_of(e.sizes, at) + 1)
        outside.partials[beat] = e.now[st.PARTIAL_TAKEN]
    e.now[st.STATUS_OFFER] = rs.end_drain(r, at)


@njit_in_place
def end_pass(e: Tables, r: rs.ReduceState, outside: Outside) -> bool:
    """Let a pass leave the run stage, and its status the reduce unit."""
    now = e.now
    if _may_leave(e, r):
        rs.leave(r)
        now[st.REDUCE_LEFT] += 1
        _drain(e, r, outside)
        return True
    if now[st.STATUS_OFFER] < FAR:
        if now[st.PASSES_POPPED] < now[st.REDUCE_REPORTED]:
            return False
        at = max(now[st.STATUS_OFFER], compute_cycle_from(e.sizes, now[st.PASS_POPPED]))
        rs.report(r, at)
        e.passes[now[st.REDUCE_REPORTED], st.P_ENDED] = cycle_of(e.sizes, at) + 1
        now[st.REDUCE_REPORTED] += 1
        now[st.STATUS_OFFER] = FAR
        return True
    return False


@njit_in_place
def _may_leave(e: Tables, r: rs.ReduceState) -> bool:
    """Tell whether the running pass can leave next."""
    now = e.now
    return bool(
        now[st.REDUCE_ENTERED] > now[st.REDUCE_LEFT]
        and now[st.REDUCE_REPORTED] == now[st.REDUCE_LEFT]
        and r.run[rs.EDGES_LEFT] == 0
        and r.run[rs.SOURCES_LEFT] == 0
    )
