"""The scheduler's window: the requests it chooses from, oldest first."""

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from hdl.layout import struct_layout
from sim.config import DramConfig
from sim.program.memory import DRAM_REQUEST


class RequestWindow(wiring.Component):
    """A queue whose entries all stand open, and of which any one may leave; the others move up.

    Parameters
    ----------
    config : DramConfig
        Its depth.

    Attributes
    ----------
    requests : In(stream of `DRAM_REQUEST`)
        Taken while there is room; in the window from the next cycle on.
    valid : Out
        Which places hold a request; those from 0 on.
    entries : Out
        The requests, oldest first.
    burst : Out
        How many bursts of each were given already.
    head : Out
        Which of them are the oldest of their bank.
    advance : In
        One-hot or 0: this entry moves on by one burst, and leaves if it was its last.
    """

    def __init__(self, config: DramConfig) -> None:
        self.config = config
        layout = struct_layout(DRAM_REQUEST)
        super().__init__(
            {
                "requests": In(stream.Signature(layout)),
                "valid": Out(config.window_requests),
                "entries": Out(data.ArrayLayout(layout, config.window_requests)),
                "burst": Out(data.ArrayLayout(8, config.window_requests)),
                "head": Out(config.window_requests),
                "advance": In(config.window_requests),
            }
        )

    def elaborate(self, _platform: object) -> Module:
        """Build the queue."""
        m = Module()
        depth = self.config.window_requests
        layout = struct_layout(DRAM_REQUEST)
        entries = [Signal(layout, name=f"entry_{i}", reset_less=True) for i in range(depth)]
        bursts = [Signal(8, name=f"burst_{i}", reset_less=True) for i in range(depth)]
        valid = Signal(depth)
        m.d.comb += [self.valid.eq(valid), self.requests.ready.eq(~valid[-1])]

        def bank(entry: data.View) -> Cat:
            return Cat(entry.bank, entry.bank_group, entry.rank)

        leaving = Signal(depth)
        for i, entry in enumerate(entries):
            older = Cat(valid[j] & (bank(entries[j]) == bank(entry)) for j in range(i))
            m.d.comb += [
                self.entries[i].eq(entry),
                self.burst[i].eq(bursts[i]),
                self.head[i].eq(valid[i] & ~older.any()),
                leaving[i].eq(self.advance[i] & (bursts[i] + 1 == entry.bursts)),
            ]

        moved = Signal(depth)  # places whose entry comes from the place behind
        m.d.comb += moved.eq(Cat(leaving[: i + 1].any() for i in range(depth)))
        accept = self.requests.valid & self.requests.ready
        for i in range(depth):
            behind_valid = valid[i + 1] if i + 1 < depth else 0
            stays_valid = Mux(moved[i], behind_valid, valid[i])
            # The new request goes to the first place that is free once the leaving one has gone.
            before_valid = 1 if i == 0 else Mux(moved[i - 1], valid[i], valid[i - 1])
            fills = accept & ~stays_valid & before_valid
            m.d.sync += valid[i].eq(stays_valid | fills)
            with m.If(fills):
                m.d.sync += [entries[i].eq(self.requests.payload), bursts[i].eq(0)]
            with m.Elif(moved[i]):
                if i + 1 < depth:
                    m.d.sync += [entries[i].eq(entries[i + 1]), bursts[i].eq(bursts[i + 1])]
            with m.Elif(self.advance[i]):
                m.d.sync += bursts[i].eq(bursts[i] + 1)
        return m
