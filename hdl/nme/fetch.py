"""The streams between a Near-Memory Engine's units and its memory: requests, tags, and lines that come back."""

from enum import IntEnum

from amaranth.hdl import Mux, Value
from amaranth.lib import data
from amaranth.utils import ceil_log2

from sim.program.geometry import CHUNK_LINES, Geometry

UNIT_BITS = 3
"""Bits of a tag that name the unit whose request it is."""


class Unit(IntEnum):
    """The units that ask for bursts, the first of them first in case of several."""

    DESCRIPTORS = 0
    SOURCES = 1
    EDGES = 2
    VECTORS = 3
    STORE = 4


CHUNK_REQUEST = data.StructLayout({"chunk": 32, "bursts": range(CHUNK_LINES + 1), "slot": 6})
"""Lines of a chunk, wanted in a slot of a list reader."""

VECTOR_REQUEST = data.StructLayout(
    {"number": 32, "stride_log2": 4, "kind": 3, "first_burst": 8, "bursts": 8, "piece": 3, "slot": 8}
)
"""A slice of a vector as far as it lies in one bank, wanted in a slot of the vector buffer (or written from one)."""

LIST_JOB = data.StructLayout({"chunk": 32, "records": 32})
"""A list to read: where it begins, and its length."""

FILL = data.StructLayout({"valid": 1, "unit": UNIT_BITS, "slot": 8, "piece": 3, "burst": 8, "last": 1})
"""A line that comes from the memory in this cycle, or none; `last` of its request."""


def line_shape(geometry: Geometry) -> data.ArrayLayout:
    """Return a line as an array of bytes."""
    return data.ArrayLayout(8, geometry.line_bytes)


def pieces_of(lines: Value, groups: int) -> Value:
    """Return the bank groups that the lines of a slice lie in."""
    return Mux(lines < groups, lines, groups)


def bursts_of_piece(lines: Value, piece: Value, groups: int) -> Value:
    """Return how many lines of a slice lie in the bank group of a piece: they go round."""
    if groups == 1:
        return lines
    return (lines >> ceil_log2(groups)) + (piece < lines[: ceil_log2(groups)])
