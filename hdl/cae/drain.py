"""Third stage of the product unit: waits for the last sums, hands the results over, and reports."""

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from hdl.cae.run import ended_layout
from hdl.layout import struct_layout
from sim.config import CaeConfig
from sim.program.commands import MATRIX_STATUS, result_beat


class DrainStage(wiring.Component):
    """Drains one tile at a time while the next one runs.

    Parameters
    ----------
    config : CaeConfig
        The engine.

    Attributes
    ----------
    ended : In(stream of `ended_layout`)
        Tiles that have run; the next is taken in the cycle of a status at the earliest.
    bank, row, read : Out
        Reads a row of all columns of the accumulator.
    sums : In
        What was read, from the next cycle on.
    results : Out(stream of `result_beat`)
        All rows of the tile; columns beyond its own are +0.
    status : Out(stream of `MATRIX_STATUS`)
        One for each tile, from the cycle after its last result.
    flush, drain, wait_results, wait_status : Out(1)
        What the cycle is spent on, in order of precedence; none where there is no tile.
    """

    def __init__(self, config: CaeConfig) -> None:
        self.config = config
        super().__init__(
            {
                "ended": In(stream.Signature(ended_layout(config))),
                "bank": Out(1),
                "row": Out(range(max(2, config.accumulator_rows))),
                "read": Out(1),
                "sums": In(data.ArrayLayout(32, config.columns)),
                "results": Out(stream.Signature(struct_layout(result_beat(config.columns)))),
                "status": Out(stream.Signature(struct_layout(MATRIX_STATUS))),
                **{name: Out(1) for name in ("flush", "drain", "wait_results", "wait_status")},
            }
        )

    def elaborate(self, _platform: object) -> Module:
        """Build the stage."""
        m = Module()
        tile = Signal(ended_layout(self.config))
        draining, reporting, step = Signal(), Signal(), Signal()
        self._read(m, tile, step)
        m.d.comb += [
            step.eq(draining & (tile.unwritten == 0) & (~self.results.valid | self.results.ready)),
            self.bank.eq(tile.bank),
            *(self.status.payload[name].eq(tile[name]) for name in ("tag", "code")),
            self.status.valid.eq(reporting),
            self.ended.ready.eq(~draining & (~reporting | self.status.ready)),
            self.flush.eq(draining & (tile.unwritten != 0)),
            self.drain.eq(step),
            self.wait_results.eq(draining),
            self.wait_status.eq(reporting),
        ]
        with m.If(tile.unwritten != 0):
            m.d.sync += tile.unwritten.eq(tile.unwritten - 1)
        with m.If(step & ~self.read):
            m.d.sync += [draining.eq(0), reporting.eq(1)]
        with m.If(self.status.valid & self.status.ready):
            m.d.sync += reporting.eq(0)
        with m.If(self.ended.valid & self.ended.ready):
            m.d.sync += [tile.eq(self.ended.payload), draining.eq(1)]
        return m

    def _read(self, m: Module, tile: Signal, step: Signal) -> None:
        """Read row by row; what was read is offered in the next cycle."""
        result = self.results.payload
        next_row = Signal(range(self.config.accumulator_rows + 1))
        index = Signal(16)
        offered = Signal()
        m.d.comb += [
            self.row.eq(next_row),
            self.read.eq(step & (next_row != tile.rows)),
            self.results.valid.eq(offered),
            result.index.eq(index),
            result.first.eq(1),
            result.last.eq(1),
            *(result.data[c].eq(Mux(tile.columns > c, self.sums[c], 0)) for c in range(self.config.columns)),
        ]
        with m.If(step):
            m.d.sync += [offered.eq(self.read), next_row.eq(Mux(self.read, next_row + 1, 0))]
        with m.If(self.read):
            m.d.sync += index.eq(next_row)
