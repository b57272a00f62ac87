"""From an Amaranth component with claims to the answer of ABC's model checkers.

The yosys-abc program comes with pyosys. Every counterexample is played in Amaranth's own simulator, which must see the
claim broken in the same cycle: so a false alarm of the translation or the checker does not pass for one.
"""

import re
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import pyosys
from amaranth.back import rtlil
from amaranth.hdl import ClockDomain, Module, Value, ValueCastable
from amaranth.lib import wiring
from amaranth.lib.wiring import In
from amaranth.sim import Simulator
from pyosys import libyosys

ABC = Path(pyosys.__file__).parent / "yosys-abc"

PATIENCE = 300
"""Seconds after which a checker is ended: a proof must be small enough."""

PASSES = (
    "prep -flatten -top top",
    "async2sync",
    "memory_map",
    "techmap",
    "opt -fast",
    "dffunmap",
    "setundef -anyseq",
    "aigmap",
    "opt_clean",
)


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """What the checker said.

    Attributes
    ----------
    broken : str or None
        The output that can rise, if any; otherwise none can, in any cycle or in the cycles that were asked for.
    inputs : tuple of dict of str to int
        If one can: the inputs in each cycle up to that one.
    seconds : float
        Time in the checker.
    """

    broken: str | None
    inputs: tuple[dict[str, int], ...]
    seconds: float


def rtlil_after_reset(component: wiring.Component) -> str:
    """Write a component as RTLIL without a reset input: a run starts in the state after reset."""
    top, clock = Module(), ClockDomain("sync", reset_less=True)
    top.domains += clock
    top.submodules.claims = component
    ports = {name: (Value.cast(getattr(component, name)), None) for name in component.signature.members}
    return rtlil.convert(top, name="top", ports={**ports, "clk": (clock.clk, None)}, emit_src=False)


def check(component: wiring.Component, *, cycles: int | None = None) -> Verdict:
    """Look for inputs, from reset on, that make some output rise.

    Parameters
    ----------
    component : wiring.Component
        A design and its claims: the inputs are free in every cycle, each output of one bit must stay 0 for ever.
    cycles : int, optional
        Look only so many cycles far; without, the answer is for all time.

    Returns
    -------
    Verdict
        The answer; a counterexample was confirmed in simulation.

    Raises
    ------
    RuntimeError
        If the checker gives no answer, or the simulator disagrees with it.
    subprocess.TimeoutExpired
        If it takes longer than `PATIENCE`.
    """
    with tempfile.TemporaryDirectory() as folder:
        source, graph, names, trace = (Path(folder, name) for name in ("top.il", "top.aig", "top.map", "top.cex"))
        source.write_text(rtlil_after_reset(component))
        design = libyosys.Design()
        for command in (f"read_rtlil {source}", *PASSES, f"write_aiger -zinit -map {names} {graph}"):
            libyosys.Pass.call(design, f"tee -q {command}")
        # A claim that holds by structure alone is gone after "scorr", and "pdr" does not say so: it is asked without.
        engines = ("scorr; dc2; pdr", "pdr") if cycles is None else (f"bmc3 -F {cycles}",)
        started = time.perf_counter()
        for engine in engines:
            script = f"read_aiger {graph}; {engine}; write_cex -a {trace}"
            run = subprocess.run([ABC, "-q", script], capture_output=True, text=True, check=True, timeout=PATIENCE)
            if "UNDECIDED" not in run.stdout:
                break
        seconds = time.perf_counter() - started
        if "Property proved" in run.stdout or (cycles and f"No output asserted in {cycles} frames" in run.stdout):
            return Verdict(broken=None, inputs=(), seconds=seconds)
        if not (asserted := re.search(r"Output +(\d+) of miter .* was asserted in frame (\d+)", run.stdout)):
            raise RuntimeError(f"ABC gave no answer: {run.stdout}")
        lines = [line.split() for line in names.read_text().splitlines()]
        places = [line for line in lines if line[0] in ("input", "output")]
        outputs = {int(place): name for kind, place, _, name in places if kind == "output"}
        broken = outputs[int(asserted[1])]
        # The first line is the initial state.
        lines = trace.read_text().splitlines()[1:][: int(asserted[2]) + 1]
    inputs: list[dict[str, int]] = []
    for line in lines:
        values = {name: 0 for name, member in component.signature.members.items() if member.flow == In}
        for kind, place, bit, name in places:
            if kind == "input" and name in values:
                values[name] |= (line[int(place)] == "1") << int(bit)
        inputs.append(values)
    _confirm(component, broken, inputs)
    return Verdict(broken=broken, inputs=tuple(inputs), seconds=seconds)


def _confirm(component: wiring.Component, broken: str, inputs: list[dict[str, int]]) -> None:
    seen: list[int] = []

    async def play(context):
        for values in inputs:
            for name, value in values.items():
                port = getattr(component, name)
                context.set(port.as_value() if isinstance(port, ValueCastable) else port, value)
            seen.append(context.get(getattr(component, broken)))
            await context.tick()

    simulator = Simulator(component)
    simulator.add_clock(1e-6)
    simulator.add_testbench(play)
    simulator.run()
    if seen[-1:] != [1]:
        raise RuntimeError(f"the simulator does not see the counterexample to {broken}: it rises in cycles {seen}")


def report(component: wiring.Component, verdict: Verdict) -> None:
    """Print what was found, and how fast."""
    found = f"{verdict.broken} in cycle {len(verdict.inputs) - 1}" if verdict.broken else "holds"
    sys.stdout.write(f"{type(component).__name__}: {found}, {verdict.seconds:.2f} s\n")
