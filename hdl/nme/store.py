"""Writes updated vectors to the memory."""

from amaranth.hdl import Array, Cat, Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out
from amaranth.utils import ceil_log2

from hdl.delay import delayed
from hdl.layout import struct_layout
from hdl.nme.fetch import FILL, VECTOR_REQUEST, Unit, bursts_of_piece, pieces_of
from hdl.stream.ring import after
from sim.config import NmeConfig
from sim.program.engine_commands import update_beat
from sim.program.geometry import Geometry

STORE_SLOTS = 4
"""Slices of vectors that may wait for their WRITEs: more than one, so that taking the next hides behind them."""

STORE_JOB = data.StructLayout({"vectors": 32, "kind": 3, "beats": 16, "stride_log2": 4, "limit": 33})
"""Vectors to write: how many, and where they lie; numbers from `limit` on are invalid."""


class Store(wiring.Component):
    """Takes vectors beat by beat, and asks for the writing of each slice once it is whole.

    Takes a beat a cycle; asks for a piece a cycle after the last beat of a slice. Lines are filled up with zeros. A
    vector whose number is invalid is taken and dropped.

    Parameters
    ----------
    config : NmeConfig
        The engine.
    geometry : Geometry
        The memory.
    data_delay : int
        Cycles from a WRITE to its data, 2 or more.

    Attributes
    ----------
    jobs : In(stream of STORE_JOB)
        What to write; the next is taken when all of the one before is in the memory.
    updates : In(stream of `update_beat`)
        The vectors.
    requests : Out(stream of VECTOR_REQUEST)
        Pieces of vectors to write.
    given : In
        The line whose WRITE is given in this cycle.
    line : Out
        The data of the line whose WRITE was given `data_delay` cycles ago.
    done : Out(1)
        All vectors of a job are written.
    invalid : Out(1)
        With `done`: some number of the job was invalid.
    written : Out(32)
        With `done`: vectors written.
    """

    def __init__(self, config: NmeConfig, geometry: Geometry, data_delay: int) -> None:
        self._geometry = geometry
        self._data_delay = data_delay
        self._beat = struct_layout(update_beat(config.lanes, 8 * config.element_bytes))
        super().__init__(
            {
                "jobs": In(stream.Signature(STORE_JOB)),
                "updates": In(stream.Signature(self._beat)),
                "requests": Out(stream.Signature(VECTOR_REQUEST)),
                "given": In(FILL),
                "line": Out(8 * geometry.line_bytes),
                "done": Out(1),
                "invalid": Out(1),
                "written": Out(32),
            }
        )

    def elaborate(self, _platform: object) -> Module:
        """Build the taking of vectors, the requests, and the buffer."""
        m = Module()
        geometry = self._geometry
        groups = geometry.groups
        pieces = Array(Signal(4, name=f"pieces_{s}") for s in range(STORE_SLOTS))
        tail = Signal(range(STORE_SLOTS))
        job = Signal(STORE_JOB, reset_less=True)
        active, asking = Signal(), Signal()
        vectors_left, beats_left = Signal(32), Signal(16)
        beat = Signal(range(max(2, geometry.slice_beats)))
        first_burst, number = Signal(8), Signal(32)
        piece, flagged = Signal(3), Signal()

        update = self.updates.payload
        starts = beats_left == job.beats
        valid_number = number < job.limit
        taken = Signal()
        slice_ends = (beat == geometry.slice_beats - 1) | (beats_left == 1)
        m.d.comb += [
            self.jobs.ready.eq(~active),
            self.updates.ready.eq(active & ~asking & (vectors_left != 0) & (pieces[tail] == 0)),
            taken.eq(self.updates.valid & self.updates.ready),
            self.done.eq(active & (vectors_left == 0) & ~asking & ~Cat(p.any() for p in pieces).any()),
            self.invalid.eq(flagged),
        ]
        with m.If(self.jobs.valid & self.jobs.ready):
            m.d.sync += [
                job.eq(self.jobs.payload),
                active.eq(1),
                vectors_left.eq(self.jobs.payload.vectors),
                beats_left.eq(self.jobs.payload.beats),
                self.written.eq(0),
                flagged.eq(0),
                first_burst.eq(0),
            ]
        with m.If(self.done):
            m.d.sync += active.eq(0)
        with m.If(taken):
            m.d.sync += [beat.eq(beat + 1), beats_left.eq(beats_left - 1), asking.eq(slice_ends)]
            with m.If(starts):
                m.d.sync += number.eq(update.number)

        # Requests of a slice that is whole: its beats are those before `beat`.
        lines = Signal(16)
        beats = Mux(beat == 0, geometry.slice_beats, beat)
        m.d.comb += lines.eq((beats * geometry.beat_bytes + geometry.line_bytes - 1) >> ceil_log2(geometry.line_bytes))
        n_pieces = pieces_of(lines, groups)
        ends = asking & (~valid_number | (self.requests.ready & (piece + 1 == n_pieces)))
        m.d.comb += [
            self.requests.valid.eq(asking & valid_number),
            self.requests.payload.number.eq(number),
            self.requests.payload.stride_log2.eq(job.stride_log2),
            self.requests.payload.kind.eq(job.kind),
            self.requests.payload.first_burst.eq(first_burst),
            self.requests.payload.bursts.eq(bursts_of_piece(lines, piece, groups)),
            self.requests.payload.piece.eq(piece),
            self.requests.payload.slot.eq(tail),
        ]
        with m.If(self.requests.valid & self.requests.ready):
            m.d.sync += piece.eq(piece + 1)
        with m.If(ends):
            m.d.sync += [asking.eq(0), piece.eq(0), beat.eq(0), first_burst.eq(first_burst + geometry.slice_bursts)]
            with m.If(valid_number):
                m.d.sync += tail.eq(after(tail, STORE_SLOTS))
            with m.Else():
                m.d.sync += flagged.eq(1)
            with m.If(beats_left == 0):
                m.d.sync += [
                    vectors_left.eq(vectors_left - 1),
                    beats_left.eq(job.beats),
                    first_burst.eq(0),
                    self.written.eq(self.written + valid_number),
                ]

        leaving = self._buffer(m, taken, beat, tail)
        with m.If(asking & valid_number & (piece == 0)):
            m.d.sync += pieces[tail].eq(n_pieces)
        with m.If(leaving.valid & (leaving.unit == Unit.STORE) & leaving.last):
            m.d.sync += pieces[leaving.slot].eq(pieces[leaving.slot] - 1)
        return m

    def _buffer(self, m: Module, taken: Signal, beat: Signal, tail: Signal) -> data.View:
        """Build the buffer; return what is read from it in this cycle."""
        geometry = self._geometry
        beats_of_word = max(1, geometry.line_bytes // geometry.beat_bytes)
        lines_of_word = max(1, geometry.beat_bytes // geometry.line_bytes)
        words = geometry.slice_beats // beats_of_word
        m.submodules.memory = memory = Memory(
            shape=data.ArrayLayout(8 * geometry.beat_bytes, beats_of_word), depth=words * STORE_SLOTS, init=[]
        )
        write, read = memory.write_port(granularity=1), memory.read_port()
        place = beat[: ceil_log2(beats_of_word)]
        word = beat[ceil_log2(beats_of_word) :][: ceil_log2(words)]
        m.d.comb += [
            write.addr.eq(Cat(word, tail)),
            # The first beat of a word clears the others: a line holds nothing of an older vector.
            write.en.eq(Mux(taken, Mux(place == 0, (1 << beats_of_word) - 1, 1 << place), 0)),
        ]
        for i in range(beats_of_word):
            m.d.comb += write.data[i].eq(Mux(place == i, self.updates.payload.data.as_value(), 0))

        leaving = delayed(m, self.given, self._data_delay - 1, name="leaving", reset_less=False)[-1]
        line = Signal(range(max(words * lines_of_word, 1 << 8)))
        m.d.comb += [
            line.eq(Cat(leaving.piece[: ceil_log2(geometry.groups)], leaving.burst)),
            read.addr.eq(
                Cat(line[ceil_log2(lines_of_word) :][: ceil_log2(words)], leaving.slot[: ceil_log2(STORE_SLOTS)])
            ),
        ]
        part = Signal(max(1, ceil_log2(lines_of_word)))
        m.d.sync += part.eq(line[: ceil_log2(lines_of_word)])
        m.d.comb += self.line.eq(read.data.as_value().word_select(part, 8 * geometry.line_bytes))
        return leaving
