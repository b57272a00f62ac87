"""One row of the systolic array."""

from amaranth.hdl import Instance, Module
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from hdl.cae.pe import ProcessingElement
from hdl.shared import SharedModules
from sim.config import CaeConfig


class ArrayRow(wiring.Component):
    """Processing elements side by side: activations go from left to right, weights up and sums down.

    All rows share one module, so that the Verilog of an array grows with its side.

    Parameters
    ----------
    config : CaeConfig
        Columns and arithmetic latencies.

    Attributes
    ----------
    shift : In(1)
        Shadow registers take what the row below holds.
    weights_in, active_in : In
        Shadows of the row below: a bf16 weight for each column, column 0 lowest, and whether they count.
    weights_out, active_out : Out
        Shadows of this row.
    x, swap : In(16), In(1)
        Activation (bf16) for the leftmost element, with the mark that swaps weights.
    sums_in, sums_out : In, Out
        fp32 sums by column, as `ProcessingElement` takes and gives them; column c works c cycles after column 0.
    """

    def __init__(self, config: CaeConfig) -> None:
        self.config = config
        # Plain bits: a net for each column, by name, would be half of a large array's Verilog.
        weights, sums = 16 * config.columns, 32 * config.columns
        super().__init__(
            {
                "shift": In(1),
                "weights_in": In(weights),
                "active_in": In(1),
                "weights_out": Out(weights),
                "active_out": Out(1),
                "x": In(16),
                "swap": In(1),
                "sums_in": In(sums),
                "sums_out": Out(sums),
            }
        )

    def elaborate(self, platform: object) -> Module | Instance:
        """Build the elements, or stand in for them where all rows share one module."""
        config = self.config
        if isinstance(platform, SharedModules):
            name = f"array_row_c{config.columns}_m{config.mul_latency}_a{config.add_latency}"
            return platform.instance(name, self)
        m = Module()
        x, swap = self.x, self.swap
        for c in range(config.columns):
            m.submodules[f"pe_{c}"] = pe = ProcessingElement(config)
            m.d.comb += [
                pe.shift.eq(self.shift),
                pe.weight_in.eq(self.weights_in.word_select(c, 16)),
                pe.active_in.eq(self.active_in),
                pe.x_in.eq(x),
                pe.swap_in.eq(swap),
                pe.sum_in.eq(self.sums_in.word_select(c, 32)),
                self.weights_out.word_select(c, 16).eq(pe.weight_out),
                self.sums_out.word_select(c, 32).eq(pe.sum_out),
            ]
            x, swap = pe.x_out, pe.swap_out
        # The elements of a row take their weights together, so all of them are active or none.
        m.d.comb += self.active_out.eq(m.submodules.pe_0.active_out)
        return m
