"""Running an engine for a command: progress, verdict and table."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console

from sim.program.counters import DRAM_COUNTERS, MATRIX_COUNTERS, REDUCE_COUNTERS
from sim.program.instructions import CaeCode
from sim.report.cae_table import by_unit, cae_table
from sim.report.channel_table import channel_table
from sim.report.ssd_table import sampling_table
from sim.report.tables import counter_table
from sim.system.channel import EngineFigures, together
from sim.system.sampling import SamplingFigures
from sim.timing.stalls import StallKind
from testbenches.cae.simulate_engine import CaeSimulation
from testbenches.cae.workload import CaeWorkload
from testbenches.channel import ChannelReduce
from testbenches.equivalence import Simulation
from testbenches.layer import Layer, Unit
from testbenches.nme.simulate_engine import EngineSimulation
from testbenches.ssd.simulate_engine import SsdSimulation
from testbenches.ssd.workload import SsdWorkload

_COUNTERS = {"reduce": REDUCE_COUNTERS, "product": MATRIX_COUNTERS, "dram": DRAM_COUNTERS}
_TITLES = {"reduce": "reduce unit", "product": "product unit", "dram": "DRAM scheduler of one rank"}
_MODELS = {"reduce": "golden model", "product": "golden model", "dram": "devices' contents"}


@dataclass(frozen=True, kw_only=True)
class ChannelRun:
    """A run of the Near-Memory Engines of a channel.

    Attributes
    ----------
    simulation : EngineSimulation
        The comparison.
    figures : list of EngineFigures
        What each engine did.
    """

    simulation: EngineSimulation
    figures: list[EngineFigures]


def run_engine(
    layer: Layer,
    engine: Unit,
    console: Console,
    *,
    stalls: StallKind = "none",
    seed: int = 0,
    waves: Path | None = None,
) -> Simulation:
    """Simulate one engine's part of a layer and print what came of it.

    Parameters
    ----------
    layer : Layer
        The layer.
    engine : {"reduce", "product", "dram"}
        The engine.
    console : Console
        Where to print.
    stalls : StallKind
        How all streams stall.
    seed : int
        Seed of the stalls.
    waves : Path, optional
        Write a VCD file there.

    Returns
    -------
    Simulation
        The comparison.
    """
    with console.status(f"simulating {engine} ({layer.program.name}); the first run compiles the simulator"):
        simulation = layer.simulate(engine, stalls=stalls, seed=seed, waves=waves)
    title = f"{_TITLES[engine]}, RTL, configuration {layer.config.name}, {layer.program.name}, stalls {stalls}"
    console.print(counter_table(title, simulation.counters, _COUNTERS[engine]))
    _print_verdict(console, engine, simulation, f"the {_MODELS[engine]}", f"utilization {simulation.utilization:.1%}")
    return simulation


def run_channel(
    channel: ChannelReduce,
    title: str,
    console: Console,
    *,
    stalls: StallKind = "none",
    seed: int = 0,
    waves: Path | None = None,
) -> ChannelRun:
    """Simulate the Near-Memory Engines of a channel and print what came of it.

    Parameters
    ----------
    channel : ChannelReduce
        The Reduce.
    title : str
        What is reduced.
    console : Console
        Where to print.
    stalls : StallKind
        How all streams stall.
    seed : int
        Seed of the stalls.
    waves : Path, optional
        Write a VCD file there.

    Returns
    -------
    ChannelRun
        The comparison, and what each engine did.
    """
    with console.status(f"simulating nme ({title}); the first run compiles the simulator"):
        simulation = channel.simulate(stalls=stalls, seed=seed, waves=waves)
        figures = channel.figures(simulation)
    config = channel.config
    heading = (
        f"Near-Memory Engines of one channel with their memories, RTL, configuration {config.name}, {title}, "
        f"{config.dram.mapping}, stalls {stalls}"
    )
    console.print(channel_table(heading, figures))
    every = together(figures)
    _print_verdict(
        console,
        "nme",
        simulation,
        "the golden model",
        f"{every.bandwidth_bytes_per_s / 1e9:.1f} GB/s, {every.bandwidth_share:.1%} of the peak, "
        f"bound by {every.bound}",
    )
    return ChannelRun(simulation=simulation, figures=figures)


def run_cae(
    workload: CaeWorkload,
    console: Console,
    *,
    stalls: StallKind = "none",
    seed: int = 0,
    memory_beats_per_cycle: float = 1.0,
    waves: Path | None = None,
) -> CaeSimulation:
    """Simulate the Centralized Acceleration Engine and print what came of it.

    Parameters
    ----------
    workload : CaeWorkload
        The program.
    console : Console
        Where to print.
    stalls : StallKind
        How all streams stall.
    seed : int
        Seed of the stalls.
    memory_beats_per_cycle : float
        Bandwidth of the memory.
    waves : Path, optional
        Write a VCD file there.

    Returns
    -------
    CaeSimulation
        The comparison.
    """
    with console.status(f"simulating cae ({workload.title}); the first run compiles the simulator"):
        simulation = workload.simulate(
            stalls=stalls, seed=seed, memory_beats_per_cycle=memory_beats_per_cycle, waves=waves
        )
    config = workload.config
    title = (
        f"Centralized Acceleration Engine with its memory, RTL, {config.rows} x {config.columns} array, "
        f"{workload.title}, stalls {stalls}"
    )
    console.print(cae_table(title, simulation.run_counters))
    for number, code in enumerate(simulation.codes):
        if code:
            console.print(f"instruction {number}: {CaeCode(code).name}", style="yellow", highlight=False)
    share = workload.share_of_peak(simulation.cycles_rtl)
    _print_verdict(console, "cae", simulation, "the golden model", f"{share:.1%} of the array's peak multiply-adds")
    return simulation


def cae_as_json(workload: CaeWorkload, simulation: CaeSimulation) -> dict[str, Any]:
    """Return the machine-readable form of a run of the Centralized Acceleration Engine.

    Parameters
    ----------
    workload : CaeWorkload
        The program.
    simulation : CaeSimulation
        The comparison.

    Returns
    -------
    dict
        Keys of the ``simulate`` command, with those of ``cae``.
    """
    units = by_unit(simulation.run_counters)
    return {
        "equal": simulation.equal,
        "first_difference": simulation.first_difference,
        "cycles_rtl": simulation.cycles_rtl,
        "cycles_model": simulation.cycles_model,
        "counters": units["product"],
        "unit_counters": units,
        "utilization": workload.share_of_peak(simulation.cycles_rtl),
        "instructions": len(workload.instructions),
        "refused": {str(number): CaeCode(code).name for number, code in enumerate(simulation.codes) if code},
        "multiply_adds": workload.multiply_adds,
        "memory_beats": len(simulation.golden.requests),
    }


def run_ssd(
    workload: SsdWorkload,
    title: str,
    console: Console,
    *,
    stalls: StallKind = "none",
    waves: Path | None = None,
) -> tuple[SsdSimulation, SamplingFigures]:
    """Simulate the sampling engine and print what came of it.

    Parameters
    ----------
    workload : SsdWorkload
        The mini-batches.
    title : str
        What is sampled.
    console : Console
        Where to print.
    stalls : StallKind
        How all streams stall.
    waves : Path, optional
        Write a VCD file there.

    Returns
    -------
    simulation : SsdSimulation
        The comparison.
    figures : SamplingFigures
        What it did.
    """
    with console.status(f"simulating ssd ({title}); the first run compiles the simulator"):
        simulation, figures = workload.simulate(stalls=stalls, waves=waves)
    flash = workload.config.flash
    speed = (
        "no page read from the flash"
        if figures.over_bound is None
        else f"{figures.over_bound:.3f} of the flash's bound"
    )
    console.print(
        sampling_table(
            f"sampling engine with its flash, RTL, {flash.channels} channels x {flash.units} dies, pages of "
            f"{flash.page_bytes:,} bytes, {title}, stalls {stalls}",
            figures,
        )
    )
    for number, command in enumerate(simulation.golden.commands):
        if command.status:
            console.print(
                f"command {number}: {command.status.name}, detail {command.detail}", style="yellow", highlight=False
            )
    _print_verdict(console, "ssd", simulation, "the golden model", speed)
    return simulation, figures


def ssd_as_json(simulation: SsdSimulation, figures: SamplingFigures) -> dict[str, Any]:
    """Return the machine-readable form of a run of the sampling engine.

    Parameters
    ----------
    simulation : SsdSimulation
        The comparison.
    figures : SamplingFigures
        What it did.

    Returns
    -------
    dict
        Keys of the ``simulate`` command, with those of ``ssd``.
    """
    every = {name: sum(counters[name] for counters in figures.channel_cycles) for name in figures.channel_cycles[0]}
    return {
        "equal": simulation.equal,
        "first_difference": simulation.first_difference,
        "cycles_rtl": simulation.cycles_rtl,
        "cycles_model": simulation.cycles_model,
        "counters": every,
        "utilization": figures.channel_utilization,
        "channels": figures.channel_cycles,
        "targets": figures.targets,
        "samples": figures.samples,
        "distinct_nodes": figures.distinct_nodes,
        "failed_targets": figures.failed_targets,
        "pages": figures.pages,
        "distinct_pages": figures.distinct_pages,
        "samples_per_page": figures.samples_per_page,
        "hot_samples": figures.hot_samples,
        "bound_cycles": figures.bound_cycles,
        "over_bound": figures.over_bound,
        "samples_per_second": figures.samples_per_second,
        "commands": [
            {"status": command.status.name, "detail": command.detail} for command in simulation.golden.commands
        ],
    }


def _print_verdict(
    console: Console,
    engine: str,
    simulation: Simulation | EngineSimulation | CaeSimulation | SsdSimulation,
    model: str,
    speed: str,
) -> None:
    verdict = (
        f"equal to {model} in every bit and to the timing model in every cycle"
        if simulation.equal
        else f"DIFFERENT: {simulation.first_difference}"
    )
    console.print(
        f"{engine}: {verdict}\n"
        f"{engine}: {simulation.cycles_rtl:,} cycles counted, {simulation.cycles_model:,} predicted, "
        f"{speed} (simulated in {simulation.seconds_wall:.2f} s)\n",
        style="green" if simulation.equal else "bold red",
        highlight=False,
        markup=False,
    )


def as_json(simulation: Simulation) -> dict[str, Any]:
    """Return the machine-readable form of a simulation.

    Parameters
    ----------
    simulation : Simulation
        The comparison.

    Returns
    -------
    dict
        Keys of the ``simulate`` command.
    """
    return {
        "equal": simulation.equal,
        "first_difference": simulation.first_difference,
        "cycles_rtl": simulation.cycles_rtl,
        "cycles_model": simulation.cycles_model,
        "counters": simulation.counters,
        "utilization": simulation.utilization,
    }


def channel_as_json(run: ChannelRun) -> dict[str, Any]:
    """Return the machine-readable form of a run of a channel's engines.

    Parameters
    ----------
    run : ChannelRun
        The run.

    Returns
    -------
    dict
        Keys of the ``simulate`` command, with those of ``nme``.
    """
    simulation, every = run.simulation, together(run.figures)
    return {
        "equal": simulation.equal,
        "first_difference": simulation.first_difference,
        "cycles_rtl": simulation.cycles_rtl,
        "cycles_model": simulation.cycles_model,
        **_figures_as_json(every),
        "engines": [_figures_as_json(one) | {"cycles": one.cycles} for one in run.figures],
    }


def _figures_as_json(one: EngineFigures) -> dict[str, Any]:
    return {
        "counters": one.counters,
        "utilization": one.utilization,
        "reduce_counters": one.reduce_counters,
        "dram_commands": one.commands,
        "row_hits": one.row_hits,
        "edges": one.edges,
        "vectors": one.vectors,
        "partial_sums": one.partial_sums,
        "bandwidth_bytes_per_s": one.bandwidth_bytes_per_s,
        "bandwidth_share": one.bandwidth_share,
        "busy_shares": one.busy_shares,
        "bound": one.bound,
        "dram_energy_joules": one.energy_joules,
    }
