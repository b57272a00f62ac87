"""From what engines have to do to the tables of their timing model."""

import numpy as np
from numpy.typing import NDArray

from sim.config import SystemConfig
from sim.program.commands import EDGE_RECORD
from sim.program.engine_commands import SHARD_DESCRIPTOR, SOURCE_RECORD, EngineCode, EngineOpcode
from sim.program.engine_work import EngineWork
from sim.program.geometry import CHUNK_LINES, Geometry
from sim.timing.dram_steps import FAR
from sim.timing.nme import state as st
from sim.timing.nme.state import Tables


def sizes_of(config: SystemConfig, loaded: int) -> NDArray[np.int64]:
    """Put the sizes of the hardware in a table.

    Parameters
    ----------
    config : SystemConfig
        The hardware.
    loaded : int
        Cycle from which commands are offered at the earliest.

    Returns
    -------
    ndarray of int64
        `Tables.sizes`.
    """
    geometry, nme, ratio = Geometry.of(config), config.nme, config.compute_ratio
    records = [record.bytes for record in (SHARD_DESCRIPTOR, SOURCE_RECORD, EDGE_RECORD)]
    return np.array(
        [
            ratio.numerator,
            ratio.denominator,
            nme.list_slots,
            nme.vector_slots,
            nme.queued_passes,
            config.partition.window_shards,
            geometry.groups,
            geometry.bank_groups,
            geometry.banks,
            geometry.bursts,
            geometry.beat_bytes,
            geometry.line_bytes,
            geometry.slice_beats,
            geometry.slice_bursts,
            loaded,
            *(geometry.records(size) for size in records),
            *(geometry.records(size) // CHUNK_LINES for size in records),
        ],
        np.int64,
    )


def tables_of(work: EngineWork, sizes: NDArray[np.int64], config: SystemConfig) -> Tables:
    """Make the tables of one engine in cycle 0.

    Parameters
    ----------
    work : EngineWork
        Its work.
    sizes : ndarray of int64
        `sizes_of` the hardware.
    config : SystemConfig
        The hardware.

    Returns
    -------
    Tables
        The tables.
    """
    geometry = Geometry.of(config)
    given, shard, passed = work.commands, work.descriptors, work.passes
    n_passes = np.bincount(passed.descriptor, minlength=len(shard.code)).astype(np.int64)
    per_shard = np.maximum(n_passes, 1)
    runs = (given.code == EngineCode.OK) & (given.opcode == EngineOpcode.RUN)
    first = np.concatenate([[0], np.cumsum(per_shard)])
    per_command = np.where(runs, first[given.first_descriptor[1:]] - first[given.first_descriptor[:-1]], 1)
    commands = np.full((len(given.code), 13), FAR, np.int64)
    commands[:, st.C_CODE], commands[:, st.C_RUN] = given.code, given.opcode == EngineOpcode.RUN
    commands[:, st.C_FIRST_DESCRIPTOR], commands[:, st.C_END_DESCRIPTOR] = (
        given.first_descriptor[:-1],
        given.first_descriptor[1:],
    )
    commands[:, st.C_FIRST_UPDATE], commands[:, st.C_END_UPDATE] = given.first_update[:-1], given.first_update[1:]
    commands[:, st.C_BEATS], commands[:, st.C_END_TICKET] = given.beats, np.cumsum(per_command)
    commands[:, st.C_KIND], commands[:, st.C_ADDRESS] = given.kind, given.address
    stores = (given.code == EngineCode.OK) & ~runs
    commands[:, st.C_STRIDE] = [
        geometry.stride_log2(b) if s else 0 for b, s in zip(given.beats.tolist(), stores, strict=True)
    ]

    tickets = np.full((int(per_command.sum()), 5), FAR, np.int64)
    tickets[:, st.T_PASS], tickets[:, st.T_TELLS], tickets[:, st.T_SLOT] = -1, 1, st.NO_SLOT
    of_shard = np.repeat(runs, per_command)
    places = np.flatnonzero(of_shard)
    tickets[places, st.T_SLOT] = np.repeat(shard.slot, per_shard)
    is_pass = np.repeat(n_passes > 0, per_shard)
    tickets[places[is_pass], st.T_PASS] = np.arange(len(passed.descriptor))
    ends = np.zeros(len(places), bool)
    ends[first[1:] - 1] = True
    tickets[places, st.T_TELLS] = ends

    descriptors = np.full((len(shard.code), 14), FAR, np.int64)
    stride = {int(beats): geometry.stride_log2(int(beats)) for beats in np.unique(shard.beats[n_passes > 0])}
    for column, values in (
        (st.D_CODE, shard.code),
        (st.D_SLOT, shard.slot),
        (st.D_PASSES, n_passes),
        (st.D_SOURCES, shard.sources),
        (st.D_EDGES, shard.edges),
        (st.D_SOURCES_AT, shard.sources_address),
        (st.D_EDGES_AT, shard.edges_address),
        (st.D_FIRST_SOURCE, shard.first_source[:-1]),
        (st.D_FIRST_EDGE, shard.first_edge[:-1]),
        (st.D_DESTINATIONS, shard.destinations),
        (st.D_KIND, shard.kind),
        (st.D_STRIDE, np.array([stride.get(int(beats), 0) for beats in shard.beats], np.int64)),
    ):
        descriptors[:, column] = values

    passes = np.full((len(passed.descriptor), 11), FAR, np.int64)
    passes[:, st.P_DESCRIPTOR], passes[:, st.P_BEATS] = passed.descriptor, passed.beats
    passes[:, st.P_LINES] = -(-passed.beats * geometry.beat_bytes // geometry.line_bytes)
    passes[:, st.P_FIRST_BURST] = passed.slice_index * geometry.slice_bursts

    slots = np.zeros((14, max(config.nme.vector_slots, config.nme.list_slots, st.STORE_SLOTS)), np.int64)
    slots[st.S_FREED : st.S_FREED + 3], slots[st.S_VECTOR_FREED] = -1, -1
    readers = np.zeros((3, 8), np.int64)
    readers[:, [st.R_TAKEN, st.R_ASKED, st.R_GIVEN]] = -1
    now = np.zeros(st.DONE + 1, np.int64)
    now[[st.HELD_FROM, st.VECTOR_OFFER, st.EDGE_OFFER, st.REDUCE_OFFER, st.STATUS_OFFER, st.STORE_WANTS]] = FAR
    now[[st.POPPED, st.STATUS_TAKEN, st.PARTIAL_TAKEN, st.WANTS_FROM, st.STORE_COMMAND]] = -1
    now[[st.GATHER_BEGUN, st.GATHER_ASKED, st.GATHER_TAKEN]] = -1
    return Tables(
        now=now,
        sizes=sizes,
        commands=commands,
        tickets=tickets,
        descriptors=descriptors,
        passes=passes,
        sources=np.where(work.sources.valid, work.sources.number, -1),
        edges=work.edges.destination * 2 + work.edges.last,
        updates=np.where(work.updates.valid, work.updates.number, -1),
        slots=slots,
        readers=readers,
        requests=np.zeros((st.REQUESTS, 9), np.int64),
    )
