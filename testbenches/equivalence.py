"""The check of every bench: the RTL equals the golden model in each bit and the timing model in each cycle."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from amaranth.lib import wiring
from numpy.typing import NDArray

from sim.program.layout import Layout
from testbenches.bench import Backend, Bench, Sink, Source, run
from testbenches.build import Design
from testbenches.models.exchange import TAIL_CYCLES
from testbenches.models.scoreboard import first_difference


@dataclass(frozen=True, kw_only=True)
class Simulation:
    """What a run of an engine's RTL showed.

    Attributes
    ----------
    first_difference : str or None
        Where RTL and models differ first; None if they are equal.
    cycles_rtl, cycles_model : int
        From the first command's cycle to the last status' cycle, inclusive: counted, and predicted.
    counters : dict of str to int
        Where the RTL's cycles went, up to the last status.
    busy_cycles : int
        Cycles in which the engine's lanes or array took in work, or a data bus moved data.
    cycles_simulated : int
        All cycles of the simulation.
    seconds_wall : float
        Time of the simulation.
    """

    first_difference: str | None
    cycles_rtl: int
    cycles_model: int
    counters: dict[str, int]
    busy_cycles: int
    cycles_simulated: int
    seconds_wall: float

    @property
    def equal(self) -> bool:
        """True if every bit equals the golden model and every cycle the timing model."""
        return self.first_difference is None

    @property
    def utilization(self) -> float:
        """Share of the run's cycles that were busy."""
        return self.busy_cycles / self.cycles_rtl if self.cycles_rtl else 0.0


@dataclass(frozen=True, kw_only=True)
class Expectation:
    """What the models say of a run.

    Attributes
    ----------
    payloads : mapping of str to (Layout, ndarray of uint8)
        Beats of each stream out of the engine, with their layout.
    accepted : mapping of str to ndarray of int64
        Cycle of the handover of each beat of each stream.
    counters : mapping of str to int
        Cycle counters up to the last status.
    """

    payloads: Mapping[str, tuple[Layout, NDArray[np.uint8]]]
    accepted: Mapping[str, NDArray[np.int64]]
    counters: Mapping[str, int]


def check(
    design: wiring.Component | Design,
    sources: Mapping[str, NDArray[np.uint8]],
    stalls: Mapping[str, NDArray[np.bool_]],
    expected: Expectation,
    *,
    backend: Backend = "trace",
    waves: Path | None = None,
) -> Simulation:
    """Run an engine's RTL and compare all that leaves it with the models.

    Parameters
    ----------
    design : wiring.Component or Design
        The engine, with streams ``command`` and ``status`` and counters ``cycles_<name>``.
    sources : mapping of str to ndarray of uint8
        Beats for each stream into the engine.
    stalls : mapping of str to ndarray of bool
        Stall pattern of each stream.
    expected : Expectation
        What the models say.
    backend : {"trace", "cocotb", "pysim"}
        How to run the RTL.
    waves : Path, optional
        Write a VCD file there.

    Returns
    -------
    Simulation
        The comparison.

    Raises
    ------
    BenchError
        The engine broke a rule of streams, hung, or gave a beat too many.
    """
    bench = Bench(
        sources={name: Source(payloads=beats, stalled=stalls[name]) for name, beats in sources.items()},
        sinks={name: Sink(count=len(beats), stalled=stalls[name]) for name, (_, beats) in expected.payloads.items()},
    )
    result = run(design, bench, backend=backend, waves=waves)
    accepted, last = result.accepted, result.accepted["status"]
    counters = {name: result.outputs[f"cycles_{name}"] for name in expected.counters}
    *_, rest = counters
    # The bench runs on for some cycles after the last status; in all of them the engine is idle.
    total = sum(counters.values())
    counters[rest] -= TAIL_CYCLES
    difference = (
        _payload_difference(expected, result.payloads)
        or _cycle_difference(expected, accepted)
        or _counter_difference(expected, counters)
        or _total_difference(total, int(last[-1]) + 1 + TAIL_CYCLES if len(last) else TAIL_CYCLES)
    )
    commands = expected.accepted["command"]
    return Simulation(
        first_difference=difference,
        cycles_rtl=int(last[-1] - accepted["command"][0]) + 1 if len(last) else 0,
        cycles_model=int(expected.accepted["status"][-1] - commands[0]) + 1 if len(commands) else 0,
        counters=counters,
        busy_cycles=counters["busy"],
        cycles_simulated=total,
        seconds_wall=result.seconds_wall,
    )


def _payload_difference(expected: Expectation, got: Mapping[str, NDArray[np.uint8]]) -> str | None:
    for name, (layout, beats) in expected.payloads.items():
        want, have = layout.decode(beats), layout.decode(got[name])
        places = [field for field in want if want[field].ndim == 1 and field in ("index", "tag")]
        for field, values in want.items():
            axes = ("beat",) if values.ndim == 1 else ("beat", "lane")
            difference = first_difference(values, have[field], names=axes)
            if difference is not None:
                beat = difference.coordinates["beat"]
                where = "".join(f" ({place} {want[place][beat]})" for place in places)
                return f"{name}.{field}{where}, {difference}"
    return None


def _cycle_difference(expected: Expectation, got: Mapping[str, NDArray[np.int64]]) -> str | None:
    for name, cycles in expected.accepted.items():
        difference = first_difference(cycles, got[name], names=("beat",))
        if difference is not None:
            beat = difference.coordinates["beat"]
            return f"{name}, beat {beat}: the model says cycle {cycles[beat]}, the RTL took it in {got[name][beat]}"
    return None


def _counter_difference(expected: Expectation, got: Mapping[str, int]) -> str | None:
    for name, cycles in expected.counters.items():
        if got[name] != cycles:
            return f"counter {name}: the model says {cycles}, the RTL counted {got[name]}"
    return None


def _total_difference(counted: int, cycles: int) -> str | None:
    return None if counted == cycles else f"the counters add up to {counted} of {cycles} cycles"
