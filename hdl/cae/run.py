"""Second stage of the product unit: lets the rows of a tile into the array, one a cycle."""

from amaranth.hdl import Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from hdl.cae.load import tile_layout
from hdl.delay import delayed
from hdl.layout import struct_layout
from sim.config import CaeConfig
from sim.program.commands import vector_beat


def ended_layout(config: CaeConfig) -> data.StructLayout:
    """Return what the drain stage must know of a tile whose rows were all issued.

    Parameters
    ----------
    config : CaeConfig
        The engine.

    Returns
    -------
    data.StructLayout
        Fields: ``silent`` (there is nothing to hand over), ``bank`` of the sums, ``rows``, ``columns``, ``unwritten``
        (cycles after this one until the last sum is written), and those of the status: ``tag``, ``code``.
    """
    return data.StructLayout(
        {
            "silent": 1,
            "bank": 1,
            "rows": range(config.accumulator_rows + 1),
            "columns": range(config.columns + 1),
            "unwritten": range(config.pipeline_cycles + 1),
            "tag": 16,
            "code": 8,
        }
    )


class RunStage(wiring.Component):
    """Runs one tile at a time; the last row's cycle may be that in which the next tile moves in.

    Parameters
    ----------
    config : CaeConfig
        The engine.

    Attributes
    ----------
    tile : In(stream of `tile_layout`)
        Tiles to run.
    activations : In(stream of `vector_beat`)
        Rows, all of a block of K before the next block's.
    whole : In(1)
        The next block's weights are in place.
    issue : Out(1)
        A row enters the array.
    swap : Out(1)
        With `issue`: it is the first of a block.
    bank, row, fresh, last : Out
        With `issue`: where its sums stand, whether they start from +0, and whether it is the last row of a block.
    ended : Out(stream of `ended_layout`)
        Tiles that have run; offered in the cycle of the last row. A tile without rows is offered in its first cycle.
    busy, wait_weights, wait_activations, wait_accumulator, wait_drain : Out(1)
        What the cycle is spent on, in order of precedence; none where there is no tile.
    """

    def __init__(self, config: CaeConfig) -> None:
        self.config = config
        names = ("busy", "wait_weights", "wait_activations", "wait_accumulator", "wait_drain")
        super().__init__(
            {
                "tile": In(stream.Signature(tile_layout(config))),
                "activations": In(stream.Signature(struct_layout(vector_beat(config.rows, 16)))),
                "whole": In(1),
                "issue": Out(1),
                "swap": Out(1),
                "bank": Out(1),
                # Even one row has a number of one bit: a net without any is not Verilog.
                "row": Out(range(max(2, config.accumulator_rows))),
                "fresh": Out(1),
                "last": Out(1),
                "ended": Out(stream.Signature(ended_layout(config))),
                **{name: Out(1) for name in names},
            }
        )

    def elaborate(self, _platform: object) -> Module:
        """Build the stage."""
        m = Module()
        config = self.config
        tile = Signal(tile_layout(config))
        running, pending, weighted = Signal(), Signal(), Signal()
        free = self._sum_is_free(m, tile)
        m.d.comb += [
            pending.eq(running & (tile.depth != 0)),
            weighted.eq((self.row != 0) | self.whole),
            self.activations.ready.eq(pending & weighted & free),
            self.issue.eq(self.activations.ready & self.activations.valid),
            self.swap.eq(self.issue & (self.row == 0)),
            self.last.eq(self.row + 1 == tile.rows),
            self.busy.eq(self.issue),
            self.wait_weights.eq(pending & ~weighted),
            self.wait_activations.eq(pending & ~self.activations.valid),
            self.wait_accumulator.eq(pending),
            self.wait_drain.eq(running),
        ]
        with m.If(self.issue):
            m.d.sync += self.row.eq(self.row + 1)
        with m.If(self.issue & self.last):
            m.d.sync += [
                self.row.eq(0),
                self.fresh.eq(0),
                tile.depth.eq(Mux(tile.depth > config.rows, tile.depth - config.rows, 0)),
            ]
        self._end(m, tile, running)
        return m

    def _sum_is_free(self, m: Module, tile: Signal) -> Value:
        """Tell whether the row's sum of the block before is written: of the rows on their way, it is not the oldest.

        Its sum is as many rows back as the tile has, whatever tile ran before.
        """
        window = self.config.reuse_cycles - 1
        in_flight = Signal(range(window + 1))
        issued = delayed(m, self.issue, window, name="issued", reset_less=False)
        m.d.sync += in_flight.eq(in_flight + self.issue - issued[window])
        return self.fresh | (in_flight < tile.rows)

    def _end(self, m: Module, tile: Signal, running: Signal) -> None:
        """Let the tile go when the drain takes it, and the next one in."""
        config = self.config
        ended = self.ended.payload
        unwritten, leave = Signal(range(config.pipeline_cycles + 1)), Signal()
        m.d.comb += [
            *(ended[name].eq(tile[name]) for name in ("silent", "rows", "columns", "tag", "code")),
            ended.bank.eq(self.bank),
            ended.unwritten.eq(Mux(self.issue, config.pipeline_cycles, Mux(unwritten != 0, unwritten - 1, 0))),
            self.ended.valid.eq(running & ((tile.depth == 0) | (self.issue & self.last & (tile.depth <= config.rows)))),
            leave.eq(self.ended.valid & self.ended.ready),
            self.tile.ready.eq(~running | leave),
        ]
        m.d.sync += unwritten.eq(ended.unwritten)
        with m.If(leave):
            m.d.sync += running.eq(0)
        # Sums that are kept stay in their bank, and so does who goes on with them.
        with m.If(leave & ~tile.silent):
            m.d.sync += self.bank.eq(~self.bank)
        with m.If(self.tile.valid & self.tile.ready):
            m.d.sync += [running.eq(1), tile.eq(self.tile.payload), self.fresh.eq(~self.tile.payload.continued)]
