"""Packs the ids that were found, and the counts of all targets, into the host's memory, and completes commands."""

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import data, enum, stream, wiring
from amaranth.lib.wiring import In, Out

from hdl.layout import struct_layout
from hdl.ssd.landing import Landing
from hdl.ssd.line_writer import LINE_BITS, LINE_WRITE, ROOM_BITS, LineWriter
from hdl.stream.queue import StreamQueue
from sim.config import SsdConfig
from sim.program.ssd import COMPLETION, COUNT_FAILED, NODE_BITS, SsdStatus
from sim.program.ssd_extract import ID_WORD
from sim.program.ssd_streams import CONTEXT, DESCRIPTOR, PAGE_BITS, SLOT_BITS

ENTRY_BITS = 16
"""Width of an entry's number in its queue."""

NUMBER_BITS = 37
"""Width of numbers of ids and targets: a result has room for at most 2^36 of either, and one more is a fault."""

ITEM = data.StructLayout(
    {
        "value": 64, "unreadable": 1, "has_id": 1, "count": 31, "failed": 1, "ends_target": 1, "ends_hop": 1,
        "ends_command": 1, "last_hop": 1,
    }
)  # fmt: skip
"""An id, and behind a target's last id its count; or a count alone; or, with neither, a hop without targets."""


class State(enum.Enum, shape=3):
    """What the unit is doing."""

    IDLE = 0
    """The next command is taken."""
    RUN = 1
    """Its ids and counts are packed."""
    COUNTS = 2
    """The line of counts that is not full leaves."""
    IDS = 3
    """So does that of ids."""
    COMPLETE = 4
    """The command's completion entry is written."""


class Packer(wiring.Component):
    """Takes ids from the window in the order in which they were drawn, one a cycle, and writes whole lines.

    A count word goes behind its target's ids, in the same cycle as the last of them. The lines of a result go out as
    they fill up, those that are not full at the end of the command, counts first, and then the completion entry. The
    first fault of a command is told: a target's own, then in the order of ids that one is unreadable, beyond the
    result's room or beyond the frontier's, then that the count is beyond the result's room.

    Parameters
    ----------
    config : SsdConfig
        The engine.
    line_bits, room_bits : int
        As for `LineWriter`.

    Attributes
    ----------
    contexts : In(stream of `CONTEXT`)
        Commands, in order.
    descriptors : In(stream of `DESCRIPTOR`)
        The targets of those that were not refused.
    ids_address : Out(20)
        Slot of the window to read.
    ids_data : In(`ID_WORD`)
        What it held, a cycle later.
    retired : Out(1)
        An id is taken: its slot is free.
    lines : Out(stream of `LINE_WRITE`)
        Writes into the host's memory.
    cq_address, cq_entries : In
        Where the completion queue begins, a multiple of 16, and its entries; constant from reset on.
    completed : Out(1)
        A completion entry is handed over.
    found_valid, found_node : Out
        An id that is a target of the next hop; all ones, if it is too large for a node or could not be read.
    found_end_of_hop, found_reset : Out(1)
        A hop's last id was found, in this cycle or before; the same for a command.
    writer : LineWriter
        The part that writes lines; no port.
    """

    def __init__(self, config: SsdConfig, line_bits: int = LINE_BITS, room_bits: int = ROOM_BITS) -> None:
        self._config = config
        self.writer = LineWriter(line_bits=line_bits, room_bits=room_bits)
        super().__init__(
            {
                "contexts": In(stream.Signature(struct_layout(CONTEXT))),
                "descriptors": In(stream.Signature(struct_layout(DESCRIPTOR))),
                "ids_address": Out(SLOT_BITS),
                "ids_data": In(struct_layout(ID_WORD)),
                "retired": Out(1),
                "lines": Out(stream.Signature(LINE_WRITE)),
                "cq_address": In(64),
                "cq_entries": In(ENTRY_BITS),
                "completed": Out(1),
                "found_valid": Out(1),
                "found_node": Out(NODE_BITS),
                "found_end_of_hop": Out(1),
                "found_reset": Out(1),
            }
        )

    def elaborate(self, _platform: object) -> Module:
        """Build the two steps of an id, and the course of a command."""
        m = Module()
        m.submodules.contexts = contexts = StreamQueue(struct_layout(CONTEXT), self._config.commands_in_flight)
        wiring.connect(m, wiring.flipped(self.contexts), contexts.beats)
        m.submodules.writer = writer = self.writer
        wiring.connect(m, writer.lines, wiring.flipped(self.lines))

        item, item_valid, packs = Signal(ITEM, reset_less=True), Signal(), Signal()
        self._take(m, item, item_valid, packs)

        # The command, its completion entry as far as it is known, and its way.
        state, context = Signal(State), contexts.held.payload
        begins, ends = Signal(), Signal()
        wide, cid, sq_head = Signal(), Signal(16, reset_less=True), Signal(16, reset_less=True)
        status, detail = Signal(len(context.status)), Signal(PAGE_BITS)
        with m.Switch(state):
            with m.Case(State.IDLE):
                m.d.comb += begins.eq(contexts.held.valid)
                with m.If(begins):
                    m.d.sync += state.eq(Mux(context.status == SsdStatus.OK, State.RUN, State.COMPLETE))
            with m.Case(State.RUN), m.If(packs & item.ends_command):
                m.d.sync += state.eq(State.COUNTS)
            with m.Case(State.COUNTS), m.If(writer.done):
                m.d.sync += state.eq(State.IDS)
            with m.Case(State.IDS), m.If(writer.done):
                m.d.sync += state.eq(State.COMPLETE)
            with m.Case(State.COMPLETE), m.If(writer.done):
                m.d.comb += ends.eq(1)
                m.d.sync += state.eq(State.IDLE)
        m.d.comb += contexts.held.ready.eq(begins)
        with m.If(begins):
            m.d.sync += [wide.eq(context.wide), cid.eq(context.cid), sq_head.eq(context.sq_head)]

        # The second step of an id.
        targets, ids = Signal(NUMBER_BITS), Signal(NUMBER_BITS)
        unreadable, target_failed = Signal(), Signal()
        m.d.comb += [
            unreadable.eq(item.has_id & item.unreadable),
            writer.valid.eq((state == State.RUN) & item_valid),
            packs.eq(writer.taken),
            writer.has_id.eq(item.has_id),
            writer.id.eq(Mux(item.unreadable, (1 << 64) - 1, item.value)),
            writer.has_count.eq(item.ends_target),
            writer.count.eq(item.count | Mux(item.failed | target_failed | unreadable, COUNT_FAILED, 0)),
        ]
        with m.If(packs):
            m.d.sync += [
                targets.eq(targets + item.ends_target),
                ids.eq(ids + item.has_id),
                target_failed.eq(~item.ends_target & (target_failed | unreadable)),
            ]
        frontier_full = self._find(m, item, packs)
        with m.If(packs & (status == SsdStatus.OK)):
            m.d.sync += detail.eq(targets)
            with m.If(item.failed):
                m.d.sync += status.eq(SsdStatus.OUT_OF_RANGE)
            with m.Elif(unreadable):
                m.d.sync += [status.eq(SsdStatus.UNRECOVERED_READ), detail.eq(item.value)]
            with m.Elif(item.has_id & ~writer.id_fits):
                m.d.sync += status.eq(SsdStatus.RESULT_TOO_SMALL)
            with m.Elif(frontier_full):
                m.d.sync += status.eq(SsdStatus.FRONTIER_FULL)
            with m.Elif(item.ends_target & ~writer.count_fits):
                m.d.sync += status.eq(SsdStatus.RESULT_TOO_SMALL)
        with m.If(begins):
            m.d.sync += [status.eq(context.status), targets.eq(0), ids.eq(0), detail.eq(0)]

        # Lines and the completion entry.
        entry, slot, lap = Signal(struct_layout(COMPLETION)), Signal(ENTRY_BITS), Signal()
        m.d.comb += [
            writer.begins.eq(begins),
            writer.wide.eq(context.wide),
            writer.line.eq(context.result_address >> (64 - LINE_BITS)),
            writer.ids_line.eq(context.ids_line),
            writer.result_lines.eq(context.result_lines),
            writer.flushes_counts.eq(state == State.COUNTS),
            writer.flushes_ids.eq(state == State.IDS),
            writer.completes.eq(state == State.COMPLETE),
            writer.entry.eq(entry),
            writer.entry_number.eq((self.cq_address >> 4) + slot),
            self.completed.eq(writer.completed),
            entry.detail.eq(Mux(status == SsdStatus.OK, ids, detail)),
            entry.sq_head.eq(sq_head),
            entry.cid.eq(cid),
            entry.phase.eq(~lap),
            entry.status.eq(status),
        ]
        with m.If(ends):
            m.d.sync += slot.eq(slot + 1)
            with m.If(slot == self.cq_entries - 1):
                m.d.sync += [slot.eq(0), lap.eq(~lap)]
        return m

    def _take(self, m: Module, item: data.View, item_valid: Signal, packs: Signal) -> None:
        """Build the first step: a target's next id is taken from the window, or what a target without ids has."""
        most, slots = self._config.targets_in_flight, self._config.window_samples
        m.submodules.landing = landing = Landing(struct_layout(DESCRIPTOR), most)
        waiting, target = Signal(range(most + 1)), landing.held.payload
        m.d.comb += [
            self.descriptors.ready.eq(waiting != most),
            landing.beats.valid.eq(self.descriptors.valid & self.descriptors.ready),
            landing.beats.payload.eq(self.descriptors.payload),
        ]
        m.d.sync += waiting.eq(waiting + landing.beats.valid - landing.fetches)

        slot, lap, number = Signal(range(slots)), Signal(), Signal(len(target.count))
        there, free, has_id, takes, is_last, following = (
            Signal(),
            Signal(),
            Signal(),
            Signal(),
            Signal(),
            Signal(range(slots)),
        )
        m.d.comb += [
            there.eq(self.ids_data.phase != lap),
            free.eq(~item_valid | packs),
            has_id.eq(target.count != 0),
            is_last.eq(~has_id | (number + 1 == target.count)),
            takes.eq(landing.held.valid & free & (there | ~has_id)),
            landing.held.ready.eq(takes & is_last),
            self.retired.eq(takes & has_id),
            following.eq(slot + self.retired),
            self.ids_address.eq(following),
        ]
        m.d.sync += [slot.eq(following), lap.eq(lap ^ (self.retired & (slot == slots - 1)))]
        with m.If(takes):
            m.d.sync += number.eq(Mux(is_last, 0, number + 1))
        with m.If(free):
            m.d.sync += [
                item_valid.eq(takes),
                item.value.eq(self.ids_data.value),
                item.unreadable.eq(self.ids_data.failed),
                item.has_id.eq(has_id),
                item.count.eq(target.count),
                item.failed.eq(target.failed),
                item.ends_target.eq(is_last & ~target.nothing),
                item.ends_hop.eq(is_last & target.last_of_hop),
                item.ends_command.eq(is_last & target.last_of_command),
                item.last_hop.eq(target.last_hop),
            ]

    def _find(self, m: Module, item: data.View, packs: Signal) -> Signal:
        """Give ids to the frontier; return whether this one is beyond its room."""
        most = self._config.frontier_entries
        found, full = Signal(range(most + 1)), Signal()
        m.d.comb += [
            self.found_valid.eq(packs & item.has_id & ~item.last_hop),
            self.found_node.eq(Mux(item.unreadable | item.value[NODE_BITS:].any(), (1 << NODE_BITS) - 1, item.value)),
            self.found_end_of_hop.eq(packs & item.ends_hop),
            self.found_reset.eq(packs & item.ends_command),
            full.eq(self.found_valid & (found == most)),
        ]
        with m.If(self.found_end_of_hop):
            m.d.sync += found.eq(0)
        with m.Elif(self.found_valid & ~full):
            m.d.sync += found.eq(found + 1)
        return full
