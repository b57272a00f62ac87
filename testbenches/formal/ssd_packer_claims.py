"""Claims about the packer: what it writes lies in the result of its command, or in its place for a completion."""

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from hdl.layout import struct_layout
from hdl.stream.queue import StreamQueue
from hdl.stream.ring import after
from sim.config import SsdConfig
from sim.program.ssd import COMPLETION
from testbenches.formal.watch import passes, rigid, unsteady

LINE_BITS, ROOM_BITS = 4, 3
"""Widths of a line's number and of a number of lines, of a packer that is small enough for a proof."""

PART_BITS = ROOM_BITS - 1
"""Each part of a result has up to three lines."""

CQ_ADDRESS, CQ_ENTRIES = 0x30, 3

KIND = 30
"""This bit of a word tells an id from a count."""


class TrackedWrites(wiring.Component):
    """Any commands, descriptors and ids, at any pace: completions, and what `TrackedLines` takes for granted.

    Contexts are as the queue pair hands them on: a result lies in the host's memory as a whole, its ids begin within
    it. Descriptors do not even belong to the commands.

    Parameters
    ----------
    config : SsdConfig
        The engine.
    packer : Packer
        What the claims are about, of `LINE_BITS` and `ROOM_BITS`.
    claims : tuple of str
        Which of `CLAIMS`.
    """

    CLAIMS = ("uninvited", "disorderly", "torn", "misplaced", "strange", "unsteady")

    def __init__(self, config: SsdConfig, packer: wiring.Component, claims: tuple[str, ...] = CLAIMS) -> None:
        self._config, self._packer, self._claims = config, packer, claims
        super().__init__(
            {
                "gives": In(1), "refused": In(1), "wide": In(1), "line": In(LINE_BITS - 1), "cid": In(1),
                "count_lines": In(PART_BITS), "id_lines": In(PART_BITS), "describes": In(1), "count": In(2),
                "failed": In(1), "ends_hop": In(1), "ends_command": In(1), "last_hop": In(1), "nothing": In(1),
                "phase": In(1), "unreadable": In(1), "takes": In(1),
                **{name: Out(1) for name in claims},
            }
        )  # fmt: skip

    def elaborate(self, _platform: object) -> Module:
        """Build the claims."""
        m = Module()
        m.submodules.packer = unit = self._packer
        context, target, write = unit.contexts.payload, unit.descriptors.payload, unit.lines.payload
        m.d.comb += [
            unit.contexts.valid.eq(self.gives),
            context.status.eq(self.refused),
            context.wide.eq(self.wide),
            context.cid.eq(self.cid),
            context.result_address.eq(self.line << 6),
            context.ids_line.eq(self.count_lines),
            context.result_lines.eq(self.count_lines + self.id_lines),
            unit.descriptors.valid.eq(self.describes),
            target.count.eq(Mux(self.nothing, 0, self.count)),
            target.failed.eq(self.failed),
            target.last_of_hop.eq(self.ends_hop | self.ends_command),
            target.last_of_command.eq(self.ends_command),
            target.last_hop.eq(self.last_hop),
            target.nothing.eq(self.nothing),
            unit.ids_data.phase.eq(self.phase),
            unit.ids_data.failed.eq(self.unreadable),
            unit.cq_address.eq(CQ_ADDRESS),
            unit.cq_entries.eq(CQ_ENTRIES),
            unit.lines.ready.eq(self.takes),
        ]

        # Commands that are not completed; the oldest is the one whose lines come.
        record = data.StructLayout({"refused": 1, "cid": 1})
        m.submodules.commands = commands = StreamQueue(record, self._config.commands_in_flight + 2)
        given, it = commands.beats.payload, commands.held.payload
        written, completed = passes(unit.lines), unit.completed
        m.d.comb += [
            commands.beats.valid.eq(passes(unit.contexts)),
            given.refused.eq(self.refused),
            given.cid.eq(self.cid),
            commands.held.ready.eq(completed),
        ]
        slot = Signal(range(CQ_ENTRIES))
        with m.If(completed):
            m.d.sync += slot.eq(after(slot, CQ_ENTRIES))

        # The writer is told one thing at a time, between a command's begin and its end, until it has done it.
        writer, active, result = unit.writer, Signal(), written & ~completed
        parts = Cat(writer.valid, writer.flushes_counts, writer.flushes_ids, writer.completes)
        waits, before = Signal(), Signal(4)
        m.d.sync += [
            active.eq(writer.begins | (active & ~(writer.completes & writer.done))),
            waits.eq(parts[1:].any() & ~writer.done),
            before.eq(parts),
        ]
        disorder = (parts & (parts - 1)).any() | (parts.any() & ~active) | (writer.begins & active)
        there, number = Cat(write.mask[4 * i] for i in range(16)), Signal(LINE_BITS)
        m.d.comb += number.eq(write.address >> 6)
        whole = (write.mask == Cat(bit.replicate(4) for bit in there)) & there[0] & ~(there & (there + 1)).any()
        entry = data.View(struct_layout(COMPLETION), write.data.word_select(
            (CQ_ADDRESS // COMPLETION.bytes + slot)[:2], COMPLETION.bits))  # fmt: skip
        entry_number = Signal(LINE_BITS + 2)
        m.d.comb += entry_number.eq(CQ_ADDRESS // COMPLETION.bytes + slot)
        found = {
            "uninvited": written & ~commands.held.valid,
            "disorderly": disorder | (waits & (parts != before)),
            "torn": result & ~whole,
            "misplaced": completed
            & ((number != entry_number >> 2) | (write.mask != 0xFFFF << (entry_number[:2] * 16))),
            "strange": completed & ((entry.cid != it.cid) | (it.refused & (entry.status != 1))),
            "unsteady": unsteady(m, unit.lines, "lines"),
        }
        m.d.comb += [getattr(self, name).eq(found[name]) for name in self._claims]
        return m


class TrackedLines(wiring.Component):
    """Any results one after the other, of any ids and counts, with any flushes and at the end a completion entry.

    That is more than the packer does: what holds here holds of its lines. A line of the host's memory is followed.

    Parameters
    ----------
    writer : LineWriter
        What the claims are about, of `LINE_BITS` and `ROOM_BITS`.
    claims : tuple of str
        Which of `CLAIMS`.
    """

    CLAIMS = ("outside", "mixed", "twice")

    def __init__(self, writer: wiring.Component, claims: tuple[str, ...] = CLAIMS) -> None:
        self._writer, self._claims = writer, claims
        super().__init__(
            {
                "begins": In(1), "wide": In(1), "line": In(LINE_BITS - 1), "count_lines": In(PART_BITS),
                "id_lines": In(PART_BITS), "does": In(2), "has_id": In(1), "has_count": In(1), "takes": In(1),
                "follow": In(LINE_BITS), **{name: Out(1) for name in claims},
            }
        )  # fmt: skip

    def elaborate(self, _platform: object) -> Module:
        """Build the claims."""
        m = Module()
        m.submodules.writer = unit = self._writer
        follow, active, begins = rigid(m, self.follow, "follow"), Signal(), Signal()
        # What is begun stays until it is done, as in the packer's states.
        waits, held, does = Signal(), Signal(2), Signal(2)
        ids_begin, end = Signal(LINE_BITS), Signal(LINE_BITS)
        m.d.comb += [
            begins.eq(self.begins & ~active),
            does.eq(Mux(waits, held, self.does)),
            ids_begin.eq(self.line + self.count_lines),
            end.eq(ids_begin + self.id_lines),
            unit.begins.eq(begins),
            unit.wide.eq(self.wide),
            unit.line.eq(self.line),
            unit.ids_line.eq(self.count_lines),
            unit.result_lines.eq(self.count_lines + self.id_lines),
            unit.valid.eq(active & (does == 0)),
            unit.has_id.eq(self.has_id),
            unit.id.eq(1 << KIND | 1 << 32 + KIND),
            unit.has_count.eq(self.has_count),
            unit.flushes_counts.eq(active & (does == 1)),
            unit.flushes_ids.eq(active & (does == 2)),
            unit.completes.eq(active & (does == 3)),
            unit.lines.ready.eq(self.takes),
        ]
        m.d.sync += [
            waits.eq(active & (does != 0) & ~unit.done),
            held.eq(does),
            active.eq(begins | (active & ~(unit.completes & unit.done))),
        ]

        # Where the line is, in the result whose lines come and in the one that is begun before they all have come.
        record = data.StructLayout({"in_counts": 1, "in_ids": 1})
        m.submodules.results = results = StreamQueue(record, 2)
        given, it = results.beats.payload, results.held.payload
        write, written = unit.lines.payload, passes(unit.lines)
        m.d.comb += [
            results.beats.valid.eq(begins),
            given.in_counts.eq((follow >= self.line) & (follow < ids_begin)),
            given.in_ids.eq((follow >= ids_begin) & (follow < end)),
            results.held.ready.eq(unit.completed),
        ]
        followed, was_written, word = Signal(), Signal(), write.data[KIND]
        m.d.comb += followed.eq(written & ~unit.completed & (write.address >> 6 == follow))
        m.d.sync += was_written.eq((was_written | followed) & ~unit.completed)
        found = {
            "outside": followed & ~(it.in_counts | it.in_ids),
            "mixed": followed & (word != it.in_ids),
            "twice": followed & was_written,
        }
        m.d.comb += [getattr(self, name).eq(found[name]) for name in self._claims]
        return m
