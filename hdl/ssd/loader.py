"""Before a page is moved: its samples, one after the other, to the table by which they are found in it."""

from amaranth.hdl import Array, Module, Mux, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from hdl.layout import struct_layout
from hdl.ssd.matcher import LOAD
from hdl.stream.queue import StreamQueue
from sim.config import SsdConfig
from sim.program.ssd_extract import HOT_READ, LINK, TWIN
from sim.program.ssd_streams import (
    BEAT_BITS,
    CHANNEL_BITS,
    LOADED,
    OPENED,
    PAGE_BITS,
    READY,
    SLOT_BITS,
    UNIT_BITS,
)

WAITING = 2
"""Ready pages, pages that are closed, and heads, that the loader's queues hold."""


class Loader(wiring.Component):
    """Closes each page that is ready, and goes through its list.

    A page's list is begun when its head is here, nothing of the page before is left to do, and its channel has a bank
    free. A sample of a flash page is put into the table a cycle, that of a page in the DRAM goes to the hot reader. If
    the table already holds a sample of the same beat, that becomes the new one's twin. A page of n samples takes n + 3
    cycles from its begin to that of the next, or n + 2 if it is of the DRAM; the channel is told after n + 2.

    Parameters
    ----------
    config : SsdConfig
        The engine.

    Attributes
    ----------
    ready : In(stream of `READY`)
        Pages.
    close : Out(stream of `OPENED`)
        The same pages: they take no more samples.
    heads : In(stream of 20 bits)
        For each of them the slot of its last sample.
    links_read, links_address : Out
        Reads a sample's link.
    links_data : In(`LINK`)
        The link, a cycle later and until the next read.
    load_<c> : Out(`LOAD`)
        The table of channel c.
    loaded_<c> : Out(stream of `LOADED`)
        A page of channel c is loaded.
    hot : Out(stream of `HOT_READ`)
        Samples of pages in the DRAM.
    twin_write, twin_address, twin_data : Out
        Writes the `TWIN` of a slot.
    """

    def __init__(self, config: SsdConfig) -> None:
        self._config = config
        channels = range(config.flash.channels)
        super().__init__(
            {
                "ready": In(stream.Signature(struct_layout(READY))),
                "close": Out(stream.Signature(struct_layout(OPENED))),
                "heads": In(stream.Signature(SLOT_BITS)),
                "links_read": Out(1),
                "links_address": Out(SLOT_BITS),
                "links_data": In(struct_layout(LINK)),
                **{f"load_{c}": Out(LOAD) for c in channels},
                **{f"loaded_{c}": Out(stream.Signature(struct_layout(LOADED))) for c in channels},
                "hot": Out(stream.Signature(struct_layout(HOT_READ))),
                "twin_write": Out(1),
                "twin_address": Out(SLOT_BITS),
                "twin_data": Out(struct_layout(TWIN)),
            }
        )

    def elaborate(self, _platform: object) -> Module:
        """Build the closing, the walk, and the table's side."""
        m = Module()
        channels = self._config.flash.channels
        loads = [getattr(self, f"load_{c}") for c in range(channels)]
        m.submodules.ready = ready = StreamQueue(struct_layout(READY), WAITING)
        m.submodules.closed = closed = StreamQueue(struct_layout(READY), WAITING)
        m.submodules.heads = heads = StreamQueue(SLOT_BITS, WAITING)
        wiring.connect(m, wiring.flipped(self.ready), ready.beats)
        wiring.connect(m, wiring.flipped(self.heads), heads.beats)
        m.d.comb += [
            self.close.valid.eq(ready.held.valid & closed.beats.ready),
            self.close.payload.page.eq(ready.held.payload.page),
            self.close.payload.page_slot.eq(ready.held.payload.page_slot),
            closed.beats.valid.eq(ready.held.valid & self.close.ready),
            closed.beats.payload.eq(ready.held.payload),
            ready.held.ready.eq(closed.beats.ready & self.close.ready),
        ]

        # A page begins.
        page = closed.held.payload
        channel, unit = Signal(CHANNEL_BITS, reset_less=True), Signal(UNIT_BITS, reset_less=True)
        place, in_dram = Signal(PAGE_BITS, reset_less=True), Signal()
        slot, walking = Signal(SLOT_BITS, reset_less=True), Signal()
        first_beat, last_beat = Signal(BEAT_BITS, reset_less=True), Signal(BEAT_BITS, reset_less=True)
        puts, told = Signal(), Signal()
        begins, of_dram, bank_free = Signal(), Signal(), Signal()
        m.d.comb += [
            of_dram.eq(page.channel == channels),
            bank_free.eq(of_dram | Array(load.free for load in loads)[page.channel]),
            begins.eq(closed.held.valid & heads.held.valid & bank_free & ~walking & ~puts & ~told),
            closed.held.ready.eq(begins),
            heads.held.ready.eq(begins),
        ]

        # A sample of it: its link is here.
        link, goes, ends = self.links_data, Signal(), Signal()
        hot = self.hot.payload
        m.d.comb += [
            self.hot.valid.eq(walking & in_dram),
            hot.address.eq(place + link.beat[1:]),
            hot.upper.eq(link.beat[0]),
            hot.slot.eq(slot),
            goes.eq(walking & (~in_dram | self.hot.ready)),
            ends.eq(goes & link.last),
            self.links_read.eq(begins | (goes & ~link.last)),
            self.links_address.eq(Mux(begins, heads.held.payload, link.next)),
        ]
        with m.If(begins):
            m.d.sync += [
                walking.eq(1),
                in_dram.eq(of_dram),
                channel.eq(page.channel),
                unit.eq(page.unit),
                place.eq(page.place),
                first_beat.eq(~0),
                last_beat.eq(0),
            ]
        with m.If(self.links_read):
            m.d.sync += slot.eq(self.links_address)
        with m.If(goes):
            m.d.sync += [
                first_beat.eq(Mux(link.beat < first_beat, link.beat, first_beat)),
                last_beat.eq(Mux(link.beat > last_beat, link.beat, last_beat)),
            ]
        with m.If(ends):
            m.d.sync += walking.eq(0)

        # A cycle later: what the table holds for its beat. The sample before may have written what was read.
        put, put_slot, put_ends = Signal(struct_layout(LINK), reset_less=True), Signal(SLOT_BITS), Signal()
        wrote, wrote_beat, wrote_slot = Signal(), Signal(BEAT_BITS), Signal(SLOT_BITS)
        found, found_slot, again = Signal(), Signal(SLOT_BITS), Signal()
        m.d.sync += [
            puts.eq(goes),
            put.eq(link),
            put_slot.eq(slot),
            put_ends.eq(ends),
            wrote.eq(puts & ~in_dram),
            wrote_beat.eq(put.beat),
            wrote_slot.eq(put_slot),
        ]
        m.d.comb += again.eq(wrote & (wrote_beat == put.beat))
        for c, load in enumerate(loads):
            mine = Signal(name=f"mine_{c}")
            m.d.comb += [
                mine.eq(~in_dram & (channel == c)),
                load.begins.eq(begins & (page.channel == c)),
                load.page.eq(page.page),
                load.read.eq(goes & mine),
                load.read_beat.eq(link.beat),
                load.write.eq(puts & mine),
                load.write_beat.eq(put.beat),
                load.write_slot.eq(put_slot),
            ]
            with m.If(mine):
                m.d.comb += [found.eq(load.found), found_slot.eq(load.found_slot)]
        m.d.comb += [
            self.twin_write.eq(puts),
            self.twin_address.eq(put_slot),
            *(self.twin_data[name].eq(put[name]) for name in ("half", "wide", "phase")),
            self.twin_data.more.eq(again | found),
            self.twin_data.next.eq(Mux(again, wrote_slot, found_slot)),
        ]

        # The page is loaded.
        taken = Signal()
        for c in range(channels):
            loaded = getattr(self, f"loaded_{c}")
            m.d.comb += [
                loaded.valid.eq(told & (channel == c)),
                loaded.payload.unit.eq(unit),
                loaded.payload.first_beat.eq(first_beat),
                loaded.payload.last_beat.eq(last_beat),
            ]
            with m.If(channel == c):
                m.d.comb += taken.eq(loaded.ready)
        with m.If(puts & put_ends & ~in_dram):
            m.d.sync += told.eq(1)
        with m.Elif(taken):
            m.d.sync += told.eq(0)
        return m
