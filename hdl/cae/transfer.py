"""The Centralized Acceleration Engine's transfer unit: between the memory and the banks."""

from amaranth.hdl import Cat, Instance, Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from hdl.arith.convert import Bf16ToFp32, Fp32ToBf16
from hdl.cae.ports import READ_CYCLES, bank_read, bank_write, job_layout, report
from hdl.cae.row_walk import RowWalk, counted_lanes
from hdl.counters import share_out
from hdl.delay import delayed
from hdl.layout import struct_layout
from hdl.shared import SharedModules
from hdl.stream.queue import StreamQueue
from sim.config import CaeConfig
from sim.program.counters import COUNTER_BITS, TRANSFER_COUNTERS
from sim.program.instructions import CaeOpcode, ElementType, memory_request

LOADS_WAITING = 4
"""LOADs that have asked for beats and not yet got all of them."""

ASK_CYCLES = READ_CYCLES + 2
"""Cycles from the beginning of a request's way, where a STORE reads a bank, to its offer: read, round, queue."""

REQUESTS_WAITING = ASK_CYCLES + 1
"""Requests on their way or not yet taken: as many as it takes to ask in every cycle."""


class StoreRounding(wiring.Component):
    """One element on its way to the memory.

    Attributes
    ----------
    counts : In(1)
        It is an element of the row; else it is +0.
    a : In(32)
        fp32.
    fp32, bf16 : Out
        The same as it is, and rounded; one cycle later.
    """

    counts: In(1)
    a: In(32)
    fp32: Out(32)
    bf16: Out(16)

    def elaborate(self, platform: object) -> Module | Instance:
        """Build it, or stand in for it where all lanes share one module."""
        if isinstance(platform, SharedModules):
            return platform.instance("store_rounding", self)
        m = Module()
        m.submodules.round = rounder = Fp32ToBf16(latency=1)
        m.d.comb += [rounder.a.eq(Mux(self.counts, self.a, 0)), self.bf16.eq(rounder.o)]
        m.d.sync += self.fp32.eq(rounder.a)
        return m


class LoadWidening(wiring.Component):
    """One element on its way from the memory.

    Attributes
    ----------
    counts : In(1)
        It is an element of the row; else it is +0.
    is_bf16 : In(1)
        Which of the two it is.
    bf16, fp32 : In
        What the memory gave.
    o : Out(32)
        fp32, one cycle later; what came as fp32 is not looked at.
    """

    counts: In(1)
    is_bf16: In(1)
    bf16: In(16)
    fp32: In(32)
    o: Out(32)

    def elaborate(self, platform: object) -> Module | Instance:
        """Build it, or stand in for it where all lanes share one module."""
        if isinstance(platform, SharedModules):
            return platform.instance("load_widening", self)
        m = Module()
        m.submodules.widen = widen = Bf16ToFp32(latency=0)
        m.d.comb += widen.a.eq(self.bf16)
        m.d.sync += self.o.eq(Mux(self.counts, Mux(self.is_bf16, widen.o, self.fp32), 0))
        return m


class TransferUnit(wiring.Component):
    """Runs LOADs and STOREs in order through one port of the memory, a request a cycle.

    The next job is taken in the cycle in which the last request of the one before begins its way to the port, which
    takes `ASK_CYCLES` cycles: the time to read a bank and to round, also for a LOAD, which reads none. So a row of jobs
    asks in every cycle. While `LOADS_WAITING` LOADs wait for the memory's answers no job is taken.

    Parameters
    ----------
    config : CaeConfig
        The engine.

    Attributes
    ----------
    job : In(stream of `job_layout`)
        LOADs and STOREs.
    request : Out(stream of `memory_request`)
        What the memory is asked to read and write, in order.
    response : In(stream of a beat of 16-bit lanes)
        What was read, in order; always taken at once.
    left : Out(`bank_read`), result : Out(`bank_write`)
        The banks; a beat is written in the cycle after the last response that it is made of.
    read_store, done_store, done_load : Out(`report`)
        Last read of a bank; last request taken; last write of a bank.
    cycles_* : Out(48)
        Counters by the names of `TRANSFER_COUNTERS`.
    """

    def __init__(self, config: CaeConfig) -> None:
        self._config = config
        super().__init__(
            {
                "job": In(stream.Signature(job_layout(config))),
                "request": Out(stream.Signature(struct_layout(memory_request(config.lanes)))),
                "response": In(stream.Signature(data.ArrayLayout(16, config.lanes))),
                "left": Out(bank_read(config)),
                "result": Out(bank_write(config)),
                **{name: Out(report(config)) for name in ("read_store", "done_store", "done_load")},
                **{f"cycles_{name}": Out(COUNTER_BITS) for name in TRANSFER_COUNTERS},
            }
        )

    def elaborate(self, _platform: object) -> Module:
        """Build the asking and the answers' way."""
        m = Module()
        asking, waiting = Signal(), Signal(range(REQUESTS_WAITING + 1))
        loads = self._answers(m)
        self._ask(m, asking, waiting, loads)
        offered = self.request.valid
        share_out(
            m,
            {name: getattr(self, f"cycles_{name}") for name in TRANSFER_COUNTERS},
            {
                "busy": offered & self.request.ready,
                "wait_memory": offered,
                "fill": asking | (waiting != 0),
                "wait_response": loads.held.valid,
            },
        )
        return m

    def _ask(self, m: Module, asking: Signal, waiting: Signal, loads: StreamQueue) -> None:
        """Make the requests of one job after the other."""
        lanes = self._config.lanes
        job, instruction = self.job.payload, self.job.payload.instruction
        bank = RowWalk(m, lanes, name="bank", address_bits=len(self.left.address))
        memory = RowWalk(m, lanes, name="memory", address_bits=32)
        stores, doubles, high, slot = Signal(), Signal(), Signal(), Signal.like(job.slot)
        bank_number = Signal.like(self.left.bank)
        step, last = Signal(), Signal()
        taken = self.request.valid & self.request.ready
        m.d.comb += [
            step.eq(asking & (waiting != REQUESTS_WAITING)),
            last.eq(bank.last & (high | ~doubles)),
            self.job.ready.eq((~asking | (step & last)) & loads.beats.ready),
            loads.beats.valid.eq(self.job.valid & self.job.ready & (instruction.opcode == CaeOpcode.LOAD)),
            loads.beats.payload.eq(job),
        ]
        m.d.sync += waiting.eq(waiting + step - taken)
        with m.If(step):
            m.d.sync += high.eq(doubles & ~high)
            with m.If(high | ~doubles):
                bank.advance()
                memory.advance()
            with m.If(last):
                m.d.sync += asking.eq(0)
        with m.If(self.job.valid & self.job.ready):
            is_double = instruction.operation == ElementType.FP32
            m.d.sync += [
                asking.eq(1),
                stores.eq(instruction.opcode == CaeOpcode.STORE),
                doubles.eq(is_double),
                slot.eq(job.slot),
                bank_number.eq(instruction.left_bank),
            ]
            bank.start(instruction.left_address, instruction.left_pitch, instruction.rows, instruction.columns)
            memory.start(
                instruction.memory_address,
                instruction.memory_pitch,
                instruction.rows,
                instruction.columns,
                Mux(is_double, 2, 1),
            )
        m.d.comb += [
            self.left.en.eq(step & stores),
            self.left.bank.eq(bank_number),
            self.left.address.eq(bank.address),
            self.read_store.valid.eq(step & stores & last),
            self.read_store.slot.eq(slot),
        ]

        # What belongs to a request waits for its bank.
        layout = data.StructLayout({"address": 32, "slot": slot.shape(), **dict.fromkeys(_MARKS, 1), "counts": lanes})
        asked = Signal(layout)
        m.d.comb += [
            asked.address.eq(memory.address + high),
            asked.slot.eq(slot),
            asked.stores.eq(stores),
            asked.doubles.eq(doubles),
            asked.high.eq(high),
            asked.last.eq(last),
            asked.counts.eq(counted_lanes(m, bank.left, lanes, name="stored_lanes")),
        ]
        *_, read, here = (data.View(layout, tap) for tap in delayed(m, asked.as_value(), ASK_CYCLES - 1, name="asked"))
        arrives = delayed(m, step, ASK_CYCLES - 1, name="arrives", reset_less=False)[-1]
        rounded, exact = Signal(16 * lanes), Signal(32 * lanes)
        for lane in range(lanes):
            m.submodules[f"round_{lane}"] = rounder = StoreRounding()
            m.d.comb += [
                rounder.counts.eq(read.counts[lane]),
                rounder.a.eq(self.left.data[lane]),
                rounded[16 * lane : 16 * (lane + 1)].eq(rounder.bf16),
                exact[32 * lane : 32 * (lane + 1)].eq(rounder.fp32),
            ]
        halves = Mux(here.high, exact[16 * lanes :], exact[: 16 * lanes])
        beat = Mux(here.stores, Mux(here.doubles, halves, rounded), 0)
        entry = data.StructLayout({"request": struct_layout(memory_request(lanes)), "slot": slot.shape(), "ends": 1})
        m.submodules.requests = requests = StreamQueue(entry, REQUESTS_WAITING)
        put, held = requests.beats, requests.held
        m.d.comb += [
            put.valid.eq(arrives),
            put.payload.request.address.eq(here.address),
            put.payload.request.write.eq(here.stores),
            put.payload.request.data.as_value().eq(beat),
            put.payload.slot.eq(here.slot),
            put.payload.ends.eq(here.last & here.stores),
            self.request.valid.eq(held.valid),
            self.request.payload.eq(held.payload.request),
            held.ready.eq(self.request.ready),
            self.done_store.valid.eq(taken & held.payload.ends),
            self.done_store.slot.eq(held.payload.slot),
        ]

    def _answers(self, m: Module) -> StreamQueue:
        """Write what the memory answers; return the LOADs that wait for it."""
        config, lanes = self._config, self._config.lanes
        m.submodules.loads = loads = StreamQueue(job_layout(config), LOADS_WAITING)
        job, instruction = loads.held.payload, loads.held.payload.instruction
        doubles, high = instruction.operation == ElementType.FP32, Signal()
        rows, offset, row = Signal(16), Signal(len(self.result.address)), Signal(len(self.result.address))
        columns = Signal(16)
        gone, last_of_row, last = Signal(), Signal(), Signal()
        low = Signal(16 * lanes)
        response = self.response.payload.as_value()
        counts = counted_lanes(m, instruction.columns - columns, lanes, name="loaded_lanes")
        m.d.comb += [
            self.response.ready.eq(1),
            gone.eq(self.response.valid & loads.held.valid & (high | ~doubles)),
            last_of_row.eq(instruction.columns - columns <= lanes),
            last.eq(last_of_row & (rows + 1 == instruction.rows)),
            loads.held.ready.eq(gone & last),
        ]
        with m.If(self.response.valid):
            m.d.sync += [high.eq(doubles & ~high), low.eq(response)]
        # From the beginning of the operand: rows and beats so far.
        with m.If(gone):
            m.d.sync += [columns.eq(columns + lanes), offset.eq(offset + 1)]
            with m.If(last_of_row):
                m.d.sync += [
                    columns.eq(0),
                    rows.eq(rows + 1),
                    row.eq(row + instruction.result_pitch),
                    offset.eq(row + instruction.result_pitch),
                ]
            with m.If(last):
                m.d.sync += [rows.eq(0), row.eq(0), offset.eq(0)]
        beat = data.View(data.ArrayLayout(32, lanes), Cat(low, response))
        m.d.sync += [
            self.result.en.eq(gone),
            self.result.bank.eq(instruction.result_bank),
            self.result.address.eq(instruction.result_address + offset),
            self.result.parts.eq(~0),
            self.done_load.valid.eq(gone & last),
            self.done_load.slot.eq(job.slot),
        ]
        for lane in range(lanes):
            m.submodules[f"widen_{lane}"] = widen = LoadWidening()
            m.d.comb += [
                widen.counts.eq(counts[lane]),
                widen.is_bf16.eq(~doubles),
                widen.bf16.eq(self.response.payload[lane]),
                widen.fp32.eq(beat[lane]),
                self.result.data[lane].eq(widen.o),
            ]
        return loads


_MARKS = ("stores", "doubles", "high", "last")
