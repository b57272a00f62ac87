"""What the sampling engine in the SSD is told, what it finds in the memories, and what it reports.

Submission and completion entries are those of NVM Express (base specification, revision 1.4), with an opcode of the
range that it leaves to vendors.
"""

from enum import IntEnum

from sim.program.layout import Field, Layout

LINE_BYTES = 64
"""A line of the host's memory: what one request moves."""

ALL_NEIGHBOURS = 255
"""Fan-out that asks for all neighbours."""

MOST_HOPS = 4
"""Hops of a command at most."""

NODE_BITS = 48
"""Width of a node's number in the engine."""

EDGE_BITS = 48
"""Width of an edge's number in the engine: 281 T edges."""

COUNT_FAILED = 1 << 31
"""Bit of a target's count: its list was bad, or one of its samples could not be read."""

NO_ID = (1 << 64) - 1
"""What stands in the place of a sample that could not be read (its low 32 bits where ids have 4 bytes)."""


class SsdOpcode(IntEnum):
    """What a submission entry asks for."""

    SAMPLE = 0xC1
    """Sample the neighbours of a mini-batch; data goes from the host to the controller."""


class SsdStatus(IntEnum):
    """How a command ended: status code type (3 bits) above status code (8 bits), as NVM Express has them."""

    OK = 0x000
    """All was sampled."""
    INVALID_OPCODE = 0x001
    """Refused: the opcode is not known."""
    INVALID_FIELD = 0x002
    """Refused: the length of the configuration is not that of its targets."""
    PRP_OFFSET = 0x013
    """Refused: PRP1 is no multiple of 64."""
    OUT_OF_RANGE = 0x080
    """A target's list goes beyond the end of the edges, or its number is not below that of the nodes: it has no
    samples. The others are valid."""
    UNRECOVERED_READ = 0x281
    """A page could not be read: targets that needed it have the failed bit in their count. The others are valid."""
    RESULT_TOO_SMALL = 0x701
    """The result was larger than its room: nothing was written beyond that."""
    FRONTIER_FULL = 0x703
    """More samples of a hop than the engine can take as targets of the next: the others were left out."""
    NO_TARGETS = 0x710
    """Refused: no targets."""
    BAD_ID_BYTES = 0x711
    """Refused: ids have neither 4 nor 8 bytes."""
    BAD_FANOUT = 0x712
    """Refused: a hop's fan-out is 0 or above the largest."""
    BAD_HOPS = 0x713
    """Refused: no hops, or too many."""
    BAD_MODE = 0x714
    """Refused: a bit of the mode is not known."""
    BAD_EDGES = 0x715
    """Refused: the edge list is not aligned to its ids, goes beyond the end of the SSD, or has too many edges or
    nodes."""
    BAD_RESULT = 0x716
    """Refused: the result is not aligned to lines, or its ids begin beyond its end."""


MODE_REPLACE = 1
"""Bit of the mode: draw with replacement."""

MODE_LOOK_UP = 2
"""Bit of the mode: look offset and degree of the first targets up in the SSD's DRAM; only their numbers count."""

SUBMISSION = Layout(
    "Submission",
    (
        Field(name="opcode", bits=8, meaning="`SsdOpcode`"),
        Field(name="", bits=8),
        Field(name="cid", bits=16, meaning="command identifier; comes back in the completion"),
        Field(name="", bits=32),
        Field(name="", bits=64),
        Field(name="", bits=64),
        Field(name="prp1", bits=64, meaning="address of the configuration in the host's memory, a multiple of 64"),
        Field(name="", bits=64),
        Field(name="config_bytes", bits=32, meaning="command dword 10: bytes of the configuration with its targets"),
        Field(name="", bits=32),
        Field(name="", bits=64),
        Field(name="", bits=64),
    ),
)
"""Entry of the submission queue, 64 bytes."""

COMPLETION = Layout(
    "Completion",
    (
        Field(name="detail", bits=64, meaning="ids written (OK), page (UNRECOVERED_READ) or else target of the fault"),
        Field(name="sq_head", bits=16, meaning="entries before this one have been taken from the submission queue"),
        Field(name="sq_id", bits=16, meaning="0"),
        Field(name="cid", bits=16, meaning="of the command"),
        Field(name="phase", bits=1, meaning="1 in the first pass through the queue, 0 in the second, and so on"),
        Field(name="status", bits=11, meaning="`SsdStatus`"),
        Field(name="", bits=4),
    ),
)
"""Entry of the completion queue, 16 bytes."""

NS_CONFIG = Layout(
    "NsConfig",
    (
        Field(name="edges_address", bits=64, meaning="byte of the SSD at which the edge list begins"),
        Field(name="edges", bits=64, meaning="edges in the list"),
        Field(name="nodes", bits=64, meaning="nodes of the graph"),
        Field(name="seed", bits=64, meaning="of the draws"),
        Field(name="result_address", bits=64, meaning="where the result goes in the host's memory, a multiple of 64"),
        Field(name="result_lines", bits=32, meaning="room for the result, in lines of 64 bytes"),
        Field(name="ids_line", bits=32, meaning="line of the result at which ids begin; counts lie before it"),
        Field(name="targets", bits=32, meaning="targets behind this record"),
        Field(name="batch", bits=32, meaning="of the draws"),
        Field(name="id_bytes", bits=8, meaning="4 or 8: width of an id in the edge list and in the result"),
        Field(name="mode", bits=8, meaning="bit 0: draw with replacement; bit 1: look the first targets up"),
        Field(name="hops", bits=8, meaning="1 to 4"),
        Field(name="", bits=8),
        Field(name="fanout_0", bits=8, meaning="of the first hop; 255 for all neighbours"),
        Field(name="fanout_1", bits=8, meaning="of the second hop"),
        Field(name="fanout_2", bits=8, meaning="of the third hop"),
        Field(name="fanout_3", bits=8, meaning="of the fourth hop"),
    ),
)
"""What a command asks for, 64 bytes; its targets follow."""

TARGET = Layout(
    "Target",
    (
        Field(name="node", bits=64, meaning="number of the node"),
        Field(name="offset", bits=64, meaning="edge with which its list begins"),
        Field(name="degree", bits=32, meaning="edges of its list, below 2^31"),
        Field(name="", bits=32),
        Field(name="", bits=64),
    ),
)
"""One target, 32 bytes, two in a line."""

NODE_RECORD = Layout(
    "NodeRecord",
    (
        Field(name="offset", bits=64, meaning="edge with which the node's list begins"),
        Field(name="degree", bits=32, meaning="edges of its list, below 2^31"),
        Field(name="", bits=32),
    ),
)
"""One node in the SSD's DRAM, one beat of 16 bytes."""

PAGE_ENTRY = Layout(
    "PageEntry",
    (
        Field(name="place", bits=40, meaning="physical page; or the beat of the DRAM at which its copy begins"),
        Field(name="", bits=23),
        Field(name="hot", bits=1, meaning="1: the DRAM holds a copy of the page"),
    ),
)
"""One page of the map in the SSD's DRAM, 8 bytes, two in a beat. Physical pages count channels first, then dies."""
