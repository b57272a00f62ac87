"""The commands, records and status words of the engines, and the beats of their streams."""

from enum import IntEnum

from sim.program.layout import Field, Layout


class ReduceOpcode(IntEnum):
    """What a Near-Memory Engine does with each edge."""

    ADD = 1
    """Add the source vector."""
    MULTIPLY_ADD = 2
    """Add the source vector times the edge's weight."""
    MAX = 3
    """Take the greater of each element; the weight is not looked at."""
    MIN = 4
    """Take the lesser of each element; the weight is not looked at."""


class ReduceCode(IntEnum):
    """How a shard ended."""

    OK = 0
    """All edges were accumulated."""
    BAD_OPCODE = 1
    """Refused: the opcode is not known. Nothing was taken from the other streams."""
    BAD_BEATS = 2
    """Refused: the vector's beats are 0 or more than the buffer holds."""
    BAD_DESTINATIONS = 3
    """Refused: the destinations are 0 or more than the output buffer holds."""
    NO_SOURCES = 4
    """Refused: no sources."""
    NO_EDGES = 5
    """Refused: no edges."""
    EDGE_DESTINATION = 6
    """An edge named a slot outside the shard; it was dropped, the others were accumulated."""
    SOURCE_COUNT = 7
    """The edges' last-of-source marks do not add up to the command's sources; edges without a source were dropped."""


class MatrixOpcode(IntEnum):
    """What the systolic array does."""

    PRODUCT = 1
    """Activations times weights."""


class MatrixCode(IntEnum):
    """How a tile ended."""

    OK = 0
    """All results were handed over."""
    BAD_OPCODE = 1
    """Refused: the opcode is not known. Nothing was taken from the other streams."""
    BAD_ROWS = 2
    """Refused: the rows (M) are 0, more than the accumulator memory holds, or other than those of the sums kept."""
    BAD_COLUMNS = 3
    """Refused: the columns (N) are 0 or more than the array has."""
    BAD_DEPTH = 4
    """Refused: the depth (K) is 0."""
    BAD_PART = 5
    """Refused: the part is not known."""


REDUCE_COMMAND = Layout(
    "ReduceCommand",
    (
        Field(name="opcode", bits=8, meaning="`ReduceOpcode`"),
        Field(name="", bits=8),
        Field(name="beats", bits=16, meaning="beats of a source vector"),
        Field(name="destinations", bits=16, meaning="destination slots of the shard"),
        Field(name="tag", bits=16, meaning="any number; comes back in the status"),
        Field(name="sources", bits=32, meaning="source vectors of the shard"),
        Field(name="edges", bits=32, meaning="edges of the shard"),
    ),
)
"""One shard's Reduce on a Near-Memory Engine."""

EDGE_RECORD = Layout(
    "EdgeRecord",
    (
        Field(name="destination", bits=16, meaning="slot in the shard's interval"),
        Field(name="last_of_source", bits=1, meaning="1 on the final edge of the current source vector"),
        Field(name="", bits=15),
        Field(name="weight", bits=32, meaning="weight's bits: fp32, or bf16 in the low half"),
    ),
)
"""One edge of a shard; edges come source by source."""

REDUCE_STATUS = Layout(
    "ReduceStatus",
    (
        Field(name="tag", bits=16, meaning="the command's tag"),
        Field(name="code", bits=8, meaning="`ReduceCode`; the first reason, when there are several"),
        Field(name="", bits=8),
        Field(name="edges", bits=32, meaning="edges accumulated"),
    ),
)
"""The end of a shard; handed over after its last partial sum."""

MATRIX_COMMAND = Layout(
    "MatrixCommand",
    (
        Field(name="opcode", bits=8, meaning="`MatrixOpcode`"),
        Field(name="part", bits=8, meaning="`ProductPart`"),
        Field(name="rows", bits=16, meaning="M: activation rows of the tile"),
        Field(name="columns", bits=16, meaning="N: weight columns of the tile"),
        Field(name="tag", bits=16, meaning="any number; comes back in the status"),
        Field(name="depth", bits=32, meaning="K: length of each dot product"),
        Field(name="", bits=32),
    ),
)
"""One tile of a product on the systolic array: all of K or a part, at most the accumulator's rows and the array's
columns."""

MATRIX_STATUS = Layout(
    "MatrixStatus",
    (
        Field(name="tag", bits=16, meaning="the command's tag"),
        Field(name="code", bits=8, meaning="`MatrixCode`"),
        Field(name="", bits=8),
    ),
)
"""The end of a tile; handed over after its last result."""

MATRIX_REPORTS = 4
"""Tiles on the systolic array that have run and whose status was not taken, at most; one of them has results."""


def vector_beat(lanes: int, element_bits: int) -> Layout:
    """Return the layout of one beat of stored elements.

    Parameters
    ----------
    lanes : int
        Elements in a beat.
    element_bits : int
        16 (bf16) or 32 (fp32).

    Returns
    -------
    Layout
        Fields: ``data``.
    """
    return Layout(
        "VectorBeat", (Field(name="data", bits=element_bits, count=lanes, meaning="elements, low index first"),)
    )


def result_beat(lanes: int) -> Layout:
    """Return the layout of one beat of fp32 results, with the place it belongs to.

    Parameters
    ----------
    lanes : int
        Elements in a beat.

    Returns
    -------
    Layout
        Fields: ``index``, ``first``, ``last``, ``data``.
    """
    return Layout(
        "ResultBeat",
        (
            Field(name="index", bits=16, meaning="destination slot (Reduce) or row of the tile (product)"),
            Field(name="first", bits=1, meaning="1 on the first beat of a vector"),
            Field(name="last", bits=1, meaning="1 on the last beat of a vector"),
            Field(name="", bits=14),
            Field(name="data", bits=32, count=lanes, meaning="fp32 elements, low index first"),
        ),
    )
