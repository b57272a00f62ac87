"""Refresh of one rank: how many are owed, and whether the rank must turn to them."""

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from sim.config import DramConfig


class RefreshTimer(wiring.Component):
    """Counts refreshes that fall due, one each ``gates.refresh_interval`` cycles, the ranks staggered.

    Parameters
    ----------
    config : DramConfig
        Interval, and how many a busy rank may put off.
    rank : int
        Which rank.

    Attributes
    ----------
    waiting : In(1)
        Some request waits for the rank.
    refresh : In(1)
        A refresh is given in this cycle.
    active : Out(1)
        The rank must be refreshed: it takes no other command until all that is owed is made up.
    """

    waiting: In(1)
    refresh: In(1)
    active: Out(1)

    def __init__(self, config: DramConfig, rank: int) -> None:
        super().__init__()
        self.config = config
        self.rank = rank

    def elaborate(self, _platform: object) -> Module:
        """Build the counters."""
        m = Module()
        interval = self.config.gates.refresh_interval
        first = interval + self.rank * interval // self.config.ranks_per_dimm
        left = Signal(range(2 * interval), init=first - 1)
        owed, sticky = Signal(range(self.config.postponed_refreshes + 3)), Signal()
        falls_due = left == 0
        m.d.sync += [
            left.eq(Mux(falls_due, interval - 1, left - 1)),
            owed.eq(owed + falls_due - self.refresh),
            sticky.eq(self.active & ~(self.refresh & (owed == 1))),
        ]
        m.d.comb += self.active.eq(sticky | (owed > self.config.postponed_refreshes) | ((owed != 0) & ~self.waiting))
        return m
