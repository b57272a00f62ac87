"""Where vectors lie: every vector of a DIMM in a place of its own, and what each mapping is good for."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sim.config import load_config
from sim.program.address import KINDS, VectorLayout, local_index, vector_requests
from sim.program.memory import DRAM_REQUEST, DramCommand
from sim.program.partition import home_dimm
from sim.timing.dram import schedule_requests
from testbenches.sim.program.strategies import relaxed

GNNEAR = load_config("gnnear")
MAPPINGS = ["vector_in_bank", "bursts_over_groups"]


def dram_with(mapping, **changes):
    return GNNEAR.dram.replace(mapping=mapping, **changes)


def bursts_of(requests):
    """All bursts as (bank group, bank, row, column)."""
    fields = DRAM_REQUEST.decode(requests)
    rows = zip(*(fields[name].tolist() for name in ("bank_group", "bank", "row", "column", "bursts")), strict=True)
    return [(group, bank, row, column + i) for group, bank, row, column, bursts in rows for i in range(bursts)]


def test_local_index_counts_the_vertices_of_each_dimm():
    vertices = np.arange(4096)
    dimm, local = (
        home_dimm(vertices, GNNEAR.dram, GNNEAR.partition),
        local_index(vertices, GNNEAR.dram, GNNEAR.partition),
    )
    for index in range(GNNEAR.dram.dimms):
        assert local[dimm == index].tolist() == list(range(256))


@pytest.mark.parametrize("mapping", MAPPINGS)
@given(vector_bytes=st.sampled_from([2, 64, 128, 200, 512, 1024, 4096]), ranks=st.sampled_from([1, 2, 4]))
@relaxed
def test_no_two_vectors_share_a_burst(mapping, vector_bytes, ranks):
    dram = dram_with(mapping, ranks_per_dimm=ranks)
    vertices = np.arange(6000)
    mine = vertices[home_dimm(vertices, dram, GNNEAR.partition) == 3]
    places = [bursts_of(vector_requests(mine, kind, vector_bytes, dram, GNNEAR.partition)) for kind in range(KINDS)]
    everything = list(itertools.chain(*places))
    assert len(set(everything)) == len(everything)
    needed = -(-vector_bytes // (ranks * 64))
    assert len(everything) >= KINDS * len(mine) * needed
    for group, bank, row, column in everything:
        assert group < 4
        assert bank < 4
        assert row < dram.rows
        assert column < 128


def test_a_vector_by_hand():
    # Vertex 37 is number 5 of the second DIMM's block: bank group 1, bank 1, the row's first place; 512 B are 8 bursts.
    fields = DRAM_REQUEST.decode(vector_requests(np.array([37]), 2, 1024, dram_with(MAPPINGS[0]), GNNEAR.partition))
    assert {name: value.tolist() for name, value in fields.items()} == {
        "write": [0], "rank": [0], "bank_group": [1], "bank": [1], "row": [2], "column": [0], "bursts": [8], "tag": [0],
    }  # fmt: skip
    fields = DRAM_REQUEST.decode(vector_requests(np.array([37]), 2, 1024, dram_with(MAPPINGS[1]), GNNEAR.partition))
    assert fields["bank_group"].tolist() == [0, 1, 2, 3]
    assert fields["bank"].tolist() == [1] * 4
    assert fields["bursts"].tolist() == [2] * 4
    assert fields["column"].tolist() == [2] * 4


def test_what_does_not_fit_is_refused():
    with pytest.raises(ValueError, match="kind 8: there are kinds 0 to 7"):
        vector_requests(np.array([0]), 8, 1024, GNNEAR.dram, GNNEAR.partition)
    with pytest.raises(ValueError, match="vectors of 20000 bytes: a row of a rank holds 8192; use more ranks"):
        VectorLayout.of(20_000, GNNEAR.dram)
    with pytest.raises(ValueError, match=r"vertex \d+ needs row \d+ of 65536: the graph does not fit; use more DIMMs"):
        vector_requests(np.array([0, 10**9]), 0, 1024, GNNEAR.dram, GNNEAR.partition)


def share_of_peak(vertices, mapping):
    dram = dram_with(mapping, ranks_per_dimm=2)
    requests = vector_requests(vertices, 0, 512, dram, GNNEAR.partition)
    one_rank = dram.replace(ranks_per_dimm=1)
    schedule = schedule_requests(requests, one_rank)
    return schedule.count(DramCommand.READ) * one_rank.gates.burst / schedule.cycles


def test_what_each_mapping_is_good_for():
    """A vector in one bank opens one row: right for random gathers. Over all bank groups it opens four: tFAW binds."""
    rng = np.random.default_rng(0)
    scattered = rng.integers(0, 10**6, 30_000)
    assert share_of_peak(scattered, "vector_in_bank") >= 0.95
    assert share_of_peak(scattered, "bursts_over_groups") < 0.65
    # In the order of their ids, vectors share rows, and both keep the bus busy.
    in_order = np.arange(30_000)
    for mapping in MAPPINGS:
        assert share_of_peak(in_order, mapping) >= 0.95
