"""Claims about the list readers: records come in order, whatever the memory answers first, and no slot is lost."""

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import ceil_log2

from hdl.nme.fetch import Unit
from sim.program.geometry import Geometry
from testbenches.formal.memory import AnyOrderMemory
from testbenches.formal.smaller import elaborated
from testbenches.formal.watch import passes, rigid, unsteady


class TrackedRecord(wiring.Component):
    """A list reader with short lists and a memory that answers in any order; one record of one list is followed.

    Parameters
    ----------
    reader : ListReader
        Of records of one byte.
    geometry : Geometry
        The memory.
    slots : int
        Slots of the reader.
    chunk_lines : int
        Lines of a chunk, a power of two.
    records : int
        Records of a list at most, a power of two less 1.
    patience : int
        Cycles within which a record is offered if all that were asked for are here.
    claims : tuple of str
        Some of `CLAIMS`: each alone is proved the fastest.
    """

    CLAIMS = ("invented", "wrong", "unsteady", "crowded", "overwritten", "lost", "misplaced")

    def __init__(
        self, reader: wiring.Component, geometry: Geometry, slots: int, chunk_lines: int, records: int, patience: int,
        claims: tuple[str, ...] = CLAIMS,
    ) -> None:  # fmt: skip
        self._reader, self._geometry, self._slots, self._chunk_lines = reader, geometry, slots, chunk_lines
        self._patience, self._claims = patience, claims
        numbers = range(max(2, slots))
        super().__init__(
            {
                "job": In(1), "chunk": In(1), "records": In(range(records + 1)), "granted": In(1), "comes": In(1),
                "choice": In(numbers), "noise": In(8 * geometry.line_bytes), "ready": In(1), "follow": In(1),
                "which": In(range(records + 1)), "value": In(1), "watched": In(numbers),
                **{n: Out(1) for n in claims},
            }
        )  # fmt: skip

    def elaborate(self, _platform: object) -> Module:
        """Build the claims."""
        m = Module()
        geometry = self._geometry
        reader = self._reader
        m.submodules.reader, _ = elaborated(reader, type(reader), CHUNK_LINES=self._chunk_lines)
        m.submodules.memory = memory = AnyOrderMemory(self._slots, self._chunk_lines)
        per_line = geometry.line_bytes
        per_chunk = self._chunk_lines * per_line
        value, slot = rigid(m, self.value, "value"), rigid(m, self.watched, "watched")
        request = reader.requests.payload
        m.d.comb += [
            reader.jobs.valid.eq(self.job),
            reader.jobs.payload.chunk.eq(self.chunk),
            reader.jobs.payload.records.eq(self.records),
            reader.requests.ready.eq(self.granted),
            memory.asked.eq(passes(reader.requests)),
            memory.number.eq(request.slot),
            memory.lines.eq(request.bursts),
            memory.comes.eq(self.comes),
            memory.choice.eq(self.choice),
            reader.fill.valid.eq(memory.valid),
            reader.fill.unit.eq(Unit.SOURCES),
            reader.fill.slot.eq(memory.of),
            reader.fill.burst.eq(memory.line),
            reader.fill.last.eq(memory.last),
            reader.records.ready.eq(self.ready),
        ]
        taken, given, asked = passes(reader.jobs), passes(reader.records), passes(reader.requests)
        # Records of lists taken, and of chunks asked for, that were not yet given.
        counts = range(4 * (self._slots + 1) * per_chunk)
        owed, unasked, under_way = Signal(counts), Signal.like(self.records), Signal(counts)
        in_chunk = Mux(unasked > per_chunk, per_chunk, unasked)
        m.d.sync += [
            owed.eq(owed + Mux(taken, self.records, 0) - given),
            unasked.eq(Mux(taken, self.records, unasked - Mux(asked, in_chunk, 0))),
            under_way.eq(under_way + Mux(asked, in_chunk, 0) - given),
        ]

        # The record that is followed: records before it, and the place in the memory from which it must come.
        followed, ahead, chunks_before, found = Signal(), Signal(counts), Signal.like(self.which), Signal()
        chunk, its_slot, which = Signal(32), Signal.like(memory.of), Signal(range(per_chunk))
        starts = ~followed & taken & self.follow & (self.which < self.records)
        with m.If(starts):
            m.d.sync += [
                followed.eq(1), ahead.eq(owed + self.which - given), found.eq(0),
                chunks_before.eq(self.which >> ceil_log2(per_chunk)), which.eq(self.which[: ceil_log2(per_chunk)]),
                chunk.eq(self.chunk + (self.which >> ceil_log2(per_chunk))),
            ]  # fmt: skip
        its_request = followed & ~found & asked & (chunks_before == 0)
        with m.If(followed & asked & ~found):
            m.d.sync += [chunks_before.eq(chunks_before - (chunks_before != 0)), found.eq(chunks_before == 0)]
            m.d.sync += its_slot.eq(request.slot)
        with m.If(followed & given):
            m.d.sync += [ahead.eq(Mux(ahead == 0, 0, ahead - 1)), followed.eq(ahead != 0)]
        here = followed & found & (memory.of == its_slot) & (memory.line == which[ceil_log2(per_line) :])
        place = which[: ceil_log2(per_line)]
        for i in range(per_line):
            noise = self.noise.word_select(i, 8)
            m.d.comb += reader.line.word_select(i, 8).eq(Mux(here & (place == i), value, noise))

        # The watched slot: records before its chunk's last one.
        holds, until = Signal(), Signal(counts)
        with m.If(asked & (request.slot == slot)):
            m.d.sync += [holds.eq(1), until.eq(under_way + in_chunk - given)]
        with m.Elif(given & holds):
            m.d.sync += [until.eq(until - 1), holds.eq(until != 1)]

        waits = Signal(range(self._patience + 1))
        arrived = (under_way != 0) & memory.empty
        m.d.sync += waits.eq(Mux(arrived & ~reader.records.valid, waits + (waits != self._patience), 0))
        mine = followed & (ahead == 0) & reader.records.valid
        claims = {
            "invented": reader.records.valid & (under_way == 0),
            "wrong": mine & ((reader.records.payload.as_value()[0] != value) | ~found),
            "unsteady": unsteady(m, reader.records, "records") | unsteady(m, reader.requests, "requests"),
            "crowded": memory.reused,
            "overwritten": asked & (request.slot == slot) & holds,
            "lost": waits == self._patience,
            "misplaced": (
                (reader.requests.valid & ((unasked == 0) | (request.slot >= self._slots)))
                | (its_request & (request.chunk != chunk))
            ),
        }
        m.d.comb += [getattr(self, name).eq(claims[name]) for name in self._claims]
        return m
