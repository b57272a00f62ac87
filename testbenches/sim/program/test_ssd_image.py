"""Flash images: what is written is read again, at any byte, and bad ones are refused."""

import numpy as np
import pytest

from sim.graph import load_graph
from sim.program.ssd_image import IMAGE_HEADER, ImageError, make_image, read_image

KARATE = load_graph("karate")


@pytest.mark.parametrize(("id_bytes", "address"), [(8, None), (4, None), (8, 72), (4, 516), (8, 5 * 512 + 8)])
def test_every_id_lies_where_the_header_says(id_bytes, address):
    image = read_image(make_image(
        KARATE.indptr, KARATE.indices, page_bytes=512, id_bytes=id_bytes, edges_address=address).data)  # fmt: skip
    edges = image.edges
    assert (edges.nodes, edges.edges, edges.id_bytes) == (34, KARATE.n_edges, id_bytes)
    assert edges.address == (512 if address is None else address)
    for edge, node in enumerate(KARATE.indices):
        at = edges.address + edge * id_bytes
        assert int.from_bytes(image.data[at : at + id_bytes].tobytes(), "little") == node
    assert len(image.data) == image.pages * 512
    assert image.records_address % 512 == 0
    assert image.records_address >= edges.address + edges.edges * id_bytes
    for node in range(34):
        record = image.data[image.records_address + 16 * node :][:16].tobytes()
        offset, degree = int.from_bytes(record[:8], "little"), int.from_bytes(record[8:12], "little")
        assert (offset, degree) == (KARATE.indptr[node], KARATE.indptr[node + 1] - KARATE.indptr[node])


def test_an_empty_graph():
    image = read_image(make_image(np.zeros(1, np.int64), np.zeros(0, np.int64), page_bytes=512).data)
    assert (image.edges.nodes, image.edges.edges, image.pages) == (0, 0, 1)


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"id_bytes": 5}, "ids of 5 bytes: they must have 4 or 8"),
        ({"edges_address": 516}, "cannot begin at byte 516: it must be a multiple of 8"),
        ({"edges_address": 56}, "behind the header of 64 bytes"),
        ({"edges_address": 9 << 66}, "up to 68719476736"),
    ],
)
def test_layouts_that_cannot_be_are_refused(change, problem):
    with pytest.raises(ImageError, match=problem):
        make_image(KARATE.indptr, KARATE.indices, page_bytes=512, **change)


@pytest.mark.parametrize(
    ("field", "value", "problem"),
    [
        ("id_bytes", 7, "ids have 7 bytes"),
        ("id_bytes", 0, "ids have 0 bytes"),
        ("edges_address", 516, "not aligned to its ids"),
        ("edges", 100_000, "runs into the nodes' records"),
        ("records_address", 1800, "do not begin on a page"),
        ("page_bytes", 0, "no whole pages of 0"),
        ("page_bytes", 1000, "no whole pages of 1000"),
    ],
)
def test_damaged_headers_are_refused(field, value, problem):
    data = make_image(KARATE.indptr, KARATE.indices, page_bytes=512).data.copy()
    fields = IMAGE_HEADER.decode(data[None, :64]) | {field: value}
    data[:64] = IMAGE_HEADER.encode(1, fields)[0]
    with pytest.raises(ImageError, match=problem):
        read_image(data)
    with pytest.raises(ImageError, match="no whole pages of 512"):
        read_image(np.append(make_image(KARATE.indptr, KARATE.indices, page_bytes=512).data, np.uint8(0)))


def test_files_that_are_no_images_are_refused():
    data = make_image(KARATE.indptr, KARATE.indices, page_bytes=512).data
    with pytest.raises(ImageError, match="5 bytes are no flash image"):
        read_image(data[:5])
    with pytest.raises(ImageError, match="broken off: 1024 of"):
        read_image(data[:1024])
    for place, problem in ((0, "does not begin with NEARSAGE"), (8, "version 0; this program reads version 1")):
        other = data.copy()
        other[place] ^= 1
        with pytest.raises(ImageError, match=problem):
            read_image(other)
