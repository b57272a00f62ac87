"""Ids of a hop that are the targets of the next: one bank is written while the other is read."""

from amaranth.hdl import Array, Cat, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from hdl.large_memory import LargeMemory
from hdl.ssd.targets import FRONTIER_BITS
from sim.config import SsdConfig
from sim.program.ssd import NODE_BITS


class Frontier(wiring.Component):
    """Two banks of nodes. Those of a hop beyond a bank's room are dropped.

    Each side goes through the banks by itself: the reader may be done with a command before its last nodes come, which
    are then beyond a bank's room. A bank that is emptied has seen all others of its hop.

    Parameters
    ----------
    config : SsdConfig
        The engine.

    Attributes
    ----------
    found_valid, found_node : In
        A node, for the bank that is written.
    found_end_of_hop : In(1)
        From the next cycle on the other bank is written; also together with the hop's last node.
    found_reset : In(1)
        From the next cycle on bank 0 is written.
    written : Out(24)
        Nodes in the bank that is read; one counts from the cycle after it came.
    read, index : In
        Reads one of them.
    node : Out(48)
        The node, one cycle later and until the next read.
    release : In(1)
        The bank that is read becomes empty, and from the next cycle on the other one is read.
    reset : In(1)
        Both banks become empty, and from the next cycle on bank 0 is read.
    """

    def __init__(self, config: SsdConfig) -> None:
        self._entries = config.frontier_entries
        super().__init__(
            {
                "found_valid": In(1),
                "found_node": In(NODE_BITS),
                "found_end_of_hop": In(1),
                "found_reset": In(1),
                "written": Out(FRONTIER_BITS),
                "read": In(1),
                "index": In(FRONTIER_BITS),
                "node": Out(NODE_BITS),
                "release": In(1),
                "reset": In(1),
            }
        )

    def elaborate(self, _platform: object) -> Module:
        """Build the banks, one behind the other in a memory."""
        m = Module()
        entries = self._entries
        m.submodules.memory = memory = LargeMemory(part_bits=NODE_BITS, parts=1, depth=2 * entries)
        level = Array(Signal(range(entries + 1), name=f"level_{bank}") for bank in range(2))
        write_bank, read_bank = Signal(), Signal()
        place, puts = Signal(range(entries + 1)), Signal()
        m.d.comb += [
            puts.eq(self.found_valid & (place != entries)),
            memory.write.eq(puts),
            memory.write_address.eq(Mux(write_bank, entries, 0) + place),
            memory.write_data.eq(self.found_node),
            memory.read.eq(self.read),
            memory.read_address.eq(Mux(read_bank, entries, 0) + self.index),
            self.node.eq(memory.read_data),
            self.written.eq(level[read_bank]),
        ]
        with m.If(puts):
            m.d.sync += [place.eq(place + 1), level[write_bank].eq(place + 1)]
        with m.If(self.found_end_of_hop):
            m.d.sync += [place.eq(0), write_bank.eq(~write_bank)]
        with m.If(self.found_reset):
            m.d.sync += [place.eq(0), write_bank.eq(0)]
        with m.If(self.release):
            m.d.sync += [level[read_bank].eq(0), read_bank.eq(~read_bank)]
        with m.If(self.reset):
            m.d.sync += [Cat(*level).eq(0), read_bank.eq(0)]
        return m
