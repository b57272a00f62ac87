"""Processing element of the systolic array: one weight, one multiplier, one adder."""

from amaranth.hdl import Instance, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from hdl.arith.add import Fp32Add
from hdl.arith.mul import Bf16Mul
from hdl.shared import SharedModules
from sim.config import CaeConfig

MINUS_ZERO = 0x8000
"""bf16 weight of a row beyond the depth: +0 times it is -0, which added to any number leaves it as it is."""


class ProcessingElement(wiring.Component):
    """Adds activation times weight to the sum that passes down its column.

    The next weight waits in a shadow register; it takes over with the activation that carries `swap`, and works on that
    activation already.

    Parameters
    ----------
    config : CaeConfig
        Arithmetic latencies.

    Attributes
    ----------
    shift : In(1)
        Shadow registers of the whole array move up by one row.
    weight_in, active_in : In(16), In(1)
        Shadow of the row below: a bf16 weight, and whether it counts. What does not count must be `MINUS_ZERO`.
    weight_out, active_out : Out(16), Out(1)
        Shadow of this row.
    x_in, swap_in : In(16), In(1)
        Activation (bf16) from the left, with the mark that swaps weights.
    x_out, swap_out : Out(16), Out(1)
        The same, one cycle later, to the right.
    sum_in : In(32)
        fp32 sum from above, ``config.mul_latency`` cycles after its activation.
    sum_out : Out(32)
        Sum to below, ``config.add_latency`` cycles after `sum_in`.
    """

    shift: In(1)
    weight_in: In(16)
    active_in: In(1)
    weight_out: Out(16)
    active_out: Out(1)
    x_in: In(16)
    swap_in: In(1)
    x_out: Out(16)
    swap_out: Out(1)
    sum_in: In(32)
    sum_out: Out(32)

    def __init__(self, config: CaeConfig) -> None:
        self.config = config
        super().__init__()

    def elaborate(self, platform: object) -> Module | Instance:
        """Build the registers around multiplier and adder, or stand in for them where all elements share one module."""
        if isinstance(platform, SharedModules):
            name = f"processing_element_m{self.config.mul_latency}_a{self.config.add_latency}"
            return platform.instance(name, self)
        m = Module()
        m.submodules.multiply = multiply = Bf16Mul(latency=self.config.mul_latency)
        m.submodules.add = add = Fp32Add(latency=self.config.add_latency)
        weight, active = Signal(16), Signal()
        current_weight, current_active = Signal(16), Signal()
        m.d.comb += [
            current_weight.eq(Mux(self.swap_in, self.weight_out, weight)),
            current_active.eq(Mux(self.swap_in, self.active_out, active)),
            # An activation beyond the depth may be anything, NaN too; it must not reach the product.
            multiply.a.eq(Mux(current_active, self.x_in, 0)),
            multiply.b.eq(current_weight),
            add.a.eq(self.sum_in),
            add.b.eq(multiply.o),
            self.sum_out.eq(add.o),
        ]
        m.d.sync += [
            weight.eq(current_weight),
            active.eq(current_active),
            self.x_out.eq(self.x_in),
            self.swap_out.eq(self.swap_in),
        ]
        with m.If(self.shift):
            m.d.sync += [self.weight_out.eq(self.weight_in), self.active_out.eq(self.active_in)]
        return m
