"""Reads an operand of the systolic array from its bank, in the order in which the array wants it."""

from amaranth.hdl import Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from hdl.cae.ports import READ_CYCLES, bank_read
from hdl.cae.transpose import Transposer
from hdl.delay import delayed
from sim.config import CaeConfig


def operand_layout(config: CaeConfig) -> data.StructLayout:
    """Return what an operand reader must know of an operand.

    Parameters
    ----------
    config : CaeConfig
        The engine.

    Returns
    -------
    data.StructLayout
        Fields: ``turned`` (it is given transposed), ``bank``, ``address``, ``pitch``, ``part`` as in the instruction,
        ``rows`` and ``columns`` of the matrix as it is stored.
    """
    port = bank_read(config).members
    return data.StructLayout(
        {
            "turned": 1,
            "bank": port["bank"].shape,
            "address": port["address"].shape,
            "pitch": 16,
            "part": 8,
            "rows": 16,
            "columns": 16,
        }
    )


class OperandReader(wiring.Component):
    """Reads a matrix piece by piece, one row of a piece a cycle, into slots of a `Transposer`.

    A plain matrix is read part by part: all its rows in slots of as many rows as the array has, then the next part of
    each row. A turned one is read rows first: of `turned_rows` rows all parts, each a slot, then of the next rows.
    While there is room it reads ahead, into the next operand too. A row is offered `READ_CYCLES` + 2 cycles after its
    read at the earliest, one that is turned as long after the last row of its slot.

    Parameters
    ----------
    config : CaeConfig
        The engine.
    plain_lanes : int
        Elements of a part of a plain matrix. Those of a turned one have as many as the array has rows.
    turned_rows : int
        Rows of a slot of a turned matrix, at most.
    slots : int
        Slots.

    Attributes
    ----------
    operand : In(stream of `operand_layout`)
        The next operand; taken in the cycle of the last read of the one before, or when there is none.
    read : Out(`bank_read`)
        Reads of the bank.
    finished : Out(1)
        With the last read of an operand.
    rows : Out(stream)
        Rows of bf16 elements, `plain_lanes` of them.
    """

    def __init__(self, config: CaeConfig, *, plain_lanes: int, turned_rows: int, slots: int) -> None:
        self.config = config
        self._plain_lanes, self._turned_rows, self._slots = plain_lanes, turned_rows, slots
        super().__init__(
            {
                "operand": In(stream.Signature(operand_layout(config))),
                "read": Out(bank_read(config)),
                "finished": Out(1),
                "rows": Out(stream.Signature(data.ArrayLayout(16, plain_lanes))),
            }
        )

    def elaborate(self, _platform: object) -> Module:
        """Build the walk over the matrix, and connect the slots."""
        m = Module()
        config = self.config
        side = max(config.rows, self._plain_lanes, self._turned_rows)
        m.submodules.slots = slots = Transposer(side, self._slots)
        operand = Signal(operand_layout(config))
        part, last, given = Signal(8), Signal(), Signal(range(side + 1))
        self._walk(m, slots, operand, part, last, given)
        flags = {"put": self.read.en, "last": last, "turned": operand.turned, "given": given, "part": part}
        late = {
            name: delayed(m, value, READ_CYCLES, name=f"{name}_late", reset_less=name != "put")[-1]
            for name, value in flags.items()
        }
        m.d.comb += [
            *(getattr(slots, name).eq(late[name]) for name in ("put", "last", "turned", "given")),
            slots.row.as_value().eq(self._elements(m, late["part"], late["turned"])),
            self.rows.payload.as_value().eq(slots.rows.payload.as_value()),
            self.rows.valid.eq(slots.rows.valid),
            slots.rows.ready.eq(self.rows.ready),
        ]
        return m

    def _elements(self, m: Module, part: Value, turned: Value) -> Value:
        """Take a part out of a beat; bf16 is the high half of fp32."""
        lanes, rows = self.config.lanes, self.config.rows
        halves = Signal(16 * lanes)
        m.d.comb += [halves.word_select(lane, 16).eq(self.read.data[lane][16:]) for lane in range(lanes)]
        return Mux(turned, halves.word_select(part, 16 * rows), halves.word_select(part, 16 * self._plain_lanes))

    def _walk(self, m: Module, slots: Transposer, operand: Signal, part: Signal, last: Signal, given: Signal) -> None:
        """Go through the matrix; `part`, `last` (row of its slot) and `given` (rows to give) belong to this read."""
        rows = self.config.rows
        plain_lanes, plain_parts = self._plain_lanes, self.config.lanes // self._plain_lanes
        address = Signal.like(self.read.address)
        active, go, starts, passed = Signal(), Signal(), Signal(), Signal()
        row = Signal(range(max(2, rows, self._turned_rows)))
        # What is left of rows and columns, and where the rows began that are gone through for each part.
        rows_left, columns_left, group_rows = Signal(16), Signal(16), Signal(16)
        row_address, group_address, offset = Signal.like(address), Signal.like(address), Signal.like(address)
        last_row, last_part = Signal(), Signal()
        lanes = Mux(operand.turned, rows, plain_lanes)
        m.d.comb += [
            starts.eq(go & (row == 0)),
            slots.reserve.eq(starts),
            go.eq(active & ((row != 0) | slots.room)),
            last_row.eq(rows_left == 1),
            last.eq(last_row | (row == Mux(operand.turned, self._turned_rows, rows) - 1)),
            last_part.eq(columns_left <= lanes),
            passed.eq(go & Mux(operand.turned, last, last_row)),
            self.finished.eq(passed & last_part & last_row),
            given.eq(_least(Mux(operand.turned, columns_left, rows_left), rows)),
            self.read.en.eq(go),
            self.read.bank.eq(operand.bank),
            self.read.address.eq(row_address + offset),
            self.operand.ready.eq(~active | self.finished),
        ]
        with m.If(go):
            m.d.sync += [
                row.eq(Mux(last, 0, row + 1)),
                rows_left.eq(rows_left - 1),
                row_address.eq(row_address + operand.pitch),
            ]
        with m.If(passed & ~last_part):
            over = part == Mux(operand.turned, self.config.lanes // rows, plain_parts) - 1
            m.d.sync += [
                columns_left.eq(columns_left - lanes),
                rows_left.eq(group_rows),
                row_address.eq(group_address),
                part.eq(Mux(over, 0, part + 1)),
                offset.eq(offset + over),
            ]
        with m.Elif(passed):
            m.d.sync += [
                columns_left.eq(operand.columns),
                group_rows.eq(rows_left - 1),
                group_address.eq(row_address + operand.pitch),
                part.eq(operand.part),
                offset.eq(0),
            ]
        with m.If(self.finished):
            m.d.sync += active.eq(0)
        following = self.operand.payload
        with m.If(self.operand.valid & self.operand.ready):
            m.d.sync += [
                active.eq(1),
                operand.eq(following),
                rows_left.eq(following.rows),
                group_rows.eq(following.rows),
                columns_left.eq(following.columns),
                row_address.eq(following.address),
                group_address.eq(following.address),
                part.eq(following.part),
                offset.eq(0),
            ]


def _least(value: Value, most: int) -> Value:
    return Mux(value > most, most, value)
