"""Readers that each wait for their page before they ask for the next: a fixed number of pages under way."""

from amaranth.hdl import Module, Signal
from amaranth.lib import wiring

from hdl.delay import delayed
from sim.config import SsdConfig
from testbenches.ssd.flash_channels import FlashChannels


class ClosedLoop(wiring.Component):
    """`FlashChannels` that take a page only while fewer than so many are under way.

    Parameters
    ----------
    config : SsdConfig
        Times and geometry.
    depth : int
        Pages under way at most.
    host_cycles : int
        From the last beat of a page to the first cycle in which another one may be taken in its place, at least 1.
    node_bits : int
        As for `FlashDevice`.

    Attributes
    ----------
    *
        As of `FlashChannels`.
    """

    def __init__(self, config: SsdConfig, *, depth: int, host_cycles: int, node_bits: int = 0) -> None:
        self._depth, self._host_cycles, self._numbers = depth, host_cycles, range(config.flash.channels)
        self._channels = FlashChannels(config, node_bits=node_bits)
        super().__init__(self._channels.signature)

    def elaborate(self, _platform: object) -> Module:
        """Count the pages."""
        m = Module()
        m.submodules.channels = channels = self._channels
        for name, member in self.signature.members.items():
            if name == "placed":
                continue
            mine, inner = getattr(self, name), getattr(channels, name)
            if member.is_port:
                m.d.comb += mine.eq(inner)
            elif member.flow == wiring.In:
                wiring.connect(m, wiring.flipped(mine), inner)
            else:
                wiring.connect(m, inner, wiring.flipped(mine))
        free = Signal(range(self._depth + 1), init=self._depth)
        beats = [getattr(self, f"beats_{c}") for c in self._numbers]
        ends = Signal(range(len(beats) + 1))
        m.d.comb += [
            ends.eq(sum(beat.valid & beat.ready & beat.payload.last for beat in beats)),
            channels.placed.payload.eq(self.placed.payload),
            channels.placed.valid.eq(self.placed.valid & (free != 0)),
            self.placed.ready.eq(channels.placed.ready & (free != 0)),
        ]
        returned = delayed(m, ends, self._host_cycles - 1, name="ends", reset_less=False)[-1]
        m.d.sync += free.eq(free + returned - (self.placed.valid & self.placed.ready))
        return m
