"""Samples of the same page find each other: each page that is waited for is asked for once."""

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import ceil_log2

from hdl.large_memory import LargeMemory
from hdl.layout import struct_layout
from hdl.stream.queue import StreamQueue
from hdl.stream.ring import after
from sim.config import SsdConfig
from sim.program.counters import COUNTER_BITS
from sim.program.ssd_extract import LINK
from sim.program.ssd_streams import OPENED, PAGE_BITS, SAMPLE, SLOT_BITS

WAITING = 2
"""Samples, and closes, that the queues at the inputs hold."""

LEAVING = 4
"""Pages, and heads, on their way through the pipeline or not yet taken: as many as it takes to go on in every cycle."""


class Coalescer(wiring.Component):
    """Gives each sample a slot of the window, and puts it into the list of its page.

    Samples and closes of pages go through three steps in order, one a cycle, closes first: the page is looked for in
    the table; it is found, or gets a free page slot, the place in the table, and goes out; the sample gets the head of
    the page's list. A page whose place in the table another one takes is only not found any more: it may be asked for
    again. A page is out two cycles after its sample was taken from its queue, a head three cycles after its close; the
    page slot is free for a sample from then on.

    Parameters
    ----------
    config : SsdConfig
        The engine.

    Attributes
    ----------
    samples : In(stream of `SAMPLE`)
        Samples; each is given the next slot, round and round.
    close : In(stream of `OPENED`)
        Pages that take no more samples.
    opened : Out(stream of `OPENED`)
        Pages that are wanted.
    heads : Out(stream of 20 bits)
        For each close, in order, the slot of the last sample of its page.
    retired : In(1)
        The oldest slot is free again.
    links_read, links_address : In
        Reads a sample's link.
    links_data : Out(`LINK`)
        The link, a cycle later and until the next read.
    clearing, clear_address : In
        Empties a word of the table.
    count_samples, count_opened : Out(48)
        Samples taken, and pages asked for.
    """

    def __init__(self, config: SsdConfig) -> None:
        self._config = config
        super().__init__(
            {
                "samples": In(stream.Signature(struct_layout(SAMPLE))),
                "close": In(stream.Signature(struct_layout(OPENED))),
                "opened": Out(stream.Signature(struct_layout(OPENED))),
                "heads": Out(stream.Signature(SLOT_BITS)),
                "retired": In(1),
                "links_read": In(1),
                "links_address": In(SLOT_BITS),
                "links_data": Out(struct_layout(LINK)),
                "clearing": In(1),
                "clear_address": In(20),
                "count_samples": Out(COUNTER_BITS),
                "count_opened": Out(COUNTER_BITS),
            }
        )

    def elaborate(self, _platform: object) -> Module:
        """Build the three steps."""
        m = Module()
        config = self._config
        slot_bits, place_bits = ceil_log2(config.window_samples), ceil_log2(config.table_entries)
        pages = range(config.page_slots)
        entry_layout = data.StructLayout({"tag": PAGE_BITS - place_bits, "page_slot": pages, "valid": 1})
        step = data.StructLayout(
            {"page": PAGE_BITS, "page_slot": pages, "slot": slot_bits, "phase": 1, "beat": 11, "half": 1, "wide": 1}
        )
        m.submodules.samples = samples = StreamQueue(struct_layout(SAMPLE), WAITING)
        m.submodules.closes = closes = StreamQueue(struct_layout(OPENED), WAITING)
        m.submodules.opened = opened = StreamQueue(struct_layout(OPENED), LEAVING)
        m.submodules.heads_out = heads_out = StreamQueue(SLOT_BITS, LEAVING)
        wiring.connect(m, wiring.flipped(self.samples), samples.beats)
        wiring.connect(m, wiring.flipped(self.close), closes.beats)
        wiring.connect(m, opened.held, wiring.flipped(self.opened))
        wiring.connect(m, heads_out.held, wiring.flipped(self.heads))
        m.submodules.table = table = LargeMemory(part_bits=entry_layout.size, parts=1, depth=config.table_entries)
        m.submodules.heads = heads = LargeMemory(part_bits=slot_bits, parts=1, depth=config.page_slots)
        m.submodules.links = links = LargeMemory(
            part_bits=struct_layout(LINK).size, parts=1, depth=config.window_samples
        )
        m.submodules.free = free = LargeMemory(
            part_bits=max(1, ceil_log2(config.page_slots)), parts=1, depth=config.page_slots
        )

        # Step 0: a close, or a sample if there is surely room for all that may come of it.
        level, room = Signal(range(config.window_samples + 1)), Signal()
        page_slots_free = Signal(range(config.page_slots + 1), init=config.page_slots)
        opened_owed, heads_owed = Signal(range(LEAVING + 1)), Signal(range(LEAVING + 1))
        closing, sampling, page = Signal(), Signal(), Signal(PAGE_BITS)
        number = Signal(slot_bits + 1)
        m.d.comb += [
            room.eq((level != config.window_samples) & (page_slots_free != 0) & (opened_owed != LEAVING)),
            closes.held.ready.eq(heads_owed != LEAVING),
            closing.eq(closes.held.valid & closes.held.ready),
            samples.held.ready.eq(room & ~closing),
            sampling.eq(samples.held.valid & samples.held.ready),
            page.eq(Mux(closing, closes.held.payload.page, samples.held.payload.page)),
            table.read.eq(closing | sampling),
            table.read_address.eq(page[:place_bits]),
        ]
        m.d.sync += [number.eq(number + sampling), level.eq(level + sampling - self.retired)]
        one, one_closes, one_samples = Signal(step, reset_less=True), Signal(), Signal()
        m.d.sync += [
            one_closes.eq(closing),
            one_samples.eq(sampling),
            one.page.eq(page),
            one.page_slot.eq(closes.held.payload.page_slot),
            one.slot.eq(number[:slot_bits]),
            one.phase.eq(~number[slot_bits]),
            *(one[name].eq(samples.held.payload[name]) for name in ("beat", "half", "wide")),
        ]

        # Step 1: found, or not. The operation before may have written what was read.
        place = one.page[:place_bits]
        entry, found, opens, closed = Signal(entry_layout), Signal(), Signal(), Signal()
        wrote, wrote_place = Signal(), Signal(place_bits)
        wrote_entry, written = Signal(entry_layout, reset_less=True), Signal(entry_layout)
        page_slot, new_page_slot = Signal(pages), Signal(pages)
        m.d.comb += [
            entry.eq(Mux(wrote & (wrote_place == place), wrote_entry, table.read_data)),
            found.eq(entry.valid & (entry.tag == one.page[place_bits:])),
            opens.eq(one_samples & ~found),
            closed.eq(one_closes & entry.valid & (entry.page_slot == one.page_slot)),
            page_slot.eq(Mux(one_closes, one.page_slot, Mux(found, entry.page_slot, new_page_slot))),
            written.tag.eq(one.page[place_bits:]),
            written.page_slot.eq(page_slot),
            written.valid.eq(opens),
            table.write.eq(opens | closed | self.clearing),
            table.write_address.eq(Mux(self.clearing, self.clear_address, place)),
            table.write_data.eq(Mux(self.clearing, 0, written)),
            opened.beats.valid.eq(opens),
            opened.beats.payload.page.eq(one.page),
            opened.beats.payload.page_slot.eq(new_page_slot),
            heads.read.eq(one_closes | one_samples),
            heads.read_address.eq(page_slot),
        ]
        m.d.sync += [wrote.eq(opens | closed), wrote_place.eq(place), wrote_entry.eq(written)]
        two, two_closes, two_samples, two_first = Signal(step, reset_less=True), Signal(), Signal(), Signal()
        m.d.sync += [
            two_closes.eq(one_closes),
            two_samples.eq(one_samples),
            two_first.eq(opens),
            two.eq(one),
            two.page_slot.eq(page_slot),
        ]

        # Step 2: the list. Again the operation before may have written what was read.
        linked, linked_page, linked_slot = Signal(), Signal(pages), Signal(slot_bits)
        head, link = Signal(slot_bits), Signal(struct_layout(LINK))
        m.d.comb += [
            head.eq(Mux(linked & (linked_page == two.page_slot), linked_slot, heads.read_data)),
            *(link[name].eq(two[name]) for name in ("beat", "half", "wide", "phase")),
            link.last.eq(two_first),
            link.next.eq(head),
            links.write.eq(two_samples),
            links.write_address.eq(two.slot),
            links.write_data.eq(link),
            heads.write.eq(two_samples),
            heads.write_address.eq(two.page_slot),
            heads.write_data.eq(two.slot),
            heads_out.beats.valid.eq(two_closes),
            heads_out.beats.payload.eq(head),
            links.read.eq(self.links_read),
            links.read_address.eq(self.links_address),
            self.links_data.eq(links.read_data),
        ]
        m.d.sync += [linked.eq(two_samples), linked_page.eq(two.page_slot), linked_slot.eq(two.slot)]

        # Free page slots, a ring: in its first lap each place holds its own number. What the next step needs is read
        # ahead, so the count is that of the slots for which no sample is under way.
        oldest, newest, following, first_lap = Signal(pages), Signal(pages), Signal(pages), Signal(init=1)
        m.d.comb += [
            following.eq(Mux(opens, after(oldest, config.page_slots), oldest)),
            free.read.eq(1),
            free.read_address.eq(following),
            new_page_slot.eq(Mux(first_lap, oldest, free.read_data)),
            free.write.eq(two_closes),
            free.write_address.eq(newest),
            free.write_data.eq(two.page_slot),
        ]
        m.d.sync += oldest.eq(following)
        with m.If(opens & (oldest == config.page_slots - 1)):
            m.d.sync += first_lap.eq(0)
        with m.If(two_closes):
            m.d.sync += newest.eq(after(newest, config.page_slots))
        joins = one_samples & found
        m.d.sync += [
            page_slots_free.eq(page_slots_free - sampling + joins + two_closes),
            opened_owed.eq(opened_owed + sampling - joins - (opened.held.valid & opened.held.ready)),
            heads_owed.eq(heads_owed + closing - (heads_out.held.valid & heads_out.held.ready)),
            self.count_samples.eq(self.count_samples + sampling),
            self.count_opened.eq(self.count_opened + opens),
        ]
        return m
