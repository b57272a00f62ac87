"""Timing model of the whole Centralized Acceleration Engine: every handover and every counter."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from sim.config import CaeConfig
from sim.program.cae_check import check_instructions, rows_of
from sim.program.instructions import CAE_INSTRUCTION, CaeCode
from sim.timing.cae.job import JobTiming
from sim.timing.cae.merge import MergeTiming
from sim.timing.cae.product import ProductTiming
from sim.timing.cae.sequencer import SequencerTiming, unit_of
from sim.timing.cae.transfer import TransferTiming
from sim.timing.cae.vector import VectorTiming
from sim.timing.stalls import never_stalled


class Unit(Protocol):
    """A unit's timing model, job by job."""

    def start(self, offered: int, instruction: Mapping[str, int]) -> JobTiming:
        """Run the next job."""

    def counters(self, until: int) -> dict[str, int]:
        """Count the cycles before one."""


@dataclass(frozen=True, kw_only=True)
class CaeStalls:
    """How the environment of an engine stalls.

    Attributes
    ----------
    instruction : ndarray of bool, shape [period]
        Cycles in which no new instruction is offered.
    status : ndarray of bool, shape [period]
        Cycles in which no status is taken.
    memory : ndarray of bool, shape [period]
        Cycles in which the memory takes no request.
    partials : tuple of ndarray of bool
        For each source of MERGE, cycles in which no new beat is offered; none stalls if there is no pattern.
    """

    instruction: NDArray[np.bool_] = field(default_factory=never_stalled)
    status: NDArray[np.bool_] = field(default_factory=never_stalled)
    memory: NDArray[np.bool_] = field(default_factory=never_stalled)
    partials: tuple[NDArray[np.bool_], ...] = ()


@dataclass(frozen=True, kw_only=True)
class CaeTiming:
    """When an engine does what.

    Attributes
    ----------
    instruction, status : ndarray of int64, shape [n_instructions]
        Cycles of the handovers.
    requests : ndarray of int64, shape [n_requests]
        Cycles in which the memory takes the requests.
    partials : list of ndarray of int64
        For each source of MERGE, cycles in which its beats are taken.
    jobs : list of JobTiming or None
        For each instruction, when its unit took it, read its last beat and ended it; None for one that was refused.
    units : dict of str to Unit
        The units' models after the program: their ``counters(until)``.
    """

    instruction: NDArray[np.int64]
    status: NDArray[np.int64]
    requests: NDArray[np.int64]
    partials: list[NDArray[np.int64]]
    jobs: list[JobTiming | None]
    units: dict[str, Unit]

    @property
    def cycles(self) -> int:
        """From the first instruction to the last status, inclusive."""
        return int(self.status[-1] - self.instruction[0]) + 1 if len(self.status) else 0

    def counters(self, until: int) -> dict[str, int]:
        """Return all counters after so many cycles, by ``<unit>_cycles_<name>``.

        Parameters
        ----------
        until : int
            Cycles since reset; all instructions must have ended.

        Returns
        -------
        dict of str to int
            The counters; those of a unit add up to `until`.
        """
        return {
            f"{unit}_cycles_{name}": cycles
            for unit, model in self.units.items()
            for name, cycles in model.counters(until).items()
        }


def cae_timing(
    instructions: NDArray[np.uint8],
    config: CaeConfig,
    *,
    memory_latency: int,
    partials: Sequence[NDArray[np.uint8]] | None = None,
    stalls: CaeStalls | None = None,
    loaded: int = 0,
) -> CaeTiming:
    """Predict a program.

    Parameters
    ----------
    instructions : ndarray of uint8, shape [n_instructions, CAE_INSTRUCTION.bytes]
        The program.
    config : CaeConfig
        The engine.
    memory_latency : int
        Cycles from a request to read to its answer; answers come in order.
    partials : sequence of ndarray of uint8, shape [n_beats, partial_beat(lanes).bytes], optional
        What each source of MERGE sends; nothing by default.
    stalls : CaeStalls, optional
        How the environment stalls; not at all by default.
    loaded : int
        The first cycle in which instructions come through.

    Returns
    -------
    CaeTiming
        Every handover and counter.
    """
    stalls = stalls or CaeStalls()
    nothing = np.zeros((0, 4 + 4 * config.lanes), np.uint8)
    sources = [nothing] * config.merge_ports if partials is None else partials
    patterns = stalls.partials or (never_stalled(),) * config.merge_ports
    transfer = TransferTiming(config, stalls.memory, memory_latency)
    merge = MergeTiming(config, sources, patterns)
    units: dict[str, Unit] = {"transfer": transfer, "product": ProductTiming(config), "merge": merge}
    units |= {f"vector_{i}": VectorTiming(config) for i in range(config.vector_units)}
    sequencer = SequencerTiming(config, stalls.instruction, stalls.status, loaded)
    decoded = rows_of(CAE_INSTRUCTION.decode(instructions))
    jobs: list[JobTiming | None] = []
    for code, instruction in zip(check_instructions(decoded, config).tolist(), decoded, strict=True):
        entered = sequencer.enter()
        if code != CaeCode.OK:
            sequencer.report(entered)
            jobs.append(None)
            continue
        offered = sequencer.offered(instruction)
        unit = unit_of(instruction)
        job = units[unit].start(offered, instruction) if unit else JobTiming(offered, offered, offered)
        sequencer.ended(instruction, job)
        jobs.append(job)
    return CaeTiming(
        instruction=np.array(sequencer.accepted, np.int64),
        status=np.array(sequencer.reported, np.int64),
        requests=transfer.requests(),
        partials=merge.partials(),
        jobs=jobs,
        units=units,
    )
