"""A block in Amaranth's own simulator."""

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
from amaranth.hdl import Module, Signal
from amaranth.lib.wiring import In
from amaranth.sim import Simulator, SimulatorContext

from hdl.arith.pipeline import Pipeline

Words = npt.NDArray[np.unsignedinteger]


def simulate(block: Pipeline, **inputs: Words) -> dict[str, Words]:
    """Give a block new operands in every cycle.

    Parameters
    ----------
    block : Pipeline
        The block.
    **inputs : ndarray, shape [cycles]
        The words at its inputs, one a cycle. The last ones stay for `latency` cycles more.

    Returns
    -------
    dict of str to ndarray of uint32, shape [cycles + latency]
        The words at its outputs in each cycle: those of the operands of cycle t belong at t + latency.
    """
    m = Module()
    m.submodules.block = block
    m.d.sync += Signal(name="clocked").eq(1)  # a block of latency 0 has no clock, but the simulation needs one
    (given,) = {len(words) for words in inputs.values()}
    outputs = [name for name, member in block.signature.members.items() if member.flow != In]
    seen: dict[str, list[int]] = {name: [] for name in outputs}

    async def play(ctx: SimulatorContext) -> None:
        for cycle in range(given + block.latency):
            for name, words in inputs.items():
                ctx.set(getattr(block, name), int(words[min(cycle, given - 1)]))
            for name in outputs:
                seen[name].append(ctx.get(getattr(block, name)))
            await ctx.tick()

    simulator = Simulator(m)
    simulator.add_clock(1e-6)
    simulator.add_testbench(play)
    simulator.run()
    return {name: np.array(words, np.uint32) for name, words in seen.items()}


def results(block: Callable[..., Pipeline], *rows: tuple[int, ...]) -> list[int]:
    """Give the results of a combinational block with inputs in the order of its ports, one row a case."""
    unit = block(latency=0)
    names = [name for name, member in unit.signature.members.items() if member.flow == In]
    columns = np.array([row[: len(names)] for row in rows], np.uint32).T
    return simulate(unit, **dict(zip(names, columns, strict=True)))["o"].tolist()
