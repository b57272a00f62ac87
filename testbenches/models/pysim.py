"""Runs a bench on Amaranth's own simulator, with the Python agents."""

import time
from collections.abc import Mapping
from pathlib import Path

import numpy as np
from amaranth.hdl import ClockDomain, Module, Signal
from amaranth.lib import wiring
from amaranth.sim import Simulator
from numpy.typing import NDArray

from testbenches.models.agents import Players
from testbenches.models.exchange import CLOCK_NS, RESET_CYCLES, Description, Outcome, Played, payload_bytes
from testbenches.models.ports import port_values
from testbenches.models.rules import BenchError


def play_pysim(
    component: wiring.Component,
    description: Description,
    payloads: Mapping[str, NDArray[np.uint8]],
    stalled: Mapping[str, NDArray[np.bool_]],
    *,
    waves: Path | None,
) -> Played:
    """Simulate the design once.

    Parameters
    ----------
    component : wiring.Component
        The design.
    description : Description
        What is to be played.
    payloads, stalled : mapping of str to ndarray
        Beats of each source, stall pattern of each stream.
    waves : Path or None
        VCD file to write.

    Raises
    ------
    BenchError
        If an assertion in the design fails.
    """
    beats = {name: [int.from_bytes(beat.tobytes(), "little") for beat in rows] for name, rows in payloads.items()}
    players = Players(description, beats, {name: pattern.tolist() for name, pattern in stalled.items()})
    outcomes: list[Outcome] = []

    top = Module()
    top.domains.sync = domain = ClockDomain("sync")
    top.submodules.dut = component
    values = port_values(component)
    signals = dict(values)
    for name in description.ready_after_valid:
        signals[f"{name}__ready"] = free = Signal(name=f"{name}__free")
        top.d.comb += values[f"{name}__ready"].eq(free & values[f"{name}__valid"])

    async def testbench(ctx):
        async def edge():
            _, _, *values = await ctx.tick().sample(*(signals[name] for name in players.signals))
            return dict(zip(players.signals, values, strict=True)).__getitem__

        def drive():
            for name, value in players.changes():
                ctx.set(signals[name], value)

        for name, value in description.inputs.items():
            ctx.set(signals[name], value)
        ctx.set(domain.rst, 1)
        for _ in range(RESET_CYCLES):
            await edge()
        ctx.set(domain.rst, 0)
        over = False
        while not over:
            drive()
            over = players.step(await edge())
        drive()
        outcomes.append(players.outcome(await edge()))

    simulator = Simulator(top)
    simulator.add_clock(CLOCK_NS * 1e-9)
    simulator.add_testbench(testbench)
    start = time.perf_counter()
    try:
        if waves is None:
            simulator.run()
        else:
            with simulator.write_vcd(str(waves)):
                simulator.run()
    except AssertionError as error:
        raise BenchError(f"the simulation broke off: {error}") from error
    accepted = {agent.name: np.array(agent.accepted, np.int64) for agent in (*players.sources, *players.sinks)}
    received = {}
    for sink in players.sinks:
        n_bytes = payload_bytes(description.sinks[sink.name])
        content = b"".join(payload.to_bytes(n_bytes, "little") for payload in sink.payloads)
        received[sink.name] = np.frombuffer(content, np.uint8).reshape(-1, n_bytes).copy()
    return Played(outcomes[0], accepted, received, time.perf_counter() - start)
