"""The Near-Memory Engine's reduce unit: source vectors and edges in, partial sums of one interval out."""

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import ceil_log2

from hdl.counters import share_out
from hdl.layout import struct_layout
from hdl.nme.accumulator import Accumulator
from hdl.nme.vector_buffer import VectorBuffer
from sim.config import NmeConfig
from sim.program.commands import (
    EDGE_RECORD,
    REDUCE_COMMAND,
    REDUCE_STATUS,
    ReduceCode,
    ReduceOpcode,
    result_beat,
    vector_beat,
)
from sim.program.counters import COUNTER_BITS, REDUCE_COUNTERS

_ONE = {"bf16": 0x3F80, "fp32": 0x3F800000}


class ReduceUnit(wiring.Component):
    """Runs one shard at a time: loads its sources, accumulates its edges, drains the destinations it touched.

    An edge takes one cycle per beat of its vector, except that an edge waits while an earlier addition to the same
    place is under way (``config.hazard_cycles`` apart); nothing is assumed of the order of edges. Vector i + 1 loads
    while vector i accumulates. The shard's command is checked first: a refused command takes nothing from the other
    streams. A bad edge is dropped and reported; a shard always ends with a status, and the next command runs.

    Parameters
    ----------
    config : NmeConfig
        The engine.

    Attributes
    ----------
    command : In(stream of `REDUCE_COMMAND`)
        Shards to run.
    vectors : In(stream of `vector_beat`)
        Source vectors in the order of the shard's sources, all beats of each.
    edges : In(stream of `EDGE_RECORD`)
        Edges, source by source.
    partials : Out(stream of `result_beat`)
        Sums of the touched destinations by rising slot, all beats of each. The first leaves
        ``config.pipeline_cycles + 3`` cycles after the last beat was issued.
    status : Out(stream of `REDUCE_STATUS`)
        One for each command, after its partial sums.
    cycles_* : Out(48)
        Counters by the names of `REDUCE_COUNTERS`; they add up to the cycles since reset.
    """

    def __init__(self, config: NmeConfig) -> None:
        self.config = config
        self._result = struct_layout(result_beat(config.lanes))
        super().__init__(
            {
                "command": In(stream.Signature(struct_layout(REDUCE_COMMAND))),
                "vectors": In(stream.Signature(struct_layout(vector_beat(config.lanes, 8 * config.element_bytes)))),
                "edges": In(stream.Signature(struct_layout(EDGE_RECORD))),
                "partials": Out(stream.Signature(self._result)),
                "status": Out(stream.Signature(struct_layout(REDUCE_STATUS))),
                **{f"cycles_{name}": Out(COUNTER_BITS) for name in REDUCE_COUNTERS},
            }
        )

    def _check_command(self, command: Value) -> Value:
        """Return the code of a command: the first reason to refuse it, or OK."""
        code: Value = Const(ReduceCode.OK, 8)
        for reason, refused in (
            (ReduceCode.NO_EDGES, command.edges == 0),
            (ReduceCode.NO_SOURCES, command.sources == 0),
            (
                ReduceCode.BAD_DESTINATIONS,
                (command.destinations == 0) | (command.destinations > self.config.interval),
            ),
            (ReduceCode.BAD_BEATS, (command.beats == 0) | (command.beats > self.config.max_beats)),
            (
                ReduceCode.BAD_OPCODE,
                (command.opcode != ReduceOpcode.ADD) & (command.opcode != ReduceOpcode.MULTIPLY_ADD),
            ),
        ):
            code = Mux(refused, reason, code)
        return code

    def elaborate(self, _platform: object) -> Module:
        """Build the control around the vector buffer and the accumulator."""
        m = Module()
        config = self.config
        m.submodules.buffer = buffer = VectorBuffer(config)
        m.submodules.accumulator = accumulator = Accumulator(config)
        # Even one slot has a number of one bit: a net without any is not Verilog.
        slot_bits, beat_bits = max(1, ceil_log2(config.interval)), ceil_log2(config.max_beats)

        weighted = Signal()
        beats = Signal(range(config.max_beats + 1))
        destinations = Signal(range(config.interval + 1))
        edges_left = Signal(32)
        sources_left = Signal(32)
        beat = Signal.like(buffer.beat)
        touched = Signal(config.interval)
        status = Signal(struct_layout(REDUCE_STATUS))
        running, draining, reporting = Signal(), Signal(), Signal()

        wiring.connect(m, wiring.flipped(self.vectors), buffer.vectors)
        m.d.comb += [
            buffer.sources.eq(self.command.payload.sources),
            buffer.beats.eq(beats),
            buffer.beat.eq(beat),
            accumulator.vector.eq(buffer.data.data),
            self.status.payload.eq(status),
        ]

        # One beat of the edge at hand.
        edge = self.edges.payload
        slot = edge.destination[:slot_bits]
        last_beat = beat + 1 == beats
        orphan = sources_left == 0
        outside = edge.destination >= destinations
        drop = Signal()
        ready_to_issue = Signal()
        take = Signal()
        m.d.comb += [
            drop.eq(orphan | outside),
            ready_to_issue.eq(
                running & (edges_left != 0) & self.edges.valid & (buffer.full | orphan) & (drop | ~accumulator.hazard)
            ),
            take.eq(ready_to_issue & (drop | last_beat)),
            self.edges.ready.eq(take),
            accumulator.issue.eq(ready_to_issue & ~drop),
            accumulator.fresh.eq(~touched.bit_select(slot, 1)),
            accumulator.weight.eq(Mux(weighted, edge.weight, _ONE[config.element])),
        ]
        # After the last edge, sources that no edge closed are given up one by one, so that the streams stay in step.
        give_up = running & (edges_left == 0) & buffer.full
        m.d.comb += buffer.release.eq((take & edge.last_of_source & ~orphan) | give_up)

        with m.If(buffer.release):
            m.d.sync += sources_left.eq(sources_left - 1)
        with m.If(ready_to_issue):
            m.d.sync += beat.eq(Mux(take, 0, beat + 1))
        with m.If(take):
            m.d.sync += edges_left.eq(edges_left - 1)
            with m.If(~drop):
                m.d.sync += [touched.bit_select(slot, 1).eq(1), status.edges.eq(status.edges + 1)]
        with m.If(status.code == ReduceCode.OK):
            with m.If(take & drop):
                m.d.sync += status.code.eq(Mux(outside, ReduceCode.EDGE_DESTINATION, ReduceCode.SOURCE_COUNT))
            with m.Elif(give_up):
                m.d.sync += status.code.eq(ReduceCode.SOURCE_COUNT)

        # The drain reads the touched slot of the lowest number, beat by beat.
        lowest = Signal(config.interval)
        drain_slot = Signal(slot_bits)
        offered = Signal()
        index = Signal(slot_bits)
        first, last = Signal(), Signal()
        step = draining & (~offered | self.partials.ready)
        m.d.comb += [
            lowest.eq(touched & -touched),
            drain_slot.eq(
                Cat(Cat(lowest[i] for i in range(config.interval) if i >> bit & 1).any() for bit in range(slot_bits))
            ),
            accumulator.place.eq(Cat(beat[:beat_bits], Mux(running, slot, drain_slot))),
            accumulator.read.eq(step & touched.any()),
            self.partials.valid.eq(offered),
            self.partials.payload.index.eq(index),
            self.partials.payload.first.eq(first),
            self.partials.payload.last.eq(last),
            self.partials.payload.data.eq(accumulator.sums),
        ]
        with m.If(step):
            m.d.sync += offered.eq(touched.any())
        with m.If(accumulator.read):
            m.d.sync += [index.eq(drain_slot), first.eq(beat == 0), last.eq(last_beat), beat.eq(beat + 1)]
            with m.If(last_beat):
                m.d.sync += [touched.eq(touched & ~lowest), beat.eq(0)]

        with m.FSM() as fsm:
            with m.State("IDLE"):
                command = self.command.payload
                m.d.comb += self.command.ready.eq(1)
                with m.If(self.command.valid):
                    m.d.sync += [
                        weighted.eq(command.opcode == ReduceOpcode.MULTIPLY_ADD),
                        beats.eq(command.beats),
                        destinations.eq(command.destinations),
                        edges_left.eq(command.edges),
                        sources_left.eq(command.sources),
                        status.tag.eq(command.tag),
                        status.code.eq(self._check_command(command)),
                        status.edges.eq(0),
                    ]
                    with m.If(self._check_command(command) == ReduceCode.OK):
                        m.d.comb += buffer.start.eq(1)
                        m.next = "RUN"
                    with m.Else():
                        m.next = "STATUS"
            with m.State("RUN"), m.If((edges_left == 0) & buffer.empty & ~accumulator.busy):
                m.next = "DRAIN"
            with m.State("DRAIN"), m.If(step & ~touched.any()):
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
            {name: getattr(self, f"cycles_{name}") for name in REDUCE_COUNTERS},
            {
                "busy": ready_to_issue,
                "wait_edge": running & (edges_left != 0) & ~self.edges.valid,
                "wait_vector": running & (edges_left != 0) & ~buffer.full & ~orphan,
                "wait_hazard": running & (edges_left != 0),
                "flush": running,
                "drain": step,
                "wait_partials": draining,
                "wait_status": reporting,
            },
        )
        return m
