"""The channels with the flash behind them, and a stand-in for the loader."""

from collections.abc import Sequence

from amaranth.hdl import Module
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import Out

from hdl.layout import struct_layout
from hdl.ssd.channels import COUNTS, Channels
from hdl.stream.queue import StreamQueue
from sim.config import SsdConfig
from sim.program.flash import FLASH_COMMAND
from sim.program.ssd_streams import UNIT_BITS
from testbenches.models.flash import FlashDevice


class FlashChannels(wiring.Component):
    """Channels and flash; each page that was handed out as ready is loaded with the next of the channel's wants.

    Parameters
    ----------
    config : SsdConfig
        Times and geometry.
    channels : wiring.Component, optional
        In place of `Channels`, such as one with a planted bug.
    node_bits, words, bad_pages
        As for `FlashDevice`.

    Attributes
    ----------
    placed, ready, beats_<c>
        As of `Channels`.
    wants_<c> : In(stream of `LOADED`)
        For each page of channel c, in the order in which they are ready, what is wanted; the die is the page's own.
    commands_<c> : Out(stream of `FLASH_COMMAND`)
        Commands in their cycles; its sink must always be ready.
    violation, violation_cycle
        As of `FlashDevice`.
    cycles_<name>_<c>, count_pages_<c>, count_beats_<c>
        As of `Channels`.
    """

    def __init__(
        self,
        config: SsdConfig,
        *,
        channels: wiring.Component | None = None,
        node_bits: int = 0,
        words: Sequence[int] = (),
        bad_pages: Sequence[int] = (),
    ) -> None:
        self._config = config
        self._channels = Channels(config) if channels is None else channels
        self._flash = FlashDevice(config, node_bits=node_bits, words=words, bad_pages=bad_pages)
        members, numbers = self._channels.signature.members, range(config.flash.channels)
        super().__init__(
            {
                "placed": members["placed"],
                "ready": members["ready"],
                **{f"wants_{c}": members[f"loaded_{c}"] for c in numbers},
                **{f"beats_{c}": members[f"beats_{c}"] for c in numbers},
                **{f"commands_{c}": Out(stream.Signature(struct_layout(FLASH_COMMAND))) for c in numbers},
                **{f"{name}_{c}": members[f"{name}_{c}"] for c in numbers for name in COUNTS},
                "violation": Out(8),
                "violation_cycle": Out(32),
            }
        )

    def elaborate(self, _platform: object) -> Module:
        """Connect them."""
        m = Module()
        m.submodules.channels = channels = self._channels
        m.submodules.flash = flash = self._flash
        wiring.connect(m, wiring.flipped(self.placed), channels.placed)
        wiring.connect(m, channels.ready, wiring.flipped(self.ready))
        handed = self.ready.valid & self.ready.ready
        m.d.comb += [self.violation.eq(flash.violation), self.violation_cycle.eq(flash.violation_cycle)]
        for c in range(self._config.flash.channels):
            pins, commands = getattr(channels, f"flash_{c}"), getattr(self, f"commands_{c}")
            wiring.connect(m, pins, getattr(flash, f"flash_{c}"))
            wiring.connect(m, getattr(channels, f"beats_{c}"), wiring.flipped(getattr(self, f"beats_{c}")))
            m.d.comb += [commands.valid.eq(pins.command.valid), commands.payload.eq(pins.command)]
            m.d.comb += [getattr(self, f"{name}_{c}").eq(getattr(channels, f"{name}_{c}")) for name in COUNTS]
            m.submodules[f"pages_{c}"] = pages = StreamQueue(UNIT_BITS, 2)
            wants, loaded = getattr(self, f"wants_{c}"), getattr(channels, f"loaded_{c}")
            both = pages.held.valid & wants.valid
            m.d.comb += [
                pages.beats.valid.eq(handed & (self.ready.payload.channel == c)),
                pages.beats.payload.eq(self.ready.payload.unit),
                loaded.valid.eq(both),
                loaded.payload.eq(wants.payload),
                loaded.payload.unit.eq(pages.held.payload),
                pages.held.ready.eq(both & loaded.ready),
                wants.ready.eq(both & loaded.ready),
            ]
        return m
