"""From logical pages to where they lie: the page map in the SSD's DRAM."""

from amaranth.hdl import Module
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from hdl.layout import struct_layout
from hdl.ssd.dram_words import DramWords
from hdl.stream.queue import StreamQueue
from sim.config import SsdConfig
from sim.program.ssd import PAGE_ENTRY
from sim.program.ssd_extract import DRAM_KEY
from sim.program.ssd_streams import OPENED, PAGE_BITS, PLACED

OPENED_WAITING = 2
"""Pages that the queue at the input holds."""


class Translate(wiring.Component):
    """Looks pages up in the map, one a cycle, in order; several look-ups are under way.

    Parameters
    ----------
    config : SsdConfig
        The engine.

    Attributes
    ----------
    opened : In(stream of `OPENED`)
        Pages that are wanted.
    map_base : In(40)
        Beat of the DRAM at which the map begins; two entries in a beat.
    map_request : Out(stream of 40 bits)
        Beats of the map.
    map_data : In(stream of 128 bits)
        Their contents, in order; always taken at once. A page is placed two cycles later.
    placed : Out(stream of `PLACED`)
        The same pages.
    """

    def __init__(self, config: SsdConfig) -> None:
        self._config = config
        super().__init__(
            {
                "opened": In(stream.Signature(struct_layout(OPENED))),
                "map_base": In(PAGE_BITS),
                "map_request": Out(stream.Signature(PAGE_BITS)),
                "map_data": In(stream.Signature(128)),
                "placed": Out(stream.Signature(struct_layout(PLACED))),
            }
        )

    def elaborate(self, _platform: object) -> Module:
        """Build the queue and the reads."""
        m = Module()
        m.submodules.queue = queue = StreamQueue(struct_layout(OPENED), OPENED_WAITING)
        m.submodules.reads = reads = DramWords(struct_layout(DRAM_KEY), self._config.dram_reads_in_flight)
        wiring.connect(m, wiring.flipped(self.opened), queue.beats)
        wiring.connect(m, reads.request, wiring.flipped(self.map_request))
        wiring.connect(m, wiring.flipped(self.map_data), reads.answer)
        opened, placed = queue.held.payload, self.placed.payload
        entry = struct_layout(PAGE_ENTRY)(reads.words.payload.word)
        m.d.comb += [
            reads.wanted.valid.eq(queue.held.valid),
            queue.held.ready.eq(reads.wanted.ready),
            reads.wanted.payload.address.eq(self.map_base + opened.page[1:]),
            reads.wanted.payload.upper.eq(opened.page[0]),
            reads.wanted.payload.key.page.eq(opened.page),
            reads.wanted.payload.key.page_slot.eq(opened.page_slot),
            self.placed.valid.eq(reads.words.valid),
            reads.words.ready.eq(self.placed.ready),
            placed.page.eq(reads.words.payload.key.page),
            placed.page_slot.eq(reads.words.payload.key.page_slot),
            placed.hot.eq(entry.hot),
            placed.place.eq(entry.place),
        ]
        return m
