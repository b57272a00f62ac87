"""Claims about the gather: vectors come whole, in the order of their sources, whatever the memory answers first."""

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import ceil_log2

from hdl.nme.fetch import Unit
from sim.config import NmeConfig
from sim.program.geometry import Geometry
from testbenches.formal.memory import AnyOrderMemory
from testbenches.formal.watch import passes, rigid, unsteady


class TrackedVector(wiring.Component):
    """A gather with small passes and a memory that answers in any order; one beat of one vector is followed.

    Parameters
    ----------
    config : NmeConfig
        The engine.
    geometry : Geometry
        The memory, of beats of two bytes and two bank groups at most.
    gather : Gather
        The unit.
    sources : int
        Sources of a pass at most.
    patience : int
        Compute cycles within which a beat is offered if all that was asked for is here.
    claims : tuple of str
        Some of `CLAIMS`.
    """

    CLAIMS = ("invented", "wrong", "unsteady", "crowded", "overwritten", "lost", "misplaced", "miscounted")

    def __init__(
        self, config: NmeConfig, geometry: Geometry, gather: wiring.Component, sources: int, patience: int,
        claims: tuple[str, ...] = CLAIMS,
    ) -> None:  # fmt: skip
        self._gather, self._geometry, self._slots = gather, geometry, config.vector_slots
        self._patience, self._claims, self._config = patience, claims, config
        numbers = range(max(2, config.vector_slots * geometry.groups))
        super().__init__(
            {
                "job": In(1), "sources": In(range(sources + 1)), "beats": In(range(geometry.slice_beats + 1)),
                "source": In(1), "number": In(1), "granted": In(1), "comes": In(1), "choice": In(numbers),
                "noise": In(8 * geometry.line_bytes), "enable": In(1), "ready": In(1), "follow": In(1),
                "which": In(range(max(2, geometry.slice_beats))), "value": In(1), "watched": In(numbers),
                **{n: Out(1) for n in claims},
            }
        )  # fmt: skip

    def elaborate(self, _platform: object) -> Module:
        """Build the claims."""
        m = Module()
        geometry, slots = self._geometry, self._slots
        m.submodules.gather = gather = self._gather
        m.submodules.memory = memory = AnyOrderMemory(
            slots * geometry.groups, max(1, geometry.lines(geometry.slice_beats) // geometry.groups)
        )
        value, watched = rigid(m, self.value, "value"), rigid(m, self.watched, "watched")
        job, request, fill = gather.jobs.payload, gather.requests.payload, gather.fill
        piece_bits = ceil_log2(geometry.groups)
        slot_bits = ceil_log2(slots)
        lines = Signal(range(geometry.lines(geometry.slice_beats) + 1))
        # A source waits until it is taken.
        waits, held_number = Signal(), Signal()
        source = gather.sources
        m.d.sync += [waits.eq(source.valid & ~source.ready), held_number.eq(source.payload.number)]
        m.d.comb += [
            gather.jobs.valid.eq(
                self.job & (self.sources != 0) & (self.beats != 0) & (self.beats <= geometry.slice_beats)
            ),
            job.sources.eq(self.sources),
            job.limit.eq(1),
            lines.eq((self.beats * geometry.beat_bytes + geometry.line_bytes - 1) >> ceil_log2(geometry.line_bytes)),
            job.lines.eq(lines),
            job.beats.eq(self.beats),
            gather.sources.valid.eq(self.source | waits),
            gather.sources.payload.number.eq(Mux(waits, held_number, self.number)),
            gather.requests.ready.eq(self.granted),
            gather.enable.eq(self.enable),
            gather.vectors.ready.eq(self.ready),
            memory.asked.eq(passes(gather.requests)),
            memory.number.eq(Cat(request.piece[:piece_bits], request.slot[:slot_bits])),
            memory.lines.eq(request.bursts),
            memory.comes.eq(self.comes),
            memory.choice.eq(self.choice),
            fill.valid.eq(memory.valid),
            fill.unit.eq(Unit.VECTORS),
            fill.piece.eq(memory.of[:piece_bits]),
            fill.slot.eq(memory.of[piece_bits:]),
            fill.burst.eq(memory.line),
            fill.last.eq(memory.last),
        ]
        taken, begun, asked = passes(gather.jobs), passes(gather.sources), passes(gather.requests)
        moves = passes(gather.vectors) & self.enable
        # Vectors left to take in the pass, and beats of those begun that were not given.
        counts = range((slots + 3) * geometry.slice_beats + 1)
        left, beats, owed = Signal.like(self.sources), Signal.like(self.beats), Signal(counts)
        m.d.sync += [
            left.eq(Mux(taken, self.sources, left - begun)),
            owed.eq(owed + Mux(begun, beats, 0) - moves),
        ]
        with m.If(taken):
            m.d.sync += beats.eq(self.beats)

        # One beat of a vector is followed from when the first piece is asked for, or the vector found invalid.
        followed, ahead, which, blank, its_slot = (
            Signal(), Signal(counts), Signal.like(self.which), Signal(), Signal(slot_bits),
        )  # fmt: skip
        fresh, same = Signal(init=1), Signal()
        with m.If(begun):
            m.d.sync += fresh.eq(1)
        with m.Elif(asked):
            m.d.sync += fresh.eq(0)
        invalid = begun & (gather.sources.payload.number != 0)
        starts = ~followed & fresh & (asked | begun) & self.follow & (self.which < beats)
        with m.If(starts):
            m.d.sync += [
                followed.eq(1), ahead.eq(owed + self.which - moves), which.eq(self.which), blank.eq(invalid),
                its_slot.eq(request.slot),
            ]  # fmt: skip
        with m.If(followed & moves):
            m.d.sync += [ahead.eq(Mux(ahead == 0, 0, ahead - 1)), followed.eq(ahead != 0)]
        # Lines go round the bank groups.
        byte = which * geometry.beat_bytes
        line, offset = byte >> ceil_log2(geometry.line_bytes), byte[: ceil_log2(geometry.line_bytes)]
        arriving = Cat(memory.of[:piece_bits], memory.line)
        m.d.comb += same.eq(followed & ~blank & (memory.of[piece_bits:] == its_slot) & (arriving == line))
        for i in range(geometry.line_bytes):
            here = same & (offset == i)
            m.d.comb += gather.line.word_select(i, 8).eq(Mux(here, value, self.noise.word_select(i, 8)))

        # The watched slot: beats before its vector's last one.
        holds, until = Signal(), Signal(counts)
        this = request.slot == watched[:slot_bits]
        with m.If((asked & fresh | invalid) & this):
            m.d.sync += [holds.eq(1), until.eq(owed + beats - moves)]
        with m.Elif(moves & holds):
            m.d.sync += [until.eq(until - 1), holds.eq(until != 1)]
        waited = Signal(range(self._patience + 1))
        idle = (owed != 0) & memory.empty & ~gather.vectors.valid & fresh
        with m.If(~idle):
            m.d.sync += waited.eq(0)
        with m.Elif(self.enable & (waited != self._patience)):
            m.d.sync += waited.eq(waited + 1)
        flagged = Signal()
        with m.If(taken):
            m.d.sync += flagged.eq(0)
        with m.Elif(invalid):
            m.d.sync += flagged.eq(1)

        # A beat stays until a compute cycle in which it is taken.
        offered, payload, changed = Signal(), Signal.like(gather.vectors.payload.as_value()), Signal()
        m.d.sync += [offered.eq(gather.vectors.valid & ~moves), payload.eq(gather.vectors.payload.as_value())]
        m.d.comb += changed.eq(offered & (~gather.vectors.valid | (gather.vectors.payload.as_value() != payload)))
        mine = followed & (ahead == 0) & gather.vectors.valid
        ends = begun & (left == 1)
        claims = {
            "invented": gather.vectors.valid & (owed == 0),
            "wrong": mine & (gather.vectors.payload.as_value()[0] != Mux(blank, 0, value)),
            "unsteady": unsteady(m, gather.requests, "requests") | changed,
            "crowded": memory.reused,
            # Its last beat may wait outside the slot while another vector moves in.
            "overwritten": (asked & fresh | invalid) & this & holds & ~((until == 1) & gather.vectors.valid),
            "lost": waited == self._patience,
            "misplaced": asked & (left == 0),
            "miscounted": (gather.done != ends) | (ends & (gather.invalid != (flagged | invalid))),
        }
        m.d.comb += [getattr(self, name).eq(claims[name]) for name in self._claims]
        return m
