"""Claims about the coalescer: each sample is in the list of one page that is asked for, and no page slot is in two."""

from amaranth.hdl import Array, Cat, Module, Mux, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import ceil_log2

from hdl.stream.queue import StreamQueue
from sim.config import SsdConfig
from testbenches.formal.watch import passes, unsteady

PIPELINE = 3
"""Cycles after which a sample that was taken from its queue is in a list."""


class TrackedSample(wiring.Component):
    """Any samples; pages that were asked for are closed in any order, and their lists walked; one sample is followed.

    A slot of the window is free again when its sample was met in a list and all older ones are free.

    Parameters
    ----------
    config : SsdConfig
        The engine.
    coalescer : Coalescer
        What the claims are about.
    claims : tuple of str
        Which of `CLAIMS`.
    """

    CLAIMS = ("given_twice", "crowded", "doubled", "lost", "strange", "unsteady")

    def __init__(self, config: SsdConfig, coalescer: wiring.Component, claims: tuple[str, ...] = CLAIMS) -> None:
        self._config, self._coalescer, self._claims = config, coalescer, claims
        super().__init__(
            {
                "offers": In(1), "place": In(ceil_log2(config.table_entries)), "tag": In(1), "beat": In(1),
                "takes": In(1), "closes": In(1), "which": In(range(config.page_slots)), "walks": In(1),
                "retires": In(1), "follow": In(1), **{name: Out(1) for name in claims},
            }
        )  # fmt: skip

    def elaborate(self, _platform: object) -> Module:
        """Build the claims."""
        m = Module()
        slots, page_slots = self._config.window_samples, self._config.page_slots
        m.submodules.coalescer = unit = self._coalescer
        page, slot_bits = Cat(self.place, self.tag), ceil_log2(slots)
        # What is offered stays.
        waits, held, held_beat = Signal(), Signal(len(page)), Signal()
        offered, offered_beat = Mux(waits, held, page), Mux(waits, held_beat, self.beat)
        m.d.sync += [waits.eq(unit.samples.valid & ~unit.samples.ready), held.eq(offered), held_beat.eq(offered_beat)]
        m.d.comb += [
            unit.samples.valid.eq(self.offers | waits),
            unit.samples.payload.page.eq(offered),
            unit.samples.payload.beat.eq(offered_beat),
            unit.opened.ready.eq(self.takes),
        ]

        # Pages that were asked for and are not closed.
        is_open = Signal(page_slots)
        pages = Array(Signal(len(page), name=f"page_{i}") for i in range(page_slots))
        asked, closing = passes(unit.opened), passes(unit.close)
        opened = unit.opened.payload
        m.submodules.closed = closed = StreamQueue(len(page), 4)
        m.d.comb += [
            unit.close.valid.eq(self.closes & is_open.bit_select(self.which, 1) & closed.beats.ready),
            unit.close.payload.page.eq(pages[self.which]),
            unit.close.payload.page_slot.eq(self.which),
            closed.beats.valid.eq(closing),
            closed.beats.payload.eq(pages[self.which]),
        ]
        opens, shuts = Signal(page_slots), Signal(page_slots)
        slot = opened.page_slot[: ceil_log2(page_slots)]
        m.d.comb += [opens.eq(asked << slot), shuts.eq(closing << self.which)]
        m.d.sync += is_open.eq((is_open & ~shuts) | opens)
        with m.If(asked):
            m.d.sync += pages[slot].eq(opened.page)

        # The walk through the list of a page that was closed.
        walking, at = Signal(), Signal(slot_bits)
        link = unit.links_data
        begins = ~walking & self.walks & unit.heads.valid & closed.held.valid
        m.d.comb += [
            unit.heads.ready.eq(begins),
            closed.held.ready.eq(walking & link.last),
            unit.links_read.eq(begins | (walking & ~link.last)),
            unit.links_address.eq(Mux(walking, link.next, unit.heads.payload)),
        ]
        with m.If(unit.links_read):
            m.d.sync += [walking.eq(1), at.eq(unit.links_address)]
        with m.Elif(walking):
            m.d.sync += walking.eq(0)

        # Samples of the window: those that were met.
        met, meets, oldest = Signal(slots), Signal(slots), Signal(slot_bits)
        entered, before, level = unit.count_samples, Signal(3), Signal(range(2 * slots))
        m.d.sync += before.eq(entered)
        enters = entered[:3] != before
        m.d.comb += [unit.retired.eq(self.retires & met.bit_select(oldest, 1)), meets.eq(walking << at)]
        m.d.sync += [
            met.eq((met | meets) & ~Mux(unit.retired, 1 << oldest, 0)[:slots]),
            oldest.eq(oldest + unit.retired),
            level.eq(level + enters - unit.retired),
        ]

        # The sample that is followed.
        record = data.StructLayout({"page": len(page), "beat": 1, "slot": slot_bits})
        lives, it, number, to_come = Signal(), Signal(record), Signal(slot_bits), Signal(3)
        taken, there = passes(unit.samples), Signal(range(PIPELINE + 1))
        m.d.sync += [number.eq(number + taken), to_come.eq(to_come + taken - enters)]
        ahead = Signal(3)
        is_met = lives & walking & (at == it.slot) & (there == PIPELINE)
        with m.If(taken & self.follow & ~lives):
            m.d.sync += [
                lives.eq(1), it.page.eq(offered), it.beat.eq(offered_beat), it.slot.eq(number), there.eq(0),
                ahead.eq(to_come - enters),
            ]  # fmt: skip
        with m.Elif(lives):
            # It is there a pipeline's length after it was taken from its queue.
            with m.If(enters & (there == 0)):
                m.d.sync += [ahead.eq(ahead - 1), there.eq(ahead == 0)]
            with m.If((there != 0) & (there != PIPELINE)):
                m.d.sync += there.eq(there + 1)
            with m.If(is_met):
                m.d.sync += lives.eq(0)
        asked_for = Cat(is_open[i] & (p == it.page) for i, p in enumerate(pages)).any()
        quiet = ~unit.opened.valid & ~walking & ~closed.held.valid
        found = {
            "given_twice": unit.opened.valid & is_open.bit_select(slot, 1),
            "crowded": level > slots,
            "doubled": (meets & met).any(),
            "lost": lives & (there == PIPELINE) & quiet & ~asked_for,
            "strange": is_met & ((closed.held.payload != it.page) | (link.beat[0] != it.beat)),
            "unsteady": unsteady(m, unit.opened, "opened") | unsteady(m, unit.heads, "heads"),
        }
        m.d.comb += [getattr(self, name).eq(found[name]) for name in self._claims]
        return m
