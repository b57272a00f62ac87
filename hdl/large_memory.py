"""A memory of many words, written out in Verilog by hand.

Amaranth lists the first value of every word: for a bank of 4 MiB that takes minutes and fills 8 MB of Verilog.
"""

from amaranth.hdl import ClockSignal, Instance, Module
from amaranth.lib import data, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from hdl.shared import SharedModules

MODULE = "large_memory"
VERILOG = """
// One read and one write in a cycle; a read does not see the write of its own cycle. In silicon a macro.
module large_memory #(
  parameter WIDTH = 8,
  parameter PARTS = 1,
  parameter DEPTH = 2,
  parameter ADDRESS_BITS = 1
) (
  input clk,
  input read,
  input [ADDRESS_BITS-1:0] read_address,
  output reg [WIDTH*PARTS-1:0] read_data,
  input [PARTS-1:0] write,
  input [ADDRESS_BITS-1:0] write_address,
  input [WIDTH*PARTS-1:0] write_data
);
  reg [WIDTH*PARTS-1:0] words [0:DEPTH-1];
  integer word;
  initial begin
    read_data = {WIDTH*PARTS{1'b0}};
    for (word = 0; word < DEPTH; word = word + 1) words[word] = {WIDTH*PARTS{1'b0}};
  end
  always @(posedge clk) if (read) read_data <= words[read_address];
  genvar part;
  generate
    for (part = 0; part < PARTS; part = part + 1) begin : parts
      always @(posedge clk)
        if (write[part]) words[write_address][part*WIDTH +: WIDTH] <= write_data[part*WIDTH +: WIDTH];
    end
  endgenerate
endmodule
"""


class LargeMemory(wiring.Component):
    """Words in parts that can be written each by itself; all 0 at first, in simulation and on FPGAs.

    Parameters
    ----------
    part_bits : int
        Width of a part.
    parts : int
        Parts of a word.
    depth : int
        Words, at least 2.

    Attributes
    ----------
    read, read_address : In
        Reads a word.
    read_data : Out
        The word, one cycle later and until the next read; without a write of the same cycle.
    write : In
        The parts to write.
    write_address, write_data : In
        Where and what.
    """

    def __init__(self, *, part_bits: int, parts: int, depth: int) -> None:
        self._part_bits, self._parts, self._depth = part_bits, parts, depth
        super().__init__(
            {
                "read": In(1),
                "read_address": In(range(depth)),
                "read_data": Out(part_bits * parts),
                "write": In(parts),
                "write_address": In(range(depth)),
                "write_data": In(part_bits * parts),
            }
        )

    def elaborate(self, platform: object) -> Module | Instance:
        """Build an Amaranth memory, or an instance of the Verilog above where Verilog is written."""
        if isinstance(platform, SharedModules):
            platform.texts[MODULE] = VERILOG
            return Instance(
                MODULE,
                p_WIDTH=self._part_bits,
                p_PARTS=self._parts,
                p_DEPTH=self._depth,
                p_ADDRESS_BITS=len(self.read_address),
                i_clk=ClockSignal(),
                i_read=self.read,
                i_read_address=self.read_address,
                o_read_data=self.read_data,
                i_write=self.write,
                i_write_address=self.write_address,
                i_write_data=self.write_data,
            )
        m = Module()
        m.submodules.memory = memory = Memory(
            shape=data.ArrayLayout(self._part_bits, self._parts), depth=self._depth, init=[]
        )
        read, write = memory.read_port(), memory.write_port(granularity=1)
        m.d.comb += [
            read.en.eq(self.read),
            read.addr.eq(self.read_address),
            self.read_data.eq(read.data),
            write.en.eq(self.write),
            write.addr.eq(self.write_address),
            write.data.eq(self.write_data),
        ]
        return m
