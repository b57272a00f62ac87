"""Matrix Market and SciPy's .npz: round trips and refusals."""

import gzip

import numpy as np
import pytest
import scipy.io
import scipy.sparse

from sim.graph import GraphError, load_graph
from testbenches.sim.graph.strategies import dense

HEAD = "%%MatrixMarket matrix coordinate real general\n"
FORMATS = ["csr", "csc", "coo", "bsr", "dia"]


def example(n_nodes=9):
    random = np.random.default_rng(3)
    return (random.random((n_nodes, n_nodes)) < 0.3).astype(np.float64)


@pytest.mark.parametrize("zipped", [False, True])
def test_matrix_market_round_trip(tmp_path, zipped):
    matrix = example()
    path = tmp_path / "matrix.txt"  # neither kind is recognised by its name
    with path.open("wb") as file:
        scipy.io.mmwrite(file, scipy.sparse.coo_array(matrix))
    if zipped:
        path.write_bytes(gzip.compress(path.read_bytes()))
    graph = load_graph(str(path))
    assert (dense(graph.indptr, graph.indices) == matrix.T).all()
    assert graph.notes == ()


@pytest.mark.parametrize("kind", FORMATS)
def test_npz_round_trip(tmp_path, kind):
    matrix = example()
    path = tmp_path / "matrix.npz"
    scipy.sparse.save_npz(path, scipy.sparse.coo_array(matrix).asformat(kind))
    graph = load_graph(f"{path}:undirected=true")
    assert (dense(graph.indptr, graph.indices) == np.maximum(matrix, matrix.T)).all()


def test_symmetric_pattern_array_and_values(tmp_path):
    path = tmp_path / "m.mtx"
    path.write_text("%%MatrixMarket matrix coordinate pattern symmetric\n% c\n3 3 2\n2 1\n3 3\n")
    assert dense(*_rows(path)).tolist() == [[0, 1, 0], [1, 0, 0], [0, 0, 1]]
    path.write_text("%%MatrixMarket matrix array real general\n2 2\n0\n3\n0\n0\n")
    graph = load_graph(str(path))
    assert graph.indices.tolist() == [1]
    assert graph.notes == ("ignored the values of the matrix",)
    path.write_text(HEAD + "2 2 3\n1 2 1\n1 2 1\n2 1 0\n")
    assert load_graph(str(path)).notes == ("dropped 1 stored zeros", "merged 1 repeated edges")
    assert load_graph(f"{path}:repeats=keep").n_edges == 2


def test_empty_matrices_are_graphs(tmp_path):
    path = tmp_path / "m.mtx"
    path.write_text(HEAD + "3 3 0\n")
    assert (load_graph(str(path)).n_nodes, load_graph(str(path)).n_edges) == (3, 0)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("3 4 1\n1 2 1\n", "m.mtx: the matrix is 3 x 4"),
        ("3 3 2\n1 2 1\n2 3 nan\n", "m.mtx:4: a value that is not finite"),
        ("% nan\n3 3 2\n1 2 1\n2 3 -inf\n", "m.mtx:5: a value that is not finite"),
        ("3 3 2\n1 2 1\n", "m.mtx:3: .*Truncated"),
        ("3 3 1\n1 2 1\n1 3 1\n", "m.mtx:4: "),
        ("3 3 1\n1 9 1\n", "m.mtx:3: .*out of bounds"),
        ("3 3 1\n0 1 1\n", "m.mtx:3: .*out of bounds"),
        ("3 3 1\n-1 1 1\n", "m.mtx:3: "),
        ("3 3 1\n1 x 1\n", "m.mtx:3: .*Invalid integer"),
        ("% c\n3 3\n1 2 1\n", "m.mtx:3: .*Invalid integer"),
        ("99999999999999999999 3 1\n1 1 1\n", "m.mtx:2: .*out of range"),
        ("9000000000000000000 9000000000000000000 1\n1 1 1\n", "nodes lie outside"),
        ("", "m.mtx:2: .*EOF"),
    ],
)
def test_bad_matrix_market_is_refused(tmp_path, text, message):
    path = tmp_path / "m.mtx"
    path.write_text(HEAD + text)
    with pytest.raises(GraphError, match=message):
        load_graph(str(path))


def test_other_matrix_market_objects_and_truncated_gzip_are_refused(tmp_path):
    path = tmp_path / "m.mtx"
    path.write_text("%%MatrixMarket vector real\n")
    with pytest.raises(GraphError, match=r"m.mtx:1: bad Matrix Market file"):
        load_graph(str(path))
    path.write_bytes(gzip.compress((HEAD + "3 3 1\n1 2 1\n").encode())[:-4])
    with pytest.raises(GraphError, match=r"m.mtx: the gzip stream is truncated"):
        load_graph(str(path))


def test_bad_npz_is_refused(tmp_path):
    path = tmp_path / "m.npz"
    scipy.sparse.save_npz(path, scipy.sparse.csr_array(np.ones((2, 3))))
    with pytest.raises(GraphError, match="the matrix is 2 x 3"):
        load_graph(str(path))
    path.write_bytes(path.read_bytes()[:100])
    with pytest.raises(GraphError, match=r"m.npz: not a sparse matrix"):
        load_graph(str(path))
    np.savez(path, a=np.ones(3))
    with pytest.raises(GraphError, match=r"m.npz: not a sparse matrix"):
        load_graph(str(path))
    np.savez(path, format=np.array([{}], dtype=object))
    with pytest.raises(GraphError, match=r"m.npz: not a sparse matrix"):
        load_graph(str(path))
    scipy.sparse.save_npz(path, scipy.sparse.csr_array(np.array([[0, np.nan], [1, 0]])))
    with pytest.raises(GraphError, match=r"m.npz: a value that is not finite"):
        load_graph(str(path))


@pytest.mark.parametrize(("indices", "indptr"), [([0, 5], [0, 1, 2]), ([0, -1], [0, 1, 2]), ([0, 1], [0, 9, 2])])
def test_npz_that_points_out_of_the_matrix_is_refused(tmp_path, indices, indptr):
    path = tmp_path / "m.npz"
    arrays = {"data": np.ones(2), "indices": np.array(indices), "indptr": np.array(indptr), "shape": np.array([2, 2])}
    np.savez(path, format=np.array("csr"), **arrays)
    with pytest.raises(GraphError, match=r"m.npz: not a sparse matrix"):
        load_graph(str(path))


def _rows(path):
    graph = load_graph(str(path))
    return graph.indptr, graph.indices
