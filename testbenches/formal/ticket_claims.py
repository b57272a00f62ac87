"""Claims about the tickets: each shard is reported once, in order, when all of it has ended."""

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from sim.program.engine_commands import EngineCode
from testbenches.formal.smaller import elaborated
from testbenches.formal.watch import passes, unsteady


class TrackedTicket(wiring.Component):
    """Tickets with any ends of passes, of which each is flagged when it was begun and before it ends; one is followed.

    Parameters
    ----------
    tickets : Tickets
        The queue.
    depth : int
        Tickets that it holds, instead of `TICKETS`.
    """

    CLAIMS = ("invented", "early", "wrong", "unsteady", "unflagged", "misjudged", "hidden")

    def __init__(self, tickets: wiring.Component, depth: int) -> None:
        self._tickets, self._depth = tickets, depth
        super().__init__(
            {
                "valid": In(1), "tag": In(1), "code": In(1), "is_pass": In(1), "last_pass": In(1), "last": In(1),
                "count": In(1), "flag": In(1), "flagged": In(1), "reduced": In(1), "reduced_code": In(1),
                "edges": In(1), "ready": In(1), "follow": In(1), **{n: Out(1) for n in self.CLAIMS},
            }
        )  # fmt: skip

    def elaborate(self, _platform: object) -> Module:
        """Build the claims."""
        m = Module()
        tickets = self._tickets
        m.submodules.tickets, _ = elaborated(tickets, type(tickets), TICKETS=self._depth)
        most = range(self._depth + 2)
        unflagged, unended, telling = Signal(most), Signal(most), Signal(most)
        before_tells = Signal(init=1)
        ticket, status = tickets.tickets.payload, tickets.status.payload
        m.d.comb += [
            tickets.tickets.valid.eq(self.valid),
            *(ticket[n].eq(getattr(self, n)) for n in ("tag", "last_pass", "last", "count")),
            # The passes of a shard follow each other.
            ticket.is_pass.eq(self.is_pass | ~before_tells),
            ticket.code.eq(Mux(self.code, EngineCode.BAD_KIND, EngineCode.OK)),
            tickets.invalid.valid.eq(self.flag & (unflagged != 0)),
            tickets.invalid.payload.eq(self.flagged),
            tickets.reduced.valid.eq(self.reduced & (unended != 0)),
            tickets.reduced.payload.code.eq(Mux(self.reduced_code, EngineCode.SOURCE_COUNT, EngineCode.OK)),
            tickets.reduced.payload.edges.eq(self.edges),
            tickets.status.ready.eq(self.ready),
        ]
        begun, ended, told = passes(tickets.tickets), passes(tickets.reduced), passes(tickets.status)
        tells = ~ticket.is_pass | ticket.last_pass
        m.d.sync += [
            unflagged.eq(unflagged + (begun & ticket.is_pass) - tickets.invalid.valid),
            unended.eq(unended + (begun & ticket.is_pass) - ended),
            telling.eq(telling + (begun & tells) - told),
        ]
        # Any ticket is followed: a pass of several, or a shard's only one, or what is over already.
        followed, ahead, kept, alone = Signal(), Signal(most), Signal.like(ticket), Signal()
        unflagged_ahead, unended_ahead = Signal(most), Signal(most)
        has_flag, has_ended, invalid = Signal(), Signal(), Signal()
        own = Signal(8)
        edges = Signal()
        flag_now = tickets.invalid.valid & (unflagged_ahead == 0) & ~has_flag
        end_now = ended & (unended_ahead == 0) & ~has_ended
        with m.If(begun):
            m.d.sync += before_tells.eq(tells)
        with m.If(~followed & begun & self.follow):
            m.d.sync += [
                followed.eq(1), kept.eq(ticket), alone.eq(before_tells & tells), ahead.eq(telling - told),
                unflagged_ahead.eq(unflagged - tickets.invalid.valid), unended_ahead.eq(unended - ended),
                has_flag.eq(0), has_ended.eq(0),
            ]  # fmt: skip
        with m.Elif(followed & kept.is_pass):
            with m.If(flag_now):
                m.d.sync += [has_flag.eq(1), invalid.eq(self.flagged)]
            with m.Elif(tickets.invalid.valid & ~has_flag):
                m.d.sync += unflagged_ahead.eq(unflagged_ahead - 1)
            with m.If(end_now):
                m.d.sync += [has_ended.eq(1), own.eq(tickets.reduced.payload.code), edges.eq(self.edges)]
            with m.Elif(ended & ~has_ended):
                m.d.sync += unended_ahead.eq(unended_ahead - 1)
        with m.If(followed & told):
            m.d.sync += [ahead.eq(Mux(ahead == 0, 0, ahead - 1)), followed.eq(ahead != 0)]
        mine = followed & (ahead == 0) & tickets.status.valid
        verdict = Mux(invalid, EngineCode.VECTOR_NUMBER, own)
        closes = ~kept.is_pass | kept.last_pass
        m.d.comb += [
            self.invented.eq(tickets.status.valid & (telling == 0)),
            self.early.eq(mine & kept.is_pass & ~(has_flag & has_ended)),
            self.wrong.eq(mine & closes & ((status.tag != kept.tag) | (status.last != kept.last))),
            self.misjudged.eq(
                mine
                & Mux(
                    kept.is_pass,
                    ((verdict != EngineCode.OK) & (status.code == EngineCode.OK))
                    | (alone & (status.code != verdict))
                    | (kept.last_pass & (status.count != edges)),
                    (status.code != kept.code) | (status.count != kept.count),
                )
            ),
            self.unsteady.eq(unsteady(m, tickets.status, "status")),
            self.unflagged.eq(tickets.invalid.valid & ~tickets.invalid.ready),
            self.hidden.eq(((unended != 0) & ~tickets.open) | (((telling | unended) != 0) != tickets.pending)),
        ]
        return m
