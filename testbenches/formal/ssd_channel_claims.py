"""Claims about the flash channels: no page is lost in the queues, no die and no bus is ever asked for two things."""

from amaranth.hdl import Array, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from hdl.ssd.channel import PAGES_AHEAD
from sim.config import SsdConfig
from testbenches.formal.watch import passes, rigid


class TrackedPage(wiring.Component):
    """The die queues, with pages for any die in any slot that is free, and dies that take them when they like.

    A slot is followed from a page's entering to its leaving.

    Parameters
    ----------
    config : SsdConfig
        The engine, with one channel of two dies.
    queues : DieQueues
        Its queues.
    claims : tuple of str
        Which of the claims.
    """

    CLAIMS = ("invented", "misplaced", "overtaken", "stuck")

    PATIENCE = 4
    """Cycles within which a page leaves if there is one and all take it."""

    def __init__(self, config: SsdConfig, queues: wiring.Component, claims: tuple[str, ...] = CLAIMS) -> None:
        self._slots, self._queues, self._claims = config.page_slots, queues, claims
        slots = range(config.page_slots)
        super().__init__(
            {
                "offers": In(1), "slot": In(slots), "unit": In(1), "hot": In(1), "free": In(2), "room": In(2),
                "watched": In(slots), **{name: Out(1) for name in claims},
            }
        )  # fmt: skip

    def elaborate(self, _platform: object) -> Module:
        """Build the claims."""
        m = Module()
        m.submodules.queues = queues = self._queues
        watched = rigid(m, self.watched, "watched")
        inside, placed = Signal(self._slots), queues.placed
        # What was chosen is not free, nor its channel, in the next cycle.
        picked, fetched = queues.picked, queues.fetched
        was_picked, was_of = Signal(2), Signal(2)
        m.d.sync += [
            was_picked.eq(Mux(picked.valid, 1 << picked.channel[0], 0)),
            was_of.eq(Mux(picked.valid & (picked.channel == 0), 1 << picked.unit[0], 0)),
        ]
        m.d.comb += [
            placed.valid.eq(self.offers & (self.slot < self._slots) & ~inside.bit_select(self.slot, 1)),
            placed.payload.page_slot.eq(self.slot),
            placed.payload.place.eq(self.unit),
            placed.payload.hot.eq(self.hot),
            queues.free_0.eq(self.free & ~was_of),
            queues.room.eq(self.room & ~was_picked),
        ]
        enters = passes(placed)
        entering = Mux(enters, 1 << self.slot, 0)
        leaving = Mux(fetched.valid, (1 << fetched.page_slot[:4])[: self._slots], 0)
        m.d.sync += inside.eq((inside | entering) & ~leaving)

        # Lists by number: the two dies', the DRAM's.
        new_list = Mux(self.hot, 2, self.unit)
        old_list = Mux(fetched.channel == 1, 2, fetched.unit[:1])
        levels = Array(Signal(range(self._slots + 1), name=f"level_{i}") for i in range(3))
        for i in range(3):
            more, less = enters & (new_list == i), fetched.valid & (old_list == i)
            m.d.sync += levels[i].eq(levels[i] + more - less)
        its_list, ahead = Signal(2), Signal(range(self._slots + 1))
        lives, comes = inside.bit_select(watched, 1), enters & (self.slot == watched)
        mine = fetched.valid & (fetched.page_slot == watched)
        of_list = fetched.valid & (old_list == its_list)
        with m.If(comes):
            m.d.sync += [its_list.eq(new_list), ahead.eq(levels[new_list] - (fetched.valid & (old_list == new_list)))]
        with m.Elif(of_list):
            m.d.sync += ahead.eq(ahead - 1)

        quiet = Signal(range(self.PATIENCE + 1))
        still = (inside != 0) & ~fetched.valid & ~picked.valid & self.free.all() & self.room.all()
        m.d.sync += quiet.eq(Mux(still, quiet + (quiet != self.PATIENCE), 0))
        claims = {
            "invented": fetched.valid & ~inside.bit_select(fetched.page_slot, 1),
            "misplaced": mine & lives & (old_list != its_list),
            "overtaken": lives & of_list & ((ahead == 0) != (fetched.page_slot == watched)),
            "stuck": quiet == self.PATIENCE,
        }
        m.d.comb += [getattr(self, name).eq(claims[name]) for name in self._claims]
        return m


class TrackedBus(wiring.Component):
    """A channel, with pages for it, dies that take any time, a loader in any order, and beats that come as they like.

    Parameters
    ----------
    config : SsdConfig
        The engine.
    channel : Channel
        Its channel.
    claims : tuple of str
        Which of the claims.
    """

    CLAIMS = ("shared", "busy", "unready", "crowded", "twice", "idle", "forgotten")

    def __init__(self, config: SsdConfig, channel: wiring.Component, claims: tuple[str, ...] = CLAIMS) -> None:
        self._config, self._channel, self._claims = config, channel, claims
        units = config.flash.units
        super().__init__(
            {
                "picks": In(1), "unit": In(range(units)), "arrive": In(units), "takes": In(1), "loads": In(1),
                "which": In(range(units)), "comes": In(1), "last": In(1), "ready": In(1),
                **{name: Out(1) for name in claims},
            }
        )  # fmt: skip

    def elaborate(self, _platform: object) -> Module:
        """Build the claims."""
        m = Module()
        m.submodules.channel = channel = self._channel
        config, units = self._config, self._config.flash.units
        command, loaded, beats = channel.flash.command, channel.loaded, channel.flash.beats
        reads, begins = command.valid & ~command.transfer, command.valid & command.transfer

        # A page is chosen for a die that is free, and fetched in the next cycle.
        picks, unit = Signal(), Signal.like(self.unit)
        m.d.comb += picks.eq(self.picks & channel.room & channel.free.bit_select(self.unit, 1))
        m.d.sync += [unit.eq(self.unit), channel.fetched.eq(picks)]
        m.d.comb += [
            channel.picked.eq(picks),
            channel.picked_unit.eq(self.unit),
            channel.fetched_unit.eq(unit),
            channel.takes.eq(self.takes & channel.offers),
        ]

        # The flash: what each die does, and for how long the bus is taken.
        reading, ready, moved, handed = (Signal(units, name=n) for n in ("reading", "holds", "moved", "handed"))
        addressed = Signal(units)
        arrives = Signal(units)
        left, moves = Signal(range(max(config.command_cycles, config.column_cycles) + 1)), Signal()
        ends = passes(beats) & beats.payload.last
        m.d.comb += [
            addressed.eq(1 << command.unit),
            arrives.eq(self.arrive & reading),
            channel.flash.ready.eq(ready),
            beats.valid.eq(moves & (left == 0) & self.comes),
            beats.payload.last.eq(self.last),
            channel.beats.ready.eq(self.ready),
        ]
        m.d.sync += [
            reading.eq((reading | Mux(reads, addressed, 0)) & ~arrives),
            ready.eq((ready | arrives) & ~Mux(begins, addressed, 0)),
            moved.eq((moved | Mux(begins, addressed, 0)) & ~Mux(ends, -1, 0)),
            moves.eq((moves | begins) & ~ends),
            left.eq(
                Mux(
                    command.valid,
                    Mux(begins, config.column_cycles - 1, config.command_cycles - 1),
                    left - (left != 0),
                )
            ),
        ]
        taken = moves | (left != 0)

        # The loader: pages that it has and has not told of, in any order.
        offered = Mux(channel.takes, (1 << channel.offered_unit[:4])[:units], 0)
        told = Mux(passes(loaded), 1 << self.which, 0)
        m.d.comb += [
            loaded.valid.eq(self.loads & handed.bit_select(self.which, 1)),
            loaded.payload.unit.eq(self.which),
        ]
        m.d.sync += handed.eq((handed | offered) & ~told)
        out, waiting = Signal(range(units + 2)), Signal(range(units + 2))
        m.d.sync += [out.eq(out + channel.takes - ends), waiting.eq(waiting + passes(loaded) - begins)]

        # A page on its way to the bus: chosen, and no command yet.
        to_come, since = Signal(), Signal(2)
        m.d.sync += to_come.eq((to_come | picks) & ~reads)
        could = ~taken & ~command.valid & ((waiting != 0) | (to_come & ~channel.fetched))
        m.d.sync += since.eq(Mux(could, since + (since != 3), 0))
        # A page in its die's register, not handed out, while the loader has room.
        shown = Signal(units)
        m.d.sync += shown.eq((shown | offered) & ~Mux(reads, addressed, 0))
        unseen, patience = (ready & ~shown).any() & (out < PAGES_AHEAD) & ~channel.offers, Signal(range(units + 3))
        m.d.sync += patience.eq(Mux(unseen, patience + (patience != units + 2), 0))
        claims = {
            "shared": command.valid & taken,
            "busy": reads & ((reading | ready | moved) & addressed).any(),
            "unready": begins & ~(ready & addressed).any(),
            "crowded": out > PAGES_AHEAD,
            "twice": (offered & (handed | shown)).any() | (channel.offers & ~ready.bit_select(channel.offered_unit, 1)),
            "idle": since == 2,
            "forgotten": patience == units + 1,
        }
        m.d.comb += [getattr(self, name).eq(claims[name]) for name in self._claims]
        return m
