"""Keeps the Near-Memory Engines in step: none runs too far ahead of the slowest."""

from amaranth.hdl import Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out


class WindowSync(wiring.Component):
    """The least progress of all engines, one cycle later.

    Parameters
    ----------
    engines : int
        How many.

    Attributes
    ----------
    progress : In(engines x 32)
        Slot of each engine's oldest shard that has not ended.
    horizon : Out(32)
        The least of them; 0 after reset.
    """

    def __init__(self, engines: int) -> None:
        super().__init__({"progress": In(data.ArrayLayout(32, engines)), "horizon": Out(32)})

    def elaborate(self, _platform: object) -> Module:
        """Build a tree of comparisons."""
        m = Module()
        values: list[Value] = [self.progress[i] for i in range(len(self.progress.as_value()) // 32)]
        while len(values) > 1:
            paired = []
            for i in range(0, len(values) - 1, 2):
                least = Signal(32, name=f"least_{len(values)}_{i}")
                m.d.comb += least.eq(Mux(values[i] < values[i + 1], values[i], values[i + 1]))
                paired.append(least)
            values = paired + values[len(values) - len(values) % 2 :]
        m.d.sync += self.horizon.eq(values[0])
        return m
