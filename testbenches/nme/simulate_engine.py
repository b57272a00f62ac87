"""Run programs on Near-Memory Engines with their memories, RTL against golden and timing model."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from amaranth.lib import wiring
from numpy.typing import NDArray

from hdl.nme.engine import NearMemoryEngine
from sim.config import SystemConfig
from sim.golden.engine import EngineResult, engine_streams
from sim.program.commands import result_beat
from sim.program.dimm import DimmProgram
from sim.program.engine_commands import ENGINE_STATUS
from sim.program.engine_work import decode_engine_work
from sim.program.geometry import Geometry
from sim.program.image import DimmImage
from sim.program.layout import Layout
from sim.program.memory import DRAM_COMMAND
from sim.timing.nme import EngineStalls, EngineTiming, engine_timing
from sim.timing.stalls import StallKind, stall_pattern
from testbenches.bench import Backend, Bench, Result, Sink, Source, run
from testbenches.models.dram_rules import DramRule
from testbenches.models.dram_storage import DramDesign
from testbenches.models.exchange import TAIL_CYCLES
from testbenches.models.scoreboard import first_difference
from testbenches.nme.dimms import Dimms, dimm_image

STREAMS = ("command", "updates", "partials", "status")


@dataclass(frozen=True, kw_only=True)
class EngineSimulation:
    """What a run of the engines' RTL showed.

    Attributes
    ----------
    first_difference : str or None
        Where RTL and models differ first; None if they are equal.
    cycles_rtl, cycles_model : int
        From the first command's cycle to the last status' cycle of any engine, inclusive: counted, and predicted.
    timings : list of EngineTiming
        What the model says of each engine, and the RTL too if there is no difference.
    outputs : dict of str to int
        Plain outputs of the RTL at the end, by name and engine.
    cycles_simulated : int
        All cycles of the simulation.
    seconds_wall : float
        Time of the simulation.
    """

    first_difference: str | None
    cycles_rtl: int
    cycles_model: int
    timings: list[EngineTiming]
    outputs: dict[str, int]
    cycles_simulated: int
    seconds_wall: float

    @property
    def equal(self) -> bool:
        """True if every bit equals the golden model and every cycle the timing model."""
        return self.first_difference is None


def engine_stalls(kind: StallKind, seed: int, engines: int) -> list[EngineStalls]:
    """Make stall patterns of one kind for all streams of some engines, independent of each other.

    Parameters
    ----------
    kind : StallKind
        The kind.
    seed : int
        Any number.
    engines : int
        How many.

    Returns
    -------
    list of EngineStalls
        The patterns of each.
    """
    return [
        EngineStalls(**{name: stall_pattern(kind, seed=64 * seed + 4 * d + i) for i, name in enumerate(STREAMS)})
        for d in range(engines)
    ]


def simulate_engines(
    programs: Sequence[DimmProgram],
    config: SystemConfig,
    *,
    stalls: Sequence[EngineStalls] | None = None,
    backend: Backend = "trace",
    engine: type[wiring.Component] = NearMemoryEngine,
    waves: Path | None = None,
) -> EngineSimulation:
    """Run programs, one on each engine, and compare all that leaves them, and all that their memories see.

    Parameters
    ----------
    programs : sequence of DimmProgram
        What each engine does.
    config : SystemConfig
        The hardware.
    stalls : sequence of EngineStalls, optional
        How the environment of each stalls; not at all by default.
    backend : {"trace", "cocotb", "pysim"}
        How to run the RTL.
    engine : type of wiring.Component
        The engine, or one with a planted bug.
    waves : Path, optional
        Write a VCD file there.

    Returns
    -------
    EngineSimulation
        The comparison.

    Raises
    ------
    BenchError
        An engine broke a rule of streams, hung, or gave a beat too many.
    """
    stalls = [EngineStalls()] * len(programs) if stalls is None else stalls
    works = [decode_engine_work(program, config) for program in programs]
    golden = [engine_streams(program, config, work) for program, work in zip(programs, works, strict=True)]
    loads = _loads([program.image for program in programs], Geometry.of(config))
    timings = engine_timing(works, config, stalls, loaded=len(loads), with_bus=True)
    sources = {"load": Source(payloads=loads)}
    sinks = {}
    for d, (program, expected, timing, stall) in enumerate(zip(programs, golden, timings, stalls, strict=True)):
        sources[f"command_{d}"] = Source(payloads=program.commands, stalled=stall.command)
        sources[f"updates_{d}"] = Source(payloads=program.updates, stalled=stall.updates)
        sinks[f"partials_{d}"] = Sink(count=len(expected.partials), stalled=stall.partials)
        sinks[f"status_{d}"] = Sink(count=len(expected.status), stalled=stall.status)
        sinks[f"bus_{d}"] = Sink(count=len(timing.bus_cycle))
    bench = Bench(
        sources=sources,
        sinks=sinks,
        inputs={"loads": len(loads), **{f"told_{d}": len(timing.bus_cycle) for d, timing in enumerate(timings)}},
        max_quiet_cycles=4 * config.dram.gates.refresh_interval,
        # A memory is never quiet, for it is refreshed: an engine that hangs ends by the clock.
        timeout_seconds=300 + max(int(timing.status[-1]) for timing in timings if len(timing.status)) / 2000,
    )
    design = DramDesign(Dimms, config, len(programs), _storage_lines(programs, Geometry.of(config)), engine)
    result = run(design, bench, backend=backend, waves=waves)
    difference = None
    for d, (expected, timing) in enumerate(zip(golden, timings, strict=True)):
        difference = difference or _difference(d, expected, timing, result, config)
    commands = [result.accepted[f"command_{d}"] for d in range(len(programs))]
    status = [result.accepted[f"status_{d}"] for d in range(len(programs))]
    return EngineSimulation(
        first_difference=difference,
        cycles_rtl=_span(commands, status),
        cycles_model=_span([timing.command for timing in timings], [timing.status for timing in timings]),
        timings=timings,
        outputs=result.outputs,
        cycles_simulated=_simulated(result),
        seconds_wall=result.seconds_wall,
    )


def _span(commands: list[NDArray[np.int64]], status: list[NDArray[np.int64]]) -> int:
    firsts, lasts = [c[0] for c in commands if len(c)], [s[-1] for s in status if len(s)]
    return int(max(lasts) - min(firsts)) + 1 if firsts and lasts else 0


def _simulated(result: Result) -> int:
    return max(int(cycles[-1]) + 1 for cycles in result.accepted.values() if len(cycles)) + TAIL_CYCLES


def _loads(images: Sequence[DimmImage], geometry: Geometry) -> NDArray[np.uint8]:
    """Make the back door's stream from the memories' contents."""
    layout = dimm_image(geometry.line_bytes)
    parts = [layout.encode(0, {})]
    for d, image in enumerate(images):
        place, column = np.divmod(image.addresses, geometry.bursts)
        place, bank = np.divmod(place, geometry.banks)
        row, group = np.divmod(place, geometry.bank_groups)
        fields = {"bank_group": group, "bank": bank, "row": row, "column": column, "dimm": d, "data": image.lines}
        parts.append(layout.encode(len(column), fields))
    return np.concatenate(parts)


def _storage_lines(programs: Sequence[DimmProgram], geometry: Geometry) -> int:
    """Return room for all rows from 0 to the last that is used, in few steps: each is a simulator of its own."""
    per_row = geometry.bursts * geometry.banks * geometry.bank_groups
    last = max((int(program.image.addresses[-1]) for program in programs if len(program.image.addresses)), default=0)
    bits = (per_row * (last // per_row + 1) - 1).bit_length()
    return 1 << max(16, bits + bits % 2)


def _difference(
    d: int, expected: EngineResult, timing: EngineTiming, result: Result, config: SystemConfig
) -> str | None:
    outputs = {name.removesuffix(f"_{d}"): value for name, value in result.outputs.items() if name.endswith(f"_{d}")}
    where = f"engine {d}: "
    if outputs["violation"]:
        return f"{where}{DramRule(outputs['violation']).name} broken in cycle {outputs['violation_cycle']}"
    for name, layout, beats in (
        ("status", ENGINE_STATUS, expected.status),
        ("partials", result_beat(config.nme.lanes), expected.partials),
    ):
        fault = _payloads(layout, beats, result.payloads[f"{name}_{d}"])
        if fault:
            return f"{where}{name}{fault}"
    bus = DRAM_COMMAND.decode(result.payloads[f"bus_{d}"])
    checks = [
        ("cycle of DRAM command", timing.bus_cycle, result.accepted[f"bus_{d}"]),
        *(
            (f"{name} of DRAM command", values.astype(np.int64), bus[name].astype(np.int64))
            for name, values in timing.bus.items()
        ),
        *((f"cycle of {name}", getattr(timing, name), result.accepted[f"{name}_{d}"]) for name in STREAMS),
    ]
    # Of two differences the one that comes first in time tells more.
    faults = []
    for what, want, have in checks:
        found = first_difference(want, have, names=("number",))
        if found is not None:
            number = found.coordinates["number"]
            at = int(result.accepted[f"bus_{d}"][number]) if "command" in what and "DRAM" in what else int(have[number])
            faults.append((at, f"{where}{what} {number}: the model says {want[number]}, the RTL {have[number]}"))
    if faults:
        return min(faults)[1]
    return _counters(where, timing, outputs, _simulated(result), config)


def _payloads(layout: Layout, want: NDArray[np.uint8], have: NDArray[np.uint8]) -> str | None:
    if np.array_equal(want, have):
        return None
    wanted, seen = layout.decode(want), layout.decode(have)
    for field, values in wanted.items():
        found = first_difference(values, seen[field], names=("beat", "lane")[: values.ndim])
        if found is not None:
            return f".{field}, {found}"
    return " differ in reserved bits"


def _counters(
    where: str, timing: EngineTiming, outputs: Mapping[str, int], cycles: int, config: SystemConfig
) -> str | None:
    """Compare the counters; the engine is idle in all cycles after its last status."""
    ratio = config.compute_ratio
    compute_cycles = cycles * ratio.numerator // ratio.denominator
    for prefix, counters, total in (
        ("cycles_", timing.counters, cycles),
        ("reduce_cycles_", timing.reduce_counters, compute_cycles),
    ):
        *claimed, rest = counters
        for name in claimed:
            if outputs[prefix + name] != counters[name]:
                return (
                    f"{where}counter {prefix}{name}: the model says {counters[name]}, the RTL {outputs[prefix + name]}"
                )
        counted = sum(outputs[prefix + name] for name in counters)
        if counted != total:
            return f"{where}the counters {prefix}* add up to {counted} of {total} cycles; {rest} is the rest"
    return None
