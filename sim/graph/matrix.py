"""Sparse matrices as graphs: Matrix Market text and SciPy's `.npz`. The entry in row i, column j is the edge i -> j."""

import io
import re
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import scipy.io
import scipy.sparse

from sim.graph.errors import GraphError
from sim.graph.graph import Graph
from sim.graph.rules import FILE_RULES, EdgeRules, graph_from_edges
from sim.graph.stream import open_bytes

_LINE_OF_SCIPY = re.compile(r"^Line (\d+): (.*)$", re.DOTALL)
_NOT_FINITE = re.compile(rb"(?:^|[\s+-])(?:nan|inf)", re.IGNORECASE)


def _graph_of(path: Path, matrix: Any, rules: EdgeRules) -> Graph:
    n_rows, n_columns = matrix.shape
    if n_rows != n_columns:
        raise GraphError(f"{path}: the matrix is {n_rows} x {n_columns}; a graph needs a square one")
    entries = scipy.sparse.coo_array(matrix)
    notes = []
    present = entries.data != 0
    if not present.all():
        notes.append(f"dropped {np.count_nonzero(~present):,} stored zeros")
    if (entries.data[present] != 1).any():
        notes.append("ignored the values of the matrix")
    sources, destinations = (ends[present].astype(np.int64) for ends in entries.coords)
    return graph_from_edges(path.name, sources, destinations, n_rows, rules, notes=tuple(notes))


def _line_of(error: Exception, text: bytes) -> tuple[int, str]:
    """Find the line that SciPy complains of: it does not say so of the line of sizes and of a file that ends early."""
    message = str(error)
    found = _LINE_OF_SCIPY.match(message)
    if found:
        return int(found[1]), found[2]
    lines = text.splitlines()
    if message.startswith("Truncated"):
        return len(lines), message
    return next((number for number, line in enumerate(lines, start=1) if not line.startswith(b"%")), 1), message


def _line_not_finite(text: bytes) -> int:
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.startswith(b"%") and _NOT_FINITE.search(line):
            return number
    return 1


def load_matrix_market(path: Path, *, rules: EdgeRules = FILE_RULES) -> Graph:
    """Load a square Matrix Market file, plain or gzip, as a graph.

    Parameters
    ----------
    path : Path
        Coordinate or array format, general or symmetric (then both directions are edges).
    rules : EdgeRules
        By default direction and self-loops are kept and repeated entries merged.

    Returns
    -------
    Graph
        An edge for every entry that is not zero; its value is not used, which the notes say.

    Raises
    ------
    GraphError
        A bad line or a value that is not finite (with file and line), a matrix that is not square, a truncated file.
    """
    with open_bytes(path) as stream:
        text = stream.read()
    try:
        matrix = scipy.io.mmread(io.BytesIO(text), spmatrix=False)
    except (ValueError, OverflowError) as error:
        line, what = _line_of(error, text)
        raise GraphError(f"{path}:{line}: bad Matrix Market file: {what}") from error
    if not np.isfinite(getattr(matrix, "data", matrix)).all():
        raise GraphError(f"{path}:{_line_not_finite(text)}: a value that is not finite")
    return _graph_of(path, matrix, rules)


def load_npz(path: Path, *, rules: EdgeRules = FILE_RULES) -> Graph:
    """Load a square matrix of `scipy.sparse.save_npz` as a graph.

    Parameters
    ----------
    path : Path
        Any of SciPy's formats.
    rules : EdgeRules
        By default direction and self-loops are kept and repeated entries merged.

    Returns
    -------
    Graph
        An edge for every entry that is not zero; its value is not used, which the notes say.

    Raises
    ------
    GraphError
        Not such a file, a damaged one, a matrix that is not square, or a value that is not finite.
    """
    try:
        with path.open("rb") as stream:  # a file of ours: SciPy would leave its own open when it fails
            matrix = scipy.sparse.load_npz(stream)
        if hasattr(matrix, "check_format"):  # without it SciPy would follow bad indices into foreign memory
            matrix.check_format(full_check=True)
        finite = bool(np.isfinite(matrix.data).all())
    except OSError as error:
        raise GraphError(f"{path}: cannot be read: {error.strerror or error}") from error
    except (ValueError, KeyError, TypeError, EOFError, NotImplementedError, zipfile.BadZipFile) as error:
        raise GraphError(f"{path}: not a sparse matrix of scipy.sparse.save_npz, or a damaged one: {error}") from error
    if not finite:
        raise GraphError(f"{path}: a value that is not finite")
    return _graph_of(path, matrix, rules)
