"""Encoder and decoder against whole numbers of Python: bits shifted and or-ed by hand."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sim.program.layout import Field, Layout, LayoutError
from testbenches.sim.program.strategies import relaxed


def packed(layout, record):
    """Pack one record into bytes by arithmetic on one big number."""
    number, offset = 0, 0
    for field in layout.fields:
        for i in range(1 if field.count is None else field.count):
            value = 0
            if field.name:
                value = record[field.name] if field.count is None else record[field.name][i]
            assert 0 <= value < 1 << field.bits
            number |= value << offset
            offset += field.bits
    return number.to_bytes((offset + 7) // 8, "little")


@st.composite
def layouts(draw):
    fields, offset = [], 0
    for index in range(draw(st.integers(1, 7))):
        name = f"field_{index}" if draw(st.booleans()) else ""
        if offset % 8 == 0 and draw(st.booleans()):
            field = Field(name=name, bits=draw(st.sampled_from([8, 16, 32, 64])), count=draw(st.integers(1, 5)))
        else:
            field = Field(name=name, bits=draw(st.integers(1, 64 - offset % 64)))
        fields.append(field)
        offset += field.total_bits
    return Layout("Drawn", tuple(fields))


@st.composite
def layouts_with_records(draw):
    layout = draw(layouts())
    records = []
    for _ in range(draw(st.integers(0, 4))):
        record = {}
        for field in layout.fields:
            if field.name:
                value = st.integers(0, (1 << field.bits) - 1)
                record[field.name] = draw(
                    value if field.count is None else st.lists(value, min_size=field.count, max_size=field.count)
                )
        records.append(record)
    return layout, records


@given(layouts_with_records())
@relaxed
def test_bytes_are_those_of_shifted_numbers_and_come_back(drawn):
    layout, records = drawn
    values = {
        field.name: np.array([record[field.name] for record in records], np.uint64).reshape(
            (len(records),) if field.count is None else (len(records), field.count)
        )
        for field in layout.fields
        if field.name
    }
    encoded = layout.encode(len(records), values)
    assert encoded.dtype == np.uint8
    assert encoded.shape == (len(records), layout.bytes)
    assert [row.tobytes() for row in encoded] == [packed(layout, record) for record in records]
    decoded = layout.decode(encoded)
    assert decoded.keys() == values.keys()
    for name, value in values.items():
        assert np.array_equal(decoded[name], value)


WORDS = Layout("Words", (Field(name="low", bits=3), Field(name="", bits=5), Field(name="high", bits=8)))


def test_a_hand_made_record():
    assert WORDS.encode(2, {"low": 5, "high": [0xAB, 0xCD]}).tolist() == [[0x05, 0xAB], [0x05, 0xCD]]
    assert WORDS.encode(1, {}).tolist() == [[0, 0]]
    # Reserved bits are ignored when read.
    assert {name: int(value[0]) for name, value in WORDS.decode(np.array([[0xFD, 0x01]], np.uint8)).items()} == {
        "low": 5,
        "high": 1,
    }
    assert (WORDS.bits, WORDS.bytes) == (16, 2)
    assert [(field.name, offset) for field, offset in WORDS.placed()] == [("low", 0), ("", 3), ("high", 8)]


def test_values_that_do_not_fit_are_refused():
    for value, place in ((8, 0), (-1, 0), ([7, 8], 1), ([0, -1], 1)):
        wrong = value if isinstance(value, int) else value[place]
        with pytest.raises(LayoutError, match=rf"Words\.low is {wrong} in record {place}; 3 bits hold 0 to 7"):
            WORDS.encode(2, {"low": value})
    wide = Layout("Wide", (Field(name="word", bits=64),))
    top = np.array([2**64 - 1], np.uint64)
    assert wide.decode(wide.encode(1, {"word": top}))["word"][0] == 2**64 - 1


def test_array_values_that_do_not_fit_are_refused():
    beat = Layout("Beat", (Field(name="data", bits=16, count=2),))
    assert beat.encode(1, {"data": [[65535, 0]]}).tolist() == [[255, 255, 0, 0]]
    for wrong in (65536, -1):
        with pytest.raises(LayoutError, match=rf"Beat\.data is {wrong} in record 1"):
            beat.encode(2, {"data": [[0, 0], [0, wrong]]})


def test_fractions_are_refused():
    with pytest.raises(LayoutError, match=r"Words\.low"):
        WORDS.encode(1, {"low": 1.5})


def test_unknown_fields_and_wrong_shapes_are_refused():
    with pytest.raises(LayoutError, match="Words has no field 'lo'; its fields are low, high"):
        WORDS.encode(1, {"lo": 1})
    for shape in ((2, 3), (2,), (1, 2, 2)):
        with pytest.raises(LayoutError, match="Words records have 2 bytes each"):
            WORDS.decode(np.zeros(shape, np.uint8))


@pytest.mark.parametrize(
    ("fields", "match"),
    [
        ((Field(name="a", bits=60), Field(name="b", bits=5)), r"Bad\.b: 5 bits at bit 60 cross"),
        ((Field(name="a", bits=4), Field(name="b", bits=8, count=1)), r"Bad\.b: an array needs"),
        ((Field(name="a", bits=12, count=2),), r"Bad\.a: an array needs"),
        ((Field(name="a", bits=65),), r"Bad\.a: 65 bits"),
    ],
)
def test_layouts_that_cannot_be_are_refused(fields, match):
    with pytest.raises(LayoutError, match=match):
        Layout("Bad", fields)
