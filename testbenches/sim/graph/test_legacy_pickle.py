"""Python-2 pickles are read; pickles that ask for more are refused, and what they ask for is never run."""

import collections
import pickle

import numpy as np
import pytest
import scipy.sparse

from sim.graph import GraphError
from sim.graph.legacy_pickle import LegacyCsr, load_legacy_pickle

# What Python 2's cPickle and NumPy 1 wrote for numpy.array([[1, 2, 3]], dtype=int32).
PYTHON_2_ARRAY = (
    b"\x80\x02cnumpy.core.multiarray\n_reconstruct\nq\x01cnumpy\nndarray\nq\x02K\x00\x85U\x01b\x87Rq\x03"
    b"(K\x01K\x01K\x03\x86cnumpy\ndtype\nq\x04U\x02i4K\x00K\x01\x87Rq\x05"
    b"(K\x03U\x01<NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\x00tb\x89"
    b"U\x0c\x01\x00\x00\x00\x02\x00\x00\x00\x03\x00\x00\x00tb."
)
PYTHON_2_LISTS = b"\x80\x02ccollections\ndefaultdict\nq\x01c__builtin__\nlist\nq\x02\x85Rq\x03K\x00]q\x04K\x01as."


@pytest.fixture
def read(tmp_path):
    """Write bytes to a file and read it as a pickle."""

    def read_bytes(contents):
        path = tmp_path / "ind.x"
        path.write_bytes(contents)
        return load_legacy_pickle(path)

    return read_bytes


def test_python_2_pickles(read):
    array = read(PYTHON_2_ARRAY)
    assert array.dtype == np.int32
    assert array.tolist() == [[1, 2, 3]]
    lists = read(PYTHON_2_LISTS)
    assert lists == {0: [1]}
    assert isinstance(lists, collections.defaultdict)


def test_sparse_matrices(read):
    matrix = scipy.sparse.random(5, 7, density=0.4, format="csr", dtype=np.float32, rng=1)
    stand_in = read(pickle.dumps(scipy.sparse.csr_matrix(matrix), protocol=4))
    assert isinstance(stand_in, LegacyCsr)
    assert np.array_equal(stand_in.to_dense(), matrix.toarray())
    assert stand_in.to_dense().dtype == np.float32


def test_damaged_sparse_matrix(read):
    matrix = scipy.sparse.csr_matrix(np.eye(3, dtype=np.float32))
    matrix.indices[1] = 1000
    stand_in = read(pickle.dumps(matrix, protocol=4))
    with pytest.raises(ValueError, match="indices"):
        stand_in.to_dense()


@pytest.mark.parametrize(
    ("contents", "named"),
    [
        (b"cos\nsystem\n(S'touch ran'\ntR.", "os.system"),
        (b"cposix\nsystem\n(S'touch ran'\ntR.", "posix.system"),
        (b'c__builtin__\neval\n(S\'open("ran", "w")\'\ntR.', "__builtin__.eval"),
        (b"\x80\x04\x8c\x08builtins\x8c\x04eval\x93\x8c\x0fopen('ran', 'w')\x85R.", "builtins.eval"),
        (b"(S'touch ran'\nios\nsystem\n.", "os.system"),
        (b"\x80\x04\x8c\x0bcollections\x8c\x18defaultdict.__subclasses\x93.", "collections.defaultdict.__subclasses"),
        (b"cnumpy\nload\n(S'ran'\ntR.", "numpy.load"),
    ],
)
def test_malicious_pickles_are_refused_by_name(read, contents, named, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(GraphError) as caught:
        read(contents)
    assert f"ind.x: refused: the pickle asks for {named}," in str(caught.value)
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize("kept", [0, 1, 2, 30, 70, 120, -1, -2])
def test_truncated_pickles_are_refused(read, kept):
    with pytest.raises(GraphError, match=r"ind.x: a truncated or damaged pickle"):
        read(PYTHON_2_ARRAY[:kept])


@pytest.mark.parametrize("contents", [b"text\n", b"\x80\xff.", b"K\x01K\x02b.", PYTHON_2_ARRAY.replace(b"i4", b"zz")])
def test_damaged_pickles_are_refused(read, contents):
    with pytest.raises(GraphError, match=r"ind.x: a truncated or damaged pickle"):
        read(contents)


def test_unreadable_file(tmp_path):
    with pytest.raises(GraphError, match="none: cannot be read"):
        load_legacy_pickle(tmp_path / "none")
