"""Where an id lies in the flash: from the edge list's address and an edge's number to page, beat and half."""

from math import log2

from amaranth.hdl import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from hdl.ssd.bounded import BOUND_BITS
from sim.config import SsdConfig
from sim.program.ssd import EDGE_BITS
from sim.program.ssd_streams import BEAT_BITS, PAGE_BITS

HALF_BYTES = 4
"""Half a beat, the smallest id; the edge list begins on one."""


def half_bits(config: SsdConfig) -> int:
    """Return the width of the number of a half beat among all of the SSD's."""
    return PAGE_BITS + int(log2(config.flash.page_bytes // HALF_BYTES))


class FirstHalf(wiring.Component):
    """The half beat in which a list's first id begins, combinationally.

    Parameters
    ----------
    config : SsdConfig
        Its pages.

    Attributes
    ----------
    edges_address : In(64)
        Byte of the SSD at which the edge list begins, a multiple of an id's bytes.
    offset : In(48)
        Edge with which the list begins.
    wide : In(1)
        Ids have 8 bytes, not 4.
    half : Out
        The half beat.
    """

    def __init__(self, config: SsdConfig) -> None:
        super().__init__(
            {"edges_address": In(64), "offset": In(EDGE_BITS), "wide": In(1), "half": Out(half_bits(config))}
        )

    def elaborate(self, _platform: object) -> Module:
        """Build it."""
        m = Module()
        m.d.comb += self.half.eq((self.edges_address >> 2) + (self.offset << self.wide))
        return m


class IdPlace(wiring.Component):
    """The place of an id that lies so many edges behind a list's first, combinationally.

    Parameters
    ----------
    config : SsdConfig
        Its pages.

    Attributes
    ----------
    first : In
        `FirstHalf.half`.
    edge : In(31)
        Edges before it in the list.
    wide : In(1)
        Ids have 8 bytes, not 4.
    page, beat, half : Out
        As in `SAMPLE`. An id of 8 bytes begins with the lower half, as its edge list does.
    """

    def __init__(self, config: SsdConfig) -> None:
        self._page_halves = config.flash.page_bytes // HALF_BYTES
        super().__init__(
            {
                "first": In(half_bits(config)),
                "edge": In(BOUND_BITS),
                "wide": In(1),
                "page": Out(PAGE_BITS),
                "beat": Out(BEAT_BITS),
                "half": Out(1),
            }
        )

    def elaborate(self, _platform: object) -> Module:
        """Build it."""
        m = Module()
        place, in_page = Signal.like(self.first), int(log2(self._page_halves))
        m.d.comb += [
            place.eq(self.first + (self.edge << self.wide)),
            self.page.eq(place >> in_page),
            self.beat.eq(place[1:in_page]),
            self.half.eq(place[0]),
        ]
        return m
