"""Reads lists of records from the memory, ahead of their use."""

from amaranth.hdl import Array, Cat, Module, Mux, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out
from amaranth.utils import ceil_log2

from hdl.layout import struct_layout
from hdl.nme.fetch import CHUNK_REQUEST, FILL, LIST_JOB, Unit
from hdl.stream.ring import after
from sim.program.geometry import CHUNK_LINES, Geometry
from sim.program.layout import Layout


class ListReader(wiring.Component):
    """Fetches one list after the other, chunk by chunk, and gives their records in order.

    A record is given at the earliest two cycles after the last line of its chunk came, one cycle after the record
    before. A chunk's slot is free for another request from the cycle after its last record was taken.

    Parameters
    ----------
    record : Layout
        The records, whole bytes, a power of two.
    unit : Unit
        Whose fills it takes.
    geometry : Geometry
        The memory.
    slots : int
        Chunks that may be under way or wait, 2 or more.

    Attributes
    ----------
    jobs : In(stream of LIST_JOB)
        Lists to read; the next is taken when all chunks of the one before were asked for.
    requests : Out(stream of CHUNK_REQUEST)
        Chunks that it wants.
    fill, line : In
        What comes from the memory.
    records : Out(stream of `record`)
        Records.
    """

    def __init__(self, record: Layout, unit: Unit, geometry: Geometry, slots: int) -> None:
        self._unit = unit
        self._geometry = geometry
        self._slots = slots
        self._record = struct_layout(record)
        super().__init__(
            {
                "jobs": In(stream.Signature(LIST_JOB)),
                "requests": Out(stream.Signature(CHUNK_REQUEST)),
                "fill": In(FILL),
                "line": In(8 * geometry.line_bytes),
                "records": Out(stream.Signature(self._record)),
            }
        )

    def elaborate(self, _platform: object) -> Module:
        """Build the request side, the slots, and the record side."""
        m = Module()
        slots = self._slots
        per_line = self._geometry.line_bytes * 8 // self._record.size
        per_chunk = CHUNK_LINES * per_line
        counts = Array(Signal(range(per_chunk + 1), name=f"records_{s}", reset_less=True) for s in range(slots))
        full = Array(Signal(name=f"full_{s}") for s in range(slots))
        used = Signal(range(slots + 1))
        asked, freed = Signal(), Signal()
        m.d.sync += used.eq(used + asked - freed)

        # Requests.
        chunk, left = Signal(32), Signal(32)
        tail = Signal(range(slots))
        wanted = Mux(left > per_chunk, per_chunk, left)
        m.d.comb += [
            self.jobs.ready.eq(left == 0),
            self.requests.valid.eq((left != 0) & (used != slots)),
            self.requests.payload.chunk.eq(chunk),
            self.requests.payload.slot.eq(tail),
            self.requests.payload.bursts.eq((wanted + per_line - 1) >> ceil_log2(per_line)),
            asked.eq(self.requests.valid & self.requests.ready),
        ]
        with m.If(self.jobs.valid & self.jobs.ready):
            m.d.sync += [chunk.eq(self.jobs.payload.chunk), left.eq(self.jobs.payload.records)]
        with m.If(asked):
            m.d.sync += [
                counts[tail].eq(wanted),
                tail.eq(after(tail, slots)),
                chunk.eq(chunk + 1),
                left.eq(left - wanted),
            ]

        # Lines come in.
        m.submodules.memory = memory = Memory(
            shape=8 * self._geometry.line_bytes, depth=CHUNK_LINES << ceil_log2(slots), init=[]
        )
        write, read = memory.write_port(), memory.read_port()
        mine = self.fill.valid & (self.fill.unit == self._unit)
        m.d.comb += [
            write.en.eq(mine),
            write.addr.eq(Cat(self.fill.burst[: ceil_log2(CHUNK_LINES)], self.fill.slot[: ceil_log2(slots)])),
            write.data.eq(self.line),
        ]

        # Records go out: the memory is read for the record after the one at hand.
        head, index = Signal(range(slots)), Signal(range(per_chunk))
        next_head, next_index = Signal.like(head), Signal.like(index)
        valid, taken = Signal(), Signal()
        ends = index + 1 == counts[head]
        m.d.comb += [
            taken.eq(valid & self.records.ready),
            freed.eq(taken & ends),
            next_head.eq(Mux(freed, after(head, slots), head)),
            next_index.eq(Mux(freed, 0, index + taken)),
            read.addr.eq(Cat(next_index[ceil_log2(per_line) :], next_head)),
            self.records.valid.eq(valid),
            self.records.payload.eq(read.data.word_select(index[: ceil_log2(per_line)], self._record.size)),
        ]
        m.d.sync += [head.eq(next_head), index.eq(next_index), valid.eq(full[next_head])]
        with m.If(mine & self.fill.last):
            m.d.sync += full[self.fill.slot].eq(1)
        with m.If(freed):
            m.d.sync += full[head].eq(0)
        return m
