"""Plays a unit by hand on Amaranth's simulator: what it remembers, and that clearing makes it forget."""

from collections.abc import Awaitable, Callable

from amaranth.lib import stream, wiring
from amaranth.sim import Simulator

MOST_CYCLES = 100


def play(unit: wiring.Component, script: Callable[..., Awaitable[None]]) -> None:
    """Run a script with the simulator's context to its end.

    Parameters
    ----------
    unit : wiring.Component
        The unit.
    script : callable
        Gets the context.
    """
    simulator = Simulator(unit)
    simulator.add_clock(1e-8)
    simulator.add_testbench(script)
    simulator.run()


async def send(context, port: stream.Interface, **fields: int) -> None:
    """Hand a beat over."""
    for name, value in fields.items():
        context.set(port.payload[name], value)
    context.set(port.valid, 1)
    while not context.get(port.ready):
        await context.tick()
    await context.tick()
    context.set(port.valid, 0)


async def comes(context, port: stream.Interface) -> bool:
    """Return whether a beat comes within some cycles, and take it."""
    for _ in range(MOST_CYCLES):
        if context.get(port.valid):
            context.set(port.ready, 1)
            await context.tick()
            context.set(port.ready, 0)
            return True
        await context.tick()
    return False


async def clear(context, unit: wiring.Component, words: int) -> None:
    """Empty all words as the engine does after reset."""
    context.set(unit.clearing, 1)
    for address in range(words):
        context.set(unit.clear_address, address)
        await context.tick()
    context.set(unit.clearing, 0)
