"""Pages that wait for their dies: a queue for each die, in order of arrival."""

from amaranth.hdl import Cat, Const, Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out
from amaranth.utils import ceil_log2

from hdl.large_memory import LargeMemory
from hdl.layout import struct_layout
from hdl.ssd.round_robin import number_of, turn
from hdl.stream.queue import StreamQueue
from sim.config import SsdConfig
from sim.program.ssd_streams import CHANNEL_BITS, PAGE_BITS, PAGE_SLOT_BITS, PLACED, UNIT_BITS

PICKED = data.StructLayout({"valid": 1, "channel": CHANNEL_BITS, "unit": UNIT_BITS})
"""A page has been chosen; what it is comes a cycle later."""

FETCHED = data.StructLayout(
    {
        "valid": 1,
        "channel": CHANNEL_BITS,
        "unit": UNIT_BITS,
        "page_slot": PAGE_SLOT_BITS,
        "page": PAGE_BITS,
        "place": PAGE_BITS,
    }
)
"""A page that leaves its queue, with what `PLACED` told of it."""


class DieQueues(wiring.Component):
    """Keeps pages by channel and die as linked lists over their slots; pages of the DRAM in one more list.

    A cycle takes a page in, but not one in which the list behind a page that leaves is moved up; and it chooses one
    page to leave: round robin over the channels that have room for one, and the DRAM, and in a channel over the dies
    that are free.

    Parameters
    ----------
    config : SsdConfig
        The engine.

    Attributes
    ----------
    placed : In(stream of `PLACED`)
        Pages; no slot comes again before its page has left.
    free_<c> : In(dies)
        Dies of channel c that take a page.
    room : In(channels + 1)
        Who takes a page; the last bit is the DRAM. What is chosen in a cycle must be told by it in the next one.
    picked : Out(`PICKED`)
        The choice of this cycle.
    fetched : Out(`FETCHED`)
        The page of the last cycle's choice.
    waiting_<c> : Out(dies)
        Dies of channel c with pages that wait.
    """

    def __init__(self, config: SsdConfig) -> None:
        self._config = config
        channels, units = config.flash.channels, config.flash.units
        super().__init__(
            {
                "placed": In(stream.Signature(struct_layout(PLACED))),
                **{f"free_{c}": In(units) for c in range(channels)},
                "room": In(channels + 1),
                "picked": Out(PICKED),
                "fetched": Out(FETCHED),
                **{f"waiting_{c}": Out(units) for c in range(channels)},
            }
        )

    def elaborate(self, _platform: object) -> Module:
        """Build the lists."""
        m = Module()
        channels, units, slots = self._config.flash.channels, self._config.flash.units, self._config.page_slots
        channel_bits, unit_bits = ceil_log2(channels), ceil_log2(units)
        lists = channels * units + 1
        waiting = [Signal(units, name=f"waits_{c}") for c in range(channels)] + [Signal(1, name="waits_dram")]
        m.d.comb += [getattr(self, f"waiting_{c}").eq(waiting[c]) for c in range(channels)]

        m.submodules.queue = queue = StreamQueue(struct_layout(PLACED), 2)
        wiring.connect(m, wiring.flipped(self.placed), queue.beats)
        m.submodules.heads = heads = Memory(shape=range(slots), depth=lists, init=[])
        m.submodules.tails = tails = Memory(shape=range(slots), depth=lists, init=[])
        head, tail, other_tail = (memory.read_port(domain="comb") for memory in (heads, tails, tails))
        new_head, new_tail = heads.write_port(), tails.write_port()
        m.submodules.following = following = LargeMemory(part_bits=ceil_log2(slots), parts=1, depth=slots)
        m.submodules.pages = pages = LargeMemory(part_bits=2 * PAGE_BITS, parts=1, depth=slots)

        # A page is chosen; its slot is the head of its list.
        wants, chosen_units = Signal(channels + 1), []
        for c in range(channels):
            last = Signal(range(max(2, units)), name=f"last_unit_{c}")
            chosen = Signal(units, name=f"chosen_{c}")
            number = Signal(UNIT_BITS, name=f"unit_{c}")
            m.d.comb += [
                chosen.eq(turn(waiting[c] & getattr(self, f"free_{c}"), last)),
                number.eq(number_of(chosen)),
                wants[c].eq(self.room[c] & chosen.any()),
            ]
            with m.If(self.picked.valid & (self.picked.channel == c)):
                m.d.sync += last.eq(number)
            chosen_units.append((chosen, number))
        m.d.comb += wants[channels].eq(self.room[channels] & waiting[channels])
        last_channel, grant = Signal(range(channels + 1)), Signal(channels + 1)
        m.d.comb += [
            grant.eq(turn(wants, last_channel)),
            self.picked.valid.eq(wants.any()),
            self.picked.channel.eq(number_of(grant)),
        ]
        for c, (_, number) in enumerate(chosen_units):
            with m.If(grant[c]):
                m.d.comb += self.picked.unit.eq(number)
        with m.If(self.picked.valid):
            m.d.sync += last_channel.eq(self.picked.channel)
        picked_list = Cat(self.picked.unit[:unit_bits], self.picked.channel[: channel_bits + 1])
        leaves_none = Signal()
        m.d.comb += [
            head.addr.eq(picked_list),
            other_tail.addr.eq(picked_list),
            leaves_none.eq(head.data == other_tail.data),
            following.read.eq(self.picked.valid),
            following.read_address.eq(head.data),
            pages.read.eq(self.picked.valid),
            pages.read_address.eq(head.data),
        ]

        # A cycle later the page is here, and the one behind it.
        moves_up, fetched_list, fetched_slot = Signal(), Signal(range(lists)), Signal(range(slots))
        m.d.sync += [
            self.fetched.valid.eq(self.picked.valid),
            self.fetched.channel.eq(self.picked.channel),
            self.fetched.unit.eq(self.picked.unit),
            fetched_slot.eq(head.data),
            fetched_list.eq(picked_list),
            moves_up.eq(self.picked.valid & ~leaves_none),
        ]
        m.d.comb += [
            self.fetched.page_slot.eq(fetched_slot),
            self.fetched.page.eq(pages.read_data[:PAGE_BITS]),
            self.fetched.place.eq(pages.read_data[PAGE_BITS:]),
        ]

        # A page comes in.
        new, takes = queue.held.payload, Signal()
        new_list, alone = Signal(range(lists)), Signal()
        m.d.comb += [
            takes.eq(queue.held.valid & ~moves_up),
            queue.held.ready.eq(~moves_up),
            new_list.eq(
                Mux(new.hot, channels * units, Cat(new.place[channel_bits:][:unit_bits], new.place[:channel_bits]))
            ),
            tail.addr.eq(new_list),
            following.write.eq(takes & ~alone),
            following.write_address.eq(tail.data),
            following.write_data.eq(new.page_slot),
            pages.write.eq(takes),
            pages.write_address.eq(new.page_slot),
            pages.write_data.eq(Cat(new.page, new.place)),
            new_tail.en.eq(takes),
            new_tail.addr.eq(new_list),
            new_tail.data.eq(new.page_slot),
            new_head.en.eq(moves_up | (takes & alone)),
            new_head.addr.eq(Mux(moves_up, fetched_list, new_list)),
            new_head.data.eq(Mux(moves_up, following.read_data, new.page_slot)),
        ]
        joins = Signal(channels + 1)
        for number, bits in enumerate(waiting):
            here = new.hot if number == channels else ~new.hot & (new.place[:channel_bits] == number)
            unit = new.place[channel_bits:][:unit_bits] if number < channels else Const(0, 1)
            loses, gains = Signal.like(bits, name=f"loses_{number}"), Signal.like(bits, name=f"gains_{number}")
            leaves = self.picked.valid & leaves_none & (self.picked.channel == number)
            m.d.comb += [
                loses.eq(Mux(leaves, 1 << self.picked.unit[:unit_bits], 0)),
                gains.eq(Mux(takes & here, 1 << unit, 0)),
                joins[number].eq(here & (bits & ~loses).bit_select(unit, 1)),
            ]
            m.d.sync += bits.eq((bits & ~loses) | gains)
        m.d.comb += alone.eq(~joins.any())
        return m
