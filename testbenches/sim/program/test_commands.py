"""The bit maps of all commands, records and status words, written out by hand; and the RTL's structs of the same."""

import pytest
from amaranth.hdl import Shape

from hdl.layout import struct_layout
from sim.program.commands import (
    EDGE_RECORD,
    MATRIX_COMMAND,
    MATRIX_STATUS,
    REDUCE_COMMAND,
    REDUCE_STATUS,
    MatrixCode,
    MatrixOpcode,
    ReduceCode,
    ReduceOpcode,
    result_beat,
    vector_beat,
)
from sim.program.counters import MATRIX_COUNTERS, REDUCE_COUNTERS

# Name to (lowest bit, bits, elements); all other bits are reserved.
MAPS = {
    "ReduceCommand": (REDUCE_COMMAND, 16, {
        "opcode": (0, 8, None), "beats": (16, 16, None), "destinations": (32, 16, None), "tag": (48, 16, None),
        "sources": (64, 32, None), "edges": (96, 32, None),
    }),
    "EdgeRecord": (EDGE_RECORD, 8, {
        "destination": (0, 16, None), "last_of_source": (16, 1, None), "weight": (32, 32, None),
    }),
    "ReduceStatus": (REDUCE_STATUS, 8, {"tag": (0, 16, None), "code": (16, 8, None), "edges": (32, 32, None)}),
    "MatrixCommand": (MATRIX_COMMAND, 16, {
        "opcode": (0, 8, None), "part": (8, 8, None), "rows": (16, 16, None), "columns": (32, 16, None),
        "tag": (48, 16, None), "depth": (64, 32, None),
    }),
    "MatrixStatus": (MATRIX_STATUS, 4, {"tag": (0, 16, None), "code": (16, 8, None)}),
    "VectorBeat": (vector_beat(5, 16), 10, {"data": (0, 16, 5)}),
    "ResultBeat": (result_beat(3), 16, {
        "index": (0, 16, None), "first": (16, 1, None), "last": (17, 1, None), "data": (32, 32, 3),
    }),
}  # fmt: skip


@pytest.mark.parametrize("name", MAPS)
def test_bit_map(name):
    layout, n_bytes, fields = MAPS[name]
    assert layout.name == name
    assert layout.bytes == n_bytes
    found = {field.name: (offset, field.bits, field.count) for field, offset in layout.placed() if field.name}
    assert found == fields
    assert all(field.meaning for field in layout.fields if field.name)


@pytest.mark.parametrize("name", MAPS)
def test_the_rtl_has_the_same_bits(name):
    layout, n_bytes, fields = MAPS[name]
    struct = struct_layout(layout)
    assert Shape.cast(struct).width == layout.bits
    assert -(-Shape.cast(struct).width // 8) == n_bytes
    named = {key: field for key, field in struct if not key.startswith("reserved_")}
    assert named.keys() == fields.keys()
    for key, (offset, bits, count) in fields.items():
        assert named[key].offset == offset
        assert named[key].width == bits * (count or 1)
        if count is not None:
            assert [element.offset for _, element in named[key].shape] == [bits * i for i in range(count)]


def test_numbers_that_software_relies_on():
    assert dict(ReduceOpcode.__members__) == {"ADD": 1, "MULTIPLY_ADD": 2, "MAX": 3, "MIN": 4}
    assert dict(MatrixOpcode.__members__) == {"PRODUCT": 1}
    assert list(ReduceCode) == list(range(8))
    assert [code.name for code in ReduceCode] == [
        "OK", "BAD_OPCODE", "BAD_BEATS", "BAD_DESTINATIONS", "NO_SOURCES", "NO_EDGES", "EDGE_DESTINATION",
        "SOURCE_COUNT",
    ]  # fmt: skip
    reasons = ["OPCODE", "ROWS", "COLUMNS", "DEPTH", "PART"]
    assert [code.name for code in MatrixCode] == ["OK", *(f"BAD_{reason}" for reason in reasons)]
    # Code 0 is that of a stream that never was written: it must not be a valid opcode.
    assert 0 not in list(ReduceOpcode)
    assert 0 not in list(MatrixOpcode)


def test_idle_is_the_rest_of_the_counters():
    for counters in (REDUCE_COUNTERS, MATRIX_COUNTERS):
        assert next(iter(counters)) == "busy"
        assert list(counters)[-1] == "idle"
        assert all(counters.values())
