"""Puts the ids that were found into the window, each at its sample's slot."""

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import ceil_log2

from hdl.large_memory import LargeMemory
from hdl.layout import struct_layout
from hdl.ssd.round_robin import number_of, turn
from hdl.stream.queue import StreamQueue
from sim.config import SsdConfig
from sim.program.counters import COUNTER_BITS
from sim.program.ssd_extract import ID_WORD, MATCH, TWIN
from sim.program.ssd_streams import SLOT_BITS

MATCHES_WAITING = 2
"""Matches that the queue of each source holds."""


class Collector(wiring.Component):
    """Writes an id a cycle: for each match, in turn from all sources, those of all samples that want it.

    A match is taken from its queue in the cycle in which the last id of the one before is written; its first id is
    written in the next cycle, and can be read from the cycle after that on.

    Parameters
    ----------
    config : SsdConfig
        The engine.

    Attributes
    ----------
    matches_<c> : In(stream of `MATCH`)
        Of the matcher of channel c, or, behind the last channel, of the hot reader.
    twin_write, twin_address, twin_data : In
        Writes the `TWIN` of a slot.
    ids_address : In(20)
        Slot to read.
    ids_data : Out(`ID_WORD`)
        What it held, a cycle later.
    clearing, clear_address : In
        Empties a slot.
    count_ids : Out(48)
        Ids written.
    """

    def __init__(self, config: SsdConfig) -> None:
        self._config = config
        super().__init__(
            {
                **{
                    f"matches_{c}": In(stream.Signature(struct_layout(MATCH))) for c in range(config.flash.channels + 1)
                },
                "twin_write": In(1),
                "twin_address": In(SLOT_BITS),
                "twin_data": In(struct_layout(TWIN)),
                "ids_address": In(SLOT_BITS),
                "ids_data": Out(struct_layout(ID_WORD)),
                "clearing": In(1),
                "clear_address": In(20),
                "count_ids": Out(COUNTER_BITS),
            }
        )

    def elaborate(self, _platform: object) -> Module:
        """Build the queues, the choice, and the two memories."""
        m = Module()
        sources, slots = self._config.flash.channels + 1, self._config.window_samples
        slot_bits = ceil_log2(slots)
        m.submodules.twins = twins = LargeMemory(part_bits=struct_layout(TWIN).size, parts=1, depth=slots)
        m.submodules.ids = ids = LargeMemory(part_bits=struct_layout(ID_WORD).size, parts=1, depth=slots)
        queues = []
        for c in range(sources):
            m.submodules[f"matches_{c}"] = queue = StreamQueue(struct_layout(MATCH), MATCHES_WAITING)
            wiring.connect(m, wiring.flipped(getattr(self, f"matches_{c}")), queue.beats)
            queues.append(queue.held)

        match, slot, active = Signal(struct_layout(MATCH), reset_less=True), Signal(slot_bits), Signal()
        twin, takes, last = struct_layout(TWIN)(twins.read_data), Signal(), Signal(range(sources))
        offers, grant, chosen = Signal(sources), Signal(sources), Signal(struct_layout(MATCH))
        m.d.comb += [
            offers.eq(Cat(queue.valid for queue in queues)),
            grant.eq(turn(offers, last)),
            takes.eq(offers.any() & ~(active & twin.more)),
        ]
        for c, queue in enumerate(queues):
            m.d.comb += queue.ready.eq(takes & grant[c])
            with m.If(grant[c]):
                m.d.comb += chosen.eq(queue.payload)
        following = Signal(slot_bits)
        m.d.comb += [
            following.eq(Mux(takes, chosen.slot, twin.next)),
            twins.read.eq(takes | active),
            twins.read_address.eq(following),
            twins.write.eq(self.twin_write),
            twins.write_address.eq(self.twin_address),
            twins.write_data.eq(self.twin_data),
        ]
        m.d.sync += [active.eq(takes | (active & twin.more)), slot.eq(following)]
        with m.If(takes):
            m.d.sync += [match.eq(chosen), last.eq(number_of(grant))]

        written = Signal(struct_layout(ID_WORD))
        low = Mux(twin.half, match.value[32:], match.value[:32])
        m.d.comb += [
            written.value.eq(Mux(match.failed | twin.wide, match.value, low)),
            written.failed.eq(match.failed),
            written.phase.eq(twin.phase),
            ids.write.eq(active | self.clearing),
            ids.write_address.eq(Mux(self.clearing, self.clear_address, slot)),
            ids.write_data.eq(Mux(self.clearing, 0, written)),
            ids.read.eq(1),
            ids.read_address.eq(self.ids_address),
            self.ids_data.eq(ids.read_data),
        ]
        m.d.sync += self.count_ids.eq(self.count_ids + active)
        return m
