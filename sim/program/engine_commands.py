"""What a Near-Memory Engine is told, what it finds in its DIMM's memory, and what it reports."""

from enum import IntEnum

from sim.program.layout import Field, Layout


class EngineOpcode(IntEnum):
    """What a command asks of a Near-Memory Engine."""

    RUN = 1
    """Run the shards of a list of descriptors."""
    STORE = 2
    """Write updated vectors to the memory."""


class EngineCode(IntEnum):
    """How a command or a shard ended; up to SOURCE_COUNT the numbers of `ReduceCode`."""

    OK = 0
    """All was done."""
    BAD_OPCODE = 1
    """Refused: the opcode is not known."""
    BAD_BEATS = 2
    """Refused: the vector's beats are 0, or more than a row of the memory holds."""
    BAD_DESTINATIONS = 3
    """Refused: the destinations are 0 or more than the output buffer holds."""
    NO_SOURCES = 4
    """Refused: no sources."""
    NO_EDGES = 5
    """Refused: no edges."""
    EDGE_DESTINATION = 6
    """An edge named a slot outside the shard; it was dropped, the others were accumulated."""
    SOURCE_COUNT = 7
    """The edges' last-of-source marks do not add up to the sources; edges without a source were dropped."""
    BAD_KIND = 8
    """Refused: there is no such kind of vector."""
    BAD_ADDRESS = 9
    """Refused: a list lies beyond the end of the memory."""
    VECTOR_NUMBER = 10
    """A vector's number lies beyond the end of the memory: it was read as zeros, or not written."""
    EMPTY = 11
    """Refused: a command for nothing."""


ENGINE_COMMAND = Layout(
    "EngineCommand",
    (
        Field(name="opcode", bits=8, meaning="`EngineOpcode`"),
        Field(name="kind", bits=8, meaning="STORE: kind of vector, 0 to 6"),
        Field(name="beats", bits=16, meaning="STORE: beats of a vector"),
        Field(name="tag", bits=16, meaning="any number; comes back in the status"),
        Field(name="", bits=16),
        Field(name="count", bits=32, meaning="descriptors (RUN) or vectors (STORE)"),
        Field(name="address", bits=32, meaning="RUN: chunk in which the descriptors begin"),
    ),
)
"""One command to a Near-Memory Engine."""

SHARD_DESCRIPTOR = Layout(
    "ShardDescriptor",
    (
        Field(name="opcode", bits=8, meaning="`ReduceOpcode`"),
        Field(name="kind", bits=8, meaning="kind of the source vectors, 0 to 6"),
        Field(name="beats", bits=16, meaning="beats of a source vector, all slices together"),
        Field(name="destinations", bits=16, meaning="destination slots of the shard"),
        Field(name="tag", bits=16, meaning="any number; comes back in the status"),
        Field(name="sources", bits=32, meaning="source vectors of the shard"),
        Field(name="edges", bits=32, meaning="edges of the shard"),
        Field(name="sources_address", bits=32, meaning="chunk in which the source records begin"),
        Field(name="edges_address", bits=32, meaning="chunk in which the edge records begin"),
        Field(name="slot", bits=32, meaning="place of the shard in the schedule of all engines"),
        Field(name="", bits=32),
    ),
)
"""One shard, as it lies in the memory."""

SOURCE_RECORD = Layout(
    "SourceRecord", (Field(name="number", bits=32, meaning="number of the source vector in the DIMM"),)
)
"""One source of a shard, as it lies in the memory."""

ENGINE_STATUS = Layout(
    "EngineStatus",
    (
        Field(name="tag", bits=16, meaning="the tag of the descriptor; of the command if it was refused, or a STORE"),
        Field(name="code", bits=8, meaning="`EngineCode`; the first reason, when there are several"),
        Field(name="last", bits=1, meaning="1 on the last status of a command"),
        Field(name="", bits=7),
        Field(name="count", bits=32, meaning="edges accumulated (in each slice), or vectors written"),
    ),
)
"""The end of a shard, of a STORE, or of a refused command."""


def update_beat(lanes: int, element_bits: int) -> Layout:
    """Return the layout of one beat of an updated vector.

    Parameters
    ----------
    lanes : int
        Elements in a beat.
    element_bits : int
        16 (bf16) or 32 (fp32).

    Returns
    -------
    Layout
        Fields: ``number``, ``data``.
    """
    return Layout(
        "UpdateBeat",
        (
            Field(name="number", bits=32, meaning="number of the vector in the DIMM; that of its first beat counts"),
            Field(name="data", bits=element_bits, count=lanes, meaning="elements, low index first"),
        ),
    )
