"""Gathers source vectors from the memory into a buffer of slots, and hands them to the compute clock in order."""

from amaranth.hdl import Array, Cat, Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out
from amaranth.utils import ceil_log2

from hdl.layout import struct_layout
from hdl.nme.fetch import FILL, VECTOR_REQUEST, Unit, bursts_of_piece, pieces_of
from hdl.stream.ring import after
from sim.config import NmeConfig
from sim.program.commands import vector_beat
from sim.program.engine_commands import SOURCE_RECORD
from sim.program.geometry import Geometry

GATHER_JOB = data.StructLayout(
    {
        "sources": 32,
        "kind": 3,
        "stride_log2": 4,
        "limit": 33,
        "first_burst": 8,
        "lines": 16,
        "beats": 16,
    }
)
"""One pass over the sources of a shard: where the slice of each vector lies; numbers from `limit` on are invalid."""


class Gather(wiring.Component):
    """Asks for the vectors of all sources, several at once, and gives their beats in the order of the sources.

    A vector's first beat is offered at the earliest in the second compute cycle after its last line came. Its slot is
    free for another vector from the cycle after the one in which its last beat was read. A source whose number is
    invalid is given as zeros, and its pass reported.

    Parameters
    ----------
    config : NmeConfig
        The engine.
    geometry : Geometry
        The memory.

    Attributes
    ----------
    jobs : In(stream of GATHER_JOB)
        Passes.
    sources : In(stream of SOURCE_RECORD)
        The sources of all passes.
    requests : Out(stream of VECTOR_REQUEST)
        Pieces of vectors that it wants.
    fill, line : In
        What comes from the memory.
    enable : In(1)
        This cycle is one of the compute clock.
    vectors : Out(stream of `vector_beat`)
        Beats, **in the compute clock**.
    done : Out(1)
        All sources of a pass were asked for.
    invalid : Out(1)
        With `done`: some number of the pass was invalid.
    blocked : Out(1)
        A source waits for a slot.
    """

    def __init__(self, config: NmeConfig, geometry: Geometry) -> None:
        self._geometry = geometry
        self._slots = config.vector_slots
        self._beat = struct_layout(vector_beat(config.lanes, 8 * config.element_bytes))
        super().__init__(
            {
                "jobs": In(stream.Signature(GATHER_JOB)),
                "sources": In(stream.Signature(struct_layout(SOURCE_RECORD))),
                "requests": Out(stream.Signature(VECTOR_REQUEST)),
                "fill": In(FILL),
                "line": In(8 * geometry.line_bytes),
                "enable": In(1),
                "vectors": Out(stream.Signature(self._beat)),
                "done": Out(1),
                "invalid": Out(1),
                "blocked": Out(1),
            }
        )

    def elaborate(self, _platform: object) -> Module:
        """Build the request side, the slots, and the vector side."""
        m = Module()
        slots, groups = self._slots, self._geometry.groups
        beats = Array(Signal(16, name=f"beats_{s}", reset_less=True) for s in range(slots))
        pieces = Array(Signal(4, name=f"pieces_{s}", reset_less=True) for s in range(slots))
        zero = Array(Signal(name=f"zero_{s}", reset_less=True) for s in range(slots))
        full = Array(Signal(name=f"full_{s}") for s in range(slots))
        used = Signal(range(slots + 1))
        begun, freed = Signal(), Signal()
        m.d.sync += used.eq(used + begun - freed)

        # Requests: piece by piece of a vector, source by source.
        job = Signal(GATHER_JOB, reset_less=True)
        left, piece, tail = Signal(32), Signal(3), Signal(range(slots))
        bad, flagged = Signal(), Signal()
        n_pieces = pieces_of(job.lines, groups)
        room = used != slots
        here = (left != 0) & self.sources.valid
        valid_number = self.sources.payload.number < job.limit
        asked = Signal()
        m.d.comb += [
            bad.eq(here & room & ~valid_number),
            self.jobs.ready.eq(left == 0),
            self.requests.valid.eq(here & room & valid_number),
            self.requests.payload.number.eq(self.sources.payload.number),
            self.requests.payload.stride_log2.eq(job.stride_log2),
            self.requests.payload.kind.eq(job.kind),
            self.requests.payload.first_burst.eq(job.first_burst),
            self.requests.payload.bursts.eq(bursts_of_piece(job.lines, piece, groups)),
            self.requests.payload.piece.eq(piece),
            self.requests.payload.slot.eq(tail),
            asked.eq(self.requests.valid & self.requests.ready),
            begun.eq(bad | (asked & (piece + 1 == n_pieces))),
            self.sources.ready.eq(begun),
            self.done.eq(begun & (left == 1)),
            self.invalid.eq(bad | flagged),
            self.blocked.eq(here & ~room),
        ]
        with m.If(self.jobs.valid & self.jobs.ready):
            m.d.sync += [job.eq(self.jobs.payload), left.eq(self.jobs.payload.sources), flagged.eq(0)]
        with m.If(asked):
            m.d.sync += piece.eq(piece + 1)
        with m.If(bad):
            m.d.sync += [flagged.eq(1), full[tail].eq(1)]
        with m.If(here & room):
            m.d.sync += [beats[tail].eq(job.beats), zero[tail].eq(bad)]
            with m.If(piece == 0):
                m.d.sync += pieces[tail].eq(n_pieces)
        with m.If(begun):
            m.d.sync += [piece.eq(0), tail.eq(after(tail, slots)), left.eq(left - 1)]

        read = self._buffer(m, full, pieces)

        # Vectors go out: a beat in each compute cycle.
        head, beat = Signal(range(slots)), Signal(range(max(2, self._geometry.slice_beats)))
        offered, blank, place = Signal(), Signal(), Signal.like(beat)
        stepping = self.enable & (~offered | self.vectors.ready)
        ends = beat + 1 == beats[head]
        per_word = self._per_word
        m.d.comb += [
            freed.eq(stepping & full[head] & ends),
            read.en.eq(stepping),
            read.addr.eq(Cat(beat[ceil_log2(per_word) : ceil_log2(self._geometry.slice_beats)], head)),
            self.vectors.valid.eq(offered),
            self.vectors.payload.eq(
                Mux(blank, 0, read.data.as_value().word_select(place[: ceil_log2(per_word)], self._beat.size))
            ),
        ]
        with m.If(stepping):
            m.d.sync += [offered.eq(full[head]), place.eq(beat), blank.eq(zero[head])]
            with m.If(full[head]):
                m.d.sync += beat.eq(Mux(ends, 0, beat + 1))
        with m.If(freed):
            m.d.sync += [full[head].eq(0), head.eq(after(head, slots))]
        return m

    @property
    def _per_word(self) -> int:
        """Beats in a word of the buffer, which is a line or a beat, whichever is wider."""
        return max(1, self._geometry.line_bytes // self._geometry.beat_bytes)

    def _buffer(self, m: Module, full: Array, pieces: Array) -> wiring.Component:
        """Build the buffer and its filling; return its read port."""
        geometry = self._geometry
        lines_of_word = max(1, geometry.beat_bytes // geometry.line_bytes)
        words = geometry.slice_beats // self._per_word
        m.submodules.memory = memory = Memory(
            shape=data.ArrayLayout(8 * geometry.line_bytes, lines_of_word),
            depth=words << ceil_log2(self._slots),
            init=[],
        )
        write = memory.write_port(granularity=1)
        fill = self.fill
        mine = fill.valid & (fill.unit == Unit.VECTORS)
        # Lines go round the bank groups, which are the pieces.
        line = Signal(range(max(words * lines_of_word, 1 << 8)))
        slot = fill.slot[: ceil_log2(self._slots)]
        m.d.comb += [
            line.eq(Cat(fill.piece[: ceil_log2(geometry.groups)], fill.burst)),
            write.addr.eq(Cat(line[ceil_log2(lines_of_word) :][: ceil_log2(words)], slot)),
            write.en.eq(Mux(mine, 1 << line[: ceil_log2(lines_of_word)], 0)),
        ]
        m.d.comb += [write.data[i].eq(self.line) for i in range(lines_of_word)]
        with m.If(mine & fill.last):
            m.d.sync += pieces[slot].eq(pieces[slot] - 1)
            with m.If(pieces[slot] == 1):
                m.d.sync += full[slot].eq(1)
        return memory.read_port()
