"""The SSD's contents: graphs in memory, graphs by arithmetic, what the DRAM holds."""

import numpy as np
import pytest

from sim.config import load_config
from sim.graph import load_graph
from sim.program.ssd import NODE_RECORD, PAGE_ENTRY
from sim.program.ssd_image import make_image
from sim.program.ssd_storage import (
    FORMULA_MULTIPLIER,
    PageMap,
    dram_image,
    formula_storage,
    graph_storage,
    hottest_pages,
    physical_place,
)

KARATE = load_graph("karate")
IMAGE = make_image(KARATE.indptr, KARATE.indices, page_bytes=512, id_bytes=8, edges_address=520)


@pytest.mark.parametrize("id_bytes", [4, 8])
def test_a_graph_is_read_from_its_image(id_bytes):
    storage = graph_storage(make_image(KARATE.indptr, KARATE.indices, page_bytes=512, id_bytes=id_bytes))
    address = storage.edges.address + id_bytes * np.arange(KARATE.n_edges)
    assert storage.ids(address, id_bytes).tolist() == KARATE.indices.tolist()
    assert storage.ids(np.array([1 << 30]), id_bytes).tolist() == [0]
    begin, degree = storage.records(np.arange(34))
    assert begin.tolist() == KARATE.indptr[:-1].tolist()
    assert degree.tolist() == np.diff(KARATE.indptr).tolist()


def test_a_graph_by_arithmetic():
    storage = formula_storage(node_bits=30, degree=100)
    assert storage.edges.edges == 100 << 30
    begin, degree = storage.records(np.array([0, 7, (1 << 30) - 1]))
    assert begin.tolist() == [0, 700, 100 * ((1 << 30) - 1)]
    assert degree.tolist() == [100] * 3
    words = [0, 1, 12345678901]
    expected = [(word * FORMULA_MULTIPLIER % 2**64) >> 34 for word in words]
    assert storage.ids(8 * np.array(words), 8).tolist() == expected
    low, high = storage.ids(8 * np.array([12345678901]) + np.array([[0], [4]]), 4).tolist()
    assert low[0] + (high[0] << 32) == expected[2]


def test_pages_lie_where_the_map_says():
    listed = PageMap(page=np.array([2, 5]), place=np.array([9, 70]), hot=np.array([False, True]))
    place, hot = listed.look_up(np.array([0, 2, 5, 6]))
    assert (place.tolist(), hot.tolist()) == ([0, 9, 70, 6], [False, False, True, False])
    place, hot = PageMap().look_up(np.array([3, 4]))
    assert (place.tolist(), hot.tolist()) == ([3, 4], [False, False])


def test_the_hottest_pages_hold_most_lists():
    # 34 lists over 1,248 bytes from byte 520: most are short and stand in the last page.
    start = (520 + 8 * KARATE.indptr[:-1]) // 512
    lists = {page: int((start == page).sum()) for page in (1, 2, 3)}
    best = sorted(lists, key=lambda page: (-lists[page], page))
    for count in range(4):
        assert hottest_pages(IMAGE, count).tolist() == sorted(best[:count])
    assert len(hottest_pages(IMAGE, 100)) == 3


@pytest.mark.parametrize("hot_pages", [0, 2])
def test_the_dram_holds_records_map_and_copies(hot_pages):
    storage = graph_storage(IMAGE, hot_pages=hot_pages)
    dram = dram_image(IMAGE, storage)
    assert dram.beats.shape[1] == 16
    records = NODE_RECORD.decode(dram.beats[dram.records_base : dram.records_base + 34])
    assert records["degree"].tolist() == np.diff(KARATE.indptr).tolist()
    pages = IMAGE.pages
    entries = PAGE_ENTRY.decode(dram.beats[dram.map_base :].reshape(-1, 8)[:pages])
    copied = 0
    for page in range(pages):
        if entries["hot"][page]:
            copy = dram.beats[int(entries["place"][page]) :][:32].reshape(-1)
            assert np.array_equal(copy, IMAGE.data[512 * page : 512 * (page + 1)])
            copied += 1
        else:
            assert entries["place"][page] == page
    assert copied == hot_pages
    assert len(dram.beats) == 34 + -(-pages // 2) + 32 * hot_pages


def test_pages_go_round_the_channels_then_the_dies():
    flash = load_config("smartsage").ssd.flash
    channel, unit = physical_place(np.array([0, 1, 7, 8, 63, 64, 65]), flash)
    assert (channel.tolist(), unit.tolist()) == ([0, 1, 7, 0, 7, 0, 1], [0, 0, 0, 1, 7, 0, 0])
