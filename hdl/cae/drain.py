"""Third stage of the product unit: waits for the last sums, hands the results over, and reports."""

from amaranth.hdl import Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from hdl.cae.run import ended_layout
from hdl.layout import struct_layout
from hdl.stream.queue import StreamQueue
from sim.config import CaeConfig
from sim.program.commands import MATRIX_REPORTS, MATRIX_STATUS, result_beat


class DrainStage(wiring.Component):
    """Drains one tile at a time while the next one runs; tiles without results pass by, and report in their turn.

    Parameters
    ----------
    config : CaeConfig
        The engine.

    Attributes
    ----------
    ended : In(stream of `ended_layout`)
        Tiles that have run. One with results is taken in the cycle of the status before at the earliest; a silent one
        while fewer than `MATRIX_REPORTS` statuses are to come.
    bank, row, read : Out
        Reads a row of all columns of the accumulator.
    sums : In
        What was read, from the next cycle on.
    results : Out(stream of `result_beat`)
        All rows of the tile; columns beyond its own are +0.
    status : Out(stream of `MATRIX_STATUS`)
        One for each tile, from the cycle after its last result, or after it was taken if it is silent.
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
        draining, drained, step = Signal(), Signal(), Signal()
        taken = self._report(m, drained)
        self._read(m, tile, step)
        m.d.comb += [
            step.eq(draining & (tile.unwritten == 0) & (~self.results.valid | self.results.ready)),
            self.bank.eq(tile.bank),
            self.flush.eq(draining & (tile.unwritten != 0)),
            self.drain.eq(step),
            self.wait_results.eq(draining),
            self.wait_status.eq(self.status.valid),
        ]
        with m.If(tile.unwritten != 0):
            m.d.sync += tile.unwritten.eq(tile.unwritten - 1)
        with m.If(step & ~self.read):
            m.d.sync += [draining.eq(0), drained.eq(1)]
        with m.If(taken & ~self.ended.payload.silent):
            m.d.sync += [tile.eq(self.ended.payload), draining.eq(1), drained.eq(0)]
        return m

    def _report(self, m: Module, drained: Signal) -> Value:
        """Tell how tiles ended, in their order; return when one is taken.

        One with results is taken when no other is left to report: so it is the oldest while it drains, and its bank was
        drained long ago when the one after the next adds to it.
        """
        ended = self.ended.payload
        layout = data.StructLayout({"silent": 1, "tag": 16, "code": 8})
        m.submodules.reports = reports = StreamQueue(layout, MATRIX_REPORTS)
        head = reports.held.payload
        untold = Signal(range(MATRIX_REPORTS + 1))
        reported, alone, taken = Signal(), Signal(), Signal()
        m.d.comb += [
            *(reports.beats.payload[name].eq(ended[name]) for name in ("silent", "tag", "code")),
            reports.beats.valid.eq(taken),
            *(self.status.payload[name].eq(head[name]) for name in ("tag", "code")),
            self.status.valid.eq(reports.held.valid & (head.silent | drained)),
            reported.eq(self.status.valid & self.status.ready),
            reports.held.ready.eq(reported),
            alone.eq((untold == 0) | ((untold == 1) & reported)),
            self.ended.ready.eq(Mux(ended.silent, reports.beats.ready, alone)),
            taken.eq(self.ended.valid & self.ended.ready),
        ]
        m.d.sync += untold.eq(untold + taken - reported)
        return taken

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
