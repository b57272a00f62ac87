"""Sizes of a DIMM's memory, worked out by hand; and what sizes are refused."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sim.config import ConfigError, load_config, preset_names
from sim.program.geometry import CHUNK_LINES, KINDS, LIST_KIND, Geometry
from testbenches.sim.program.strategies import relaxed

GNNEAR = load_config("gnnear")
OVER_GROUPS = GNNEAR.replace(**{"dram.mapping": "bursts_over_groups"})


def test_numbers_that_the_rtl_relies_on():
    assert (KINDS, LIST_KIND, CHUNK_LINES) == (8, 7, 4)


def test_sizes_of_the_presets():
    assert Geometry.of(GNNEAR) == Geometry(
        line_bytes=128, beat_bytes=512, groups=1, bank_groups=4, banks=4, bursts=128, rows=8192, slice_beats=2
    )
    assert Geometry.of(OVER_GROUPS) == Geometry.of(GNNEAR)._replace(groups=4)
    tiny = Geometry.of(load_config("tiny"))
    assert tiny == Geometry.of(GNNEAR)._replace(beat_bytes=16, slice_beats=8)
    assert tiny.chunks == 4 * 4 * 8192 * 32
    assert tiny.chunk_bytes == 512
    assert [tiny.records(size) for size in (4, 8, 32)] == [128, 64, 16]
    assert preset_names()
    for name in preset_names():
        assert Geometry.of(load_config(name)).chunks


# Beats of 512 B in lines of 128 B, slices of two beats: (beats, bursts, exponent of the stride, vectors).
IN_BANK = [
    (1, 4, 2, 16 * 8192 * 32), (2, 8, 3, 16 * 8192 * 16), (3, 12, 4, 16 * 8192 * 8), (5, 20, 5, 16 * 8192 * 4),
    (32, 128, 7, 16 * 8192),
]  # fmt: skip
GROUPS = [
    (1, 1, 0, 4 * 8192 * 128), (2, 2, 1, 4 * 8192 * 64), (3, 3, 2, 4 * 8192 * 32), (5, 5, 3, 4 * 8192 * 16),
    (128, 128, 7, 4 * 8192),
]  # fmt: skip


@pytest.mark.parametrize(("config", "rows"), [(GNNEAR, IN_BANK), (OVER_GROUPS, GROUPS)], ids=["in bank", "over groups"])
def test_vectors_by_hand(config, rows):
    geometry = Geometry.of(config)
    for beats, bursts, stride, vectors in rows:
        assert geometry.fits(beats)
        assert (geometry.vector_bursts(beats), geometry.stride_log2(beats)) == (bursts, stride)
        assert geometry.vectors(beats) == vectors
    assert geometry.slice_bursts == 8 // geometry.groups
    assert [geometry.slices(beats) for beats in (1, 2, 3, 4, 5)] == [1, 1, 2, 2, 3]
    assert [geometry.beats_of_slice(5, index) for index in (0, 1, 2)] == [2, 2, 1]


def test_slices_begin_in_places_of_their_own():
    """Slices of one line, over four bank groups: each takes a burst of its row, in one bank group only."""
    geometry = Geometry.of(OVER_GROUPS.replace(**{"nme.pes": 1, "nme.lanes_per_pe": 8, "nme.max_beats": 4}))
    assert (geometry.beat_bytes, geometry.slice_bursts) == (32, 1)
    assert [geometry.vector_bursts(beats) for beats in (1, 4, 5, 8, 9)] == [1, 1, 2, 2, 3]


@given(
    beats=st.integers(1, 300),
    lanes=st.sampled_from([1, 2, 8, 32]),
    max_beats=st.sampled_from([32, 64, 256]),
    ranks=st.sampled_from([1, 2, 4]),
    mapping=st.sampled_from(["vector_in_bank", "bursts_over_groups"]),
)
@relaxed
def test_a_row_holds_what_is_said(beats, lanes, max_beats, ranks, mapping):
    changes = {"nme.pes": 1, "nme.lanes_per_pe": lanes, "nme.max_beats": max_beats}
    changes |= {"dram.ranks_per_dimm": ranks, "dram.mapping": mapping}
    config = GNNEAR.replace(**changes)
    if lanes * 4 * max_beats < 64 * ranks:
        with pytest.raises(ConfigError, match="is less than a line of the memory; make it"):
            Geometry.of(config)
        return
    geometry = Geometry.of(config)
    # Every slice begins at a burst of its own in each bank group; the bytes of the beats must fit.
    bursts = 0
    for index in range(geometry.slices(beats)):
        lines = -(-geometry.beats_of_slice(beats, index) * lanes * 4 // (64 * ranks))
        bursts = index * geometry.slice_bursts + -(-lines // geometry.groups)
    assert geometry.fits(beats) == (bursts <= 128)
    if geometry.fits(beats):
        assert geometry.vector_bursts(beats) == bursts
        assert 2 ** geometry.stride_log2(beats) >= bursts > 2 ** geometry.stride_log2(beats) // 2
        in_all_rows = geometry.vectors(beats) * 2 ** geometry.stride_log2(beats) * geometry.groups
        assert in_all_rows == 16 * geometry.rows * 128


def test_vectors_that_fit_no_row():
    geometry = Geometry.of(GNNEAR)
    for beats in (0, 33, 65535):
        assert not geometry.fits(beats)
        with pytest.raises(
            ValueError, match=f"vectors of {beats} beats of 512 bytes .* bursts of a row, which has 128"
        ):
            geometry.vector_bursts(beats)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"dram.ranks_per_dimm": 3}, "dram.ranks_per_dimm x .* is 192; an engine needs a power of two"),
        ({"nme.pes": 3}, r"nme.pes x nme.lanes_per_pe x .* is 96; an engine needs a power of two"),
        ({"dram.bank_groups": 3}, "dram.bank_groups is 3; an engine needs a power of two"),
        ({"dram.banks_per_group": 5}, "dram.banks_per_group is 5; an engine needs a power of two"),
        ({"dram.columns": 48}, "dram.columns / dram.burst_length is 6; an engine needs a power of two"),
        ({"nme.max_beats": 3}, "nme.max_beats is 3; an engine needs a power of two"),
        ({"nme.max_beats": 2}, "nme.max_beats is 2: a slice of 64 bytes is less than a line .*; make it 4 or more"),
        ({"dram.columns": 16}, "dram.columns / dram.burst_length is 2; a chunk takes 4"),
        ({"dram.rows": 7}, "dram.rows is 7; 8 kinds of vector need a row each"),
        ({"dram.columns": 32, "nme.pes": 64}, "one beat of 2048 bytes needs 16 bursts of a row, which has 4; "),
        (
            {"dram.columns": 2048, "nme.pes": 8, "nme.max_beats": 256},
            "nme.max_beats is 256: a slice of 512 bursts is more than a request can name, 255; make it 128 or less",
        ),
        (
            {"dram.bus_width_bits": 8, "dram.burst_length": 2, "dram.ranks_per_dimm": 2},
            "a line has 4 bytes, a descriptor 32; widen the memory: dram.bus_width_bits, ",
        ),
    ],
)
def test_sizes_that_are_refused(changes, message):
    config = GNNEAR.replace(**{"nme.pes": 1, "nme.max_beats": 4})
    Geometry.of(config)
    with pytest.raises(ConfigError, match=message):
        Geometry.of(config.replace(**changes))
