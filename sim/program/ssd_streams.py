"""What the units of the sampling engine hand each other: records of the streams between them."""

from sim.program.layout import Field, Layout
from sim.program.ssd import EDGE_BITS, NODE_BITS

PAGE_BITS = 40
"""Width of a page's number."""

SLOT_BITS = 20
"""Width of a sample's slot in the window."""

PAGE_SLOT_BITS = 16
"""Width of a page's slot."""

BEAT_BITS = 11
"""Width of a beat's number in its page."""

CHANNEL_BITS, UNIT_BITS = 6, 9
"""Widths of a channel's number (that after the last is the DRAM) and of a die's in its channel."""

JOB = Layout(
    "Job",
    (
        Field(name="edges_address", bits=64, meaning="byte of the SSD at which the edge list begins"),
        Field(name="edges", bits=64, meaning="edges in the list, at most 2^48"),
        Field(name="nodes", bits=64, meaning="nodes of the graph, at most 2^48 - 1"),
        Field(name="seed", bits=64, meaning="of the draws"),
        Field(name="targets_address", bits=64, meaning="address of the targets in the host's memory"),
        Field(name="targets", bits=32, meaning="targets of the first hop, at least 1"),
        Field(name="batch", bits=32, meaning="of the draws"),
        Field(name="wide", bits=1, meaning="1: ids of 8 bytes; 0: of 4"),
        Field(name="replace", bits=1, meaning="1: draw with replacement"),
        Field(name="look_up", bits=1, meaning="1: look the first targets up in the DRAM"),
        Field(name="", bits=5),
        Field(name="hops", bits=8, meaning="1 to 4"),
        Field(name="", bits=16),
        Field(name="fanout_0", bits=8, meaning="of the first hop; 255 for all"),
        Field(name="fanout_1", bits=8),
        Field(name="fanout_2", bits=8),
        Field(name="fanout_3", bits=8),
    ),
)
"""A command that was not refused: queues to targets."""

CONTEXT = Layout(
    "Context",
    (
        Field(name="result_address", bits=64, meaning="of the result in the host's memory"),
        Field(name="result_lines", bits=32, meaning="room for the result"),
        Field(name="ids_line", bits=32, meaning="line of the result at which ids begin"),
        Field(name="cid", bits=16, meaning="command identifier"),
        Field(name="sq_head", bits=16, meaning="head of the submission queue behind the command"),
        Field(name="status", bits=11, meaning="`SsdStatus`; not OK: refused, nothing follows"),
        Field(name="wide", bits=1, meaning="1: ids of 8 bytes; 0: of 4"),
        Field(name="", bits=4),
    ),
)
"""Every command, refused or not: queues to packer."""

DRAW_HOP = Layout(
    "DrawHop",
    (
        Field(name="seed", bits=64),
        Field(name="edges_address", bits=64),
        Field(name="batch", bits=32),
        Field(name="hop", bits=8, meaning="0 for the first"),
        Field(name="wide", bits=1),
        Field(name="replace", bits=1),
        Field(name="", bits=22),
    ),
)
"""What all targets of a hop share."""

DRAW_TARGET = Layout(
    "DrawTarget",
    (
        Field(name="node", bits=NODE_BITS, meaning="number of the node"),
        Field(name="", bits=16),
        Field(name="offset", bits=EDGE_BITS, meaning="edge with which its list begins"),
        Field(name="", bits=16),
        Field(name="degree", bits=32, meaning="edges of its list, at least 1"),
        Field(name="count", bits=32, meaning="samples to make, at least 1; the degree: all edges, in order"),
    ),
)
"""One target."""

DRAW_JOB = Layout(
    "DrawJob",
    (
        *(Field(name=f.name and f"hop_{f.name}", bits=f.bits, meaning=f.meaning) for f in DRAW_HOP.fields),
        *(Field(name=f.name and f"target_{f.name}", bits=f.bits, meaning=f.meaning) for f in DRAW_TARGET.fields),
        Field(name="begins_hop", bits=1, meaning="1: the fields of the hop count; 0: those of the target"),
    ),
)
"""Targets to draws: a hop before its targets, then each target with samples to make."""

DESCRIPTOR = Layout(
    "Descriptor",
    (
        Field(name="count", bits=32, meaning="samples of the target"),
        Field(name="failed", bits=1, meaning="1: the target's list or number was bad (`SsdStatus.OUT_OF_RANGE`)"),
        Field(name="last_of_hop", bits=1, meaning="1: the last target of its hop, or a hop without targets"),
        Field(name="last_of_command", bits=1, meaning="1: with it the command ends"),
        Field(name="last_hop", bits=1, meaning="1: of the last hop, whose samples are no targets"),
        Field(name="nothing", bits=1, meaning="1: no target, only the end of a hop without targets"),
        Field(name="", bits=3),
    ),
)
"""Targets to packer: one for each target of all hops, in order."""

SAMPLE = Layout(
    "Sample",
    (
        Field(name="page", bits=PAGE_BITS, meaning="logical page of the id"),
        Field(name="beat", bits=BEAT_BITS, meaning="beat of the page"),
        Field(name="half", bits=1, meaning="ids of 4 bytes: which half of the beat"),
        Field(name="wide", bits=1, meaning="1: an id of 8 bytes"),
    ),
)
"""Draws to coalescer: where a sample's id lies; the order is that of the result."""

OPENED = Layout(
    "Opened",
    (
        Field(name="page", bits=PAGE_BITS, meaning="logical page"),
        Field(name="page_slot", bits=PAGE_SLOT_BITS, meaning="slot of the page"),
    ),
)
"""Coalescer to translation: a page that is wanted. Loader to coalescer: a page that takes no more samples."""

PLACED = Layout(
    "Placed",
    (
        Field(name="page", bits=PAGE_BITS, meaning="logical page"),
        Field(name="page_slot", bits=PAGE_SLOT_BITS, meaning="slot of the page"),
        Field(name="hot", bits=1, meaning="1: in the DRAM"),
        Field(name="", bits=7),
        Field(name="place", bits=PAGE_BITS, meaning="physical page; or beat of the DRAM"),
    ),
)
"""Translation to channels: where a page lies."""

READY = Layout(
    "Ready",
    (
        Field(name="page", bits=PAGE_BITS, meaning="logical page"),
        Field(name="page_slot", bits=PAGE_SLOT_BITS, meaning="slot of the page"),
        Field(name="", bits=8),
        Field(name="place", bits=PAGE_BITS, meaning="beat of the DRAM, for a page there"),
        Field(name="channel", bits=CHANNEL_BITS, meaning="channel; behind the last, the DRAM"),
        Field(name="unit", bits=UNIT_BITS, meaning="die of the channel"),
    ),
)
"""Channels to loader: a page that stands in its die's register."""

LOADED = Layout(
    "Loaded",
    (
        Field(name="unit", bits=UNIT_BITS, meaning="die of the channel"),
        Field(name="first_beat", bits=BEAT_BITS, meaning="first beat with a sample"),
        Field(name="last_beat", bits=BEAT_BITS, meaning="last beat with a sample"),
    ),
)
"""Loader to a channel: what is wanted of the page is known, it can be moved."""

PAGE_BEAT = Layout(
    "PageBeat",
    (
        Field(name="data", bits=64, meaning="eight bytes of the page"),
        Field(name="beat", bits=BEAT_BITS, meaning="beat of the page"),
        Field(name="last", bits=1, meaning="1: the last beat that is moved"),
        Field(name="bad", bits=1, meaning="1: the page could not be read"),
    ),
)
"""A channel to its matcher."""
