"""The Centralized Acceleration Engine's product unit: a systolic array, its accumulator memory and their control."""

from amaranth.hdl import Const, Module, Mux, Signal, Value
from amaranth.lib import stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from hdl.cae.array import SystolicArray
from hdl.counters import share_out
from hdl.delay import delayed
from hdl.layout import struct_layout
from sim.config import CaeConfig
from sim.program.commands import MATRIX_COMMAND, MATRIX_STATUS, MatrixCode, MatrixOpcode, result_beat, vector_beat
from sim.program.counters import COUNTER_BITS, MATRIX_COUNTERS


class ProductUnit(wiring.Component):
    """Runs one tile at a time: M rows of activations times K rows of weights, N columns, all sizes free.

    K goes through the array in blocks of its rows. The sum that enters a column is what the block before left, so that
    each result is one chain of additions from +0 through K in rising order, whatever the array's size. Weights of the
    next block load into shadow registers while this block computes. A row waits for its own sum of the block before
    (``config.reuse_cycles``), which matters only for tiles with few rows. A bad command is refused with a status and
    takes nothing from the other streams.

    Parameters
    ----------
    config : CaeConfig
        The engine.

    Attributes
    ----------
    command : In(stream of `MATRIX_COMMAND`)
        Tiles to run.
    weights : In(stream of `vector_beat`)
        K rows of bf16 weights, one element for each column; columns beyond N are ignored.
    activations : In(stream of `vector_beat`)
        bf16 activations, one element for each row of the array: all M rows of the first block of K, then of the next.
        In the last block, elements beyond K are ignored.
    results : Out(stream of `result_beat`)
        M rows of fp32 results; columns beyond N are +0. The first leaves ``config.pipeline_cycles + 2`` cycles after
        the last row of activations was taken.
    status : Out(stream of `MATRIX_STATUS`)
        One for each command, after its results.
    cycles_* : Out(48)
        Counters by the names of `MATRIX_COUNTERS`; they add up to the cycles since reset.
    """

    def __init__(self, config: CaeConfig) -> None:
        self.config = config
        super().__init__(
            {
                "command": In(stream.Signature(struct_layout(MATRIX_COMMAND))),
                "weights": In(stream.Signature(struct_layout(vector_beat(config.columns, 16)))),
                "activations": In(stream.Signature(struct_layout(vector_beat(config.rows, 16)))),
                "results": Out(stream.Signature(struct_layout(result_beat(config.columns)))),
                "status": Out(stream.Signature(struct_layout(MATRIX_STATUS))),
                **{f"cycles_{name}": Out(COUNTER_BITS) for name in MATRIX_COUNTERS},
            }
        )

    def _check_command(self, command: Value) -> Value:
        """Return the code of a command: the first reason to refuse it, or OK."""
        code: Value = Const(MatrixCode.OK, 8)
        for reason, refused in (
            (MatrixCode.BAD_DEPTH, command.depth == 0),
            (MatrixCode.BAD_COLUMNS, (command.columns == 0) | (command.columns > self.config.columns)),
            (MatrixCode.BAD_ROWS, (command.rows == 0) | (command.rows > self.config.accumulator_rows)),
            (MatrixCode.BAD_OPCODE, command.opcode != MatrixOpcode.PRODUCT),
        ):
            code = Mux(refused, reason, code)
        return code

    def elaborate(self, _platform: object) -> Module:
        """Build the control around the array and the accumulator memory."""
        m = Module()
        config = self.config
        m.submodules.array = array = SystolicArray(config)

        rows = Signal(range(config.accumulator_rows + 1))
        columns = Signal(range(config.columns + 1))
        status = Signal.like(self.status.payload)
        running, draining, reporting = Signal(), Signal(), Signal()
        m.d.comb += self.status.payload.eq(status)

        # Weights: one block ahead in the shadow registers.
        load_left = Signal(32)
        load_row = Signal(range(max(2, config.rows)))
        whole = Signal()
        swap_timer = Signal(range(config.swap_cycles + 1))
        loading = running & (load_left != 0) & ~whole & (swap_timer == 0)
        real_row = load_row < load_left
        m.d.comb += [
            self.weights.ready.eq(loading & real_row),
            array.shift.eq(loading & (self.weights.valid | ~real_row)),
            array.active.eq(real_row),
            array.weights.eq(self.weights.payload.data),
        ]
        with m.If(swap_timer != 0):
            m.d.sync += swap_timer.eq(swap_timer - 1)
        with m.If(array.shift):
            m.d.sync += load_row.eq(load_row + 1)
            with m.If(load_row == config.rows - 1):
                m.d.sync += [
                    load_row.eq(0),
                    whole.eq(1),
                    load_left.eq(Mux(load_left > config.rows, load_left - config.rows, 0)),
                ]

        # Activations: one row a cycle.
        depth_left = Signal(32)
        # Even one row has a number of one bit: a net without any is not Verilog.
        accumulator_rows = max(2, config.accumulator_rows)
        row = Signal(range(accumulator_rows))
        first_block = Signal()
        in_flight = Signal(range(config.accumulator_rows + 1))
        flush_timer = Signal(range(config.pipeline_cycles + 1))
        issue = Signal()
        computing = running & (depth_left != 0)
        ready_for_row = computing & ((row != 0) | whole) & (in_flight != rows)
        m.d.comb += [
            self.activations.ready.eq(ready_for_row),
            issue.eq(ready_for_row & self.activations.valid),
            array.x.eq(self.activations.payload.data),
            array.swap.eq(issue & (row == 0)),
        ]
        with m.If(flush_timer != 0):
            m.d.sync += flush_timer.eq(flush_timer - 1)
        with m.If(issue):
            m.d.sync += [row.eq(row + 1), flush_timer.eq(config.pipeline_cycles - 1)]
            with m.If(row == 0):
                m.d.sync += [whole.eq(0), swap_timer.eq(config.swap_cycles - 1)]
            with m.If(row + 1 == rows):
                m.d.sync += [
                    row.eq(0),
                    first_block.eq(0),
                    depth_left.eq(Mux(depth_left > config.rows, depth_left - config.rows, 0)),
                ]
        valid = delayed(m, issue, config.pipeline_cycles, name="valid", reset_less=False)
        m.d.sync += in_flight.eq(in_flight + issue - valid[config.reuse_cycles - 1])

        # The drain reads one row of all columns at a time.
        drain_row = Signal(range(config.accumulator_rows + 1))
        offered = Signal()
        index = Signal(16)
        step = draining & (~offered | self.results.ready)
        more = drain_row != rows
        with m.If(step):
            m.d.sync += offered.eq(more)
            with m.If(more):
                m.d.sync += [drain_row.eq(drain_row + 1), index.eq(drain_row)]
        m.d.comb += [
            self.results.valid.eq(offered),
            self.results.payload.index.eq(index),
            self.results.payload.first.eq(1),
            self.results.payload.last.eq(1),
        ]

        # Column c works c cycles behind column 0: it reads at one tap of these lines and writes at another.
        read_tap = config.mul_latency
        write_tap = 1 + config.mul_latency + config.rows * config.add_latency
        read_row = delayed(m, row, read_tap + config.columns - 1, name="row")
        fresh = delayed(m, first_block, read_tap + config.columns, name="fresh")
        write_row = Signal.like(row)
        with m.If(valid[write_tap]):
            m.d.sync += write_row.eq(Mux(write_row + 1 == rows, 0, write_row + 1))
        write_rows = delayed(m, write_row, config.columns - 1, name="write_row")
        for c in range(config.columns):
            memory = Memory(shape=32, depth=accumulator_rows, init=[])
            m.submodules[f"accumulator_{c}"] = memory
            write, read = memory.write_port(), memory.read_port()
            m.d.comb += [
                read.en.eq(Mux(draining, step & more, valid[read_tap + c])),
                read.addr.eq(Mux(draining, drain_row, read_row[read_tap + c])),
                array.sums_in[c].eq(Mux(fresh[read_tap + c + 1], 0, read.data)),
                write.en.eq(valid[write_tap + c]),
                write.addr.eq(write_rows[c]),
                write.data.eq(array.sums_out[c]),
                self.results.payload.data[c].eq(Mux(columns > c, read.data, 0)),
            ]

        with m.FSM() as fsm:
            with m.State("IDLE"):
                command = self.command.payload
                m.d.comb += self.command.ready.eq(1)
                with m.If(self.command.valid):
                    m.d.sync += [
                        rows.eq(command.rows),
                        columns.eq(command.columns),
                        load_left.eq(command.depth),
                        depth_left.eq(command.depth),
                        first_block.eq(1),
                        drain_row.eq(0),
                        status.tag.eq(command.tag),
                        status.code.eq(self._check_command(command)),
                    ]
                    m.next = "STATUS"
                    with m.If(self._check_command(command) == MatrixCode.OK):
                        m.next = "RUN"
            with m.State("RUN"), m.If((depth_left == 0) & (flush_timer == 0)):
                m.next = "DRAIN"
            with m.State("DRAIN"), m.If(step & ~more):
                m.next = "STATUS"
            with m.State("STATUS"):
                m.d.comb += self.status.valid.eq(1)
                with m.If(self.status.ready):
                    m.next = "IDLE"
        m.d.comb += [
            running.eq(fsm.ongoing("RUN")),
            draining.eq(fsm.ongoing("DRAIN")),
            reporting.eq(fsm.ongoing("STATUS")),
        ]

        share_out(
            m,
            {name: getattr(self, f"cycles_{name}") for name in MATRIX_COUNTERS},
            {
                "busy": issue,
                "wait_weights": computing & (row == 0) & ~whole,
                "wait_activations": computing & ~self.activations.valid,
                "wait_accumulator": computing,
                "flush": running,
                "drain": step,
                "wait_results": draining,
                "wait_status": reporting,
            },
        )
        return m
