"""From samples to ids: all units between draws and packer, with stand-ins for flash channels, DRAM and packer."""

from collections.abc import Callable

from amaranth.hdl import Array, Cat, Const, Module, Mux, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import ceil_log2

from hdl.layout import struct_layout
from hdl.ssd.coalesce import Coalescer
from hdl.ssd.collect import Collector
from hdl.ssd.hot import HotReader
from hdl.ssd.loader import Loader
from hdl.ssd.matcher import Matcher
from hdl.ssd.round_robin import number_of, turn
from hdl.ssd.translate import Translate
from hdl.stream.queue import StreamQueue
from sim.config import SsdConfig
from sim.program.layout import Field, Layout
from sim.program.ssd_extract import ID_WORD
from sim.program.ssd_streams import LOADED, OPENED, PAGE_BITS, PLACED, READY, SAMPLE, SLOT_BITS

FACTOR = 0x9E3779B97F4A7C15
"""Word w of all pages holds w times this, modulo 2^64."""

PATTERN = 64
"""Cycles after which a stand-in's pattern begins anew; a bit that is set stalls."""

NO_PAGES = 16
"""In the place of the low four bits of a page's number: none."""

REQUESTS_WAITING = 4
"""Requests that a stand-in of the DRAM takes before it answers."""

PAGES_AHEAD = 2

STALLED = ("map", "hot", "ready", "beats", "opened", "placed", "close", "heads", "loaded", "reads", "matches")
"""What has a pattern: stand-ins, whose patterns hold back what they offer, and streams between units."""

WRITTEN = Layout("Written", (Field(name="number", bits=SLOT_BITS),))
"""An id is written: how many were before it."""

UNITS = {
    "coalescer": Coalescer,
    "translate": Translate,
    "loader": Loader,
    "matcher": Matcher,
    "hot": HotReader,
    "collector": Collector,
}


def word_of(page, beat, page_beats):
    """Return what a page holds at a beat, for RTL values and for arrays of uint64."""
    return (page * page_beats + beat) * FACTOR


class DramStandIn(wiring.Component):
    """Answers requests in order, one in each cycle that the pattern leaves free.

    Parameters
    ----------
    halves : callable
        From the module, the address and the half to its 64 bits.

    Attributes
    ----------
    request, answer : streams
        As of `hdl.ssd.dram_words.DramWords`.
    stalled : In(1)
        No answer in this cycle.
    """

    request: In(stream.Signature(PAGE_BITS))
    answer: Out(stream.Signature(128))
    stalled: In(1)

    def __init__(self, halves: Callable[[Signal, int], Signal]) -> None:
        self._halves = halves
        super().__init__()

    def elaborate(self, _platform: object) -> Module:
        """Build it."""
        m = Module()
        m.submodules.queue = queue = StreamQueue(PAGE_BITS, REQUESTS_WAITING)
        wiring.connect(m, wiring.flipped(self.request), queue.beats)
        m.d.comb += [
            self.answer.valid.eq(queue.held.valid & ~self.stalled),
            queue.held.ready.eq(~self.stalled),
            self.answer.payload.eq(Cat(self._halves(queue.held.payload, half) for half in range(2))),
        ]
        return m


class Extraction(wiring.Component):
    """The units; pages are ready in an order that depends on the cycle, and move beat by beat.

    Parameters
    ----------
    config : SsdConfig
        The engine.
    **units : callable
        What makes a unit of `UNITS` in place of its class, such as one with a planted bug.

    Attributes
    ----------
    samples : In(stream of `SAMPLE`)
        Samples.
    ids : Out(stream of `ID_WORD`)
        Their ids in order; a slot is free when its id is taken.
    map_base : In(40)
        Of the translation.
    hot_low, bad_low : In(5)
        Pages whose number has these low four bits are in the DRAM, or cannot be read on flash.
    stalls_<name> : In(64)
        Patterns by the names of `STALLED`; those of channel c are 16 c cycles ahead.
    saw_opened, saw_placed, saw_ready, saw_close, saw_loaded, saw_written : Out(streams)
        What is handed over between units, in its cycle, and ids in the cycle after they are written; their sinks are
        always ready.
    count_samples, count_opened, count_ids : Out(48)
        Of the units.
    """

    def __init__(self, config: SsdConfig, **units: Callable[[SsdConfig], wiring.Component]) -> None:
        self._config = config
        self._made = UNITS | units
        super().__init__(
            {
                "samples": In(stream.Signature(struct_layout(SAMPLE))),
                "ids": Out(stream.Signature(struct_layout(ID_WORD))),
                "map_base": In(PAGE_BITS),
                **{f"{kind}_low": In(5) for kind in ("hot", "bad")},
                **{f"stalls_{name}": In(PATTERN) for name in STALLED},
                "saw_opened": Out(stream.Signature(struct_layout(OPENED))),
                "saw_placed": Out(stream.Signature(struct_layout(PLACED))),
                "saw_ready": Out(stream.Signature(struct_layout(READY))),
                "saw_close": Out(stream.Signature(struct_layout(OPENED))),
                "saw_loaded": Out(stream.Signature(struct_layout(LOADED))),
                "saw_written": Out(stream.Signature(struct_layout(WRITTEN))),
                **{f"count_{name}": Out(48) for name in ("samples", "opened", "ids")},
            }
        )

    def elaborate(self, _platform: object) -> Module:
        """Connect the units and the stand-ins."""
        m = Module()
        config, channels = self._config, self._config.flash.channels
        now = Signal(32)
        m.d.sync += now.eq(now + 1)
        parts = {name: make(config) for name, make in self._made.items() if name != "matcher"}
        for name, part in parts.items():
            m.submodules[name] = part
        coalescer, translate, loader = (parts[name] for name in ("coalescer", "translate", "loader"))
        hot, collector = parts["hot"], parts["collector"]
        wiring.connect(m, wiring.flipped(self.samples), coalescer.samples)
        self._gate(m, now, "opened", coalescer.opened, translate.opened)
        self._gate(m, now, "heads", coalescer.heads, loader.heads)
        self._gate(m, now, "close", loader.close, coalescer.close)
        self._gate(m, now, "reads", loader.hot, hot.reads)
        self._gate(m, now, "matches", hot.matches, getattr(collector, f"matches_{channels}"), channels)
        m.d.comb += [
            coalescer.links_read.eq(loader.links_read),
            coalescer.links_address.eq(loader.links_address),
            loader.links_data.eq(coalescer.links_data),
            collector.twin_write.eq(loader.twin_write),
            collector.twin_address.eq(loader.twin_address),
            collector.twin_data.eq(loader.twin_data),
            translate.map_base.eq(self.map_base),
            self.count_samples.eq(coalescer.count_samples),
            self.count_opened.eq(coalescer.count_opened),
            self.count_ids.eq(collector.count_ids),
        ]
        self._packer(m, collector, coalescer)
        beats = config.flash.page_beats

        def entry(address, half):
            page = Cat(Const(half, 1), (address - self.map_base)[: PAGE_BITS - 1])
            copy = Cat((page * (beats // 2))[:PAGE_BITS], Const(0, 63 - PAGE_BITS), Const(1, 1))
            return Mux(page[:4] == self.hot_low, copy, Cat(page, Const(0, 24)))

        for name, halves, unit, request, answer in (
            ("map", entry, translate, "map_request", "map_data"),
            ("hot", lambda address, half: word_of(address, half, 2)[:64], hot, "request", "answer"),
        ):
            m.submodules[f"dram_{name}"] = dram = DramStandIn(halves)
            wiring.connect(m, getattr(unit, request), dram.request)
            wiring.connect(m, dram.answer, getattr(unit, answer))
            m.d.comb += dram.stalled.eq(self._stalled(name, now))
        self._flash(m, now, translate, loader, collector)
        ports = {"opened": coalescer.opened, "placed": translate.placed, "ready": loader.ready, "close": loader.close}
        for name, port in ports.items():
            saw = getattr(self, f"saw_{name}")
            m.d.comb += [saw.valid.eq(port.valid & port.ready), saw.payload.eq(port.payload)]
        return m

    def _stalled(self, name: str, now: Signal, channel: int = 0):
        return getattr(self, f"stalls_{name}").bit_select((now + 16 * channel)[:6], 1)

    def _gate(self, m: Module, now: Signal, name: str, given, taken, channel: int = 0) -> None:
        """Connect two streams but in the cycles of a pattern; who gives sees ready only where it offers something."""
        free = ~self._stalled(name, now, channel)
        m.d.comb += [
            taken.valid.eq(given.valid & free),
            taken.payload.eq(given.payload),
            given.ready.eq(given.valid & taken.ready & free),
        ]

    def _packer(self, m: Module, collector: wiring.Component, coalescer: wiring.Component) -> None:
        """Build what reads the ids in order."""
        number, fresh, word = Signal(ceil_log2(self._config.window_samples) + 1), Signal(), collector.ids_data
        taken = Signal()
        m.d.comb += [
            collector.ids_address.eq(number[:-1]),
            self.ids.valid.eq(fresh & (word.phase == ~number[-1])),
            self.ids.payload.eq(word),
            taken.eq(self.ids.valid & self.ids.ready),
            coalescer.retired.eq(taken),
        ]
        m.d.sync += [fresh.eq(~taken), number.eq(number + taken)]
        counted = Signal(48)
        m.d.sync += counted.eq(collector.count_ids)
        m.d.comb += [self.saw_written.valid.eq(collector.count_ids != counted), self.saw_written.payload.eq(counted)]

    def _flash(self, m: Module, now: Signal, translate, loader, collector) -> None:
        """Build the pages that wait, the choice of the next, and the channels."""
        config, channels = self._config, self._config.flash.channels
        slots, beats, units = config.page_slots, config.flash.page_beats, config.flash.units
        channel_bits, unit_bits = ceil_log2(channels), ceil_log2(units)
        m.submodules.placed = placed = StreamQueue(struct_layout(PLACED), 2)
        self._gate(m, now, "placed", translate.placed, placed.beats)
        waits = Signal(slots)
        pages = Array(Signal(struct_layout(PLACED), name=f"waiting_{i}", reset_less=True) for i in range(slots))
        m.d.comb += placed.held.ready.eq(1)
        with m.If(placed.held.valid):
            m.d.sync += pages[placed.held.payload.page_slot].eq(placed.held.payload)
        ahead = [Signal(range(PAGES_AHEAD + 1), name=f"ahead_{c}") for c in range(channels)]
        room = Array(a != PAGES_AHEAD for a in ahead)
        may, grant, chosen = Signal(slots), Signal(slots), Signal(struct_layout(PLACED))
        offered, told = Signal(), Signal(struct_layout(READY), reset_less=True)
        picks = Signal()
        turn_bits = slots.bit_length() - 1
        m.d.comb += [
            may.eq(Cat(waits[i] & (p.hot | room[p.place[:channel_bits]]) for i, p in enumerate(pages))),
            picks.eq(~offered & may.any() & ~self._stalled("ready", now)),
            grant.eq(Mux(picks, turn(may, now[:turn_bits]), 0)),
            chosen.eq(pages[number_of(grant)]),
            loader.ready.valid.eq(offered),
            loader.ready.payload.eq(told),
        ]
        comes = Signal(slots)
        m.d.comb += comes.eq(placed.held.valid << placed.held.payload.page_slot[: (slots - 1).bit_length()])
        m.d.sync += waits.eq((waits & ~grant) | comes)
        with m.If(picks):
            m.d.sync += [
                offered.eq(1),
                told.page.eq(chosen.page),
                told.page_slot.eq(chosen.page_slot),
                told.place.eq(chosen.place),
                told.channel.eq(Mux(chosen.hot, channels, chosen.place[:channel_bits])),
                told.unit.eq(chosen.place[channel_bits:][:unit_bits]),
            ]
        with m.Elif(loader.ready.ready):
            m.d.sync += offered.eq(0)
        for c in range(channels):
            m.submodules[f"loaded_{c}"] = loaded = StreamQueue(struct_layout(LOADED), PAGES_AHEAD)
            m.submodules[f"pages_{c}"] = numbers = StreamQueue(PAGE_BITS, PAGES_AHEAD)
            m.submodules[f"matcher_{c}"] = matcher = self._made["matcher"](config)
            self._gate(m, now, "loaded", getattr(loader, f"loaded_{c}"), loaded.beats, c)
            wiring.connect(m, getattr(loader, f"load_{c}"), matcher.load)
            self._gate(m, now, "matches", matcher.matches, getattr(collector, f"matches_{c}"), c)
            port = getattr(loader, f"loaded_{c}")
            with m.If(port.valid & port.ready):
                m.d.comb += [self.saw_loaded.valid.eq(1), self.saw_loaded.payload.eq(port.payload)]
            moves, beat, last, over = Signal(), Signal(12), Signal(12), Signal()
            mine = picks & ~chosen.hot & (chosen.place[:channel_bits] == c)
            out = matcher.beats.payload
            sector = config.flash.sector_beats - 1
            m.d.comb += [
                numbers.beats.valid.eq(mine),
                numbers.beats.payload.eq(chosen.page),
                numbers.held.ready.eq(over),
                loaded.held.ready.eq(~moves),
                matcher.beats.valid.eq(moves & ~self._stalled("beats", now, c)),
                out.beat.eq(beat),
                out.last.eq(beat == last),
                out.bad.eq(numbers.held.payload[:4] == self.bad_low),
                out.data.eq(word_of(numbers.held.payload, beat, beats)),
                over.eq(matcher.beats.valid & matcher.beats.ready & out.last),
            ]
            m.d.sync += ahead[c].eq(ahead[c] + mine - over)
            with m.If(loaded.held.valid & ~moves):
                m.d.sync += [
                    moves.eq(1),
                    beat.eq(loaded.held.payload.first_beat & ~sector),
                    last.eq(loaded.held.payload.last_beat | sector),
                ]
            with m.Elif(matcher.beats.valid & matcher.beats.ready):
                m.d.sync += [beat.eq(beat + 1), moves.eq(~out.last)]
