"""All channels of the flash: pages that are wanted go out to their dies, pages that are ready to the loader."""

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import ceil_log2

from hdl.large_memory import LargeMemory
from hdl.layout import struct_layout
from hdl.ssd.channel import Channel, flash_pins
from hdl.ssd.die_queues import DieQueues
from hdl.ssd.round_robin import number_of, turn
from sim.config import SsdConfig
from sim.program.counters import COUNTER_BITS
from sim.program.ssd_counters import CHANNEL_COUNTERS
from sim.program.ssd_streams import (
    CHANNEL_BITS,
    LOADED,
    PAGE_BEAT,
    PAGE_BITS,
    PAGE_SLOT_BITS,
    PLACED,
    READY,
    UNIT_BITS,
)

COUNTS = (*(f"cycles_{name}" for name in CHANNEL_COUNTERS), "count_pages", "count_beats")
"""Counters of each channel."""


class Channels(wiring.Component):
    """Reads pages, each die one at a time, and moves them over the channels.

    Pages of a die are read in the order in which they came, those of a channel's dies in turn, as each die gets free.
    They go to the loader in the order in which their dies are ready. A page of the DRAM goes there at once.

    Parameters
    ----------
    config : SsdConfig
        The engine.

    Attributes
    ----------
    placed : In(stream of `PLACED`)
        Pages that are wanted.
    ready : Out(stream of `READY`)
        Pages that can be moved, and those of the DRAM.
    loaded_<c> : In(stream of `LOADED`)
        What is wanted of a page of channel c.
    flash_<c> : Out(`flash_pins`)
        The flash.
    beats_<c> : Out(stream of `PAGE_BEAT`)
        Pages on their way.
    cycles_<name>_<c>, count_pages_<c>, count_beats_<c> : Out(48)
        Counters of `Channel`.
    """

    def __init__(self, config: SsdConfig) -> None:
        self._config = config
        channels = range(config.flash.channels)
        super().__init__(
            {
                "placed": In(stream.Signature(struct_layout(PLACED))),
                "ready": Out(stream.Signature(struct_layout(READY))),
                **{f"loaded_{c}": In(stream.Signature(struct_layout(LOADED))) for c in channels},
                **{f"flash_{c}": Out(flash_pins(config)) for c in channels},
                **{f"beats_{c}": Out(stream.Signature(struct_layout(PAGE_BEAT))) for c in channels},
                **{f"{name}_{c}": Out(COUNTER_BITS) for c in channels for name in COUNTS},
            }
        )

    def elaborate(self, _platform: object) -> Module:
        """Build queues, channels, and what hands ready pages to the loader."""
        m = Module()
        channels, units = self._config.flash.channels, self._config.flash.units
        unit_bits, list_bits = ceil_log2(units), ceil_log2(channels * units)
        m.submodules.queues = queues = DieQueues(self._config)
        wiring.connect(m, wiring.flipped(self.placed), queues.placed)
        picked, fetched = queues.picked, queues.fetched
        parts = []
        for c in range(channels):
            m.submodules[f"channel_{c}"] = part = Channel(self._config)
            parts.append(part)
            wiring.connect(m, wiring.flipped(getattr(self, f"loaded_{c}")), part.loaded)
            wiring.connect(m, part.flash, wiring.flipped(getattr(self, f"flash_{c}")))
            wiring.connect(m, part.beats, wiring.flipped(getattr(self, f"beats_{c}")))
            m.d.comb += [
                getattr(queues, f"free_{c}").eq(part.free),
                queues.room[c].eq(part.room),
                part.picked.eq(picked.valid & (picked.channel == c)),
                part.picked_unit.eq(picked.unit),
                part.fetched.eq(fetched.valid & (fetched.channel == c)),
                part.fetched_unit.eq(fetched.unit),
                part.fetched_row.eq(fetched.place[list_bits:]),
                part.wanted.eq(getattr(queues, f"waiting_{c}").any()),
                *(getattr(self, f"{name}_{c}").eq(getattr(part, name)) for name in COUNTS),
            ]

        # A page of the DRAM is ready as soon as it is here.
        dram_fetching, dram_ready, dram_place = Signal(), Signal(), Signal(PAGE_BITS, reset_less=True)
        dram_fetched = fetched.valid & (fetched.channel == channels)
        m.d.comb += queues.room[channels].eq(~dram_fetching & ~dram_ready)
        m.d.sync += dram_fetching.eq(picked.valid & (picked.channel == channels))
        with m.If(dram_fetched):
            m.d.sync += [dram_ready.eq(1), dram_place.eq(fetched.place)]

        # What is told of a ready page stands by its die.
        m.submodules.pages = pages = LargeMemory(
            part_bits=PAGE_BITS + PAGE_SLOT_BITS, parts=1, depth=channels * units + 1
        )

        def number(channel, unit):
            return Cat(unit[:unit_bits], channel)[: list_bits + 1]

        offers, grant, last = Signal(channels + 1), Signal(channels + 1), Signal(range(channels + 1))
        valid, takes, channel, unit = Signal(), Signal(), Signal(CHANNEL_BITS), Signal(UNIT_BITS)
        m.d.comb += [
            offers.eq(Cat(*(part.offers for part in parts), dram_ready)),
            takes.eq(~valid | self.ready.ready),
            grant.eq(Mux(takes, turn(offers, last), 0)),
            channel.eq(number_of(grant)),
            *(part.takes.eq(grant[c]) for c, part in enumerate(parts)),
            pages.write.eq(fetched.valid),
            pages.write_address.eq(number(fetched.channel, fetched.unit)),
            pages.write_data.eq(Cat(fetched.page, fetched.page_slot)),
            pages.read.eq(grant.any()),
            pages.read_address.eq(number(channel, unit)),
        ]
        for c, part in enumerate(parts):
            with m.If(grant[c]):
                m.d.comb += unit.eq(part.offered_unit)
        told = self.ready.payload
        m.d.comb += [
            self.ready.valid.eq(valid),
            told.page.eq(pages.read_data[:PAGE_BITS]),
            told.page_slot.eq(pages.read_data[PAGE_BITS:]),
        ]
        with m.If(grant.any()):
            m.d.sync += [
                valid.eq(1),
                last.eq(channel),
                told.channel.eq(channel),
                told.unit.eq(unit),
                told.place.eq(Mux(grant[channels], dram_place, 0)),
            ]
        with m.Elif(self.ready.ready):
            m.d.sync += valid.eq(0)
        with m.If(grant[channels]):
            m.d.sync += dram_ready.eq(0)
        return m
