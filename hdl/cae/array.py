"""Weight-stationary systolic array: rows along K, columns along N, sums flowing down."""

from amaranth.hdl import Const, Module, Mux
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from hdl.cae.array_row import ArrayRow
from hdl.cae.pe import MINUS_ZERO
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
        """Build the rows: activations come from the left, each row later than the one above."""
        m = Module()
        config = self.config
        swap = delayed(m, self.swap, 1 + (config.rows - 1) * config.add_latency, name="swap", reset_less=False)
        rows = [ArrayRow(config) for _ in range(config.rows)]
        for r, row in enumerate(rows):
            skew = 1 + r * config.add_latency
            m.submodules[f"row_{r}"] = row
            m.d.comb += [
                row.shift.eq(self.shift),
                row.x.eq(delayed(m, self.x[r], skew, name=f"x_{r}")[skew]),
                row.swap.eq(swap[skew]),
                row.sums_in.eq(rows[r - 1].sums_out if r else self.sums_in.as_value()),
            ]
            if r + 1 < config.rows:
                below = rows[r + 1]
                m.d.comb += [row.weights_in.eq(below.weights_out), row.active_in.eq(below.active_out)]
        bottom, no_weights = rows[-1], Const(MINUS_ZERO, 16).replicate(config.columns)
        m.d.comb += [
            bottom.active_in.eq(self.active),
            bottom.weights_in.eq(Mux(self.active, self.weights.as_value(), no_weights)),
            self.sums_out.as_value().eq(bottom.sums_out),
        ]
        return m
