"""What a Near-Memory Engine remembers of everything it has begun, to report its end in order."""

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from hdl.layout import struct_layout
from hdl.stream.queue import StreamQueue
from hdl.stream.register import StreamRegister
from sim.program.commands import REDUCE_STATUS
from sim.program.engine_commands import ENGINE_STATUS, EngineCode

TICKETS = 8
"""Passes that may be begun and not ended: those queued for the reduce unit, and one in each of its stages."""

TICKET = data.StructLayout({"tag": 16, "code": 8, "is_pass": 1, "last_pass": 1, "last": 1, "slot": 32, "count": 32})
"""Something that will end: a pass of the reduce unit, or what is over already and has its code and count."""


class Tickets(wiring.Component):
    """Turns the ends of passes into the status of shards, in the order in which they were begun.

    A status is offered one cycle after the last pass of its shard reported.

    Attributes
    ----------
    tickets : In(stream of TICKET)
        All that is begun, in order.
    invalid : In(stream of 1 bit)
        For each pass, whether a number was invalid; here before the pass ends.
    reduced : In(stream of `REDUCE_STATUS`)
        The ends of passes.
    status : Out(stream of `ENGINE_STATUS`)
        The ends of shards and commands.
    open : Out(1)
        Something begun has not ended.
    oldest : Out(32)
        While `open`, the slot of the oldest shard that has not ended.
    pending : Out(1)
        Something begun has not ended, or its status was not handed over.
    """

    tickets: In(stream.Signature(TICKET))
    invalid: In(stream.Signature(1))
    reduced: In(stream.Signature(struct_layout(REDUCE_STATUS)))
    status: Out(stream.Signature(struct_layout(ENGINE_STATUS)))
    open: Out(1)
    oldest: Out(32)
    pending: Out(1)

    def elaborate(self, _platform: object) -> Module:
        """Build the queues and the status."""
        m = Module()
        m.submodules.begun = begun = StreamQueue(TICKET, TICKETS)
        m.submodules.flags = flags = StreamQueue(1, TICKETS)
        m.submodules.out = out = StreamRegister(struct_layout(ENGINE_STATUS))
        wiring.connect(m, wiring.flipped(self.tickets), begun.beats)
        wiring.connect(m, wiring.flipped(self.invalid), flags.beats)
        wiring.connect(m, out.held, wiring.flipped(self.status))

        ticket, reduced = begun.held.payload, self.reduced.payload
        earlier, code = Signal(8), Signal(8)
        of_pass = Mux(flags.held.payload, EngineCode.VECTOR_NUMBER, reduced.code)
        over, tells = Signal(), Signal()
        m.d.comb += [
            code.eq(Mux(ticket.is_pass, Mux(earlier != EngineCode.OK, earlier, of_pass), ticket.code)),
            over.eq(begun.held.valid & (~ticket.is_pass | (self.reduced.valid & flags.held.valid))),
            tells.eq(~ticket.is_pass | ticket.last_pass),
            out.beats.valid.eq(over & tells),
            out.beats.payload.tag.eq(ticket.tag),
            out.beats.payload.code.eq(code),
            out.beats.payload.last.eq(ticket.last),
            out.beats.payload.count.eq(Mux(ticket.is_pass, reduced.edges, ticket.count)),
            begun.held.ready.eq(over & (out.beats.ready | ~tells)),
            self.reduced.ready.eq(begun.held.ready & ticket.is_pass),
            flags.held.ready.eq(self.reduced.ready),
            self.open.eq(begun.held.valid),
            self.oldest.eq(ticket.slot),
            self.pending.eq(begun.held.valid | out.held.valid),
        ]
        with m.If(begun.held.ready):
            m.d.sync += earlier.eq(Mux(tells, EngineCode.OK, code))
        return m
