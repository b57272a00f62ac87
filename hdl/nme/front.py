"""The front of a Near-Memory Engine: commands, descriptors, and the passes that they become."""

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import ceil_log2

from hdl.layout import struct_layout
from hdl.nme.fetch import LIST_JOB
from hdl.nme.gather import GATHER_JOB
from hdl.nme.store import STORE_JOB
from hdl.nme.tickets import TICKET
from hdl.nme.vector_shape import VectorShape, lines_of
from sim.config import SystemConfig
from sim.program.commands import EDGE_RECORD, REDUCE_COMMAND, ReduceOpcode
from sim.program.engine_commands import (
    ENGINE_COMMAND,
    SHARD_DESCRIPTOR,
    SOURCE_RECORD,
    EngineCode,
    EngineOpcode,
)
from sim.program.geometry import LIST_KIND, Geometry


class Front(wiring.Component):
    """Takes commands one after the other, and breaks each down to jobs for the other units.

    A command is judged in the cycle in which it is accepted, a descriptor in the first cycle in which it is there. A
    shard of vectors wider than a slice becomes one pass for each slice. A pass begins in the cycle in which all units
    have room for their job and the window lets it: its slot is below ``horizon + window_shards``. A command is accepted
    when the one before has ended.

    Parameters
    ----------
    config : SystemConfig
        The hardware.

    Attributes
    ----------
    command : In(stream of `ENGINE_COMMAND`)
        Commands.
    descriptors : In(stream of `SHARD_DESCRIPTOR`)
        What was read for `descriptor_jobs`.
    descriptor_jobs, source_jobs, edge_jobs : Out(stream of LIST_JOB)
        Lists to read.
    gather_jobs : Out(stream of GATHER_JOB)
        Vectors to gather.
    reduce_commands : Out(stream of `REDUCE_COMMAND`)
        Passes for the reduce unit.
    store_jobs : Out(stream of STORE_JOB)
        Vectors to write.
    stored : In
        Their end: `done`, `invalid`, `written`.
    tickets : Out(stream of TICKET)
        All that is begun.
    open, oldest, pending : In
        What of it has not ended, see `Tickets`.
    horizon : In(32)
        The least `progress` of all engines that run in step.
    progress : Out(32)
        Slot of the oldest shard that has not ended: 0 until the first is known, all ones without a command.
    busy : Out(1)
        A command is under way.
    held : Out(1)
        A shard waits for the window.
    """

    def __init__(self, config: SystemConfig) -> None:
        self._config = config
        self._geometry = Geometry.of(config)
        lists = stream.Signature(LIST_JOB)
        super().__init__(
            {
                "command": In(stream.Signature(struct_layout(ENGINE_COMMAND))),
                "descriptors": In(stream.Signature(struct_layout(SHARD_DESCRIPTOR))),
                "descriptor_jobs": Out(lists),
                "source_jobs": Out(lists),
                "edge_jobs": Out(lists),
                "gather_jobs": Out(stream.Signature(GATHER_JOB)),
                "reduce_commands": Out(stream.Signature(struct_layout(REDUCE_COMMAND))),
                "store_jobs": Out(stream.Signature(STORE_JOB)),
                "stored": In(data.StructLayout({"done": 1, "invalid": 1, "written": 32})),
                "tickets": Out(stream.Signature(TICKET)),
                "open": In(1),
                "oldest": In(32),
                "pending": In(1),
                "horizon": In(32),
                "progress": Out(32, init=(1 << 32) - 1),
                "busy": Out(1),
                "held": Out(1),
            }
        )

    def elaborate(self, _platform: object) -> Module:
        """Build the control."""
        m = Module()
        command = Signal(struct_layout(ENGINE_COMMAND), reset_less=True)
        code = Signal(8, reset_less=True)
        left = Signal(32)
        self._beats_done, self._first_burst, self._last_pass = Signal(16), Signal(8), Signal()
        ticket = self.tickets.payload
        m.submodules.shape = shape = VectorShape(self._geometry)
        m.d.comb += [
            self.store_jobs.payload.kind.eq(command.kind),
            self.store_jobs.payload.beats.eq(command.beats),
            self.store_jobs.payload.vectors.eq(command.count),
            self.store_jobs.payload.stride_log2.eq(shape.stride_log2),
            self.store_jobs.payload.limit.eq(shape.limit),
            self.descriptor_jobs.payload.chunk.eq(command.address),
            self.descriptor_jobs.payload.records.eq(command.count),
        ]
        self._describe(m, shape)
        with m.FSM() as fsm:
            with m.State("IDLE"):
                offered = self.command.payload
                m.d.comb += [self.command.ready.eq(~self.pending), shape.beats.eq(offered.beats)]
                judged = self._judge_command(offered, shape.bad)
                with m.If(self.command.valid & self.command.ready):
                    m.d.sync += [command.eq(offered), code.eq(judged), left.eq(offered.count)]
                    with m.If(judged != EngineCode.OK):
                        m.next = "TELL"
                    with m.Elif(offered.opcode == EngineOpcode.RUN):
                        m.next = "LIST"
                    with m.Else():
                        m.next = "STORE"
            with m.State("LIST"):
                m.d.comb += self.descriptor_jobs.valid.eq(1)
                with m.If(self.descriptor_jobs.ready):
                    m.next = "RUN"
            with m.State("RUN"):
                m.d.comb += shape.beats.eq(self.descriptors.payload.beats)
                self._begin(m, shape, left)
                with m.If(self.descriptors.valid & self.descriptors.ready):
                    m.d.sync += left.eq(left - 1)
                    with m.If(left == 1):
                        m.next = "IDLE"
            with m.State("STORE"):
                m.d.comb += [shape.beats.eq(command.beats), self.store_jobs.valid.eq(1)]
                with m.If(self.store_jobs.ready):
                    m.next = "STORING"
            with m.State("STORING"), m.If(self.stored.done):
                m.d.sync += [
                    code.eq(Mux(self.stored.invalid, EngineCode.VECTOR_NUMBER, EngineCode.OK)),
                    left.eq(self.stored.written),
                ]
                m.next = "TELL"
            with m.State("TELL"):
                m.d.comb += [
                    self.tickets.valid.eq(1),
                    ticket.tag.eq(command.tag),
                    ticket.code.eq(code),
                    ticket.last.eq(1),
                    ticket.slot.eq((1 << 32) - 1),
                    ticket.count.eq(Mux((code == EngineCode.OK) | (code == EngineCode.VECTOR_NUMBER), left, 0)),
                ]
                with m.If(self.tickets.ready):
                    m.next = "IDLE"
        idle = fsm.ongoing("IDLE") & ~self.pending
        m.d.comb += self.busy.eq(~idle)
        starts = self.command.valid & (self.command.payload.opcode == EngineOpcode.RUN)
        with m.If(self.open):
            m.d.sync += self.progress.eq(self.oldest)
        with m.Elif(self.descriptors.valid):
            m.d.sync += self.progress.eq(self.descriptors.payload.slot)
        with m.Elif(idle):
            m.d.sync += self.progress.eq(Mux(starts, 0, (1 << 32) - 1))
        return m

    def _beyond(self, chunk: Value, records: Value, record_bytes: int) -> Value:
        """Return whether a list ends beyond the last chunk."""
        last = chunk + ((records - 1)[:32] >> ceil_log2(self._geometry.records(record_bytes)))
        return last >= self._geometry.chunks

    def _judge_command(self, command: Value, bad_beats: Value) -> Value:
        """Return the first reason to refuse a command, or OK."""
        run, store = command.opcode == EngineOpcode.RUN, command.opcode == EngineOpcode.STORE
        return first_reason(
            (EngineCode.BAD_OPCODE, ~(run | store)),
            (EngineCode.EMPTY, command.count == 0),
            (EngineCode.BAD_ADDRESS, run & self._beyond(command.address, command.count, SHARD_DESCRIPTOR.bytes)),
            (EngineCode.BAD_BEATS, store & bad_beats),
            (EngineCode.BAD_KIND, store & (command.kind >= LIST_KIND)),
        )

    def _judge_descriptor(self, shard: Value, bad_beats: Value) -> Value:
        """Return the first reason to refuse a shard, or OK."""
        interval = self._config.nme.interval
        return first_reason(
            (EngineCode.BAD_OPCODE, ~Cat(shard.opcode == opcode for opcode in ReduceOpcode).any()),
            (EngineCode.BAD_BEATS, bad_beats),
            (EngineCode.BAD_DESTINATIONS, (shard.destinations == 0) | (shard.destinations > interval)),
            (EngineCode.NO_SOURCES, shard.sources == 0),
            (EngineCode.NO_EDGES, shard.edges == 0),
            (EngineCode.BAD_KIND, shard.kind >= LIST_KIND),
            (
                EngineCode.BAD_ADDRESS,
                self._beyond(shard.sources_address, shard.sources, SOURCE_RECORD.bytes)
                | self._beyond(shard.edges_address, shard.edges, EDGE_RECORD.bytes),
            ),
        )

    def _describe(self, m: Module, shape: VectorShape) -> None:
        """Build the jobs of the next pass of the descriptor at hand."""
        geometry, shard = self._geometry, self.descriptors.payload
        beats_left = (shard.beats - self._beats_done)[:16]
        beats = Mux(self._last_pass, beats_left, geometry.slice_beats)
        m.d.comb += [
            self._last_pass.eq(beats_left <= geometry.slice_beats),
            self.source_jobs.payload.chunk.eq(shard.sources_address),
            self.source_jobs.payload.records.eq(shard.sources),
            self.edge_jobs.payload.chunk.eq(shard.edges_address),
            self.edge_jobs.payload.records.eq(shard.edges),
            self.gather_jobs.payload.sources.eq(shard.sources),
            self.gather_jobs.payload.kind.eq(shard.kind),
            self.gather_jobs.payload.stride_log2.eq(shape.stride_log2),
            self.gather_jobs.payload.limit.eq(shape.limit),
            self.gather_jobs.payload.first_burst.eq(self._first_burst),
            self.gather_jobs.payload.lines.eq(lines_of(geometry, beats)),
            self.gather_jobs.payload.beats.eq(beats),
            self.reduce_commands.payload.opcode.eq(shard.opcode),
            self.reduce_commands.payload.beats.eq(beats),
            self.reduce_commands.payload.destinations.eq(shard.destinations),
            self.reduce_commands.payload.tag.eq(shard.tag),
            self.reduce_commands.payload.sources.eq(shard.sources),
            self.reduce_commands.payload.edges.eq(shard.edges),
        ]

    def _begin(self, m: Module, shape: VectorShape, left: Value) -> None:
        """Build the start of the next pass of the descriptor at hand, or its refusal."""
        geometry = self._geometry
        shard, ticket = self.descriptors.payload, self.tickets.payload
        last_pass, beats_done, first_burst = self._last_pass, self._beats_done, self._first_burst
        code, allowed, refuse, begin = Signal(8), Signal(), Signal(), Signal()
        jobs = (self.source_jobs, self.edge_jobs, self.gather_jobs, self.reduce_commands)
        room = self.tickets.ready & Cat(job.ready for job in jobs).all()
        good = self.descriptors.valid & (code == EngineCode.OK)
        m.d.comb += [
            code.eq(self._judge_descriptor(shard, shape.bad)),
            allowed.eq(shard.slot < self.horizon + self._config.partition.window_shards),
            self.held.eq(good & ~allowed),
            begin.eq(good & allowed & room),
            refuse.eq(self.descriptors.valid & (code != EngineCode.OK)),
            self.tickets.valid.eq(begin | refuse),
            self.descriptors.ready.eq((begin & last_pass) | (refuse & self.tickets.ready)),
            *(job.valid.eq(begin) for job in jobs),
            ticket.tag.eq(shard.tag),
            ticket.code.eq(code),
            ticket.is_pass.eq(begin),
            ticket.last_pass.eq(last_pass),
            ticket.last.eq(left == 1),
            ticket.slot.eq(shard.slot),
        ]
        with m.If(begin):
            with m.If(last_pass):
                m.d.sync += [beats_done.eq(0), first_burst.eq(0)]
            with m.Else():
                m.d.sync += [
                    beats_done.eq(beats_done + geometry.slice_beats),
                    first_burst.eq(first_burst + geometry.slice_bursts),
                ]


def first_reason(*reasons: tuple[EngineCode, Value]) -> Value:
    """Return the code of the first reason that holds, or OK."""
    code: Value = Const(EngineCode.OK, 8)
    for reason, holds in reversed(reasons):
        code = Mux(holds, reason, code)
    return code
