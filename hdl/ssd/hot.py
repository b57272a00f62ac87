"""Samples of pages that the SSD's DRAM holds: read there, word by word."""

from amaranth.hdl import Module
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from hdl.layout import struct_layout
from hdl.ssd.dram_words import DramWords
from hdl.stream.queue import StreamQueue
from sim.config import SsdConfig
from sim.program.ssd_extract import HOT_READ, MATCH
from sim.program.ssd_streams import PAGE_BITS, SLOT_BITS

READS_WAITING = 2
"""Samples that the queue at the input holds."""


class HotReader(wiring.Component):
    """Reads a word for each sample, one a cycle, in order; several reads are under way.

    Parameters
    ----------
    config : SsdConfig
        The engine.

    Attributes
    ----------
    reads : In(stream of `HOT_READ`)
        Samples.
    request : Out(stream of 40 bits)
        Beats of the DRAM.
    answer : In(stream of 128 bits)
        Their contents, in order; always taken at once. A match is offered two cycles later.
    matches : Out(stream of `MATCH`)
        The words.
    """

    def __init__(self, config: SsdConfig) -> None:
        self._config = config
        super().__init__(
            {
                "reads": In(stream.Signature(struct_layout(HOT_READ))),
                "request": Out(stream.Signature(PAGE_BITS)),
                "answer": In(stream.Signature(128)),
                "matches": Out(stream.Signature(struct_layout(MATCH))),
            }
        )

    def elaborate(self, _platform: object) -> Module:
        """Build the queue and the reads."""
        m = Module()
        m.submodules.queue = queue = StreamQueue(struct_layout(HOT_READ), READS_WAITING)
        m.submodules.words = words = DramWords(SLOT_BITS, self._config.dram_reads_in_flight)
        wiring.connect(m, wiring.flipped(self.reads), queue.beats)
        wiring.connect(m, words.request, wiring.flipped(self.request))
        wiring.connect(m, wiring.flipped(self.answer), words.answer)
        m.d.comb += [
            words.wanted.valid.eq(queue.held.valid),
            queue.held.ready.eq(words.wanted.ready),
            words.wanted.payload.address.eq(queue.held.payload.address),
            words.wanted.payload.upper.eq(queue.held.payload.upper),
            words.wanted.payload.key.eq(queue.held.payload.slot),
            self.matches.valid.eq(words.words.valid),
            words.words.ready.eq(self.matches.ready),
            self.matches.payload.slot.eq(words.words.payload.key),
            self.matches.payload.value.eq(words.words.payload.word),
        ]
        return m
