"""Estimate of a training epoch: phases of overlapping units, each phase as long as its slowest unit."""

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal

from sim.config import SystemConfig
from sim.program.items import AnyItem, Program, Reduce, Vector
from sim.system.energy import energy_joules
from sim.system.work import Work, work_of

Kind = Literal["modelled", "assumed"]

UNITS: dict[str, tuple[str, Kind]] = {
    "nme": ("Near-Memory Engines", "modelled"),
    "array": ("systolic array", "modelled"),
    "vector": ("vector units", "assumed"),
    "channel": ("memory channels", "assumed"),
}
"""Units by short name: what they are, and what their time rests on: cycle-exact models, or bandwidths and passes."""

ASSUMPTIONS = (
    "vectors arrive at the bandwidth of the DIMM in the configuration; row misses and refresh are not modelled",
    "edge records and commands cost no bandwidth; weights of the model stay on chip",
    "units of one phase overlap fully; phases do not overlap each other",
    "array and vector units of one phase take turns",
    "the gradient products run at the cycles of X W of the same sizes: their operands come transposed at full rate",
    "vector operations take a fixed number of passes; tensors are spread evenly over the channels",
    "DRAM energy: all ranks in active standby, one activate for each vector load and rank",
)
"""What every estimate rests on."""


@dataclass(frozen=True, kw_only=True)
class Phase:
    """One phase of an epoch.

    Attributes
    ----------
    name : str
        Layer and pass.
    unit : str
        The unit that binds it, a key of `UNITS`.
    seconds : float
        Its length.
    energy_joules : float
        Its energy.
    kind : {"modelled", "assumed"}
        What the binding unit's time rests on.
    unit_seconds : dict of str to float
        Busy time of each unit.
    """

    name: str
    unit: str
    seconds: float
    energy_joules: float
    kind: Kind
    unit_seconds: dict[str, float]


@dataclass(frozen=True, kw_only=True)
class Estimate:
    """One epoch of training.

    Attributes
    ----------
    phases : tuple of Phase
        In order.
    assumptions : tuple of str
        What the figures rest on.
    """

    phases: tuple[Phase, ...]
    assumptions: tuple[str, ...] = ASSUMPTIONS

    @property
    def epoch_seconds(self) -> float:
        """Length of the epoch."""
        return sum(phase.seconds for phase in self.phases)

    @property
    def energy_joules(self) -> float:
        """Energy of the epoch."""
        return sum(phase.energy_joules for phase in self.phases)

    @property
    def bottleneck(self) -> str:
        """The unit that binds the largest part of the epoch, a key of `UNITS`; ``none`` for an epoch without work."""
        bound: Counter[str] = Counter()
        for phase in self.phases:
            bound[phase.unit] += phase.seconds  # type: ignore[assignment]
        return max(bound, key=lambda unit: bound[unit], default="none")

    @property
    def modelled_share(self) -> float:
        """Share of the epoch that binding units take whose models equal their RTL cycle for cycle."""
        # Not the whole of such a phase: what the vector units add to the array's time is assumed.
        modelled = sum(phase.unit_seconds[phase.unit] for phase in self.phases if phase.kind == "modelled")
        return modelled / self.epoch_seconds if self.epoch_seconds else 0.0


def phases_of(program: Program) -> Iterator[tuple[str, list[AnyItem]]]:
    """Cut a program where a step needs the whole result of the step before.

    A Reduce reads any vertex' vector, so all of them must be there; so it is with the loss, and between layers and
    passes.

    Parameters
    ----------
    program : Program
        The work.

    Yields
    ------
    tuple of str and list of items
        Name and items of each phase.
    """
    phase: list[AnyItem] = []
    name = ""
    for item in program.items:
        barrier = isinstance(item, Reduce) or (isinstance(item, Vector) and item.operation == "loss")
        label = f"layer {item.layer} {item.direction}"
        if phase and (barrier or label != name):
            yield _named(name, phase)
            phase = []
        phase.append(item)
        name = label
    if phase:
        yield _named(name, phase)


def _named(name: str, items: list[AnyItem]) -> tuple[str, list[AnyItem]]:
    kinds = [i.operation if isinstance(i, Vector) else type(i).__name__.lower() for i in items]
    return f"{name}: {' + '.join(dict.fromkeys(kinds))}", items


def estimate(program: Program, config: SystemConfig, *, progress: Callable[[], None] = lambda: None) -> Estimate:
    """Estimate the time and energy of a program.

    Parameters
    ----------
    program : Program
        An epoch, or any part of one.
    config : SystemConfig
        The hardware.
    progress : callable
        Called after each work item.

    Returns
    -------
    Estimate
        Phase by phase.
    """
    phases = []
    for name, items in phases_of(program):
        on_chip: set[str] = set()
        works: list[Work] = []
        for item in items:
            works.append(work_of(item, on_chip, config))
            on_chip.add(item.result)
            progress()
        phases.append(_phase(name, works, config))
    return Estimate(phases=tuple(phases))


def _phase(name: str, works: list[Work], config: SystemConfig) -> Phase:
    unit_seconds = {
        "nme": sum(work.nme_cycles for work in works) / config.nme.clock_hz,
        "array": sum(work.array_cycles for work in works) / config.cae.clock_hz,
        "vector": sum(work.vector_cycles for work in works) / config.cae.clock_hz,
        "channel": sum(work.channel_bytes for work in works) / config.dram.channel_bandwidth_bytes_per_s,
    }
    cae = unit_seconds["array"] + unit_seconds["vector"]
    seconds = max(unit_seconds["nme"], cae, unit_seconds["channel"])
    unit = max(unit_seconds, key=lambda key: unit_seconds[key])
    if cae == seconds:
        unit = max(("array", "vector"), key=lambda key: unit_seconds[key])
    events: Counter[str] = Counter()
    for work in works:
        events.update(work.events)
    # Roofline and serial bounds: a phase outside them is a fault of this model.
    if not max(unit_seconds.values()) <= seconds <= sum(unit_seconds.values()) * (1 + 1e-12):
        raise AssertionError(f"{name}: {seconds} s is outside its bounds {unit_seconds}")
    return Phase(
        name=name,
        unit=unit,
        seconds=seconds,
        energy_joules=energy_joules(dict(events), seconds, config),
        kind=UNITS[unit][1],
        unit_seconds=unit_seconds,
    )
