"""Addresses of an operand's beats, in the order of the read."""

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out


class BeatWalk(wiring.Component):
    """Walks over groups of rows; in a group over beats; of each beat over the group's rows.

    Parameters
    ----------
    bits : int
        Width of an address.

    Attributes
    ----------
    start, first_address : In
        Goes to the first row's first beat.
    row_step, beat_step : In
        Distance from one row to the next, and from one beat to the next; held from the cycle after `start`.
    step : In(1)
        Goes on.
    next_beat, next_group : In(1)
        With `step`: to the next beat of the group's first row; to the next group. Else to the next row.
    address : Out
        Where it is.
    """

    def __init__(self, bits: int) -> None:
        super().__init__(
            {
                "start": In(1),
                "first_address": In(bits),
                "row_step": In(bits),
                "beat_step": In(1),
                "step": In(1),
                "next_beat": In(1),
                "next_group": In(1),
                "address": Out(bits),
            }
        )

    def elaborate(self, _platform: object) -> Module:
        """Build the walk."""
        m = Module()
        bits = len(self.address)
        first_row, after, next_row, beat, group = (
            Signal(bits, name=name) for name in ("first_row", "after", "next_row", "beat", "group")
        )
        first_beat = Signal()
        m.d.comb += [
            next_row.eq(self.address + self.row_step),
            beat.eq(first_row + self.beat_step),
            # The row after the group's last one, as the walk over its first beat found it.
            group.eq(Mux(first_beat, next_row, after)),
        ]
        with m.If(self.step):
            with m.If(first_beat):
                m.d.sync += after.eq(next_row)
            with m.If(self.next_group):
                m.d.sync += [self.address.eq(group), first_row.eq(group), first_beat.eq(1)]
            with m.Elif(self.next_beat):
                m.d.sync += [self.address.eq(beat), first_row.eq(beat), first_beat.eq(0)]
            with m.Else():
                m.d.sync += self.address.eq(next_row)
        with m.If(self.start):
            m.d.sync += [self.address.eq(self.first_address), first_row.eq(self.first_address), first_beat.eq(1)]
        return m
