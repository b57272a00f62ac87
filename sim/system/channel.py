"""What a run of the Near-Memory Engines of a channel came to: cycles, traffic, bandwidth, energy, what bound it."""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sim.config import SystemConfig
from sim.program.counters import ENGINE_COUNTERS, REDUCE_COUNTERS
from sim.program.engine_work import EngineWork
from sim.program.memory import DramCommand
from sim.system.energy import MW_PER_W, NS_PER_S, PJ_PER_J
from sim.timing.nme import EngineTiming

BOUNDS = {
    "memory": ("transfer", "refresh", "row"),
    "compute": ("busy", "wait_hazard"),
    "drain": ("wait_drain", "flush", "drain", "wait_partials", "wait_status"),
    "window": ("window",),
}
"""What can bind an engine: the counters that tell how long, of `ENGINE_COUNTERS` in cycles of the memory's clock or of
`REDUCE_COUNTERS` in compute cycles."""


@dataclass(frozen=True, kw_only=True)
class EngineFigures:
    """What one engine, or several together, did in a run.

    The run goes from the first command's cycle to the last status' cycle of any engine, both inclusive.

    Attributes
    ----------
    engines : int
        How many engines these are.
    run_cycles, compute_cycles : int
        Cycles of the run in the memory's clock and in that of the reduce units, of all these engines together.
    cycles : int
        Cycles from an engine's own first command to its own last status; of several, the most.
    counters : dict of str to int
        Where the cycles went, by the names of `ENGINE_COUNTERS`; they add up to `run_cycles`.
    reduce_counters : dict of str to int
        The same of `REDUCE_COUNTERS` and `compute_cycles`.
    commands : dict of str to int
        DRAM commands by the names of `DramCommand`, small; each goes to all ranks of a DIMM.
    open_cycles : int
        Cycles in which a row was open.
    edges, vectors, partial_sums : int
        Edges accumulated, source vectors gathered, destinations that got a sum: each once, however many slices.
    bytes_moved : int
        Bytes on the DIMMs' data buses.
    seconds : float
        Time of the run.
    peak_bytes_per_s : float
        Bandwidth of the DIMMs' data buses.
    energy_joules : dict of str to float
        Energy of the DRAM: ``read``, ``write``, ``activate`` (with its precharge), ``refresh`` and ``standby``.
    """

    engines: int
    run_cycles: int
    compute_cycles: int
    cycles: int
    counters: dict[str, int]
    reduce_counters: dict[str, int]
    commands: dict[str, int]
    open_cycles: int
    edges: int
    vectors: int
    partial_sums: int
    bytes_moved: int
    seconds: float
    peak_bytes_per_s: float
    energy_joules: dict[str, float]

    @property
    def row_hits(self) -> int:
        """Reads that found their row open: reads less activates, at least 0."""
        return max(0, self.commands["read"] - self.commands["activate"])

    @property
    def bandwidth_bytes_per_s(self) -> float:
        """Bytes moved in a second of the run."""
        return self.bytes_moved / self.seconds if self.seconds else 0.0

    @property
    def bandwidth_share(self) -> float:
        """Share of the data buses' bandwidth, 0 to 1."""
        return self.bandwidth_bytes_per_s / self.peak_bytes_per_s

    @property
    def utilization(self) -> float:
        """Share of the compute cycles in which the lanes took in a beat, 0 to 1."""
        return self.reduce_counters["busy"] / self.compute_cycles if self.compute_cycles else 0.0

    @property
    def busy_shares(self) -> dict[str, float]:
        """Share of its own clock's cycles in which each of `BOUNDS` was at work, or was what was waited for."""
        return {
            name: _share(self.counters, parts, self.run_cycles)
            if parts[0] in self.counters
            else _share(self.reduce_counters, parts, self.compute_cycles)
            for name, parts in BOUNDS.items()
        }

    @property
    def bound(self) -> str:
        """What bound the run: the one of `BOUNDS` with the greatest share, the first of equal ones; ``none`` if 0."""
        shares = self.busy_shares
        binding = max(shares, key=lambda name: shares[name])
        return binding if shares[binding] > 0 else "none"


def _share(counters: dict[str, int], names: Sequence[str], cycles: int) -> float:
    return sum(counters[name] for name in names) / cycles if cycles else 0.0


def channel_figures(
    timings: Sequence[EngineTiming], works: Sequence[EngineWork], config: SystemConfig
) -> list[EngineFigures]:
    """Work out what each engine of a run did.

    Parameters
    ----------
    timings : sequence of EngineTiming
        What happened when in each engine, every DRAM command included (``with_bus``).
    works : sequence of EngineWork
        What each had to do.
    config : SystemConfig
        The hardware.

    Returns
    -------
    list of EngineFigures
        Of each engine.

    Raises
    ------
    ValueError
        The DRAM commands of a timing were not kept.
    """
    starts = [int(timing.command[0]) for timing in timings if len(timing.command)]
    ends = [int(timing.status[-1]) + 1 for timing in timings if len(timing.status)]
    start, end = (min(starts), max(ends)) if starts and ends else (0, 0)
    return [_figures(timing, work, config, start, end) for timing, work in zip(timings, works, strict=True)]


def together(figures: Sequence[EngineFigures]) -> EngineFigures:
    """Add up what several engines of one run did.

    Parameters
    ----------
    figures : sequence of EngineFigures
        At least one.

    Returns
    -------
    EngineFigures
        Of all.
    """
    values: dict[str, Any] = {"cycles": max(one.cycles for one in figures), "seconds": figures[0].seconds}
    for field in fields(EngineFigures):
        parts = [getattr(one, field.name) for one in figures]
        if isinstance(parts[0], dict):
            values[field.name] = {key: sum(part[key] for part in parts) for key in parts[0]}
        else:
            values.setdefault(field.name, sum(parts))
    return EngineFigures(**values)


def _figures(timing: EngineTiming, work: EngineWork, config: SystemConfig, start: int, end: int) -> EngineFigures:
    if sum(timing.events.values()) and not len(timing.bus_cycle):
        raise ValueError("the DRAM commands of this timing were not kept: see with_bus")
    memory, ratio = config.dimm_memory, config.compute_ratio
    run = end - start
    compute = end * ratio.numerator // ratio.denominator - start * ratio.numerator // ratio.denominator
    in_run = (timing.bus_cycle >= start) & (timing.bus_cycle < end)
    given = timing.bus["command"][in_run]
    commands = {
        command.name.lower(): int(np.count_nonzero(given == command))
        for command in DramCommand
        if command != DramCommand.NONE
    }
    open_cycles = _open_cycles(timing.bus_cycle[in_run], given, end)
    seconds_per_cycle = memory.timing.tck_ns / NS_PER_S
    energy = memory.energy
    moved = commands["read"] + commands["write"]
    standby_mw = open_cycles * energy.active_standby_mw + (run - open_cycles) * energy.precharge_standby_mw
    return EngineFigures(
        engines=1,
        run_cycles=run,
        compute_cycles=compute,
        cycles=timing.cycles,
        counters=_with_idle(timing.counters, ENGINE_COUNTERS, run),
        reduce_counters=_with_idle(timing.reduce_counters, REDUCE_COUNTERS, compute),
        commands=commands,
        open_cycles=open_cycles,
        **_work_done(work),
        bytes_moved=moved * memory.burst_bytes,
        seconds=run * seconds_per_cycle,
        peak_bytes_per_s=memory.burst_bytes / (memory.gates.burst * seconds_per_cycle),
        energy_joules={
            "read": commands["read"] * energy.read_pj / PJ_PER_J,
            "write": commands["write"] * energy.write_pj / PJ_PER_J,
            "activate": commands["activate"] * energy.activate_pj / PJ_PER_J,
            "refresh": commands["refresh"] * energy.refresh_pj / PJ_PER_J,
            "standby": standby_mw / MW_PER_W * seconds_per_cycle,
        },
    )


def _with_idle(counters: dict[str, int], meanings: dict[str, str], cycles: int) -> dict[str, int]:
    """Count all cycles of the run that no other counter claimed as idle: also those after the engine's own end."""
    *claimed, rest = meanings
    kept = {name: counters[name] for name in claimed}
    return {**kept, rest: cycles - sum(kept.values())}


def _open_cycles(cycle: NDArray[np.int64], command: NDArray[np.int32], end: int) -> int:
    """Return in how many cycles some bank was open, from a row's activate to before its precharge."""
    change = (command == DramCommand.ACTIVATE).astype(np.int64) - (command == DramCommand.PRECHARGE)
    opened = np.cumsum(change)
    # Closing all banks starts the count anew.
    all_closed = command == DramCommand.PRECHARGE_ALL
    last = np.maximum.accumulate(np.where(all_closed, np.arange(len(command)), -1))
    opened -= np.where(last >= 0, opened[last], 0)
    lasts = np.diff(np.append(cycle, end))
    return int(lasts[opened > 0].sum())


def _work_done(work: EngineWork) -> dict[str, int]:
    """Count edges, vectors and destinations of the shards that were not refused, each once."""
    of_edge = np.repeat(np.arange(len(work.descriptors.code)), np.diff(work.descriptors.first_edge))
    inside = work.edges.destination < work.descriptors.destinations[of_edge]
    places = (of_edge << 16) + work.edges.destination
    return {
        "edges": int(np.count_nonzero(inside)),
        "vectors": int(np.count_nonzero(work.sources.valid)),
        "partial_sums": len(np.unique(places[inside])),
    }
