"""Run requests through the scheduler's RTL with the devices behind it, and compare with the timing model."""

from dataclasses import dataclass

import numpy as np
from amaranth.lib import wiring
from numpy.typing import NDArray

from sim.config import DramConfig
from sim.program.memory import DRAM_BURST, DRAM_COMMAND, DRAM_REQUEST, DramCommand
from sim.timing.dram import DramSchedule, schedule_requests
from sim.timing.stalls import never_stalled
from testbenches.bench import Backend, Bench, Result, Sink, Source, run
from testbenches.dram.channel import DramChannel
from testbenches.models.dram import pattern
from testbenches.models.dram_rules import DramRule
from testbenches.models.dram_storage import DramDesign
from testbenches.models.scoreboard import first_difference


@dataclass(frozen=True, kw_only=True)
class DramSimulation:
    """What a run of the scheduler's RTL showed.

    Attributes
    ----------
    first_difference : str or None
        Where RTL and model differ first, or the rule that was broken; None if all is well.
    schedule : DramSchedule
        What the model says, and the RTL too if there is no difference.
    seconds_wall : float
        Time of the simulation.
    """

    first_difference: str | None
    schedule: DramSchedule
    seconds_wall: float

    @property
    def equal(self) -> bool:
        """True if every command, burst and cycle is equal and no rule was broken."""
        return self.first_difference is None


def simulate_dram(
    requests: NDArray[np.uint8],
    config: DramConfig,
    *,
    stalled: NDArray[np.bool_] | None = None,
    backend: Backend = "trace",
    scheduler: wiring.Component | None = None,
) -> DramSimulation:
    """Run requests and compare each command, each burst and each cycle.

    Parameters
    ----------
    requests : ndarray of uint8, shape [n, DRAM_REQUEST.bytes]
        Requests.
    config : DramConfig
        The channel.
    stalled : ndarray of bool, optional
        Stall pattern of the requests.
    backend : {"trace", "cocotb", "pysim"}
        How to run the RTL.
    scheduler : wiring.Component, optional
        Another scheduler, such as one with a planted bug.

    Returns
    -------
    DramSimulation
        The comparison.
    """
    stalled = never_stalled() if stalled is None else stalled
    schedule = schedule_requests(requests, config, stalled)
    reads = schedule.command == DramCommand.READ
    bench = Bench(
        sources={"requests": Source(payloads=requests, stalled=stalled)},
        sinks={"commands": Sink(count=len(schedule.cycle)), "bursts": Sink(count=int(reads.sum()))},
        inputs={"expected": len(requests)},
        max_quiet_cycles=4 * config.gates.refresh_interval,
    )
    result = run(DramDesign(DramChannel, config, scheduler=scheduler), bench, backend=backend)
    return DramSimulation(
        first_difference=_violation(result) or _difference(requests, config, schedule, result),
        schedule=schedule,
        seconds_wall=result.seconds_wall,
    )


def _violation(result: Result) -> str | None:
    code = result.outputs["violation"]
    return f"{DramRule(code).name} broken in cycle {result.outputs['violation_cycle']}" if code else None


def _difference(requests: NDArray[np.uint8], config: DramConfig, schedule: DramSchedule, result: Result) -> str | None:
    commands = DRAM_COMMAND.decode(result.payloads["commands"])
    reads = np.flatnonzero(schedule.command == DramCommand.READ)
    bursts = result.payloads["bursts"]
    got = DRAM_BURST.decode(np.ascontiguousarray(bursts[:, :4])[:, : DRAM_BURST.bytes])
    tags = DRAM_REQUEST.decode(requests)["tag"]
    checks = [
        ("cycle of command", schedule.cycle, result.accepted["commands"]),
        ("kind of command", schedule.command.astype(np.int64), commands["command"].astype(np.int64)),
        *(
            (f"{name} of command", schedule.bus(name), commands[name].astype(np.int64))
            for name in ("rank", "bank_group", "bank", "row", "column")
        ),
        ("cycle of request", schedule.accepted, result.accepted["requests"]),
        ("cycle of burst", schedule.cycle[reads] + config.gates.read_to_data, result.accepted["bursts"]),
        ("tag of burst", tags[schedule.served[reads]], got["tag"]),
        ("number of burst", schedule.burst[reads].astype(np.int64), got["burst"].astype(np.int64)),
    ]
    for what, expected, seen in checks:
        difference = first_difference(expected, seen, names=("number",))
        if difference is not None:
            number = difference.coordinates["number"]
            return f"{what} {number}: the model says {expected[number]}, the RTL {seen[number]}"
    if not (DRAM_REQUEST.decode(requests)["write"] != 0).any():
        expected_data = pattern(
            schedule.bus("rank")[reads],
            schedule.bus("bank_group")[reads],
            schedule.bus("bank")[reads],
            schedule.bus("row")[reads],
            schedule.bus("column")[reads],
            burst_bytes=config.burst_bytes,
        )
        difference = first_difference(expected_data, bursts[:, 4:], names=("burst", "byte"))
        if difference is not None:
            return f"data: {difference}"
    return None
