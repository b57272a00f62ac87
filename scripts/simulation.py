"""Running an engine for a command: progress, verdict and table."""

from pathlib import Path
from typing import Any

from rich.console import Console

from sim.program.counters import DRAM_COUNTERS, MATRIX_COUNTERS, REDUCE_COUNTERS
from sim.report.tables import counter_table
from sim.timing.stalls import StallKind
from testbenches.equivalence import Simulation
from testbenches.layer import Engine, Layer

_COUNTERS = {"nme": REDUCE_COUNTERS, "cae": MATRIX_COUNTERS, "dram": DRAM_COUNTERS}
_TITLES = {"nme": "Near-Memory Engine", "cae": "Centralized Acceleration Engine", "dram": "DRAM scheduler of one rank"}
_MODELS = {"nme": "golden model", "cae": "golden model", "dram": "devices' contents"}


def run_engine(
    layer: Layer,
    engine: Engine,
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
    engine : {"nme", "cae", "dram"}
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
    verdict = (
        f"equal to the {_MODELS[engine]} in every bit and to the timing model in every cycle"
        if simulation.equal
        else f"DIFFERENT: {simulation.first_difference}"
    )
    console.print(
        f"{engine}: {verdict}\n"
        f"{engine}: {simulation.cycles_rtl:,} cycles counted, {simulation.cycles_model:,} predicted, "
        f"utilization {simulation.utilization:.1%} (simulated in {simulation.seconds_wall:.2f} s)\n",
        style="green" if simulation.equal else "bold red",
        highlight=False,
        markup=False,
    )
    return simulation


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
