"""One lane of the Reduce: weight times element, added to a sum or compared with it."""

from amaranth.hdl import Module, Mux
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from hdl.arith.add import Fp32Add
from hdl.arith.compare import Fp32MaxMin
from hdl.arith.mul import Bf16Mul, Fp32Mul
from hdl.delay import delayed
from sim.config import NmeConfig


class Lane(wiring.Component):
    """Multiplier, then adder beside a comparison of the same latency.

    Parameters
    ----------
    config : NmeConfig
        Element and arithmetic latencies.

    Attributes
    ----------
    element, weight : In
        Factors, in the element's format.
    total : In(32)
        fp32 number that the product joins, ``config.mul_latency`` cycles after the factors.
    fresh : In(1)
        With `total`: there is none yet. The product is added to +0, or stands alone in a comparison.
    minimum : In(1)
        With `total`: a comparison takes the lesser number instead of the greater.
    compare : In(1)
        With `result`: give the comparison instead of the sum.
    result : Out(32)
        The new total, ``config.add_latency`` cycles after `total`.
    """

    def __init__(self, config: NmeConfig) -> None:
        self.config = config
        element_bits = 8 * config.element_bytes
        super().__init__(
            {
                "element": In(element_bits),
                "weight": In(element_bits),
                "total": In(32),
                "fresh": In(1),
                "minimum": In(1),
                "compare": In(1),
                "result": Out(32),
            }
        )

    def elaborate(self, _platform: object) -> Module:
        """Build the data path."""
        m = Module()
        config = self.config
        m.submodules.multiply = multiply = (Bf16Mul if config.element == "bf16" else Fp32Mul)(
            latency=config.mul_latency
        )
        m.submodules.add = add = Fp32Add(latency=config.add_latency)
        m.submodules.choose = choose = Fp32MaxMin(latency=min(config.add_latency, Fp32MaxMin.MAX_LATENCY))
        chosen = delayed(m, choose.o, config.add_latency - choose.latency, name="chosen")[-1]
        m.d.comb += [
            multiply.a.eq(self.element),
            multiply.b.eq(self.weight),
            add.a.eq(Mux(self.fresh, 0, self.total)),
            add.b.eq(multiply.o),
            # A number compared with itself is itself, NaN made canonical.
            choose.a.eq(Mux(self.fresh, multiply.o, self.total)),
            choose.b.eq(multiply.o),
            choose.minimum.eq(self.minimum),
            self.result.eq(Mux(self.compare, chosen, add.o)),
        ]
        return m
