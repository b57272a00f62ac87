"""Gathers values into whole lines of the host's memory."""

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import ceil_log2

from sim.program.ssd import COMPLETION, LINE_BYTES

LINE_WRITE = data.StructLayout({"address": 64, "data": 8 * LINE_BYTES, "mask": LINE_BYTES})
"""A write into the host's memory: the address of a line, the line, and a bit for each byte that is written."""

LINE_BITS = 64 - ceil_log2(LINE_BYTES)
"""Width of a line's number."""

ROOM_BITS = 32
"""Width of a number of lines of a result."""

WORD_BITS = 32
WORDS = 8 * LINE_BYTES // WORD_BITS
ENTRIES = LINE_BYTES // COMPLETION.bytes
"""Words, and completion entries, of a line."""


class LineBuffer(wiring.Component):
    """A line that fills up, of a part of the result; values behind the part's last line are dropped.

    Parameters
    ----------
    line_bits, room_bits : int
        Widths of a line's number and of a number of lines.

    Attributes
    ----------
    begins, line, end, wide : In
        A part begins: its first line, the low bits of the one behind its last, and whether values have two words
        instead of one.
    writes, value : In
        A value comes.
    flushes : In(1)
        The line leaves as it is, if anything is in it.
    fits : Out(1)
        The part has room for a value.
    ends : Out(1)
        A value now would be its line's last.
    leaves : Out(1)
        A line leaves: this cycle's value is in it.
    number, words, there : Out
        Its number, its words, and which of them are there; the others are 0.
    """

    def __init__(self, *, line_bits: int, room_bits: int) -> None:
        super().__init__(
            {
                "begins": In(1),
                "line": In(line_bits),
                "end": In(room_bits),
                "wide": In(1),
                "writes": In(1),
                "value": In(2 * WORD_BITS),
                "flushes": In(1),
                "fits": Out(1),
                "ends": Out(1),
                "leaves": Out(1),
                "number": Out(line_bits),
                "words": Out(8 * LINE_BYTES),
                "there": Out(WORDS),
            }
        )

    def elaborate(self, _platform: object) -> Module:
        """Build the line."""
        m = Module()
        end, place, wide = Signal.like(self.end), Signal(range(WORDS)), Signal()
        number = Signal.like(self.number)
        kept = [Signal(WORD_BITS, name=f"word_{i}", reset_less=True) for i in range(WORDS)]
        held, sets, puts = Signal(WORDS), Signal(WORDS), Signal()
        m.d.comb += [
            # A part has fewer lines than there are such low bits.
            self.fits.eq(number[: len(end)] != end),
            self.ends.eq(self.fits & (place == WORDS - 1 - wide)),
            puts.eq(self.writes & self.fits),
            self.leaves.eq((self.writes & self.ends) | (self.flushes & (place != 0))),
            sets.eq(Mux(puts, Mux(wide, 3, 1) << place, 0)),
            self.there.eq(held | sets),
            self.number.eq(number),
        ]
        for i, word in enumerate(kept):
            half = self.value.word_select(i % 2, WORD_BITS)
            now = Mux(sets[i], Mux(wide, half, self.value[:WORD_BITS]), Mux(held[i], word, 0))
            m.d.comb += self.words.word_select(i, WORD_BITS).eq(now)
            m.d.sync += word.eq(now)
        with m.If(self.begins):
            m.d.sync += [end.eq(self.end), number.eq(self.line), wide.eq(self.wide), place.eq(0), held.eq(0)]
        with m.Elif(self.leaves):
            m.d.sync += [number.eq(number + 1), place.eq(0), held.eq(0)]
        with m.Elif(puts):
            m.d.sync += [place.eq(place + 1 + wide), held.eq(self.there)]
        return m


class LineWriter(wiring.Component):
    """Two lines that fill up, one of counts and one of ids, and the way out for those that are full.

    A full line waits at the way out until it is taken, one of counts and one of ids; the older goes first, and of two
    that are filled in the same cycle that of ids. Completion entries go the same way.

    Parameters
    ----------
    line_bits, room_bits : int
        Widths of a line's number and of a number of lines; narrower than shipped only for proofs.

    Attributes
    ----------
    begins, wide, line, ids_line, result_lines : In
        A result begins: whether ids have two words, its first line, how many of its lines are for counts, and how many
        it has in all.
    valid, has_id, id, has_count, count : In
        An id, a count word, or both, the id before the count.
    taken : Out(1)
        They are taken.
    id_fits, count_fits : Out(1)
        The result has room for an id, or a count; if not, it is dropped.
    flushes_counts, flushes_ids : In(1)
        The line that is not full leaves, if anything is in it; alone.
    completes, entry, entry_number : In
        A completion entry, and its number in the host's memory if that were nothing but entries; alone.
    done : Out(1)
        That is taken.
    lines : Out(stream of `LINE_WRITE`)
        Lines, in order.
    completed : Out(1)
        A completion entry is handed over.
    """

    def __init__(self, line_bits: int = LINE_BITS, room_bits: int = ROOM_BITS) -> None:
        self._line_bits, self._room_bits = line_bits, room_bits
        super().__init__(
            {
                "begins": In(1),
                "wide": In(1),
                "line": In(line_bits),
                "ids_line": In(room_bits),
                "result_lines": In(room_bits),
                "valid": In(1),
                "has_id": In(1),
                "id": In(2 * WORD_BITS),
                "has_count": In(1),
                "count": In(WORD_BITS),
                "taken": Out(1),
                "id_fits": Out(1),
                "count_fits": Out(1),
                "flushes_counts": In(1),
                "flushes_ids": In(1),
                "completes": In(1),
                "entry": In(COMPLETION.bits),
                "entry_number": In(line_bits + ceil_log2(ENTRIES)),
                "done": Out(1),
                "lines": Out(stream.Signature(LINE_WRITE)),
                "completed": Out(1),
            }
        )

    def elaborate(self, _platform: object) -> Module:
        """Build both lines and the way out."""
        m = Module()
        sizes = {"line_bits": self._line_bits, "room_bits": self._room_bits}
        m.submodules.counts = counts = LineBuffer(**sizes)
        m.submodules.ids = ids = LineBuffer(**sizes)
        leaving = data.StructLayout({"number": self._line_bits, "words": 8 * LINE_BYTES, "mask": LINE_BYTES})
        count_out, id_out = Signal(leaving, reset_less=True), Signal(leaving, reset_less=True)
        count_waits, id_waits, counts_first, is_entry = Signal(), Signal(), Signal(), Signal()
        count_goes, goes = Signal(), Signal()
        m.d.comb += [
            counts.line.eq(self.line),
            counts.end.eq(ids.line),
            ids.line.eq(self.line + self.ids_line),
            ids.end.eq(self.line + self.result_lines),
            ids.wide.eq(self.wide),
            counts.begins.eq(self.begins),
            ids.begins.eq(self.begins),
            self.id_fits.eq(ids.fits),
            self.count_fits.eq(counts.fits),
            self.taken.eq(
                self.valid & ~(self.has_id & ids.ends & id_waits) & ~(self.has_count & counts.ends & count_waits)
            ),
            ids.value.eq(self.id),
            counts.value.eq(self.count),
            ids.writes.eq(self.taken & self.has_id),
            counts.writes.eq(self.taken & self.has_count),
            counts.flushes.eq(self.flushes_counts & ~count_waits),
            ids.flushes.eq(self.flushes_ids & ~id_waits),
            self.done.eq(Mux(self.flushes_counts, ~count_waits, (self.flushes_ids | self.completes) & ~id_waits)),
        ]

        completes = self.completes & ~id_waits
        entry_place = self.entry_number[: ceil_log2(ENTRIES)]
        with m.If(ids.leaves | completes):
            m.d.sync += is_entry.eq(completes)
            with m.If(completes):
                m.d.sync += [
                    id_out.number.eq(self.entry_number >> ceil_log2(ENTRIES)),
                    id_out.words.eq(self.entry << (entry_place * COMPLETION.bits)),
                    id_out.mask.eq(((1 << COMPLETION.bytes) - 1) << (entry_place * COMPLETION.bytes)),
                ]
            with m.Else():
                m.d.sync += [id_out.number.eq(ids.number), id_out.words.eq(ids.words), id_out.mask.eq(_mask(ids))]
        with m.If(counts.leaves):
            m.d.sync += [
                count_out.number.eq(counts.number), count_out.words.eq(counts.words), count_out.mask.eq(_mask(counts)),
                counts_first.eq(0),
            ]  # fmt: skip
        with m.Elif(ids.leaves | completes):
            m.d.sync += counts_first.eq(1)

        write, chosen = self.lines.payload, Signal(leaving)
        m.d.comb += [
            self.lines.valid.eq(count_waits | id_waits),
            goes.eq(self.lines.valid & self.lines.ready),
            count_goes.eq(count_waits & (counts_first | ~id_waits)),
            chosen.eq(Mux(count_goes, count_out, id_out)),
            write.address.eq(chosen.number << ceil_log2(LINE_BYTES)),
            write.data.eq(chosen.words),
            write.mask.eq(chosen.mask),
            self.completed.eq(goes & ~count_goes & is_entry),
        ]
        m.d.sync += [
            count_waits.eq(counts.leaves | (count_waits & ~(goes & count_goes))),
            id_waits.eq(ids.leaves | completes | (id_waits & ~(goes & ~count_goes))),
        ]
        return m


def _mask(line: LineBuffer) -> Cat:
    """Return a bit for each byte of a line that leaves."""
    return Cat(there.replicate(WORD_BITS // 8) for there in line.there)
