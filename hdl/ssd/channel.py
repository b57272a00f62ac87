"""One channel of the flash: what its bus does next, and the beats of the pages that it moves."""

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out
from amaranth.utils import ceil_log2

from hdl.counters import share_out
from hdl.layout import struct_layout
from hdl.ssd.round_robin import lowest, number_of
from hdl.stream.queue import StreamQueue
from sim.config import SsdConfig
from sim.program.counters import COUNTER_BITS
from sim.program.flash import FLASH_COMMAND
from sim.program.ssd_counters import CHANNEL_COUNTERS
from sim.program.ssd_streams import BEAT_BITS, LOADED, PAGE_BEAT, PAGE_BITS, UNIT_BITS

FLASH_BEAT = data.StructLayout({"data": 64, "bad": 1, "last": 1})
"""Eight bytes of a page that is moved; whether the page could not be read; whether they are the last."""

PAGES_AHEAD = 2
"""Pages of a channel that the loader may have: one is moved while what is wanted of the other is found."""


def flash_pins(config: SsdConfig) -> wiring.Signature:
    """Return the pins of one channel, as the controller sees them.

    Parameters
    ----------
    config : SsdConfig
        The engine.

    Returns
    -------
    wiring.Signature
        ``command`` (`FLASH_COMMAND`), ``ready`` (a bit for each die whose register holds a page) and ``beats``, a
        stream of `FLASH_BEAT`.
    """
    return wiring.Signature(
        {
            "command": Out(struct_layout(FLASH_COMMAND)),
            "ready": In(config.flash.units),
            "beats": In(stream.Signature(FLASH_BEAT)),
        }
    )


class Channel(wiring.Component):
    """Gives commands to the dies of one channel and passes their pages on.

    The bus is free from the cycle after a command's time, or after the last beat of a page. In a free cycle it gives
    the command of the page that was fetched, or moves the page that the loader has told of first: which goes first if
    it can do both is the configuration's. A page whose die is ready is offered to the loader in the next cycle, oldest
    first, unless the loader has `PAGES_AHEAD`.

    Parameters
    ----------
    config : SsdConfig
        The engine.

    Attributes
    ----------
    free : Out(dies)
        Dies that have no page.
    room : Out(1)
        A page may be fetched: none is, nor waits for the bus.
    picked, picked_unit : In
        A page is chosen for a die.
    fetched, fetched_unit, fetched_row : In
        A page for the bus: its die and its number there. From the next cycle on it can have the bus.
    wanted : In(1)
        Pages wait for this channel.
    offers, offered_unit : Out
        The die whose page the loader may have.
    takes : In(1)
        It is offered to the loader now.
    loaded : In(stream of `LOADED`)
        What is wanted of a page that the loader had, in order.
    flash : Out(`flash_pins`)
        The flash.
    beats : Out(stream of `PAGE_BEAT`)
        All beats of the sectors that are moved; they hold the bus until they are taken.
    cycles_* : Out(48)
        Counters by the names of `CHANNEL_COUNTERS`; the way of a page from its queue to the bus counts as ``read``.
    count_pages, count_beats : Out(48)
        Pages whose transfer was begun, and beats that were handed over.
    """

    def __init__(self, config: SsdConfig) -> None:
        self._config = config
        units = config.flash.units
        super().__init__(
            {
                "free": Out(units),
                "room": Out(1),
                "picked": In(1),
                "picked_unit": In(UNIT_BITS),
                "fetched": In(1),
                "fetched_unit": In(UNIT_BITS),
                "fetched_row": In(PAGE_BITS),
                "wanted": In(1),
                "offers": Out(1),
                "offered_unit": Out(UNIT_BITS),
                "takes": In(1),
                "loaded": In(stream.Signature(struct_layout(LOADED))),
                "flash": Out(flash_pins(config)),
                "beats": Out(stream.Signature(struct_layout(PAGE_BEAT))),
                **{f"cycles_{name}": Out(COUNTER_BITS) for name in CHANNEL_COUNTERS},
                "count_pages": Out(COUNTER_BITS),
                "count_beats": Out(COUNTER_BITS),
            }
        )

    def elaborate(self, _platform: object) -> Module:
        """Build the bus."""
        m = Module()
        config, units = self._config, self._config.flash.units
        busy, reading = Signal(units), Signal(units)
        fetching, has_command = Signal(), Signal()
        unit, row = Signal(UNIT_BITS, reset_less=True), Signal(PAGE_BITS, reset_less=True)
        hold, moves = Signal(range(max(2, config.command_cycles, config.column_cycles))), Signal()
        m.submodules.queue = queue = StreamQueue(struct_layout(LOADED), PAGES_AHEAD)
        wiring.connect(m, wiring.flipped(self.loaded), queue.beats)
        wanted = queue.held

        # What the bus does.
        bus_free, reads, begins, ends = Signal(), Signal(), Signal(), Signal()
        first_command = config.flash.commands_first
        m.d.comb += [
            bus_free.eq(~moves & (hold == 0)),
            reads.eq(bus_free & has_command & (1 if first_command else ~wanted.valid)),
            begins.eq(bus_free & wanted.valid & (~has_command if first_command else 1)),
            wanted.ready.eq(begins),
        ]
        sector_bits = ceil_log2(config.flash.sector_beats)
        first_sector, last_sector = (wanted.payload[name][sector_bits:] for name in ("first_beat", "last_beat"))
        command = self.flash.command
        m.d.comb += [
            command.valid.eq(reads | begins),
            command.transfer.eq(begins),
            command.unit.eq(Mux(begins, wanted.payload.unit, unit)),
            command.page.eq(row),
            command.first_sector.eq(first_sector),
            command.sectors.eq(last_sector - first_sector),
        ]
        moved_unit, beat = Signal(UNIT_BITS, reset_less=True), Signal(BEAT_BITS, reset_less=True)
        with m.If(hold != 0):
            m.d.sync += hold.eq(hold - 1)
        with m.If(reads):
            m.d.sync += [hold.eq(config.command_cycles - 1), has_command.eq(0)]
        with m.If(begins):
            m.d.sync += [
                hold.eq(config.column_cycles - 1),
                moves.eq(1),
                moved_unit.eq(wanted.payload.unit),
                beat.eq(first_sector << sector_bits),
                self.count_pages.eq(self.count_pages + 1),
            ]
        with m.If(self.picked):
            m.d.sync += fetching.eq(1)
        with m.If(self.fetched):
            m.d.sync += [fetching.eq(0), has_command.eq(1), unit.eq(self.fetched_unit), row.eq(self.fetched_row)]

        # Beats pass through.
        passes = self.beats.valid & self.beats.ready
        m.d.comb += [
            self.beats.valid.eq(self.flash.beats.valid),
            self.beats.payload.data.eq(self.flash.beats.payload.data),
            self.beats.payload.bad.eq(self.flash.beats.payload.bad),
            self.beats.payload.last.eq(self.flash.beats.payload.last),
            self.beats.payload.beat.eq(beat),
            self.flash.beats.ready.eq(self.beats.ready),
            ends.eq(passes & self.flash.beats.payload.last),
        ]
        with m.If(passes):
            m.d.sync += [beat.eq(beat + 1), self.count_beats.eq(self.count_beats + 1)]
        with m.If(ends):
            m.d.sync += moves.eq(0)

        # The dies.
        arrives = Signal(units)
        m.d.comb += [
            arrives.eq(lowest(self.flash.ready & reading)),
            self.free.eq(~busy),
            self.room.eq(~fetching & ~has_command),
        ]
        chosen, done, given = Signal(units), Signal(units), Signal(units)
        m.d.comb += [
            chosen.eq(Mux(self.picked, 1 << self.picked_unit, 0)),
            done.eq(Mux(ends, 1 << moved_unit, 0)),
            given.eq(Mux(reads, 1 << unit, 0)),
        ]
        m.d.sync += [busy.eq((busy | chosen) & ~done), reading.eq((reading | given) & ~arrives)]
        ahead, waits = self._order(m, arrives, ends)
        share_out(
            m,
            {name: getattr(self, f"cycles_{name}") for name in CHANNEL_COUNTERS},
            {
                "command": command.valid | (hold != 0),
                "transfer": moves & ~(self.beats.valid & ~self.beats.ready),
                "paused": moves,
                "load": (ahead != 0) | waits,
                "read": busy.any() | self.wanted,
            },
        )
        return m

    def _order(self, m: Module, arrives: Signal, ends: Signal) -> tuple[Signal, Signal]:
        """Build the queue of the dies that are ready; return how many pages the loader has, and whether one waits."""
        units = self._config.flash.units
        m.submodules.order = order = Memory(shape=UNIT_BITS, depth=max(2, units), init=[])
        put, show = order.write_port(), order.read_port(domain="comb")
        head, tail = Signal(range(max(2, units))), Signal(range(max(2, units)))
        level, ahead, waits = Signal(range(units + 1)), Signal(range(PAGES_AHEAD + 1)), Signal()
        m.d.comb += [
            put.en.eq(arrives.any()),
            put.addr.eq(tail),
            put.data.eq(number_of(arrives)),
            show.addr.eq(head),
            waits.eq(level != 0),
            self.offers.eq(waits & (ahead != PAGES_AHEAD)),
            self.offered_unit.eq(show.data),
        ]
        m.d.sync += [
            tail.eq(tail + arrives.any()),
            head.eq(head + self.takes),
            level.eq(level + arrives.any() - self.takes),
            ahead.eq(ahead + self.takes - ends),
        ]
        return ahead, waits
