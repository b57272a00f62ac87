"""Claims about the accumulator: no addition is lost, however they come."""

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from testbenches.formal.smaller import COUNT_BITS, CountingLane, elaborated
from testbenches.formal.watch import rigid


class CountedPlace(wiring.Component):
    """An accumulator with additions to any places at any time that the interlock allows; those to one are counted."""

    def __init__(self, accumulator: wiring.Component) -> None:
        self._accumulator = accumulator
        place = len(accumulator.place)
        super().__init__(
            {
                "bank": In(1), "place": In(place), "issue": In(1), "fresh": In(1), "drain_bank": In(1),
                "drain_place": In(place), "read": In(1), "watched_bank": In(1), "watched_place": In(place),
                "lost": Out(1), "forgotten": Out(1),
            }
        )  # fmt: skip

    def elaborate(self, _platform: object) -> Module:
        """Build the claims."""
        m = Module()
        accumulator = self._accumulator
        m.submodules.accumulator, _ = elaborated(accumulator, type(accumulator), Lane=CountingLane)
        bank, place = rigid(m, self.watched_bank, "bank"), rigid(m, self.watched_place, "place")
        issued, count = Signal(), Signal(COUNT_BITS)
        m.d.comb += [
            *(getattr(accumulator, n).eq(getattr(self, n)) for n in ("bank", "place", "fresh")),
            *(getattr(accumulator, n).eq(getattr(self, n)) for n in ("drain_bank", "drain_place")),
            accumulator.issue.eq(self.issue & ~accumulator.hazard),
            accumulator.read.eq(self.read & ~accumulator.busy & ~(accumulator.issue & (self.bank == self.drain_bank))),
            issued.eq(accumulator.issue & (self.bank == bank) & (self.place == place)),
        ]
        with m.If(issued):
            m.d.sync += count.eq(Mux(self.fresh, 0, count) + 1)
        # What was read stays until another read, or until the bank changes or is added to.
        seen, due = Signal(), Signal(COUNT_BITS)
        with m.If(accumulator.read):
            m.d.sync += [seen.eq((self.drain_bank == bank) & (self.drain_place == place)), due.eq(count)]
        with m.Elif((self.drain_bank != bank) | (accumulator.issue & (self.bank == bank))):
            m.d.sync += seen.eq(0)
        drained = accumulator.sums[0][:COUNT_BITS]
        just_read = Signal()
        m.d.sync += just_read.eq(accumulator.read)
        m.d.comb += [
            self.lost.eq(seen & just_read & (self.drain_bank == bank) & (drained != due)),
            self.forgotten.eq(seen & ~just_read & (self.drain_bank == bank) & (drained != due)),
        ]
        return m
