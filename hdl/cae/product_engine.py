"""The product unit of the Centralized Acceleration Engine with its operands and results in banks."""

from amaranth.hdl import Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from hdl.cae.operand_reader import OperandReader, operand_layout
from hdl.cae.ports import bank_read, bank_write, job_layout, report
from hdl.cae.product import ProductUnit
from hdl.stream.queue import StreamQueue
from hdl.stream.register import StreamRegister
from sim.config import CaeConfig
from sim.program.commands import MATRIX_REPORTS, MatrixOpcode
from sim.program.counters import COUNTER_BITS, PRODUCT_COUNTERS
from sim.program.instructions import ProductKind

LEFT_SLOTS = 3
"""Slots of the left operand's reader: one is given, one is whole, one fills."""
RIGHT_SLOTS = 2
"""Slots of the right operand's reader: the array asks for a block's weights long after those of the block before."""


class ProductEngine(wiring.Component):
    """Runs PRODUCT jobs: reads both operands, multiplies on the array, writes the result.

    A job is taken when the one before has moved on to the array and its weights are loaded: the next job's operands are
    read while one runs and another's results are written. See `ProductUnit` for the stages.

    Parameters
    ----------
    config : CaeConfig
        The engine.

    Attributes
    ----------
    job : In(stream of `job_layout`)
        PRODUCT instructions, judged good.
    read, done : Out(`report`)
        `read` in the cycle of the last read of both operands; `done` in the cycle after the last write. Both in the
        order of the jobs. A job that keeps its sums is done in the cycle after it leaves the array and the job before
        is done, and writes nothing.
    left, right : Out(`bank_read`)
        Reads of activations and of weights.
    result : Out(`bank_write`)
        Writes of results, a row a cycle; columns of the part beyond the tile's are +0.
    cycles_* : Out(48)
        Counters by the names of `PRODUCT_COUNTERS`; they add up to the cycles since reset.
    """

    def __init__(self, config: CaeConfig) -> None:
        self.config = config
        super().__init__(
            {
                "job": In(stream.Signature(job_layout(config))),
                "read": Out(report(config)),
                "done": Out(report(config)),
                "left": Out(bank_read(config)),
                "right": Out(bank_read(config)),
                "result": Out(bank_write(config)),
                **{f"cycles_{name}": Out(COUNTER_BITS) for name in PRODUCT_COUNTERS},
            }
        )

    def elaborate(self, _platform: object) -> Module:
        """Connect the unit, the readers and what is known of the jobs under way."""
        m = Module()
        config = self.config
        m.submodules.unit = unit = ProductUnit(config)
        m.submodules.left_reader = left = OperandReader(
            config, plain_lanes=config.rows, turned_rows=config.rows, slots=LEFT_SLOTS
        )
        m.submodules.right_reader = right = OperandReader(
            config, plain_lanes=config.columns, turned_rows=config.columns, slots=RIGHT_SLOTS
        )
        m.submodules.next_left = next_left = StreamRegister(operand_layout(config))
        instruction, start = self.job.payload.instruction, Signal()
        m.d.comb += [
            # Where the unit takes a command, the readers have room: it has the weights and most rows of the one before.
            self.job.ready.eq(unit.command.ready),
            start.eq(self.job.valid & self.job.ready),
            unit.command.valid.eq(self.job.valid),
            unit.command.payload.opcode.eq(MatrixOpcode.PRODUCT),
            unit.command.payload.part.eq(instruction.function),
            unit.command.payload.tag.eq(self.job.payload.slot),
            *(unit.command.payload[name].eq(instruction[name]) for name in ("rows", "columns", "depth")),
            next_left.beats.valid.eq(start),
            right.operand.valid.eq(start),
            unit.activations.payload.data.eq(left.rows.payload),
            unit.weights.payload.data.eq(right.rows.payload),
            *(getattr(self, f"cycles_{name}").eq(getattr(unit, f"cycles_{name}")) for name in PRODUCT_COUNTERS),
        ]
        wiring.connect(m, next_left.held, left.operand)
        for reader, rows, port in ((left, unit.activations, self.left), (right, unit.weights, self.right)):
            m.d.comb += [rows.valid.eq(reader.rows.valid), reader.rows.ready.eq(rows.ready)]
            wiring.connect(m, reader.read, wiring.flipped(port))
        self._operands(m, instruction, next_left.beats.payload, right.operand.payload)
        self._tell_read(m, start, left.finished, right.finished)
        self._write(m, start, unit)
        return m

    def _operands(self, m: Module, instruction: Value, left: Value, right: Value) -> None:
        """Say how each operand lies in its bank; what the array wants across is read turned."""
        kind = instruction.operation
        rows, columns, depth = (instruction[name] for name in ("rows", "columns", "depth"))
        for name, operand in (("left", left), ("right", right)):
            fields = ("bank", "address", "pitch", "part")
            m.d.comb += [operand[field].eq(instruction[f"{name}_{field}"]) for field in fields]
        m.d.comb += [
            left.turned.eq(kind == ProductKind.XTDY),
            left.rows.eq(Mux(left.turned, depth, rows)),
            left.columns.eq(Mux(left.turned, rows, depth)),
            right.turned.eq(kind == ProductKind.DYWT),
            right.rows.eq(Mux(right.turned, columns, depth)),
            right.columns.eq(Mux(right.turned, depth, columns)),
        ]

    def _tell_read(self, m: Module, start: Value, left: Value, right: Value) -> None:
        """Pulse `read` when both operands of the oldest job are read; each reader may be a job ahead of the other."""
        m.submodules.slots = slots = StreamQueue(self.job.payload.slot.shape(), 2)
        both = []
        for name, finished in (("left", left), ("right", right)):
            ahead, is_read = Signal(2, name=f"{name}_ahead"), Signal(name=f"{name}_is_read")
            m.d.comb += is_read.eq((ahead != 0) | finished)
            m.d.sync += ahead.eq(ahead + finished - self.read.valid)
            both.append(is_read)
        m.d.comb += [
            slots.beats.valid.eq(start),
            slots.beats.payload.eq(self.job.payload.slot),
            slots.held.ready.eq(self.read.valid),
            self.read.valid.eq(both[0] & both[1]),
            self.read.slot.eq(slots.held.payload),
        ]

    def _write(self, m: Module, start: Value, unit: ProductUnit) -> None:
        """Write what the unit hands over, and tell when a job is done."""
        columns, names = self.config.columns, ("bank", "address", "pitch", "part")
        port, instruction = self.result, self.job.payload.instruction
        shapes = {"bank": port.bank.shape(), "address": port.address.shape(), "pitch": 16, "part": 8}
        # One loads, one runs, and of so many the status is to come.
        m.submodules.places = places = StreamQueue(data.StructLayout(shapes), 2 + MATRIX_REPORTS)
        place = places.held.payload
        result = unit.results.payload
        next_address = Signal.like(port.address)
        m.d.comb += [
            places.beats.valid.eq(start),
            *(places.beats.payload[name].eq(instruction[f"result_{name}"]) for name in names),
            places.held.ready.eq(self.done.valid),
            unit.results.ready.eq(1),
            unit.status.ready.eq(1),
            port.en.eq(unit.results.valid),
            port.bank.eq(place.bank),
            port.address.eq(Mux(result.index == 0, place.address, next_address)),
            *(port.parts[part].eq(place.part == part) for part in range(len(port.parts))),
            *(port.data[lane].eq(result.data[lane % columns]) for lane in range(self.config.lanes)),
            self.done.valid.eq(unit.status.valid),
            self.done.slot.eq(unit.status.payload.tag),
        ]
        with m.If(port.en):
            m.d.sync += next_address.eq(port.address + place.pitch)
