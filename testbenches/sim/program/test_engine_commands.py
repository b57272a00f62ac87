"""The bit maps of the engine's commands, descriptors and status, written out by hand; and the RTL's structs of them."""

import numpy as np
import pytest
from amaranth.hdl import Shape

from hdl.layout import struct_layout
from sim.program.commands import ReduceCode
from sim.program.engine_commands import (
    ENGINE_COMMAND,
    ENGINE_STATUS,
    SHARD_DESCRIPTOR,
    SOURCE_RECORD,
    EngineCode,
    EngineOpcode,
    update_beat,
)

# Name to (layout, bytes, lowest bit and bits of each field); all other bits are reserved.
MAPS = {
    "EngineCommand": (ENGINE_COMMAND, 16, {
        "opcode": (0, 8), "kind": (8, 8), "beats": (16, 16), "tag": (32, 16), "count": (64, 32), "address": (96, 32),
    }),
    "ShardDescriptor": (SHARD_DESCRIPTOR, 32, {
        "opcode": (0, 8), "kind": (8, 8), "beats": (16, 16), "destinations": (32, 16), "tag": (48, 16),
        "sources": (64, 32), "edges": (96, 32), "sources_address": (128, 32), "edges_address": (160, 32),
        "slot": (192, 32),
    }),
    "SourceRecord": (SOURCE_RECORD, 4, {"number": (0, 32)}),
    "EngineStatus": (ENGINE_STATUS, 8, {"tag": (0, 16), "code": (16, 8), "last": (24, 1), "count": (32, 32)}),
    "UpdateBeat": (update_beat(3, 16), 10, {"number": (0, 32), "data": (32, 48)}),
}  # fmt: skip


@pytest.mark.parametrize("name", MAPS)
def test_bit_map(name):
    layout, n_bytes, fields = MAPS[name]
    assert layout.name == name
    assert layout.bytes == n_bytes
    assert {field.name: (at, field.total_bits) for field, at in layout.placed() if field.name} == fields
    assert all(field.meaning for field in layout.fields if field.name)


@pytest.mark.parametrize("name", MAPS)
def test_the_rtl_has_the_same_bits(name):
    layout, _, fields = MAPS[name]
    struct = struct_layout(layout)
    assert Shape.cast(struct).width == layout.bits
    named = {key: (field.offset, field.width) for key, field in struct if not key.startswith("reserved_")}
    assert named == fields


def test_elements_of_an_update():
    for bits in (16, 32):
        record = update_beat(2, bits).encode(1, {"number": 0x04030201, "data": np.array([[5, 6]])})
        assert record.tobytes() == bytes([1, 2, 3, 4]) + b"".join(x.to_bytes(bits // 8, "little") for x in (5, 6))


def test_numbers_that_software_relies_on():
    assert dict(EngineOpcode.__members__) == {"RUN": 1, "STORE": 2}
    assert [code.name for code in EngineCode] == [
        "OK", "BAD_OPCODE", "BAD_BEATS", "BAD_DESTINATIONS", "NO_SOURCES", "NO_EDGES", "EDGE_DESTINATION",
        "SOURCE_COUNT", "BAD_KIND", "BAD_ADDRESS", "VECTOR_NUMBER", "EMPTY",
    ]  # fmt: skip
    assert list(EngineCode) == list(range(12))
    # What the reduce unit reports, the engine reports by the same number.
    assert {code.name: code.value for code in ReduceCode}.items() <= dict(EngineCode.__members__).items()
    # Every record of a list lies in one chunk, as chunks have a power of two of bytes.
    assert all(MAPS[name][1] & (MAPS[name][1] - 1) == 0 for name in ("ShardDescriptor", "SourceRecord"))
