"""Picks what samples wait for out of a page while it passes."""

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import ceil_log2

from hdl.large_memory import LargeMemory
from hdl.layout import struct_layout
from hdl.stream.queue import StreamQueue
from sim.config import SsdConfig
from sim.program.ssd_extract import MATCH
from sim.program.ssd_streams import BEAT_BITS, PAGE_BEAT, PAGE_BITS, SLOT_BITS

BEATS_WAITING = 2
"""Beats that the queue at the input holds."""

BANKS = 2
"""Tables: one is filled while the page of the other passes."""

LOAD = wiring.Signature(
    {
        "free": In(1),
        "begins": Out(1),
        "page": Out(PAGE_BITS),
        "read": Out(1),
        "read_beat": Out(BEAT_BITS),
        "found": In(1),
        "found_slot": In(SLOT_BITS),
        "write": Out(1),
        "write_beat": Out(BEAT_BITS),
        "write_slot": Out(SLOT_BITS),
    }
)
"""The loader's port of a matcher. While a bank is free, `begins` takes it for a page; from the next cycle on the loader
reads (the slot that a beat has, if any, a cycle later) and writes slots by their beats."""


class Matcher(wiring.Component):
    """Looks each beat of a channel up in a table of the beats that are wanted, one a cycle; wanted ones go out.

    A beat is out two cycles after it came, if it is wanted; until it is taken all others wait. With its last beat a
    page's bank is free, and empty.

    Parameters
    ----------
    config : SsdConfig
        The engine.

    Attributes
    ----------
    load : In(`LOAD`)
        What is wanted; pages pass in the order in which their loading began, and after it ended.
    beats : In(stream of `PAGE_BEAT`)
        Pages.
    matches : Out(stream of `MATCH`)
        Beats that are wanted, with the slot of one of the samples that want it.
    clearing, clear_address : In
        Empties a word of both banks.
    """

    def __init__(self, config: SsdConfig) -> None:
        self._config = config
        super().__init__(
            {
                "load": In(LOAD),
                "beats": In(stream.Signature(struct_layout(PAGE_BEAT))),
                "matches": Out(stream.Signature(struct_layout(MATCH))),
                "clearing": In(1),
                "clear_address": In(20),
            }
        )

    def elaborate(self, _platform: object) -> Module:
        """Build the banks and the way of a beat."""
        m = Module()
        beats = self._config.flash.page_beats
        beat_bits = ceil_log2(beats)
        word = data.StructLayout({"slot": ceil_log2(self._config.window_samples), "valid": 1})
        m.submodules.queue = queue = StreamQueue(struct_layout(PAGE_BEAT), BEATS_WAITING)
        wiring.connect(m, wiring.flipped(self.beats), queue.beats)
        load, new = self.load, queue.held.payload
        used, filling, passing = Signal(range(BANKS + 1)), Signal(init=1), Signal()
        held, has_beat, its_bank = Signal(struct_layout(PAGE_BEAT), reset_less=True), Signal(), Signal()
        wanted, moves, takes, over = Signal(), Signal(), Signal(), Signal()
        found, slots = [], []
        pages = [Signal(PAGE_BITS, name=f"page_{bank}", reset_less=True) for bank in range(BANKS)]
        for bank, page in enumerate(pages):
            m.submodules[f"bank_{bank}"] = table = LargeMemory(part_bits=word.size, parts=1, depth=beats)
            loads, clears = Signal(name=f"loads_{bank}"), Signal(name=f"clears_{bank}")
            written = Signal(word, name=f"written_{bank}")
            m.d.comb += [
                loads.eq(load.write & (filling == bank)),
                clears.eq(moves & wanted & (its_bank == bank)),
                table.read.eq((load.read & (filling == bank)) | (takes & (passing == bank))),
                table.read_address.eq(Mux(takes & (passing == bank), new.beat, load.read_beat)[:beat_bits]),
                table.write.eq(loads | clears | self.clearing),
                table.write_address.eq(
                    Mux(self.clearing, self.clear_address, Mux(loads, load.write_beat, held.beat))[:beat_bits]
                ),
                written.valid.eq(loads & ~self.clearing),
                written.slot.eq(load.write_slot),
                table.write_data.eq(written),
            ]
            with m.If(load.begins & (filling != bank)):
                m.d.sync += page.eq(load.page)
            found.append(word(table.read_data).valid)
            slots.append(word(table.read_data).slot)

        # The loader's side.
        m.d.comb += [
            load.free.eq(used != BANKS),
            load.found.eq(Mux(filling, found[1], found[0])),
            load.found_slot.eq(Mux(filling, slots[1], slots[0])),
        ]
        with m.If(load.begins):
            m.d.sync += filling.eq(~filling)
        m.d.sync += used.eq(used + load.begins - over)

        # A beat and what is found for it.
        match = self.matches.payload
        m.d.comb += [
            wanted.eq(Mux(its_bank, found[1], found[0])),
            self.matches.valid.eq(has_beat & wanted),
            match.slot.eq(Mux(its_bank, slots[1], slots[0])),
            match.failed.eq(held.bad),
            match.value.eq(Mux(held.bad, Mux(its_bank, pages[1], pages[0]), held.data)),
            moves.eq(has_beat & (~wanted | self.matches.ready)),
            queue.held.ready.eq(~has_beat | moves),
            takes.eq(queue.held.valid & queue.held.ready),
            over.eq(moves & held.last),
        ]
        with m.If(queue.held.ready):
            m.d.sync += has_beat.eq(queue.held.valid)
        with m.If(takes):
            m.d.sync += [held.eq(new), its_bank.eq(passing), passing.eq(passing ^ new.last)]
        return m
