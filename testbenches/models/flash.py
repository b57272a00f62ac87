"""The flash of an SSD, in simulation only: its times, its rules and its contents."""

from collections.abc import Sequence

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import data, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out
from amaranth.utils import ceil_log2

from hdl.ssd.channel import flash_pins
from sim.config import SsdConfig
from sim.program.ssd_streams import PAGE_BITS
from testbenches.models.flash_rules import FlashRule, broken_rule
from testbenches.models.flash_storage import FlashStorage

TIME_BITS = 32


class FlashBus(wiring.Component):
    """The dies of one channel, on one bus.

    Commands are executed whether or not they break a rule. A read takes the bus for `SsdConfig.command_cycles`; the
    die is ready `SsdConfig.read_cycles` later. A transfer takes it until the last beat was taken: the first beat is
    offered ``column_cycles + beat_cycles`` after the command, each other one `beat_cycles` after the one before was
    taken.

    Parameters
    ----------
    config : SsdConfig
        Times and geometry.
    channel : int
        Number of the channel.
    node_bits, words, bad_pages
        As for `FlashStorage`.

    Attributes
    ----------
    pins : In(`flash_pins`)
        The pins.
    broken : Out(8)
        The `FlashRule` that this cycle's command breaks.
    """

    def __init__(
        self,
        config: SsdConfig,
        channel: int,
        *,
        node_bits: int = 0,
        words: Sequence[int] = (),
        bad_pages: Sequence[int] = (),
    ) -> None:
        self._config, self._channel = config, channel
        self._storage = FlashStorage(
            page_beats=config.flash.page_beats, node_bits=node_bits, words=words, bad_pages=bad_pages
        )
        super().__init__({"pins": In(flash_pins(config)), "broken": Out(8)})

    def elaborate(self, _platform: object) -> Module:
        """Build dies and bus."""
        m = Module()
        config, flash, pins = self._config, self._config.flash, self.pins
        units, command = flash.units, pins.command
        now = Signal(TIME_BITS)
        m.d.sync += now.eq(now + 1)
        reading, ready, moved = Signal(units), Signal(units), Signal(units)
        hold, moves = Signal(TIME_BITS), Signal()
        m.d.comb += [
            pins.ready.eq(ready),
            self.broken.eq(
                broken_rule(flash, command, taken=moves | (hold != 0), idle=~(reading | ready | moved), ready=ready)
            ),
        ]
        reads, begins = command.valid & ~command.transfer, command.valid & command.transfer
        addressed = Signal(units)
        m.d.comb += addressed.eq(1 << command.unit)

        # Dies that read, the oldest first: all take the same time.
        entry = data.StructLayout({"unit": max(1, ceil_log2(units)), "ready_at": TIME_BITS})
        m.submodules.times = times = Memory(shape=entry, depth=max(2, units), init=[])
        put, show = times.write_port(), times.read_port(domain="comb")
        arrives = Signal(units)
        level = Signal(range(2 * units + 1))
        m.d.comb += [
            put.en.eq(reads),
            put.data.unit.eq(command.unit),
            put.data.ready_at.eq(now + (config.command_cycles + config.read_cycles - 1)),
            arrives.eq(Mux((level != 0) & (show.data.ready_at == now), 1 << show.data.unit, 0)),
        ]
        m.d.sync += [
            put.addr.eq(put.addr + reads),
            show.addr.eq(show.addr + arrives.any()),
            level.eq(level + reads - arrives.any()),
            reading.eq((reading | Mux(reads, addressed, 0)) & ~arrives),
            ready.eq((ready | arrives) & ~Mux(begins, addressed, 0)),
        ]

        # A page on its way.
        m.submodules.rows = rows = Memory(shape=PAGE_BITS, depth=max(2, units), init=[])
        note, recall = rows.write_port(), rows.read_port(domain="comb")
        m.submodules.storage = storage = self._storage
        unit = command.unit[: ceil_log2(units)]
        left, passes = Signal(TIME_BITS), Signal()
        m.d.comb += [
            note.en.eq(reads),
            note.addr.eq(unit),
            note.data.eq(command.page),
            recall.addr.eq(unit),
            storage.start.eq(begins),
            storage.page.eq(
                (recall.data << ceil_log2(flash.channels * units)) + (unit << ceil_log2(flash.channels)) + self._channel
            ),
            storage.beat.eq(command.first_sector * flash.sector_beats),
            storage.advance.eq(passes),
            pins.beats.valid.eq(moves & (hold == 0)),
            pins.beats.payload.data.eq(Mux(pins.beats.valid, storage.word, (1 << 64) - 1)),
            pins.beats.payload.bad.eq(storage.bad | ~pins.beats.valid),
            pins.beats.payload.last.eq((left == 1) | ~pins.beats.valid),
            passes.eq(pins.beats.valid & pins.beats.ready),
        ]
        with m.If(hold != 0):
            m.d.sync += hold.eq(hold - 1)
        with m.If(passes):
            m.d.sync += [left.eq(left - 1), hold.eq(Mux(left == 1, 0, config.beat_cycles - 1))]
            with m.If(left == 1):
                m.d.sync += [moves.eq(0), moved.eq(0)]
        with m.If(reads):
            m.d.sync += hold.eq(config.command_cycles - 1)
        with m.If(begins):
            m.d.sync += [
                moves.eq(1),
                moved.eq(addressed),
                hold.eq(config.column_cycles + config.beat_cycles - 1),
                left.eq((command.sectors + 1) * flash.sector_beats),
            ]
        return m


class FlashDevice(wiring.Component):
    """All channels. To compile a design that holds it, wrap it in `FlashDesign`.

    Physical page p lies in channel ``p mod channels``, there in die ``p // channels mod units``. In a compiled run the
    contents are the files of `flash_files`, unless `node_bits` says that they are a formula. Reset once.

    Parameters
    ----------
    config : SsdConfig
        Times and geometry.
    node_bits, words, bad_pages
        As for `FlashStorage`.

    Attributes
    ----------
    flash_<c> : In(`flash_pins`)
        The pins.
    violation : Out(8)
        The first broken `FlashRule`; stays, from the cycle after it was broken. What is moved later means nothing.
    violation_cycle : Out(32)
        The cycle in which it was broken; 0 is the first cycle after reset.
    """

    def __init__(
        self, config: SsdConfig, *, node_bits: int = 0, words: Sequence[int] = (), bad_pages: Sequence[int] = ()
    ) -> None:
        self._buses = [
            FlashBus(config, c, node_bits=node_bits, words=words, bad_pages=bad_pages)
            for c in range(config.flash.channels)
        ]
        super().__init__(
            {
                **{f"flash_{c}": In(flash_pins(config)) for c in range(config.flash.channels)},
                "violation": Out(8),
                "violation_cycle": Out(TIME_BITS),
            }
        )

    def elaborate(self, _platform: object) -> Module:
        """Build the buses."""
        m = Module()
        cycle, broken = Signal(TIME_BITS), Signal(8)
        m.d.sync += cycle.eq(cycle + 1)
        m.d.comb += broken.eq(FlashRule.NONE)
        for c, bus in enumerate(self._buses):
            m.submodules[f"bus_{c}"] = bus
            wiring.connect(m, wiring.flipped(getattr(self, f"flash_{c}")), bus.pins)
        for bus in reversed(self._buses):
            with m.If(bus.broken != FlashRule.NONE):
                m.d.comb += broken.eq(bus.broken)
        with m.If((self.violation == FlashRule.NONE) & (broken != FlashRule.NONE)):
            m.d.sync += [self.violation.eq(broken), self.violation_cycle.eq(cycle)]
        return m
