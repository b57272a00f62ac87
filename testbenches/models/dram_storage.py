"""The written bursts of a DRAM channel: memories in Amaranth's simulator, hand-written Verilog in compiled ones.

The Verilog of an Amaranth memory lists the initial value of every word: a minute for some ten thousand bursts.
"""

from pathlib import Path

from amaranth.hdl import ClockSignal, Instance, Module
from amaranth.lib import wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from testbenches.build import Design


class DramStorage(wiring.Component):
    """Bursts with their owners; one write and one read in a cycle, and a read sees the writes of earlier cycles.

    Parameters
    ----------
    width : int
        Bits of a burst.
    place_bits : int
        Bits of a place; there are 2^`place_bits`.
    owner_bits : int
        Bits of an owner; 0 is nobody, and the owner of a place never written.

    Attributes
    ----------
    write : In(1)
        Writes `write_data` and `write_owner` to `write_place`.
    displaced : Out(owner_bits)
        The owner of `write_place` so far, in the same cycle.
    read_place : In(place_bits)
        Place to read.
    read_owner, read_data : Out
        What is there, one cycle later.
    """

    def __init__(self, *, width: int, place_bits: int, owner_bits: int) -> None:
        self._parameters = {"WIDTH": width, "PLACE_BITS": place_bits, "OWNER_BITS": owner_bits}
        super().__init__(
            {
                "write": In(1),
                "write_place": In(place_bits),
                "write_owner": In(owner_bits),
                "write_data": In(width),
                "displaced": Out(owner_bits),
                "read_place": In(place_bits),
                "read_owner": Out(owner_bits),
                "read_data": Out(width),
            }
        )

    def elaborate(self, platform: object) -> Module:
        """Build memories, or an instance where Verilog is written."""
        m = Module()
        if platform is not None:
            ports = {f"p_{name}": value for name, value in self._parameters.items()}
            for path, member, value in self.signature.flatten(self):
                ports[f"{'i' if member.flow is wiring.In else 'o'}_{path[0]}"] = value
            m.submodules.storage = Instance("dram_storage", i_clk=ClockSignal(), **ports)
            return m
        depth = 1 << len(self.write_place)
        m.submodules.owners = owners = Memory(shape=len(self.write_owner), depth=depth, init=[])
        m.submodules.bursts = bursts = Memory(shape=len(self.write_data), depth=depth, init=[])
        displaced = owners.read_port(domain="comb")
        m.d.comb += [displaced.addr.eq(self.write_place), self.displaced.eq(displaced.data)]
        for memory, stored, read in (
            (owners, self.write_owner, self.read_owner),
            (bursts, self.write_data, self.read_data),
        ):
            write_port, read_port = memory.write_port(), memory.read_port()
            m.d.comb += [
                write_port.en.eq(self.write),
                write_port.addr.eq(self.write_place),
                write_port.data.eq(stored),
                read_port.addr.eq(self.read_place),
                read.eq(read_port.data),
            ]
        return m


class DramDesign(Design):
    """A design that holds a `DramDevice`, for `testbenches.bench.run`: its Verilog comes with the storage's."""

    def verilog(self) -> str:
        """Return its Verilog text."""
        return super().verilog() + Path(__file__).with_name("dram_storage.v").read_text()
