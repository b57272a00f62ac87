"""First stage of the product unit: takes a command, judges it, and loads its weights block by block."""

from amaranth.hdl import Const, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from hdl.layout import struct_layout
from sim.config import CaeConfig
from sim.program.commands import MATRIX_COMMAND, MatrixCode, MatrixOpcode, vector_beat
from sim.program.instructions import ProductPart


def tile_layout(config: CaeConfig) -> data.StructLayout:
    """Return what the run stage must know of a judged command.

    Parameters
    ----------
    config : CaeConfig
        The engine.

    Returns
    -------
    data.StructLayout
        Fields: ``rows``, ``columns``, ``depth``, ``continued`` (its sums start from those that were kept), ``silent``
        (it has no results: its sums are kept, or it is refused), ``tag``, ``code``. A refused command has neither rows
        nor depth.
    """
    return data.StructLayout(
        {
            "rows": range(config.accumulator_rows + 1),
            "columns": range(config.columns + 1),
            "depth": 32,
            "continued": 1,
            "silent": 1,
            "tag": 16,
            "code": 8,
        }
    )


def _continues(command: Value) -> Value:
    return (command.part == ProductPart.LAST) | (command.part == ProductPart.MIDDLE)


def _keeps(command: Value) -> Value:
    return (command.part == ProductPart.FIRST) | (command.part == ProductPart.MIDDLE)


class LoadStage(wiring.Component):
    """Holds one command: until it has moved on, and until its weights are loaded.

    Weights go into the shadow registers of the array, which hold one block: of the tile that runs, or the first one of
    the tile after.

    Parameters
    ----------
    config : CaeConfig
        The engine.

    Attributes
    ----------
    command : In(stream of `MATRIX_COMMAND`)
        Taken when the one before has moved on and its weights are loaded, the last shift in the same cycle.
    weights : In(stream of `vector_beat`)
        K rows of each tile.
    tile : Out(stream of `tile_layout`)
        The command, judged; offered from the cycle after it was taken.
    shift, active : Out(1)
        For the array: a row of weights moves in, or one that does not count.
    whole : Out(1)
        The next block stands in the shadow registers.
    swap : In(1)
        Its first row of activations enters the array; the shadow registers take weights again ``config.swap_cycles``
        later.
    """

    def __init__(self, config: CaeConfig) -> None:
        self.config = config
        super().__init__(
            {
                "command": In(stream.Signature(struct_layout(MATRIX_COMMAND))),
                "weights": In(stream.Signature(struct_layout(vector_beat(config.columns, 16)))),
                "tile": Out(stream.Signature(tile_layout(config))),
                "shift": Out(1),
                "active": Out(1),
                "whole": Out(1),
                "swap": In(1),
            }
        )

    def _judge(self, command: Value, kept: Value) -> Value:
        """Return the code of a command: the first reason to refuse it, or OK; sums of `kept` rows are kept."""
        rows, columns = command.rows, command.columns
        other_rows = _continues(command) & (rows != kept)
        code: Value = Const(MatrixCode.OK, 8)
        for reason, refused in (
            (MatrixCode.BAD_PART, command.part > max(ProductPart)),
            (MatrixCode.BAD_DEPTH, command.depth == 0),
            (MatrixCode.BAD_COLUMNS, (columns == 0) | (columns > self.config.columns)),
            (MatrixCode.BAD_ROWS, (rows == 0) | (rows > self.config.accumulator_rows) | other_rows),
            (MatrixCode.BAD_OPCODE, command.opcode != MatrixOpcode.PRODUCT),
        ):
            code = Mux(refused, reason, code)
        return code

    def elaborate(self, _platform: object) -> Module:
        """Build the stage."""
        m = Module()
        command = self.command.payload
        left = Signal(32)
        held, loaded, start, good = Signal(), Signal(), Signal(), Signal()
        tile = Signal(tile_layout(self.config), reset_less=True)
        code = Signal(8)
        kept = Signal(range(self.config.accumulator_rows + 1))
        self._shift(m, left, loaded)
        m.d.comb += [
            code.eq(self._judge(command, kept)),
            good.eq(code == MatrixCode.OK),
            self.command.ready.eq(~held & loaded),
            start.eq(self.command.valid & self.command.ready),
            self.tile.valid.eq(held),
            self.tile.payload.eq(tile),
        ]
        with m.If(start):
            m.d.sync += [
                held.eq(1),
                left.eq(Mux(good, command.depth, 0)),
                tile.rows.eq(Mux(good, command.rows, 0)),
                tile.columns.eq(command.columns),
                tile.depth.eq(Mux(good, command.depth, 0)),
                tile.continued.eq(_continues(command)),
                tile.silent.eq(~good | _keeps(command)),
                tile.tag.eq(command.tag),
                tile.code.eq(code),
            ]
        with m.Elif(self.tile.ready):
            m.d.sync += held.eq(0)
        with m.If(start & good):
            m.d.sync += kept.eq(Mux(_keeps(command), command.rows, 0))
        return m

    def _shift(self, m: Module, left: Signal, loaded: Signal) -> None:
        """Shift the blocks in, each when the array works with the one before; `left` counts rows of weights."""
        rows = self.config.rows
        row = Signal(range(max(2, rows)))
        swap_timer = Signal(range(self.config.swap_cycles + 1))
        loading = Signal()
        last = Signal()
        m.d.comb += [
            loading.eq((left != 0) & ~self.whole & (swap_timer == 0)),
            self.active.eq(row < left),
            self.weights.ready.eq(loading & self.active),
            self.shift.eq(loading & (self.weights.valid | ~self.active)),
            last.eq(self.shift & (row == rows - 1)),
            loaded.eq((left == 0) | (last & (left <= rows))),
        ]
        with m.If(swap_timer != 0):
            m.d.sync += swap_timer.eq(swap_timer - 1)
        with m.If(self.swap):
            m.d.sync += [self.whole.eq(0), swap_timer.eq(self.config.swap_cycles - 1)]
        with m.If(self.shift):
            m.d.sync += row.eq(row + 1)
        with m.If(last):
            m.d.sync += [row.eq(0), self.whole.eq(1), left.eq(Mux(left > rows, left - rows, 0))]
