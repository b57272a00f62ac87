"""One bank of the Centralized Acceleration Engine's memory."""

from amaranth.hdl import Module
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from hdl.arith.convert import Fp32ToBf16
from hdl.large_memory import LargeMemory
from sim.config import CaeConfig


class Bank(wiring.Component):
    """Beats of bf16 or fp32 elements, with one read and one write in a cycle.

    Parameters
    ----------
    config : CaeConfig
        The engine.
    is_operand : bool
        Whether it holds bf16, rounded once as it is written; else fp32.

    Attributes
    ----------
    read, read_address : In
        Reads a beat.
    read_data : Out
        What was read, by lane, one cycle later: fp32, of which an operand bank gives the high half.
    write, write_address, parts : In
        Writes the parts of a beat that are marked, each as wide as the array has columns. A read sees it from two
        cycles later on.
    write_data : In
        fp32, by lane.
    """

    def __init__(self, config: CaeConfig, *, is_operand: bool) -> None:
        self.config = config
        self._is_operand = is_operand
        self._bits = 16 if is_operand else 32
        # Even one beat has an address of one bit: a net without any is not Verilog.
        self._beats = max(2, config.operand_bank_beats if is_operand else config.vector_bank_beats)
        super().__init__(
            {
                "read": In(1),
                "read_address": In(range(self._beats)),
                "read_data": Out(data.ArrayLayout(self._bits, config.lanes)),
                "write": In(1),
                "write_address": In(range(self._beats)),
                "parts": In(config.lanes // config.columns),
                "write_data": In(data.ArrayLayout(32, config.lanes)),
            }
        )

    def elaborate(self, _platform: object) -> Module:
        """Build the memory behind a register of what is written."""
        m = Module()
        lanes, columns = self.config.lanes, self.config.columns
        m.submodules.memory = memory = LargeMemory(
            part_bits=columns * self._bits, parts=lanes // columns, depth=self._beats
        )
        written = data.View(data.ArrayLayout(self._bits, lanes), memory.write_data)
        m.d.comb += [
            memory.read.eq(self.read),
            memory.read_address.eq(self.read_address),
            self.read_data.eq(memory.read_data),
        ]
        m.d.sync += [
            memory.write.eq(self.parts & self.write.replicate(len(self.parts))),
            memory.write_address.eq(self.write_address),
        ]
        if not self._is_operand:
            m.d.sync += memory.write_data.eq(self.write_data)
            return m
        for lane in range(lanes):
            m.submodules[f"round_{lane}"] = rounder = Fp32ToBf16(latency=1)
            m.d.comb += [rounder.a.eq(self.write_data[lane]), written[lane].eq(rounder.o)]
        return m
