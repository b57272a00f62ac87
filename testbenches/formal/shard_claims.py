"""Claims about the whole reduce unit: what becomes of any one command, and that something always moves."""

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from sim.config import NmeConfig
from sim.program.commands import ReduceCode, ReduceOpcode
from testbenches.formal.drain_claims import PartialOrder
from testbenches.formal.smaller import COUNT_BITS, CountingLane, elaborated
from testbenches.formal.watch import passes, rigid, unsteady

_FEW = 2
"""Bits of the counts in a command: up to 3 sources, edges, beats and destinations, 0 and too many among them."""


class _Offers(wiring.Component):
    """A reduce unit with small commands, any edges, and sources and sinks that do as they like."""

    CLAIMS: tuple[str, ...] = ()

    def __init__(self, config: NmeConfig, unit: wiring.Component, **more: wiring.Member) -> None:
        self.config, self.unit = config, unit
        fields = {"sources": _FEW, "edges": _FEW, "beats": _FEW, "destinations": _FEW, "tag": 1, "known": 1}
        free = ("command", "vectors", "edge", "partials", "status")
        super().__init__(
            {
                **{n: In(bits) for n, bits in fields.items()},
                **{f"{n}_moves": In(1) for n in free},
                "destination": In(_FEW),
                "last_of_source": In(1),
                **more,
                **{n: Out(1) for n in self.CLAIMS},
            }
        )

    def connect(self, m: Module) -> Module:
        """Add the unit with its free surroundings; return its module, for a look inside."""
        unit = self.unit
        accumulator = type(unit).elaborate.__globals__["Accumulator"]
        m.submodules.unit, inside = elaborated(unit, accumulator, Lane=CountingLane)
        command, edge = unit.command.payload, unit.edges.payload
        # An edge stays until it is taken: it may take several cycles.
        waits, held_destination, held_last = Signal(), Signal(_FEW), Signal()
        m.d.sync += [
            waits.eq(unit.edges.valid & ~unit.edges.ready),
            held_destination.eq(edge.destination),
            held_last.eq(edge.last_of_source),
        ]
        m.d.comb += [
            *(command[n].eq(getattr(self, n)) for n in ("sources", "edges", "beats", "destinations", "tag")),
            command.opcode.eq(Mux(self.known, ReduceOpcode.ADD, 0)),
            unit.command.valid.eq(self.command_moves),
            unit.vectors.valid.eq(self.vectors_moves),
            unit.edges.valid.eq(self.edge_moves | waits),
            edge.destination.eq(Mux(waits, held_destination, self.destination)),
            edge.last_of_source.eq(Mux(waits, held_last, self.last_of_source)),
            unit.partials.ready.eq(self.partials_moves),
            unit.status.ready.eq(self.status_moves),
        ]
        return inside

    def good(self):
        """Return whether the command is one that runs."""
        config = self.config
        return (
            self.known
            & (self.sources != 0)
            & (self.edges != 0)
            & (self.destinations != 0)
            & (self.destinations <= config.interval)
            & (self.beats != 0)
            & (self.beats <= config.max_beats)
        )


class MovingShards(_Offers):
    """Something moves while there is a command, and banks are not mixed."""

    CLAIMS = ("stuck", "mixed", "unsteady")

    def __init__(self, config: NmeConfig, unit: wiring.Component, patience: int) -> None:
        self._patience = patience
        super().__init__(config, unit)

    def elaborate(self, _platform: object) -> Module:
        """Build the claims."""
        m = Module()
        unit = self.unit
        inside = self.connect(m)
        run, drain = inside.submodules.run, inside.submodules.drain
        pending, quiet = Signal(3), Signal(range(self._patience + 1))
        m.d.sync += pending.eq(pending + passes(unit.command) - passes(unit.status))
        fair = self.vectors_moves & unit.edges.valid & self.partials_moves & self.status_moves
        # Each uses up something of the commands taken, so there can be only so many of them before a status.
        streams = (unit.command, unit.vectors, unit.edges, unit.partials, unit.status)
        moving = Cat(*(passes(offered) for offered in streams), run.issue, run.release, drain.drain).any()
        m.d.comb += self.stuck.eq(quiet == self._patience)
        m.d.sync += quiet.eq(Mux(fair & (pending != 0) & ~moving, quiet + (quiet != self._patience), 0))
        draining = drain.flush | drain.drain | drain.wait_partials
        m.d.comb += [
            self.mixed.eq(draining & run.issue & (run.bank == drain.bank)),
            self.unsteady.eq(unsteady(m, unit.partials, "partials") | unsteady(m, unit.status, "status")),
        ]
        return m


class EndingShards(_Offers):
    """A status comes within some cycles of a fair run, while there is a command."""

    CLAIMS = ("late",)

    def __init__(self, config: NmeConfig, unit: wiring.Component, patience: int) -> None:
        self._patience = patience
        super().__init__(config, unit)

    def elaborate(self, _platform: object) -> Module:
        """Build the claims."""
        m = Module()
        unit = self.unit
        self.connect(m)
        pending, waited = Signal(3), Signal(range(self._patience + 1))
        m.d.sync += pending.eq(pending + passes(unit.command) - passes(unit.status))
        fair = self.vectors_moves & unit.edges.valid & self.partials_moves & self.status_moves
        waits = fair & (pending != 0) & ~passes(unit.status)
        m.d.sync += waited.eq(Mux(waits, waited + (waited != self._patience), 0))
        m.d.comb += self.late.eq(waited == self._patience)
        return m


class TrackedShard(_Offers):
    """Any one command is followed, and in it one place: its additions are counted from the edges that are taken."""

    CLAIMS = ("invented", "misreported", "miscounted", "missing", "needless", "doubled", "wrong", "disordered")

    def __init__(self, config: NmeConfig, unit: wiring.Component) -> None:
        super().__init__(config, unit, follow=In(1), slot=In(range(max(2, config.interval))), beat=In(_FEW))

    def elaborate(self, _platform: object) -> Module:
        """Build the claims."""
        m = Module()
        unit = self.unit
        self.connect(m)
        m.submodules.order = order = PartialOrder(self.config)
        slot, beat = rigid(m, self.slot, "slot"), rigid(m, self.beat, "beat")
        taken, told, edge = passes(unit.command), passes(unit.status), passes(unit.edges)
        moves = passes(unit.partials)

        pending, owed = Signal(3), Signal(_FEW + 3)  # commands, and edges of theirs
        good = Signal()
        m.d.comb += good.eq(self.good())
        m.d.sync += [pending.eq(pending + taken - told), owed.eq(owed + Mux(taken & good, self.edges, 0) - edge)]

        followed, ahead, edges_ahead = Signal(), Signal(3), Signal(_FEW + 3)
        edges, sources, tag = Signal(_FEW), Signal(_FEW), Signal()
        beats, destinations = Signal.like(self.beats), Signal(_FEW)
        fine, added, count, given = Signal(), Signal(_FEW), Signal(COUNT_BITS), Signal()
        starts = ~followed & taken & self.follow
        with m.If(starts):
            m.d.sync += [
                followed.eq(1), ahead.eq(pending - told), edges_ahead.eq(owed - edge), fine.eq(good),
                edges.eq(Mux(good, self.edges, 0)), sources.eq(Mux(good, self.sources, 0)), tag.eq(self.tag),
                beats.eq(self.beats), destinations.eq(self.destinations), added.eq(0), count.eq(0), given.eq(0),
            ]  # fmt: skip
        with m.If(followed & edge):
            with m.If(edges_ahead != 0):
                m.d.sync += edges_ahead.eq(edges_ahead - 1)
            with m.Elif(edges != 0):
                drops = (sources == 0) | (unit.edges.payload.destination >= destinations)
                m.d.sync += [
                    edges.eq(edges - 1),
                    sources.eq(sources - ((sources != 0) & unit.edges.payload.last_of_source)),
                ]
                with m.If(drops):
                    m.d.sync += fine.eq(0)
                with m.Else():
                    m.d.sync += [added.eq(added + 1), count.eq(count + (unit.edges.payload.destination == slot))]
        mine = followed & (ahead == 0)
        with m.If(followed & told):
            m.d.sync += [ahead.eq(Mux(ahead == 0, 0, ahead - 1)), followed.eq(ahead != 0)]

        status, partial = unit.status.payload, unit.partials.payload
        this, offered, due = Signal(), Signal(), Signal()
        m.d.comb += [
            order.start.eq(told | starts),
            order.moves.eq(moves & mine),
            order.beats.eq(beats),
            *(getattr(order, n).eq(partial[n]) for n in ("index", "first", "last")),
            offered.eq(mine & unit.partials.valid),
            this.eq((partial.index == slot) & (order.beat == beat)),
            due.eq((count != 0) & (beat < beats)),
        ]
        with m.If(offered & this & moves):
            m.d.sync += given.eq(1)
        told_mine = mine & unit.status.valid
        m.d.comb += [
            self.invented.eq((unit.status.valid | unit.partials.valid) & (pending == 0)),
            self.misreported.eq(
                told_mine
                & ((status.tag != tag) | (edges != 0) | ((status.code == ReduceCode.OK) != (fine & (sources == 0))))
            ),
            self.miscounted.eq(told_mine & (status.edges != added)),
            self.missing.eq(told_mine & due & ~given),
            self.needless.eq(offered & this & ~due),
            self.doubled.eq(offered & this & given),
            self.wrong.eq(offered & this & (partial.data[0] != count)),
            self.disordered.eq(offered & order.broken),
        ]
        return m
