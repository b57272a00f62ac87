"""From pages to ids: records between the loader, the matchers and the collector of the sampling engine."""

from sim.program.layout import Field, Layout
from sim.program.ssd_streams import BEAT_BITS, PAGE_BITS, PAGE_SLOT_BITS, SLOT_BITS

LINK = Layout(
    "Link",
    (
        Field(name="beat", bits=BEAT_BITS, meaning="beat of the page"),
        Field(name="half", bits=1, meaning="ids of 4 bytes: which half of the beat"),
        Field(name="wide", bits=1, meaning="1: an id of 8 bytes"),
        Field(name="phase", bits=1, meaning="1 in the first lap through the window, 0 in the second, and so on"),
        Field(name="last", bits=1, meaning="1: the first sample of its page, which has none behind it"),
        Field(name="next", bits=SLOT_BITS, meaning="slot of the sample of the same page that came before"),
    ),
)
"""A sample that waits for its page, one word for each slot of the window: coalescer to loader."""

TWIN = Layout(
    "Twin",
    (
        Field(name="half", bits=1, meaning="as in `LINK`"),
        Field(name="wide", bits=1, meaning="as in `LINK`"),
        Field(name="phase", bits=1, meaning="as in `LINK`"),
        Field(name="more", bits=1, meaning="1: another sample wants something of the same beat"),
        Field(name="next", bits=SLOT_BITS, meaning="its slot"),
    ),
)
"""A sample whose beat is on its way, one word for each slot of the window: loader to collector."""

HOT_READ = Layout(
    "HotRead",
    (
        Field(name="address", bits=PAGE_BITS, meaning="beat of the DRAM, 16 bytes"),
        Field(name="slot", bits=SLOT_BITS, meaning="slot of the sample"),
        Field(name="upper", bits=1, meaning="1: the upper eight bytes of the beat"),
    ),
)
"""A sample of a page in the DRAM: loader to hot reader."""

MATCH = Layout(
    "Match",
    (
        Field(name="value", bits=64, meaning="the eight bytes, or the logical page that could not be read"),
        Field(name="slot", bits=SLOT_BITS, meaning="slot of the first sample that wants something of them"),
        Field(name="failed", bits=1, meaning="1: the page could not be read"),
    ),
)
"""Eight bytes that samples wait for: matchers and hot reader to collector."""

ID_WORD = Layout(
    "IdWord",
    (
        Field(name="value", bits=64, meaning="the id, or the logical page that could not be read"),
        Field(name="failed", bits=1, meaning="1: the page could not be read"),
        Field(name="phase", bits=1, meaning="1: written in the first, third, ... lap through the window"),
    ),
)
"""A sample's id, one word for each slot of the window: collector to packer."""

DRAM_KEY = Layout(
    "DramKey",
    (
        Field(name="page", bits=PAGE_BITS, meaning="logical page"),
        Field(name="page_slot", bits=PAGE_SLOT_BITS, meaning="slot of the page"),
    ),
)
"""What the translation remembers of a page while its map entry is read."""
