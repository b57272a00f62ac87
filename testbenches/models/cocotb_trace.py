"""The cocotb test of the ``trace`` backend: starts clock and reset, then sleeps until the bench stops itself.

Runs inside the simulator, in the job's folder. Imports little: this is on the way of every simulation.
"""

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import RisingEdge

from testbenches.models.exchange import CLOCK_NS, RESET_CYCLES, Outcome, StreamState, read_description
from testbenches.models.rules import RULES, Fault


@cocotb.test()
async def play(bench):
    """Let the players run."""
    description = read_description()
    for name, value in description.inputs.items():
        bench[name].value = value
    bench.rst.value = 1
    Clock(bench.clk, CLOCK_NS, unit="ns").start()
    for _ in range(RESET_CYCLES):
        await RisingEdge(bench.clk)
    bench.rst.value = 0
    await RisingEdge(bench.bench_stop)

    def read(name: str) -> int:
        return int(bench[name].value)

    last_cycle = read("bench_cycle") - 1
    faults = [
        Fault(RULES[code], name, last_cycle) for name in description.sinks if (code := read(f"bench_fault_{name}"))
    ]
    if read("bench_starved"):
        faults.append(Fault("no_progress", "", last_cycle))
    states = {
        name: StreamState(read(f"bench_taken_{name}"), beats, read(f"{name}__valid"), read(f"{name}__ready"))
        for name, beats in description.beats.items()
    }
    Outcome(faults[0] if faults else None, states, {name: read(name) for name in description.outputs}).write()
