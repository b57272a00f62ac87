"""One description of a run of a design, and three ways to run it that give the identical result, cycle for cycle.

``trace``
    Everything is compiled; Python sleeps until the run is over. For whole graphs.
``cocotb``
    Python drives and samples the compiled design at each clock edge.
``pysim``
    The same Python agents on Amaranth's own simulator; nothing to compile.

Cycle 0 is the first rising clock edge at which reset is low. In cycle t a source that has a beat left and offers none
starts to offer its next one unless ``stalled[t % len(stalled)]``; a beat once offered stays until it is taken. A sink
is ready in cycle t unless ``stalled[t % len(stalled)]``. A beat is handed over in cycle t if valid and ready are both
high at that edge. A stream without an offered beat shows a payload of all ones. The run ends 32 cycles after the last
beat that is due; a beat more than that is a fault, as is every broken rule of streams.
"""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, get_args

import numpy as np
from amaranth.lib import wiring
from numpy.typing import NDArray

from sim.timing.stalls import PERIOD_CYCLES, stall_pattern
from testbenches.build import Design
from testbenches.models.compiled import play_compiled
from testbenches.models.exchange import Description, Played, payload_bytes
from testbenches.models.ports import Ports, discover
from testbenches.models.pysim import play_pysim
from testbenches.models.rules import BenchError

Backend = Literal["trace", "cocotb", "pysim"]

_NEVER = stall_pattern("none", seed=0)


@dataclass(frozen=True, kw_only=True)
class Source:
    """What a bench sends into a stream.

    Attributes
    ----------
    payloads : ndarray of uint8, shape [n, ceil(width / 8)]
        Beats in order, little-endian.
    stalled : ndarray of bool, shape [period], period 1 to 16384
        Cycles in which no new beat is offered.
    """

    payloads: NDArray[np.uint8]
    stalled: NDArray[np.bool_] = field(default_factory=_NEVER.copy)


@dataclass(frozen=True, kw_only=True)
class Sink:
    """What a bench expects of a stream.

    Attributes
    ----------
    count : int
        Beats due; one more is a fault.
    stalled : ndarray of bool, shape [period], period 1 to 16384
        Cycles in which no beat is taken.
    ready_after_valid : bool
        Whether ready is shown only while valid is: a design that waits for ready before it raises valid, which the
        stream rules forbid, then hangs. A design that keeps the rules behaves the same.
    """

    count: int
    stalled: NDArray[np.bool_] = field(default_factory=_NEVER.copy)
    ready_after_valid: bool = False


@dataclass(frozen=True, kw_only=True)
class Bench:
    """One run of a design.

    Attributes
    ----------
    sources : dict of str to Source
        For every stream into the design.
    sinks : dict of str to Sink
        For every stream out of the design.
    inputs : dict of str to int
        Values at which plain inputs are held, reset included; 0 where absent.
    files : dict of str to Path
        Files that a compiled design reads from the folder in which it runs, by their names there, which must not be
        those of a stream's; nothing to Amaranth's own simulator.
    max_quiet_cycles : int
        So many cycles without a handover on any stream end the run with an error.
    timeout_seconds : float
        Wall-clock limit of a simulator process.
    """

    sources: dict[str, Source]
    sinks: dict[str, Sink]
    inputs: dict[str, int] = field(default_factory=dict)
    files: dict[str, Path] = field(default_factory=dict)
    max_quiet_cycles: int = 10_000
    timeout_seconds: float = 900.0


@dataclass(frozen=True, kw_only=True)
class Result:
    """What a run gave.

    Attributes
    ----------
    accepted : dict of str to ndarray of int64, shape [beats]
        The cycle of each handover, of every source and sink.
    payloads : dict of str to ndarray of uint8, shape [count, ceil(width / 8)]
        The beats of every sink, little-endian.
    outputs : dict of str to int
        The plain outputs at the end, as unsigned numbers.
    cycles : int
        From the first beat taken from a source to the last handed to a sink, inclusive.
    seconds_wall : float
        Of the simulation, without compilation.
    """

    accepted: dict[str, NDArray[np.int64]]
    payloads: dict[str, NDArray[np.uint8]]
    outputs: dict[str, int]
    cycles: int
    seconds_wall: float


def run(
    design: wiring.Component | Design, bench: Bench, *, backend: Backend = "trace", waves: Path | None = None
) -> Result:
    """Run a design in a bench.

    Parameters
    ----------
    design : wiring.Component or Design
        With `Design` the Verilog comes from the cache, without elaboration, whenever the sources are unchanged.
    bench : Bench
        What to play.
    backend : {"trace", "cocotb", "pysim"}
        How; the result is the same.
    waves : Path, optional
        Write a VCD file there (the compiled backends compile another simulator for it, a slower one).

    Returns
    -------
    Result

    Raises
    ------
    BenchError
        If the design breaks a rule of streams, hangs, gives a beat too many, or one of its assertions fails.
    ValueError
        If the bench does not fit the design's ports, or the backend is not known.
    BuildError, ToolchainError
        If the simulator cannot be compiled.
    """
    if backend not in get_args(Backend):
        raise ValueError(f"backend {backend!r} is not known; the backends are {', '.join(get_args(Backend))}")
    ports = design.ports() if isinstance(design, Design) else discover(design)
    _check(bench, ports)
    description = Description(
        sources=ports.sources,
        sinks=ports.sinks,
        beats={name: len(bench.sources[name].payloads) for name in ports.sources}
        | {name: bench.sinks[name].count for name in ports.sinks},
        inputs=dict.fromkeys(ports.inputs, 0) | bench.inputs,
        outputs=list(ports.outputs),
        max_quiet_cycles=bench.max_quiet_cycles,
        ready_after_valid=[name for name in ports.sinks if bench.sinks[name].ready_after_valid],
    )
    payloads = {name: source.payloads for name, source in bench.sources.items()}
    stalled = {name: stream.stalled for name, stream in (bench.sources | bench.sinks).items()}
    if waves is not None:
        waves.parent.mkdir(parents=True, exist_ok=True)
    if backend == "pysim":
        component = design.component if isinstance(design, Design) else design
        played = play_pysim(component, description, payloads, stalled, waves=waves)
    else:
        played = play_compiled(
            design,
            ports,
            description,
            payloads,
            stalled,
            style="trace" if backend == "trace" else "paced",
            files=bench.files,
            waves=waves,
            timeout_seconds=bench.timeout_seconds,
        )
    if played.outcome.fault is not None:
        raise BenchError(played.outcome.report(), played.outcome.fault)
    return Result(
        accepted=played.accepted,
        payloads=played.payloads,
        outputs=played.outcome.outputs,
        cycles=_cycles(played, ports),
        seconds_wall=played.seconds_wall,
    )


def _cycles(played: Played, ports: Ports) -> int:
    firsts = [played.accepted[name][0] for name in ports.sources or ports.sinks if len(played.accepted[name])]
    lasts = [played.accepted[name][-1] for name in ports.sinks or ports.sources if len(played.accepted[name])]
    return int(max(lasts) - min(firsts) + 1) if firsts and lasts else 0


def _check(bench: Bench, ports: Ports) -> None:
    for kind, given, wanted in (
        ("sources", bench.sources, ports.sources),
        ("sinks", bench.sinks, ports.sinks),
        ("inputs", bench.inputs, bench.inputs.keys() & ports.inputs),
    ):
        if given.keys() != set(wanted):
            raise ValueError(f"the bench has {kind} {sorted(given)}, but the design has {sorted(getattr(ports, kind))}")
    for name, stream in (bench.sources | bench.sinks).items():
        if (
            stream.stalled.ndim != 1
            or not 1 <= len(stream.stalled) <= PERIOD_CYCLES
            or stream.stalled.dtype != np.bool_
        ):
            raise ValueError(
                f"stream {name}: the stall pattern must be 1 to {PERIOD_CYCLES} booleans, "
                f"not {stream.stalled.dtype} of shape {stream.stalled.shape}"
            )
    for name, source in bench.sources.items():
        width = ports.sources[name]
        beats, n_bytes = source.payloads, payload_bytes(width)
        if beats.ndim != 2 or beats.shape[1] != n_bytes or beats.dtype != np.uint8:
            raise ValueError(
                f"stream {name}: the payloads must be uint8 of shape [beats, {n_bytes}], "
                f"not {beats.dtype} of shape {beats.shape}"
            )
        if width % 8 and len(beats) and int(beats[:, -1].max()) >> width % 8:
            raise ValueError(f"stream {name}: a payload has more than {width} bits")
    for name, sink in bench.sinks.items():
        if sink.count < 0:
            raise ValueError(f"stream {name}: count is {sink.count}; it must be 0 or more")
    for name, value in bench.inputs.items():
        if not 0 <= value < 1 << ports.inputs[name]:
            raise ValueError(f"input {name}: {value} does not fit into {ports.inputs[name]} bits")
    for name, file in bench.files.items():
        if Path(name).name != name or name.partition(".")[0] in {"bench", "outcome", *bench.sources, *bench.sinks}:
            raise ValueError(f"file {name!r}: the name is that of a folder, or one that the bench needs for itself")
        if not file.is_file():
            raise ValueError(f"file {name}: there is no file {file}")
    if bench.max_quiet_cycles < 1:
        raise ValueError(f"max_quiet_cycles is {bench.max_quiet_cycles}; it must be 1 or more")
