"""`nearsage image`."""

import numpy as np
import pytest

from sim.config import load_config
from sim.graph import load_graph
from sim.program.ssd_image import read_image
from testbenches.scripts.run import checked_json, message, nearsage

KEYS = {
    "graph", "file", "nodes", "edges", "id_bytes", "edges_address", "records_address", "page_bytes", "pages",
}  # fmt: skip


@pytest.mark.parametrize(("config", "id_bytes"), [("smartsage", 8), ("tiny", 4)])
def test_the_file_is_the_graph(tmp_path, config, id_bytes):
    path = tmp_path / "karate.flash"
    result = nearsage("image", "karate", "--out", path, "--config", config, "--id-bytes", id_bytes, "--json", "-")
    assert result.exit_code == 0
    values = checked_json(result.stdout, "image", config, KEYS)
    read = read_image(np.fromfile(path, np.uint8))
    graph, page_bytes = load_graph("karate"), load_config(config).ssd.flash.page_bytes
    assert (values["page_bytes"], values["pages"] * page_bytes) == (page_bytes, path.stat().st_size)
    assert (read.edges.nodes, read.edges.edges, read.edges.id_bytes) == (34, 156, id_bytes)
    ids = read.data[values["edges_address"] :][: 156 * id_bytes].view(f"<u{id_bytes}")
    assert ids.tolist() == graph.indices.tolist()


def test_a_wrong_address_is_refused_and_nothing_written(tmp_path):
    path = tmp_path / "karate.flash"
    result = nearsage("image", "karate", "--out", path, "--edges-address", 68)
    assert result.exit_code == 2
    assert "the edge list cannot begin at byte 68: it must be a multiple of 8" in message(result)
    assert not path.exists()
