"""Which elements DROPOUT keeps: the draws of two neighbouring columns."""

from amaranth.hdl import Instance, Module
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from hdl.arith.threefry import Threefry
from hdl.shared import SharedModules
from sim.config import CaeConfig


class DropoutPair(wiring.Component):
    """Draws two words beside the reads and the products, and compares them.

    Parameters
    ----------
    config : CaeConfig
        Arithmetic latencies.

    Attributes
    ----------
    key_0, key_1 : In(32)
        Words of the key; held while draws are on their way, as is `below`.
    below : In(32)
        What is kept: draws below it.
    row, pair : In(32)
        Words of the counter, in the cycle of the element's read.
    kept : Out(2)
        Whether the element of the even and of the odd column is kept, 3 + vector_mul_latency + add_latency cycles
        later.
    """

    key_0: In(32)
    key_1: In(32)
    below: In(32)
    row: In(32)
    pair: In(32)
    kept: Out(2)

    def __init__(self, config: CaeConfig) -> None:
        self.draw_cycles = 2 + config.vector_mul_latency + config.add_latency
        super().__init__()

    def elaborate(self, platform: object) -> Module | Instance:
        """Build the draws, or stand in for them where all pairs share one module."""
        if isinstance(platform, SharedModules):
            return platform.instance(f"dropout_pair_{self.draw_cycles}", self)
        m = Module()
        m.submodules.threefry = threefry = Threefry(latency=self.draw_cycles, key_held=True)
        m.d.comb += [
            threefry.key_0.eq(self.key_0),
            threefry.key_1.eq(self.key_1),
            threefry.counter_0.eq(self.row),
            threefry.counter_1.eq(self.pair),
        ]
        m.d.sync += [self.kept[0].eq(threefry.draw_0 < self.below), self.kept[1].eq(threefry.draw_1 < self.below)]
        return m
