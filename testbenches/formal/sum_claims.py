"""Claims about the product unit: each result has every update of its own tile once, and none of another's."""

from amaranth.hdl import Array, Cat, Module, Mux, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from hdl.delay import delayed
from sim.config import CaeConfig
from sim.program.commands import MatrixOpcode
from sim.program.instructions import ProductPart
from testbenches.formal.smaller import COUNT_BITS, elaborated
from testbenches.formal.watch import passes

_FEW = 2
"""Bits of rows and depth in a command: up to 3, 0 and too many among them."""
_TILES = 4
"""Tiles with results under way, more than there can be."""


class CountingArray(wiring.Component):
    """In the place of the array, with its latency: a sum counts how often it went through."""

    def __init__(self, config: CaeConfig) -> None:
        self.config = config
        columns = config.columns
        super().__init__(
            {
                "shift": In(1),
                "weights": In(data.ArrayLayout(16, columns)),
                "active": In(1),
                "x": In(data.ArrayLayout(16, config.rows)),
                "swap": In(1),
                "sums_in": In(data.ArrayLayout(32, columns)),
                "sums_out": Out(data.ArrayLayout(32, columns)),
            }
        )

    def elaborate(self, _platform: object) -> Module:
        """Build the counters."""
        m = Module()
        for c in range(self.config.columns):
            after = (self.sums_in[c][:COUNT_BITS] + 1)[:COUNT_BITS]
            late = delayed(m, after, self.config.rows * self.config.add_latency, name=f"count_{c}")[-1]
            m.d.comb += self.sums_out[c].eq(late)
        return m


class CountedSums(wiring.Component):
    """A product unit with small commands, good and bad, in whose surroundings anything comes and is taken at any time.

    `lost` rises where a result has not as many updates, modulo 4, as its tile and the parts of K before it have blocks;
    `disordered` where it is not the next row of the oldest tile.
    """

    def __init__(self, config: CaeConfig, unit: wiring.Component) -> None:
        self.config, self.unit = config, unit
        free = ("command", "weights", "activations", "results", "status")
        super().__init__(
            {
                **{f"{name}_moves": In(1) for name in free},
                **{name: In(_FEW) for name in ("rows", "depth", "part")},
                "lost": Out(1),
                "disordered": Out(1),
            }
        )

    def elaborate(self, _platform: object) -> Module:
        """Build the claims."""
        m = Module()
        unit = self.unit
        m.submodules.unit, _ = elaborated(unit, type(unit), SystolicArray=CountingArray)
        command, result = unit.command.payload, unit.results.payload
        kept_rows, kept_count = Signal(_FEW), Signal(COUNT_BITS)
        blocks, count = Signal(_FEW), Signal(COUNT_BITS)
        good, continues, keeps = Signal(), Signal(), Signal()
        rows, counts = (Array(Signal(_FEW, name=f"{name}_{i}") for i in range(_TILES)) for name in ("rows", "count"))
        head, tail, row = Signal(range(_TILES)), Signal(range(_TILES)), Signal(_FEW)
        due, wrong = Signal(COUNT_BITS), Signal(self.config.columns)
        array_rows = self.config.rows
        m.d.comb += [
            *(command[name].eq(getattr(self, name)) for name in ("rows", "depth", "part")),
            command.opcode.eq(MatrixOpcode.PRODUCT),
            command.columns.eq(self.config.columns),
            *(getattr(unit, name).valid.eq(getattr(self, f"{name}_moves")) for name in ("command", "weights")),
            unit.activations.valid.eq(self.activations_moves),
            *(getattr(unit, name).ready.eq(getattr(self, f"{name}_moves")) for name in ("results", "status")),
            continues.eq((self.part == ProductPart.MIDDLE) | (self.part == ProductPart.LAST)),
            keeps.eq((self.part == ProductPart.MIDDLE) | (self.part == ProductPart.FIRST)),
            good.eq(
                (self.rows != 0)
                & (self.rows <= self.config.accumulator_rows)
                & (self.depth != 0)
                & (~continues | (self.rows == kept_rows))
            ),
            blocks.eq((self.depth + array_rows - 1) // array_rows),
            count.eq(blocks + Mux(continues, kept_count, 0)),
            due.eq(counts[head]),
            wrong.eq(Cat(result.data[c] != due for c in range(self.config.columns))),
            self.lost.eq(unit.results.valid & wrong.any()),
            self.disordered.eq(unit.results.valid & ((head == tail) | (result.index != row))),
        ]
        with m.If(passes(unit.command) & good):
            m.d.sync += [kept_rows.eq(Mux(keeps, self.rows, 0)), kept_count.eq(count)]
            with m.If(~keeps):
                m.d.sync += [rows[tail].eq(self.rows), counts[tail].eq(count), tail.eq(tail + 1)]
        with m.If(passes(unit.results)):
            m.d.sync += row.eq(row + 1)
            with m.If(row + 1 == rows[head]):
                m.d.sync += [row.eq(0), head.eq(head + 1)]
        return m
