"""Where vectors and lists lie: every one in a place of its own, the same by requests as by addresses."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sim.config import load_config
from sim.program.address import chunk_lines, chunk_requests, local_index, vector_lines, vector_requests
from sim.program.geometry import LIST_KIND, Geometry
from sim.program.memory import DRAM_REQUEST, DramCommand
from sim.program.partition import home_dimm
from sim.timing.dram import schedule_requests
from testbenches.sim.program.strategies import relaxed

GNNEAR = load_config("gnnear")
MAPPINGS = ["vector_in_bank", "bursts_over_groups"]


def geometry_with(mapping, **changes):
    return Geometry.of(GNNEAR.replace(**{"dram.mapping": mapping, **changes}))


def decoded(requests):
    return {name: values.tolist() for name, values in DRAM_REQUEST.decode(requests).items()}


def bursts_of(requests):
    """All bursts as (bank group, bank, row, column)."""
    fields = decoded(requests)
    rows = zip(*(fields[name] for name in ("bank_group", "bank", "row", "column", "bursts")), strict=True)
    return [(group, bank, row, column + i) for group, bank, row, column, bursts in rows for i in range(bursts)]


def split(addresses, geometry):
    """Take line addresses apart into (bank group, bank, row, column)."""
    rest, column = np.divmod(np.asarray(addresses).reshape(-1), geometry.bursts)
    rest, bank = np.divmod(rest, geometry.banks)
    row, group = np.divmod(rest, geometry.bank_groups)
    return list(zip(group.tolist(), bank.tolist(), row.tolist(), column.tolist(), strict=True))


def test_local_index_counts_the_vertices_of_each_dimm():
    vertices = np.arange(4096)
    dimm, local = (
        home_dimm(vertices, GNNEAR.dram, GNNEAR.partition),
        local_index(vertices, GNNEAR.dram, GNNEAR.partition),
    )
    for index in range(GNNEAR.dram.dimms):
        assert local[dimm == index].tolist() == list(range(256))


@pytest.mark.parametrize("mapping", MAPPINGS)
@given(beats=st.integers(1, 40), lanes=st.sampled_from([1, 4, 8]), ranks=st.sampled_from([1, 2, 4]))
@relaxed
def test_no_two_vectors_share_a_line(mapping, beats, lanes, ranks):
    geometry = geometry_with(
        mapping, **{"dram.ranks_per_dimm": ranks, "nme.pes": 1, "nme.lanes_per_pe": lanes, "nme.max_beats": 64 // lanes}
    )
    numbers = np.append(np.arange(300), geometry.vectors(beats) - 1 - np.arange(3))
    places = []
    for kind, index in itertools.product(range(LIST_KIND), range(geometry.slices(beats))):
        requested = bursts_of(vector_requests(numbers, kind, beats, geometry, slice_index=index))
        assert sorted(requested) == sorted(split(vector_lines(numbers, kind, beats, index, geometry), geometry))
        places += requested
    places += split(chunk_lines(np.append(np.arange(300), geometry.chunks - 1), geometry), geometry)
    assert len(set(places)) == len(places)
    needed = geometry.lines(beats)
    assert len(places) >= LIST_KIND * len(numbers) * needed + 4 * 301
    for group, bank, row, column in places:
        assert 0 <= group < 4
        assert 0 <= bank < 4
        assert 0 <= row < GNNEAR.dram.rows
        assert 0 <= column < 128


@pytest.mark.parametrize("mapping", MAPPINGS)
def test_lines_follow_each_other_as_the_beats_do(mapping):
    """With one bank group after the other, line l is in group l; within a group and in a bank, in rising bursts."""
    geometry = geometry_with(mapping, **{"nme.max_beats": 4})
    (places,) = (split(vector_lines(np.array([9]), 3, 3, 0, geometry), geometry),)
    assert len(places) == 12
    if mapping == MAPPINGS[0]:
        # Number 9 is bank group 1, bank 2, the first place.
        assert places == [(1, 2, 3, line) for line in range(12)]
    else:
        # Number 9 is bank 1, the third place, of 4 bursts (three beats take 3 bursts in each group).
        assert places == [(line % 4, 1, 3, 8 + line // 4) for line in range(12)]


def test_a_vector_by_hand():
    # Number 5 is bank group 1, bank 1, the row's first place; 1,024 B are 8 lines of two bursts.
    fields = decoded(vector_requests(np.array([5]), 2, 2, geometry_with(MAPPINGS[0])))
    assert fields == {
        "write": [0], "rank": [0], "bank_group": [1], "bank": [1], "row": [2], "column": [0], "bursts": [8], "tag": [0],
    }  # fmt: skip
    fields = decoded(vector_requests(np.array([5]), 2, 2, geometry_with(MAPPINGS[1]), write=True))
    assert fields["write"] == [1] * 4
    assert fields["bank_group"] == [0, 1, 2, 3]
    assert fields["bank"] == [1] * 4
    assert fields["bursts"] == [2] * 4
    assert fields["column"] == [2] * 4


def test_the_slices_of_a_vector_by_hand():
    """Five beats of 512 B in slices of two: 8, 8 and 4 lines; 20 bursts of a row, so 32 from vector to vector."""
    in_bank, over_groups = (geometry_with(mapping) for mapping in MAPPINGS)
    last = 4 * 4 * 2 + 1  # the third place in bank group 1
    slices = [decoded(vector_requests(np.array([0, last]), 0, 5, in_bank, slice_index=i)) for i in range(3)]
    assert [fields["column"] for fields in slices] == [[0, 64], [8, 72], [16, 80]]
    assert [fields["bursts"] for fields in slices] == [[8, 8], [8, 8], [4, 4]]
    assert [fields["bank_group"] for fields in slices] == [[0, 1]] * 3
    assert slices[0]["tag"] == [0, 1]
    slices = [decoded(vector_requests(np.array([0, 4]), 0, 5, over_groups, slice_index=i)) for i in range(3)]
    assert [fields["column"] for fields in slices] == [[0] * 4 + [8] * 4, [2] * 4 + [10] * 4, [4] * 4 + [12] * 4]
    assert [fields["bursts"] for fields in slices] == [[2] * 8, [2] * 8, [1] * 8]


def test_a_short_slice_has_fewer_pieces():
    """Six lines over four bank groups: two of them have a second one. Three lines leave a bank group out."""
    geometry = geometry_with(MAPPINGS[1], **{"nme.pes": 1, "nme.lanes_per_pe": 8, "nme.max_beats": 64})
    fields = decoded(vector_requests(np.array([1]), 0, 22, geometry))
    assert (fields["bank_group"], fields["bursts"]) == ([0, 1, 2, 3], [2, 2, 1, 1])
    fields = decoded(vector_requests(np.array([1]), 0, 9, geometry))
    assert (fields["bank_group"], fields["bursts"]) == ([0, 1, 2], [1, 1, 1])


@pytest.mark.parametrize("mapping", MAPPINGS)
def test_chunks_by_hand(mapping):
    """Chunk 16 x 33 + 6: bank group 2, bank 1, place 33 of 32 in a row: the second row of lists, second place."""
    geometry, chunk = geometry_with(mapping), np.array([16 * 33 + 6])
    assert decoded(chunk_requests(chunk, 3, geometry)) == {
        "write": [0], "rank": [0], "bank_group": [2], "bank": [1], "row": [15], "column": [4], "bursts": [3],
        "tag": [0],
    }  # fmt: skip
    assert split(chunk_lines(chunk, geometry), geometry) == [(2, 1, 15, 4 + line) for line in range(4)]
    lines = decoded(chunk_requests(np.array([3, 4]), np.array([1, 4]), geometry))
    assert (lines["bursts"], lines["tag"]) == ([1, 4], [0, 1])


@pytest.mark.parametrize("mapping", MAPPINGS)
def test_what_does_not_fit_is_refused(mapping):
    geometry = geometry_with(mapping)
    for make in (vector_requests, lambda *args: vector_lines(*args[:3], 0, args[3])):
        with pytest.raises(ValueError, match="kind 7: there are kinds 0 to 6"):
            make(np.array([0]), 7, 2, geometry)
        room = geometry.vectors(2)
        assert len(make(np.array([room - 1]), 0, 2, geometry))
        text = rf"vector {room}: a DIMM holds {room} vectors of 2 beats of each kind, .* does not fit, use more DIMMs"
        with pytest.raises(ValueError, match=text):
            make(np.array([0, room, -1]), 0, 2, geometry)
        with pytest.raises(ValueError, match="vector -1: a DIMM holds"):
            make(np.array([-1]), 0, 2, geometry)
        with pytest.raises(
            ValueError, match=r"vectors of 200 beats .* need .* bursts of a row, which has 128; use more"
        ):
            make(np.array([0]), 0, 200, geometry)
    for index in (-1, 2):
        with pytest.raises(ValueError, match=f"slice {index}: vectors of 3 beats have 2 slices"):
            vector_requests(np.array([0]), 0, 3, geometry, slice_index=index)
    assert len(chunk_lines(np.array([geometry.chunks - 1]), geometry))
    for number in (geometry.chunks, -1):
        with pytest.raises(ValueError, match=f"chunk {number}: a DIMM holds {geometry.chunks} chunks for lists"):
            chunk_requests(np.array([number]), 4, geometry)


def share_of_peak(numbers, mapping):
    config = GNNEAR.replace(**{"dram.mapping": mapping})
    requests = vector_requests(numbers, 0, 1, Geometry.of(config))
    one_rank = config.dram.replace(ranks_per_dimm=1)
    schedule = schedule_requests(requests, one_rank)
    return schedule.count(DramCommand.READ) * one_rank.gates.burst / schedule.cycles


def test_what_each_mapping_is_good_for():
    """A vector in one bank opens one row: right for random gathers. Over all bank groups it opens four: tFAW binds."""
    rng = np.random.default_rng(0)
    scattered = rng.integers(0, 10**6, 30_000)
    assert share_of_peak(scattered, "vector_in_bank") >= 0.95
    assert share_of_peak(scattered, "bursts_over_groups") < 0.65
    # In the order of their numbers, vectors share rows, and both keep the bus busy.
    in_order = np.arange(30_000)
    for mapping in MAPPINGS:
        assert share_of_peak(in_order, mapping) >= 0.95
