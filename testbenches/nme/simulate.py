"""Run a reduce trace through the RTL and both models."""

from dataclasses import asdict
from pathlib import Path

from amaranth.lib import wiring

from hdl.nme.reduce import ReduceUnit
from sim.config import NmeConfig
from sim.golden.reduce import reduce_streams
from sim.program.commands import REDUCE_STATUS, result_beat
from sim.program.reduce_trace import ReduceTrace
from sim.timing.reduce import ReduceStalls, reduce_timing
from sim.timing.stalls import StallKind, stall_pattern
from testbenches.bench import Backend
from testbenches.build import Design
from testbenches.equivalence import Expectation, Simulation, check


def reduce_stalls(kind: StallKind, seed: int) -> ReduceStalls:
    """Make stall patterns of one kind for all streams, independent of each other.

    Parameters
    ----------
    kind : StallKind
        The kind.
    seed : int
        Any number.

    Returns
    -------
    ReduceStalls
        The patterns.
    """
    names = ReduceStalls.__dataclass_fields__
    return ReduceStalls(**{name: stall_pattern(kind, seed=8 * seed + i) for i, name in enumerate(names)})


def simulate_reduce(
    trace: ReduceTrace,
    config: NmeConfig,
    *,
    stalls: ReduceStalls | None = None,
    backend: Backend = "trace",
    waves: Path | None = None,
    design: wiring.Component | Design | None = None,
) -> Simulation:
    """Run a trace on the reduce unit and compare.

    Parameters
    ----------
    trace : ReduceTrace
        Streams in.
    config : NmeConfig
        The engine.
    stalls : ReduceStalls, optional
        How the environment stalls; not at all by default.
    backend : {"trace", "cocotb", "pysim"}
        How to run the RTL.
    waves : Path, optional
        Write a VCD file there.
    design : wiring.Component or Design, optional
        Another design in the place of the reduce unit, such as one with a planted bug.

    Returns
    -------
    Simulation
        The comparison.
    """
    stalls = stalls or ReduceStalls()
    golden = reduce_streams(trace, config)
    timing = reduce_timing(trace, config, stalls)
    patterns = {name: getattr(stalls, name) for name in ReduceStalls.__dataclass_fields__}
    cycles = asdict(timing)
    return check(
        design or Design(ReduceUnit, config),
        {"command": trace.commands, "vectors": trace.vectors, "edges": trace.edges},
        patterns,
        Expectation(
            payloads={
                "partials": (result_beat(config.lanes), golden.partials),
                "status": (REDUCE_STATUS, golden.status),
            },
            accepted={name: cycles[name] for name in patterns},
            counters=timing.counters,
        ),
        backend=backend,
        waves=waves,
    )
