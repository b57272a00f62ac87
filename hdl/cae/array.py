"""Weight-stationary systolic array: rows along K, columns along N, sums flowing down."""

from amaranth.hdl import Module
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from hdl.cae.pe import MINUS_ZERO, ProcessingElement
from hdl.delay import delayed
from sim.config import CaeConfig


class SystolicArray(wiring.Component):
    """Grid of processing elements with the skew of its activations.

    For a row of activations given in cycle t, column c wants its sums in cycle ``t + 1 + mul_latency + c`` and gives
    them ``rows * add_latency`` cycles later. Additions run from row 0 downward, starting from the sum given.

    Parameters
    ----------
    config : CaeConfig
        Rows, columns and latencies.

    Attributes
    ----------
    shift : In(1)
        Takes a row of weights in at the bottom and moves all shadow weights up. Only from ``config.swap_cycles`` cycles
        after the last `swap` on. After as many shifts as rows, the first row taken in stands in row 0.
    weights : In
        With `shift`: a row of bf16 weights, one for each column.
    active : In(1)
        With `shift`: whether the row counts; a row that does not leaves all sums as they are.
    x : In
        bf16 activations, one for each row of the array.
    swap : In(1)
        With `x`: the shadow weights take over, from this row of activations on.
    sums_in : In
        fp32 sums, one for each column.
    sums_out : Out
        fp32 sums, one for each column.
    """

    def __init__(self, config: CaeConfig) -> None:
        self.config = config
        super().__init__(
            {
                "shift": In(1),
                "weights": In(data.ArrayLayout(16, config.columns)),
                "active": In(1),
                "x": In(data.ArrayLayout(16, config.rows)),
                "swap": In(1),
                "sums_in": In(data.ArrayLayout(32, config.columns)),
                "sums_out": Out(data.ArrayLayout(32, config.columns)),
            }
        )

    def elaborate(self, _platform: object) -> Module:
        """Build the grid, from the bottom row up, as the weights move."""
        m = Module()
        config = self.config
        grid = [[ProcessingElement(config) for _ in range(config.columns)] for _ in range(config.rows)]
        swap = delayed(m, self.swap, 1 + (config.rows - 1) * config.add_latency, name="swap", reset_less=False)
        for r, line in enumerate(grid):
            skew = 1 + r * config.add_latency
            x = delayed(m, self.x[r], skew, name=f"x_{r}")
            for c, pe in enumerate(line):
                m.submodules[f"pe_{r}_{c}"] = pe
                below = grid[r + 1][c] if r + 1 < config.rows else None
                left = line[c - 1] if c else None
                above = grid[r - 1][c] if r else None
                m.d.comb += [
                    pe.shift.eq(self.shift),
                    pe.active_in.eq(below.active_out if below else self.active),
                    pe.x_in.eq(left.x_out if left else x[skew]),
                    pe.swap_in.eq(left.swap_out if left else swap[skew]),
                    pe.sum_in.eq(above.sum_out if above else self.sums_in[c]),
                ]
                if below:
                    m.d.comb += pe.weight_in.eq(below.weight_out)
                else:
                    with m.If(self.active):
                        m.d.comb += pe.weight_in.eq(self.weights[c])
                    with m.Else():
                        m.d.comb += pe.weight_in.eq(MINUS_ZERO)
        m.d.comb += [self.sums_out[c].eq(pe.sum_out) for c, pe in enumerate(grid[-1])]
        return m
