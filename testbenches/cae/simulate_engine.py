"""Run programs on the Centralized Acceleration Engine with its memory, RTL against golden and timing model."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
from amaranth.lib import wiring
from numpy.typing import NDArray

from hdl.cae.engine import CentralEngine
from sim.config import CaeConfig
from sim.golden.cae import CaeResult, run_instructions
from sim.program.instructions import CAE_STATUS, memory_request
from sim.program.layout import Layout
from sim.timing.cae.engine import CaeStalls, CaeTiming, cae_timing
from sim.timing.stalls import StallKind, stall_pattern
from testbenches.bench import Backend, Bench, Result, Sink, Source, run
from testbenches.build import Design
from testbenches.cae.machine import Machine
from testbenches.models.beat_memory import memory_image
from testbenches.models.exchange import TAIL_CYCLES
from testbenches.models.scoreboard import first_difference

MEMORY_LATENCY = 20
"""Cycles from a request to its answer in the benches."""


@dataclass(frozen=True, kw_only=True)
class CaeSimulation:
    """What a run of the engine's RTL showed.

    Attributes
    ----------
    first_difference : str or None
        Where RTL and models differ first; None if they are equal.
    cycles_rtl, cycles_model : int
        From the first instruction to the last status, inclusive: counted, and predicted.
    golden : CaeResult
        What the golden model says.
    timing : CaeTiming
        What the timing model says.
    counters : dict of str to int
        The RTL's counters at the end.
    cycles_simulated : int
        All cycles of the simulation.
    seconds_wall : float
        Time of the simulation.
    """

    first_difference: str | None
    cycles_rtl: int
    cycles_model: int
    golden: CaeResult
    timing: CaeTiming
    counters: dict[str, int]
    cycles_simulated: int
    seconds_wall: float

    @property
    def equal(self) -> bool:
        """True if every bit equals the golden model and every cycle the timing model."""
        return self.first_difference is None

    @property
    def codes(self) -> list[int]:
        """How each instruction ended, `CaeCode`."""
        return CAE_STATUS.decode(self.golden.status)["code"].tolist()

    @property
    def run_counters(self) -> dict[str, int]:
        """The counters from the first instruction to the last status: outside of that, all units are idle."""
        outside = self.cycles_simulated - self.cycles_rtl
        return {name: n - outside * name.endswith("_cycles_idle") for name, n in self.counters.items()}


def cae_stalls(kind: StallKind, seed: int, config: CaeConfig) -> CaeStalls:
    """Make stall patterns of one kind for all streams, independent of each other.

    Parameters
    ----------
    kind : StallKind
        The kind.
    seed : int
        Any number.
    config : CaeConfig
        The engine.

    Returns
    -------
    CaeStalls
        The patterns.
    """
    first, *others = (stall_pattern(kind, seed=64 * seed + i) for i in range(3 + config.merge_ports))
    status, memory, *partials = others
    return CaeStalls(instruction=first, status=status, memory=memory, partials=tuple(partials))


def simulate_program(
    instructions: NDArray[np.uint8],
    config: CaeConfig,
    *,
    memory: NDArray[np.uint16] | None = None,
    partials: Sequence[NDArray[np.uint8]] | None = None,
    stalls: CaeStalls | None = None,
    memory_latency: int = MEMORY_LATENCY,
    backend: Backend = "trace",
    engine: type[wiring.Component] = CentralEngine,
    waves: Path | None = None,
) -> CaeSimulation:
    """Run a program and compare all that leaves the engine.

    Parameters
    ----------
    instructions : ndarray of uint8, shape [n_instructions, CAE_INSTRUCTION.bytes]
        The program.
    config : CaeConfig
        The engine.
    memory : ndarray of uint16, shape [beats, lanes], optional
        The first beats of the memory; all others are 0.
    partials : sequence of ndarray of uint8, shape [n_beats, partial_beat(lanes).bytes], optional
        What each source of MERGE sends; beats that no MERGE takes are left out.
    stalls : CaeStalls, optional
        How the environment stalls; not at all by default.
    memory_latency : int
        Cycles from a request to read to its answer.
    backend : {"trace", "cocotb", "pysim"}
        How to run the RTL.
    engine : type of wiring.Component
        The engine, or one with a planted bug.
    waves : Path, optional
        Write a VCD file there.

    Returns
    -------
    CaeSimulation
        The comparison.

    Raises
    ------
    BenchError
        The engine broke a rule of streams, hung, or gave a beat too many.
    """
    stalls = stalls or CaeStalls()
    never = stall_pattern("none", seed=0)
    memory = np.zeros((0, config.lanes), np.uint16) if memory is None else memory
    nothing = np.zeros((0, 4 + 4 * config.lanes), np.uint8)
    partials = [nothing] * config.merge_ports if partials is None else partials
    golden = run_instructions(instructions, config, memory, partials)
    partials = [beats[:count] for beats, count in zip(partials, golden.partials_taken, strict=True)]
    places = np.flatnonzero(memory.any(axis=1))
    loads = memory_image(config.lanes).encode(len(places), {"address": places, "data": memory[places]})
    timing = cae_timing(
        instructions,
        config,
        memory_latency=memory_latency,
        partials=partials,
        stalls=stalls,
        loaded=len(loads),
    )
    patterns = stalls.partials or (never,) * config.merge_ports
    bench = Bench(
        sources={
            "load": Source(payloads=loads),
            "instruction": Source(payloads=instructions, stalled=stalls.instruction),
            **{
                f"partials_{i}": Source(payloads=beats, stalled=pattern)
                for i, (beats, pattern) in enumerate(zip(partials, patterns, strict=True))
            },
        },
        sinks={
            "status": Sink(count=len(golden.status), stalled=stalls.status),
            "memory": Sink(count=len(golden.requests), stalled=stalls.memory),
        },
        inputs={"loads": len(loads)},
    )
    result = run(
        _design(config, memory_latency, _memory_beats(golden, config), engine), bench, backend=backend, waves=waves
    )
    simulated = max([int(cycles[-1]) + 1 for cycles in result.accepted.values() if len(cycles)], default=0)
    simulated += TAIL_CYCLES
    status = result.accepted["status"]
    return CaeSimulation(
        first_difference=_difference(golden, timing, result, config, simulated),
        cycles_rtl=int(status[-1] - result.accepted["instruction"][0]) + 1 if len(status) else 0,
        cycles_model=timing.cycles,
        golden=golden,
        timing=timing,
        counters=result.outputs,
        cycles_simulated=simulated,
        seconds_wall=result.seconds_wall,
    )


@cache
def _design(config: CaeConfig, memory_latency: int, memory_beats: int, engine: type[wiring.Component]) -> Design:
    return Design(Machine, config, memory_latency, memory_beats, engine)


def _memory_beats(golden: CaeResult, config: CaeConfig) -> int:
    """Return room for all that the program uses, in few steps: each is a simulator of its own."""
    bits = max(12, (len(golden.memory) - 1).bit_length())
    return min(config.memory_beats, 1 << bits + bits % 2)


def _difference(golden: CaeResult, timing: CaeTiming, result: Result, config: CaeConfig, simulated: int) -> str | None:
    for name, layout, beats in (
        ("status", CAE_STATUS, golden.status),
        ("memory", memory_request(config.lanes), golden.requests),
    ):
        fault = _payloads(layout, beats, result.payloads[name])
        if fault:
            return f"{name}{fault}"
    cycles = {"instruction": timing.instruction, "status": timing.status, "memory": timing.requests}
    cycles |= {f"partials_{i}": taken for i, taken in enumerate(timing.partials)}
    # Of two differences the one that comes first in time tells more.
    faults = []
    for name, want in cycles.items():
        have = result.accepted[name]
        found = first_difference(want, have, names=("beat",))
        if found is not None:
            beat = found.coordinates["beat"]
            fault = f"{name}, beat {beat}: the model says cycle {want[beat]}, the RTL took it in {have[beat]}"
            faults.append((min(want[beat], have[beat]), fault))
    return min(faults)[1] if faults else _counters(timing.counters(simulated), result.outputs, simulated)


def _payloads(layout: Layout, want: NDArray[np.uint8], have: NDArray[np.uint8]) -> str | None:
    if np.array_equal(want, have):
        return None
    wanted, seen = layout.decode(want), layout.decode(have)
    for field, values in wanted.items():
        found = first_difference(values, seen[field], names=("beat", "lane")[: values.ndim])
        if found is not None:
            return f".{field}, {found}"
    return " differ in reserved bits"


def _counters(want: Mapping[str, int], have: Mapping[str, int], simulated: int) -> str | None:
    for name, cycles in want.items():
        if have[name] != cycles:
            return f"counter {name}: the model says {cycles}, the RTL counted {have[name]}"
    for unit in {name.partition("_cycles_")[0] for name in have}:
        total = sum(cycles for name, cycles in have.items() if name.partition("_cycles_")[0] == unit)
        if total != simulated:
            return f"the counters of {unit} add up to {total} of {simulated} cycles"
    return None
