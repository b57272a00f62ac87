"""Run commands on the sampling engine with its flash, RTL against golden and timing model."""

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
from amaranth.lib import wiring
from numpy.typing import NDArray

from hdl.ssd.engine import SamplingEngine, clearing_cycles
from sim.config import SsdConfig
from sim.golden.sampling.engine import SsdResult, run_commands
from sim.program.ssd import LINE_BYTES, NS_CONFIG
from sim.program.ssd_counters import CHANNEL_COUNTERS, DRAW_COUNTERS
from sim.program.ssd_host import Command, HostImage, host_image
from sim.program.ssd_image import FlashImage
from sim.program.ssd_storage import DramImage, GraphStorage, dram_image
from sim.timing.ssd.engine import SsdStalls, SsdTiming, ssd_timing
from sim.timing.stalls import StallKind, stall_pattern
from testbenches.bench import Backend, Bench, Result, Sink, Source, run
from testbenches.models.exchange import TAIL_CYCLES
from testbenches.models.flash_rules import FlashRule
from testbenches.models.flash_storage import FlashDesign, flash_files
from testbenches.models.read_memory import read_image
from testbenches.models.scoreboard import first_difference
from testbenches.ssd.machine import SsdMachine

HOST_LATENCY = 100
"""Cycles from a request for a line of the host's memory to the line, in the benches: 1 us at 100 MHz."""

DRAM_LATENCY = 30
"""Cycles from a request for a beat of the SSD's DRAM to the beat, in the benches: 300 ns at 100 MHz."""


LEAST_BITS = 17
"""Memories have at least 2^17 places, enough for most graphs: each size is a simulator of its own."""


@dataclass(frozen=True, kw_only=True)
class SsdSimulation:
    """What a run of the engine's RTL showed.

    Attributes
    ----------
    first_difference : str or None
        Where RTL and models differ first; None if they are equal.
    cycles_rtl, cycles_model : int
        From the first doorbell to the last completion, inclusive: counted, and predicted.
    golden : SsdResult
        What the golden model says.
    timing : SsdTiming
        What the timing model says.
    counters : dict of str to int
        Plain outputs of the RTL at the end.
    cycles_simulated : int
        All cycles of the simulation.
    seconds_wall : float
        Time of the simulation.
    """

    first_difference: str | None
    cycles_rtl: int
    cycles_model: int
    golden: SsdResult
    timing: SsdTiming
    counters: dict[str, int]
    cycles_simulated: int
    seconds_wall: float

    @property
    def equal(self) -> bool:
        """True if every bit equals the golden model and every cycle the timing model."""
        return self.first_difference is None


def ssd_stalls(kind: StallKind, seed: int, config: SsdConfig) -> SsdStalls:
    """Make stall patterns of one kind for all streams, independent of each other.

    Parameters
    ----------
    kind : StallKind
        The kind.
    seed : int
        Any number.
    config : SsdConfig
        The engine.

    Returns
    -------
    SsdStalls
        The patterns.
    """
    if kind == "none":
        return SsdStalls()
    doorbell, write, host, dram, *flash = (
        stall_pattern(kind, seed=64 * seed + i) for i in range(4 + config.flash.channels)
    )
    return SsdStalls(doorbell=doorbell, host_write=write, host_request=host, dram_request=dram, flash=tuple(flash))


def doorbells_of(host: HostImage, groups: Sequence[int]) -> NDArray[np.int64]:
    """Return the doorbells that submit commands in groups.

    Parameters
    ----------
    host : HostImage
        The queues.
    groups : sequence of int
        Commands of each doorbell.

    Returns
    -------
    ndarray of int64, shape [groups, 2]
        Queue and value of each.
    """
    tails = np.cumsum(groups) % host.sq_entries
    return np.stack([np.zeros(len(tails), np.int64), tails], axis=1)


def simulate_commands(
    commands: Sequence[Command],
    image: FlashImage,
    storage: GraphStorage,
    config: SsdConfig,
    *,
    host: HostImage | None = None,
    doorbells: NDArray[np.int64] | None = None,
    stalls: SsdStalls | None = None,
    host_latency: int = HOST_LATENCY,
    dram_latency: int = DRAM_LATENCY,
    backend: Backend = "trace",
    engine: type[wiring.Component] = SamplingEngine,
    waves: Path | None = None,
) -> SsdSimulation:
    """Run commands and compare all that leaves the engine.

    Parameters
    ----------
    commands : sequence of Command
        What is submitted, right or wrong.
    image : FlashImage
        Contents of the flash.
    storage : GraphStorage
        The same with page map and bad pages.
    config : SsdConfig
        The engine.
    host : HostImage, optional
        The host's memory; made of the commands by default.
    doorbells : ndarray of int64, shape [n, 2], optional
        Queue and value of each; by default one for all commands. Completions' doorbells must come too, where the
        completion queue is too short for all.
    stalls : SsdStalls, optional
        How the environment stalls; not at all by default. With stalls on the flash each of its beats is compared.
    host_latency, dram_latency : int
        Cycles from a request to its answer.
    backend : {"trace", "cocotb"}
        How to run the RTL.
    engine : type of wiring.Component
        The engine, or one with a planted bug.
    waves : Path, optional
        Write a VCD file there.

    Returns
    -------
    SsdSimulation
        The comparison.

    Raises
    ------
    BenchError
        The engine broke a rule of streams, hung, or gave a beat too many.
    """
    stalls = stalls or SsdStalls()
    host = host or host_image(commands)
    doorbells = doorbells_of(host, [len(commands)]) if doorbells is None else doorbells
    dram = dram_image(image, storage)
    pages = min(config.flash.pages, image.pages)  # those that the page map covers
    golden = run_commands(commands, host, storage, config, pages=pages)
    host_loads = read_image(LINE_BYTES).encode(len(host.address), {"address": host.address, "data": host.data})
    kept = np.flatnonzero(dram.beats.any(axis=1))
    dram_loads = read_image(16).encode(len(kept), {"address": kept, "data": dram.beats[kept]})
    first_cycle = max(len(host_loads), len(dram_loads), clearing_cycles(config))
    timing = ssd_timing(
        golden,
        commands,
        config,
        doorbells=doorbells,
        page_map=storage.page_map,
        host=host,
        host_latency=host_latency,
        dram_latency=dram_latency,
        stalls=stalls,
        first_cycle=first_cycle,
    )
    watched = bool(stalls.flash)
    with tempfile.TemporaryDirectory(prefix="nearsage-flash-") as folder:
        bench = Bench(
            sources={
                "host_load": Source(payloads=host_loads),
                "dram_load": Source(payloads=dram_loads),
                "doorbell": Source(payloads=_doorbell_bytes(doorbells), stalled=stalls.doorbell),
            },
            sinks={
                "finished": Sink(count=1),
                "host_write": Sink(count=len(golden.address), stalled=stalls.host_write),
                "host_request": Sink(count=len(timing.host_request), stalled=stalls.host_request),
                "dram_request": Sink(count=len(timing.dram_request), stalled=stalls.dram_request),
                **{
                    f"bus_{c}": Sink(count=len(timing.bus[c]), stalled=pattern)
                    for c, pattern in enumerate(stalls.flash)
                },
            },
            inputs=_inputs(host, dram, len(host_loads), len(dram_loads), pages) | {"host_writes": len(golden.address)},
            files=flash_files(Path(folder), image.data, storage.bad_pages.tolist()),
            max_quiet_cycles=_quiet_cycles(config),
        )
        result = run(
            _design(
                config, host_latency, dram_latency, _places(host.address // LINE_BYTES), _room(len(dram.beats)),
                watched, engine,
            ),
            bench, backend=backend, waves=waves,
        )  # fmt: skip
    simulated = max([int(cycles[-1]) + 1 for cycles in result.accepted.values() if len(cycles)], default=0)
    simulated += TAIL_CYCLES
    written, rung = result.accepted["host_write"], result.accepted["doorbell"]
    return SsdSimulation(
        first_difference=_difference(golden, timing, result, config, simulated, watched),
        cycles_rtl=int(written[-1] - rung[0]) + 1 if len(written) and len(rung) else 0,
        cycles_model=timing.cycles,
        golden=golden,
        timing=timing,
        counters=result.outputs,
        cycles_simulated=simulated,
        seconds_wall=result.seconds_wall,
    )


@cache
def _design(
    config: SsdConfig, host_latency: int, dram_latency: int, host_lines: int, dram_beats: int, watched: bool,
    engine: type[wiring.Component],
) -> FlashDesign:  # fmt: skip
    return FlashDesign(
        SsdMachine, config, host_latency, dram_latency, host_lines, dram_beats, watch_flash=watched, engine=engine
    )


def _room(units: int) -> int:
    """Return places for units, in few steps: each is a simulator of its own."""
    return 1 << max(LEAST_BITS, (units - 1).bit_length())


def _places(units: NDArray[np.uint64]) -> int:
    """Return places in which no two units share one."""
    places = _room(max(1, len(units)))
    while len(np.unique(units % np.uint64(places))) < len(units):
        places *= 4
    return places


def _inputs(host: HostImage, dram: DramImage, host_loads: int, dram_loads: int, pages: int) -> dict[str, int]:
    return {
        "sq_address": host.sq_address,
        "cq_address": host.cq_address,
        "sq_entries": host.sq_entries,
        "cq_entries": host.cq_entries,
        "pages": pages,
        "records_base": dram.records_base,
        "map_base": dram.map_base,
        "host_loads": host_loads,
        "dram_loads": dram_loads,
    }


def _doorbell_bytes(doorbells: NDArray[np.int64]) -> NDArray[np.uint8]:
    words = (doorbells[:, 0] | doorbells[:, 1] << 1).astype("<u8")
    return np.ascontiguousarray(words.view(np.uint8).reshape(-1, 8)[:, :3])


def _quiet_cycles(config: SsdConfig) -> int:
    """Return more cycles than can pass without a handover: clearing, and some pages in turn."""
    page = config.read_cycles + config.command_cycles + config.column_cycles
    page += config.flash.page_beats * config.beat_cycles
    return clearing_cycles(config) + 64 * config.flash.units * page + 100_000


def _difference(
    golden: SsdResult, timing: SsdTiming, result: Result, config: SsdConfig, simulated: int, watched: bool
) -> str | None:
    if result.outputs["violation"]:
        rule = FlashRule(result.outputs["violation"]).name
        return f"the flash's rule {rule} broken in cycle {result.outputs['violation_cycle']}"
    return (
        _written(golden, result.payloads["host_write"])
        or _cycles(timing, result, watched)
        or _counters(timing, result.outputs, config, simulated, watched)
    )


def _written(golden: SsdResult, lines: NDArray[np.uint8]) -> str | None:
    address = np.ascontiguousarray(lines[:, :8]).view("<u8")[:, 0]
    mask = np.unpackbits(lines[:, 8 + LINE_BYTES :], axis=1, bitorder="little")
    for name, want, have in (
        ("address", golden.address.astype(np.int64), address.astype(np.int64)),
        ("mask", golden.mask.astype(np.int64), mask.astype(np.int64)),
        ("data", (golden.data * golden.mask).astype(np.int64), (lines[:, 8 : 8 + LINE_BYTES] * mask).astype(np.int64)),
    ):
        found = first_difference(want, have, names=("line", "byte")[: want.ndim])
        if found is not None:
            return f"written {name}: {found}"
    return None


def _cycles(timing: SsdTiming, result: Result, watched: bool) -> str | None:
    cycles = {name: getattr(timing, name) for name in ("doorbell", "host_write", "host_request", "dram_request")}
    cycles |= {f"bus_{c}": beats for c, beats in enumerate(timing.bus)} if watched else {}
    # Of two differences the one that comes first in time tells more.
    faults = []
    for name, want in cycles.items():
        have = result.accepted[name]
        found = first_difference(want, have, names=("beat",))
        if found is not None:
            beat = found.coordinates["beat"]
            fault = f"{name}, beat {beat}: the model says cycle {want[beat]}, the RTL took it in {have[beat]}"
            faults.append((min(want[beat], have[beat]), fault))
    return min(faults)[1] if faults else None


def _counters(
    timing: SsdTiming, outputs: dict[str, int], config: SsdConfig, simulated: int, watched: bool
) -> str | None:
    want = timing.counters(simulated)
    have = dict(outputs)
    # A beat that the bench holds back on the bus looks to the engine like one that has not come yet.
    if watched:
        for c in range(config.flash.channels):
            for counters in (want, have):
                counters[f"channel_{c}_cycles_transfer"] += counters.pop(f"channel_{c}_cycles_paused")
    for name, number in want.items():
        if have[name] != number:
            return f"counter {name}: the model says {number}, the RTL counted {have[name]}"
    every = [[f"draw_cycles_{name}" for name in DRAW_COUNTERS]]
    every += [[f"channel_{c}_cycles_{name}" for name in CHANNEL_COUNTERS] for c in range(config.flash.channels)]
    for names in every:
        total = sum(outputs[name] for name in names)
        if total != simulated:
            return f"the counters {names[0]}, ... add up to {total} of {simulated} cycles"
    return None


def id_bytes_of(command: Command) -> int:
    """Return the width of a command's ids."""
    return int(NS_CONFIG.decode(command.config[None])["id_bytes"][0])
