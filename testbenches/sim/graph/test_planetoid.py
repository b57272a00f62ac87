"""Planetoid folders: a made one with every oddity, damaged ones, and the two real ones."""

import collections
import pickle

import numpy as np
import pytest
import scipy.sparse

from sim.graph import GraphError, load_graph, statistics

# Five known nodes (the first two for training), then test nodes 5, 7 and 8: node 6 is a gap in the test index.
TEST_INDEX = "8\n5\n7\n"
NEIGHBOURS = {0: [1, 1, 2], 1: [0, 0], 2: [0, 2, 2], 3: [], 4: [5], 5: [4], 6: [], 7: [8], 8: []}
PARTS = {
    "x": scipy.sparse.csr_matrix(np.array([[1, 0, 0], [0, 1, 0]], np.float32)),
    "allx": scipy.sparse.csr_matrix(np.array([[1, 0, 0], [0, 1, 0], [1, 1, 0], [0, 0, 1], [1, 0, 1]], np.float32)),
    "tx": scipy.sparse.csr_matrix(np.array([[8, 0, 0], [0, 5, 0], [0, 0, 7]], np.float32)),
    "y": np.array([[1, 0], [0, 1]]),
    "ally": np.array([[1, 0], [0, 1], [1, 0], [0, 1], [0, 1]]),
    "ty": np.array([[0, 1], [1, 0], [0, 1]]),
    "graph": collections.defaultdict(list, NEIGHBOURS),
}


@pytest.fixture
def folder(tmp_path):
    """Make a small Planetoid folder."""
    for part, value in PARTS.items():
        (tmp_path / f"ind.made.{part}").write_bytes(pickle.dumps(value, protocol=4))
    (tmp_path / "ind.made.test.index").write_text(TEST_INDEX)
    return tmp_path


def load(folder, options=""):
    return load_graph(f"planetoid:made:root={folder}{options}")


def test_features_labels_and_split(folder):
    graph = load(folder)
    assert (graph.name, graph.n_nodes, graph.n_features, graph.n_classes) == ("made", 9, 3, 2)
    assert graph.features[4:].tolist() == [[1, 0, 1], [0, 5, 0], [0, 0, 0], [0, 0, 7], [8, 0, 0]]
    assert graph.labels.tolist() == [0, 1, 0, 1, 1, 0, -1, 1, 1]
    assert np.flatnonzero(graph.train_mask).tolist() == [0, 1]
    assert np.flatnonzero(graph.val_mask).tolist() == [2, 3, 4]
    assert np.flatnonzero(graph.test_mask).tolist() == [5, 7, 8]


def test_edges_by_default_and_as_they_stand(folder):
    graph = load(folder)
    assert graph.indptr.tolist() == [0, 2, 3, 4, 4, 5, 6, 6, 7, 8]
    assert graph.indices.tolist() == [1, 2, 0, 0, 5, 4, 8, 7]
    assert graph.notes == (
        "1 gaps in the test index: zero features, no label",
        "dropped 2 self-loops",
        "merged 2 repeated edges",
        "added 1 reverse edges",
    )
    raw = load(folder, ",self_loops=keep,repeats=keep,undirected=false")
    rows = [raw.indices[raw.indptr[v] : raw.indptr[v + 1]].tolist() for v in range(raw.n_nodes)]
    assert dict(enumerate(rows)) == NEIGHBOURS


@pytest.mark.parametrize(
    ("part", "value", "message"),
    [
        ("graph", {0: [9]}, r"ind.made.graph: node 0: 9 is no node id of 0\.\.8"),
        ("graph", {-1: [0]}, "node -1: -1 is no node id"),
        ("graph", {0: [1.5]}, r"node 0: 1\.5 is no node id"),
        ("graph", {0: 1}, "the neighbours of node 0 are no list"),
        ("graph", [[1]], "holds no dictionary"),
        ("y", [[1, 0]], r"ind.made.y: holds no matrix of numbers"),
        ("y", np.array(["a"]), "holds no matrix of numbers"),
        ("y", np.array([1, 0]), "holds no matrix of numbers"),
        ("y", np.eye(3), "do not fit each other"),
        ("tx", PARTS["x"], "do not fit each other"),
        ("allx", PARTS["tx"], "do not fit each other"),
        ("x", PARTS["x"][:, :2], "do not fit each other"),
        ("ty", PARTS["ty"][:, :1], "do not fit each other"),
        ("ty", np.zeros((3, 2)), "test_mask holds a node without a label"),
        ("allx", PARTS["allx"] * np.nan, "features of node 0 are not finite"),
    ],
)
def test_files_that_do_not_fit_are_refused(folder, part, value, message):
    (folder / f"ind.made.{part}").write_bytes(pickle.dumps(value, protocol=4))
    with pytest.raises(GraphError, match=message):
        load(folder)


def test_sparse_matrix_that_points_out_of_itself_is_refused(folder):
    matrix = PARTS["allx"].copy()
    matrix.indices[0] = 77
    (folder / "ind.made.allx").write_bytes(pickle.dumps(matrix, protocol=4))
    with pytest.raises(GraphError, match=r"ind.made.allx: a damaged matrix"):
        load(folder)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("8\n5\nx\n", r"test.index:3: 'x' is no node id"),
        ("8\n-5\n7\n", r"test.index:2: '-5'"),
        ("8\n5 7\n", r"test.index:2: "),
        ("8\n\n5\n7\n", r"test.index:2: "),
        ("8\n5\n99999999999\n", r"test.index:3: "),
        ("", "must list the test nodes, each once"),
        ("8\n5\n5\n", "each once"),
        ("8\n6\n7\n", "do not fit each other"),
        ("8\n5\n", "do not fit each other"),
    ],
)
def test_bad_test_index_is_refused(folder, text, message):
    (folder / "ind.made.test.index").write_text(text)
    with pytest.raises(GraphError, match=message):
        load(folder)


@pytest.mark.parametrize("part", [*PARTS, "test.index"])
def test_missing_and_truncated_files_are_refused(folder, part):
    path = folder / f"ind.made.{part}"
    if part != "test.index":
        path.write_bytes(path.read_bytes()[:-9])
        with pytest.raises(GraphError, match=rf"ind.made.{part}: a truncated or damaged pickle"):
            load(folder)
    path.unlink()
    with pytest.raises(GraphError, match=r"unknown Planetoid graph|cannot be read"):
        load(folder)


def test_malicious_pickle_is_refused(folder):
    (folder / "ind.made.graph").write_bytes(b"cos\nsystem\n(S'false'\ntR.")
    with pytest.raises(GraphError, match=r"ind.made.graph: refused: the pickle asks for os\.system"):
        load(folder)


def test_unknown_graphs_and_folders(folder, monkeypatch):
    with pytest.raises(GraphError, match=r"'mode'\. Did you mean 'made'\? Known: made\."):
        load_graph(f"planetoid:mode:root={folder}")
    monkeypatch.delenv("NEARSAGE_DATA", raising=False)
    with pytest.raises(GraphError, match="Set NEARSAGE_DATA"):
        load_graph("planetoid:made")
    monkeypatch.setenv("NEARSAGE_DATA", str(folder.parent))
    with pytest.raises(GraphError, match=r"unknown Planetoid graph in .*planetoid: 'made'"):
        load_graph("planetoid:made")


REAL = {"cora": (2_708, 1_433, 7, 10_556, 168, 0), "citeseer": (3_327, 3_703, 6, 9_104, 99, 48)}


@pytest.mark.parametrize("name", REAL)
def test_real_graphs(data_folder, name):
    nodes, n_features, classes, n_edges, max_degree, isolated = REAL[name]
    graph = load_graph(f"planetoid:{name}:root={data_folder / 'planetoid'}")
    found = statistics(graph)
    assert (found.nodes, found.features, found.classes, found.edges) == (nodes, n_features, classes, n_edges)
    assert (found.max_in_degree, found.isolated_nodes) == (max_degree, isolated)
    assert found.symmetric
    assert found.self_loops == found.repeated_edges == 0

    assert np.flatnonzero(graph.train_mask).tolist() == list(range(20 * classes))
    assert (np.bincount(graph.labels[graph.train_mask]) == 20).all()
    assert np.flatnonzero(graph.val_mask).tolist() == list(range(20 * classes, 20 * classes + 500))
    assert graph.test_mask.sum() == 1_000
    gaps = np.flatnonzero(graph.labels < 0)
    assert gaps.size == (15 if name == "citeseer" else 0)
    assert not graph.features[gaps].any()
    assert set(np.unique(graph.features)) == {0.0, 1.0}


def test_real_files_as_they_stand(data_folder):
    root = data_folder / "planetoid"
    cora = statistics(load_graph(f"planetoid:cora:root={root},self_loops=keep,repeats=keep"))
    assert (cora.edges, cora.self_loops, cora.repeated_edges) == (10_858, 0, 302)
    citeseer = statistics(load_graph(f"planetoid:citeseer:root={root},self_loops=keep,repeats=keep"))
    assert (citeseer.edges, citeseer.self_loops, citeseer.repeated_edges) == (9_464, 248, 236)
    assert citeseer.isolated_nodes == 48
    assert cora.symmetric
    assert citeseer.symmetric
