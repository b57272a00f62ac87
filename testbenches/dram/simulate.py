"""Run requests through the scheduler's RTL with the devices behind it, and compare with the timing model."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from amaranth.lib import wiring
from numpy.typing import NDArray

from sim.config import DramConfig
from sim.program.counters import DRAM_COUNTERS
from sim.program.memory import DRAM_BURST, DRAM_COMMAND, DRAM_REQUEST, DramCommand
from sim.timing.dram import schedule_requests
from sim.timing.dram_schedule import DramSchedule
from sim.timing.stalls import never_stalled
from testbenches.bench import Backend, Bench, Result, Sink, Source, run
from testbenches.dram.channel import DramChannel
from testbenches.equivalence import Simulation
from testbenches.models.dram import pattern
from testbenches.models.dram_rules import DramRule
from testbenches.models.dram_storage import DramDesign
from testbenches.models.scoreboard import first_difference


@dataclass(frozen=True, kw_only=True)
class DramSimulation(Simulation):
    """What a run of the scheduler's RTL showed; cycles from the first request taken to the last data.

    Attributes
    ----------
    schedule : DramSchedule
        What the model says, and the RTL too if there is no difference.
    """

    schedule: DramSchedule


def simulate_dram(
    requests: NDArray[np.uint8],
    config: DramConfig,
    *,
    stalled: NDArray[np.bool_] | None = None,
    backend: Backend = "trace",
    scheduler: wiring.Component | None = None,
    waves: Path | None = None,
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
    waves : Path, optional
        Write a VCD file there.

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
    result = run(DramDesign(DramChannel, config, scheduler=scheduler), bench, backend=backend, waves=waves)
    gates, moves = config.gates, schedule.moves
    data_at = schedule.cycle + np.where(reads, gates.read_to_data, gates.write_to_data)
    cycles = int(data_at[moves].max() - schedule.accepted[0]) + 1 if moves.any() else 0
    counters = {name: schedule.count(DramCommand[name.upper()]) for name in DRAM_COUNTERS if name != "none"}
    # The RTL's last data is that of its last read; of a write that comes later only the command is seen.
    seen = [result.accepted["bursts"][-1:], result.accepted["commands"][-1:] + gates.write_to_data * ~reads[-1:]]
    last = max((int(cycle[0]) for cycle in seen if len(cycle)), default=-1)
    return DramSimulation(
        first_difference=_violation(result) or _difference(requests, config, schedule, result),
        cycles_rtl=last - int(result.accepted["requests"][0]) + 1 if cycles else 0,
        cycles_model=cycles,
        counters=counters | {"none": cycles - sum(counters.values())},
        busy_cycles=int(moves.sum()) * gates.burst,
        cycles_simulated=last + 1,
        seconds_wall=result.seconds_wall,
        schedule=schedule,
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
