"""Configuration of the in-SSD sampling engine and of the flash behind it."""

from math import ceil

from pydantic import Field

from sim.config.base import Config, ConfigError

BEAT_BYTES = 8
"""Bytes of one beat of a flash channel's stream of a page."""


MOST_PAGE_BITS = 40
"""Width of a page's number in the engine."""


def _not_powers_of_two(config: Config, *names: str) -> list[str]:
    return [
        f"{name} is {getattr(config, name)}: it must be a power of two"
        for name in names
        if getattr(config, name) & (getattr(config, name) - 1)
    ]


class FlashConfig(Config):
    """The flash of one SSD: channels, each a bus with ways (chips), dies and planes."""

    channels: int = Field(ge=1, le=32)
    """Channels, each with a bus of its own; a power of two."""
    ways: int = Field(ge=1, le=64)
    """Chips on each channel; a power of two."""
    dies_per_way: int = Field(ge=1, le=8)
    """Dies in each chip; a power of two."""
    planes_per_die: int = Field(ge=1, le=8)
    """Planes of each die. They count for the capacity: a die reads one page at a time."""
    blocks_per_plane: int = Field(ge=1)
    """Erase blocks of a plane."""
    pages_per_block: int = Field(ge=1)
    """Pages of an erase block."""
    page_bytes: int = Field(ge=512, le=16384)
    """Bytes of a page without its spare bytes; a power of two."""
    sector_bytes: int = Field(ge=256, le=16384)
    """A page is moved from its first needed sector to its last; whole, if a sector is a page. A power of two."""
    read_ns: float = Field(gt=0)
    """tR: from the end of a read's command to the page in the die's register."""
    command_ns: float = Field(gt=0)
    """Time on the bus of a read's command and address."""
    column_ns: float = Field(gt=0)
    """Time on the bus from the choice of a die and a column to the first byte."""
    channel_bytes_per_s: int = Field(ge=1)
    """Rate of one channel's bus."""
    concurrent_dies: bool
    """Whether the dies of a chip work at the same time; if not, a chip reads one page at a time."""
    commands_first: bool
    """Whether a bus that is free gives commands before it moves pages; if not, pages go first."""

    @property
    def units(self) -> int:
        """What a channel has that reads one page at a time: its dies, or its chips if their dies take turns."""
        return self.ways * (self.dies_per_way if self.concurrent_dies else 1)

    @property
    def page_beats(self) -> int:
        """Beats of a page."""
        return self.page_bytes // BEAT_BYTES

    @property
    def sector_beats(self) -> int:
        """Beats of a sector."""
        return self.sector_bytes // BEAT_BYTES

    @property
    def pages(self) -> int:
        """Pages of the SSD."""
        dies = self.channels * self.ways * self.dies_per_way
        return dies * self.planes_per_die * self.blocks_per_plane * self.pages_per_block


class SsdConfig(Config):
    """One sampling engine with its flash."""

    clock_hz: int = Field(ge=1)
    """Clock of the engine, in Hz."""
    flash: FlashConfig
    """The flash."""
    window_samples: int = Field(ge=4, le=1 << 20)
    """Samples that may be drawn and not yet packed; pages are shared among them. A power of two."""
    page_slots: int = Field(ge=4, le=1 << 14)
    """Pages that may be waited for and not yet be on their way from the flash."""
    table_entries: int = Field(ge=4, le=1 << 16)
    """Places of the table in which a page that is waited for is found; a power of two."""
    targets_in_flight: int = Field(ge=4, le=1 << 16)
    """Targets whose samples may be drawn and not yet packed."""
    frontier_entries: int = Field(ge=4, le=(1 << 24) - 1)
    """Samples of a hop that can be targets of the next one."""
    max_fanout: int = Field(ge=1, le=64)
    """Largest fan-out, all neighbours aside."""
    commands_in_flight: int = Field(ge=1, le=16)
    """Commands that may be begun and not yet completed."""
    dram_reads_in_flight: int = Field(ge=1, le=64)
    """Reads of the SSD's DRAM under way, of each reader."""
    host_lines_in_flight: int = Field(ge=1, le=64)
    """Lines of targets that may be asked of the host and not yet be used."""
    hot_pages: int = Field(ge=0, le=1 << 24)
    """Pages whose copy the SSD's DRAM holds."""
    draw_latency: int = Field(ge=1, le=20)
    """Pipeline stages of the random number generator, in cycles."""

    def check(self) -> None:
        """Refuse values that do not go together.

        Raises
        ------
        ConfigError
            A size is no power of two, a sector larger than a page, a beat takes no whole number of cycles, or there are
            too many pages.
        """
        flash = self.flash
        sizes = ("channels", "ways", "dies_per_way", "page_bytes", "sector_bytes")
        problems = [f"ssd.flash.{problem}" for problem in _not_powers_of_two(flash, *sizes)]
        problems += [f"ssd.{problem}" for problem in _not_powers_of_two(self, "window_samples", "table_entries")]
        if flash.pages > 1 << MOST_PAGE_BITS:
            problems.append(f"ssd.flash has {flash.pages} pages: there may be 2^{MOST_PAGE_BITS}")
        if flash.sector_bytes > flash.page_bytes:
            problems.append(f"ssd.flash.sector_bytes is {flash.sector_bytes}: a page has only {flash.page_bytes}")
        if self.clock_hz * BEAT_BYTES % flash.channel_bytes_per_s:
            problems.append(
                f"ssd.clock_hz is {self.clock_hz}: a beat of {BEAT_BYTES} bytes at {flash.channel_bytes_per_s} bytes/s "
                "must take a whole number of cycles"
            )
        if problems:
            raise ConfigError(problems)

    def cycles(self, time_ns: float) -> int:
        """Return the whole cycles that a time takes, at least one.

        Parameters
        ----------
        time_ns : float
            Time, in ns.

        Returns
        -------
        int
            Cycles of the engine's clock, rounded up; a millionth of a cycle too much counts as none.
        """
        return max(1, ceil(time_ns * self.clock_hz / 1e9 - 1e-6))

    @property
    def beat_cycles(self) -> int:
        """Cycles from one beat of a page to the next."""
        return self.clock_hz * BEAT_BYTES // self.flash.channel_bytes_per_s

    @property
    def read_cycles(self) -> int:
        """`FlashConfig.read_ns` in cycles."""
        return self.cycles(self.flash.read_ns)

    @property
    def command_cycles(self) -> int:
        """`FlashConfig.command_ns` in cycles."""
        return self.cycles(self.flash.command_ns)

    @property
    def column_cycles(self) -> int:
        """`FlashConfig.column_ns` in cycles."""
        return self.cycles(self.flash.column_ns)
