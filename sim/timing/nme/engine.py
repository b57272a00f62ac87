"""Timing model of the Near-Memory Engines with their memories: the cycle of every handover and every DRAM command."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sim.config import SystemConfig
from sim.program.counters import ENGINE_COUNTERS, REDUCE_COUNTERS
from sim.program.engine_work import EngineWork
from sim.program.memory import DramCommand
from sim.timing import reduce_steps as rs
from sim.timing.dram_steps import SchedulerShape, SchedulerState, reset_state
from sim.timing.nme import state as st
from sim.timing.nme.kernel import Fleet, run
from sim.timing.nme.memory import IDLE, Memory
from sim.timing.nme.reduce import Outside
from sim.timing.nme.state import Tables
from sim.timing.nme.tables import sizes_of, tables_of
from sim.timing.stalls import check_patterns, never_stalled
from sim.timing.streams import next_free, waits_of


@dataclass(frozen=True, kw_only=True)
class EngineStalls:
    """Stall patterns of an engine's streams, see `sim.timing.stalls`."""

    command: NDArray[np.bool_] = field(default_factory=never_stalled)
    updates: NDArray[np.bool_] = field(default_factory=never_stalled)
    partials: NDArray[np.bool_] = field(default_factory=never_stalled)
    status: NDArray[np.bool_] = field(default_factory=never_stalled)

    def __post_init__(self) -> None:
        check_patterns(self)


@dataclass(frozen=True, kw_only=True)
class EngineTiming:
    """When what happens in one engine, in cycles of the memory's command clock; 0 is the first after reset.

    Attributes
    ----------
    command, updates, partials, status : ndarray of int64
        Cycle of the handover of each beat of each stream.
    bus_cycle : ndarray of int64, shape [n_commands]
        Cycle of each DRAM command up to the end of the last command; empty unless asked for.
    bus : dict of str to ndarray
        Fields of `DRAM_COMMAND` of each.
    counters : dict of str to int
        Cycles by the names of `ENGINE_COUNTERS`, up to and with the last status.
    reduce_counters : dict of str to int
        Compute cycles by the names of `REDUCE_COUNTERS`, up to and with the last status' cycle.
    events : dict of str to int
        DRAM commands by the names of `DramCommand`, small.
    """

    command: NDArray[np.int64]
    updates: NDArray[np.int64]
    partials: NDArray[np.int64]
    status: NDArray[np.int64]
    bus_cycle: NDArray[np.int64]
    bus: dict[str, NDArray[np.int32]]
    counters: dict[str, int]
    reduce_counters: dict[str, int]
    events: dict[str, int]

    @property
    def cycles(self) -> int:
        """From the first command's cycle to the last status' cycle, inclusive; 0 without commands."""
        return int(self.status[-1] - self.command[0]) + 1 if len(self.command) else 0


def engine_timing(
    works: Sequence[EngineWork],
    config: SystemConfig,
    stalls: Sequence[EngineStalls] | None = None,
    *,
    loaded: int = 0,
    with_bus: bool = False,
) -> list[EngineTiming]:
    """Predict the cycles of engines that run in step.

    Parameters
    ----------
    works : sequence of EngineWork
        What each engine has to do.
    config : SystemConfig
        The hardware.
    stalls : sequence of EngineStalls, optional
        How the environment of each stalls; not at all by default.
    loaded : int
        Cycle from which commands are offered at the earliest.
    with_bus : bool
        Keep every DRAM command.

    Returns
    -------
    list of EngineTiming
        Of each engine.
    """
    stalls = [EngineStalls()] * len(works) if stalls is None else stalls
    fleet = _fleet(works, config, stalls, loaded, with_bus)
    memory = config.dimm_memory
    shape = SchedulerShape.of(memory)
    run(fleet, memory.gates, shape)
    return [_timing(fleet, d) for d in range(len(works))]


def _fleet(
    works: Sequence[EngineWork], config: SystemConfig, stalls: Sequence[EngineStalls], loaded: int, with_bus: bool
) -> Fleet:
    sizes = sizes_of(config, loaded)
    tables = [tables_of(work, sizes, config) for work in works]
    joined = Tables(
        *(
            sizes
            if name == "sizes"
            else (np.stack if name in ("now", "slots", "readers", "requests") else np.concatenate)(
                [getattr(table, name) for table in tables]
            )
            for name in Tables._fields
        )
    )
    partials = [_most_partials(work) for work in works]
    statuses = [int(table.tickets[:, st.T_TELLS].sum()) for table in tables]
    room = [_most_commands(work) if with_bus else 0 for work in works]
    lengths = [
        *([len(getattr(table, name)) for table in tables] for name in _ONE_BEHIND_THE_OTHER),
        [int(work.updates.first_beat[-1]) for work in works],
        partials,
        statuses,
        room,
    ]
    bounds = np.array([np.concatenate([[0], np.cumsum(part)]) for part in lengths], np.int64)
    patterns = {
        name: [waits_of(getattr(stall, name)) for stall in stalls]
        for name in ("command", "updates", "partials", "status")
    }
    for d in range(len(works)):
        joined.now[d, st.COMMAND_OFFER] = next_free(patterns["command"][d], 0)
        joined.now[d, st.STORE_OFFER] = next_free(patterns["updates"][d], 0)
    reduce = [rs.ReduceState.after_reset(config.nme, 0) for _ in works]
    schedulers = [reset_state(config.dimm_memory) for _ in works]
    return Fleet(
        joined,
        rs.ReduceState(
            *(
                np.zeros(bounds[st.B_PARTIALS, -1], np.int64)
                if name == "partials"
                else np.stack([getattr(r, name) for r in reduce])
                for name in rs.ReduceState._fields
            )
        ),
        Outside(
            command_waits=_periodic(patterns["command"]),
            update_waits=_periodic(patterns["updates"]),
            partial_waits=_periodic(patterns["partials"]),
            status_waits=_periodic(patterns["status"]),
            never=np.zeros(1, np.int64),
            updates=np.zeros(bounds[st.B_UPDATE_BEATS, -1], np.int64),
            partials=np.zeros(bounds[st.B_PARTIALS, -1], np.int64),
            status=np.zeros(bounds[st.B_STATUS, -1], np.int64),
            scratch=np.zeros(config.nme.max_beats, np.int64),
        ),
        Memory(
            np.zeros(bounds[st.B_LOG, -1], np.int64),
            np.zeros((bounds[st.B_LOG, -1], 5), np.int32),
            np.zeros((len(works), len(ENGINE_COUNTERS)), np.int64),
            np.zeros((len(works), len(DramCommand)), np.int64),
        ),
        SchedulerState(*(np.stack([getattr(s, name) for s in schedulers]) for name in SchedulerState._fields)),
        bounds,
        np.array([0, 0, 0, 1, 0]),
        _ahead(works, config),
    )


_ONE_BEHIND_THE_OTHER = ("commands", "tickets", "descriptors", "passes", "sources", "edges", "updates")


def _periodic(patterns: list[NDArray[np.int64]]) -> NDArray[np.int64]:
    """Put patterns of several engines in one table: all of one length, as often as it takes."""
    period = int(np.lcm.reduce([len(pattern) for pattern in patterns]))
    return np.stack([np.tile(pattern, period // len(pattern)) for pattern in patterns])


def _ahead(works: Sequence[EngineWork], config: SystemConfig) -> int:
    """Return how many cycles after any event it can be seen in the window at the earliest, less one.

    What is refused or passed over ends a few cycles later; all else waits for data from the memory.
    """
    clean = all(work.sources.valid.all() and not work.descriptors.code.any() for work in works)
    gates = config.dimm_memory.gates
    return min(gates.read_to_data, gates.write_to_data) if clean else 3


def _most_partials(work: EngineWork) -> int:
    """Return the most beats of partial sums there can be."""
    shards = work.passes.descriptor
    vectors = np.minimum(work.descriptors.edges[shards], work.descriptors.destinations[shards])
    return int((vectors * work.passes.beats).sum())


def _most_commands(work: EngineWork) -> int:
    """Return the most DRAM commands there will be, refreshes of a long time included."""
    shards = work.passes.descriptor
    sources = np.diff(work.descriptors.first_source)[shards]
    edges = np.diff(work.descriptors.first_edge)[shards]
    bursts = (sources * (work.passes.beats + 8)).sum() + edges.sum() + sources.sum() + len(work.descriptors.code)
    stored = int(work.updates.first_beat[-1])
    return int(16 * (bursts + stored) + 4096)


def _timing(fleet: Fleet, d: int) -> EngineTiming:
    """Take the results of one engine out of the tables of all."""

    def part(row: int, values: NDArray[Any]) -> NDArray[Any]:
        return values[fleet.bounds[row, d] : fleet.bounds[row, d + 1]]

    status = part(st.B_STATUS, fleet.outside.status)
    bus_cycle, n_log = part(st.B_LOG, fleet.memory.cycle), int(fleet.tables.now[d, st.N_LOG])
    if 0 < len(bus_cycle) < n_log:
        raise RuntimeError(f"there are {n_log} DRAM commands, but room for {len(bus_cycle)}")
    n_log = min(n_log, len(bus_cycle))
    bus = part(st.B_LOG, fleet.memory.command)[:n_log]
    total = int(status[-1]) + 1 if len(status) else 0
    counters = fleet.memory.counters[d]
    counters[IDLE] = total - counters[:IDLE].sum()
    reduce = rs.ReduceState(
        *(
            part(st.B_PARTIALS, values) if name == "partials" else values[d]
            for name, values in fleet.reduce._asdict().items()
        )
    )
    rs.finish(reduce, total * int(fleet.tables.sizes[st.Z_UP]) // int(fleet.tables.sizes[st.Z_DOWN]))
    n_partials = int(reduce.drain[rs.FIRST_PARTIAL] + reduce.drain[rs.N_PARTIALS])
    return EngineTiming(
        command=part(st.B_COMMANDS, fleet.tables.commands)[:, st.C_ACCEPTED],
        updates=part(st.B_UPDATE_BEATS, fleet.outside.updates),
        partials=part(st.B_PARTIALS, fleet.outside.partials)[:n_partials],
        status=status,
        bus_cycle=bus_cycle[:n_log],
        bus={name: bus[:, i] for i, name in enumerate(("command", "bank_group", "bank", "row", "column"))},
        counters=dict(zip(ENGINE_COUNTERS, counters.tolist(), strict=True)),
        reduce_counters=dict(zip(REDUCE_COUNTERS, reduce.counters.tolist(), strict=True)),
        events={command.name.lower(): int(fleet.memory.done[d, command]) for command in DramCommand},
    )
