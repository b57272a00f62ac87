"""Python-2 pickles of arrays, sparse matrices and dictionaries, read without running anything that they name."""

import collections
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse

from sim.graph.errors import GraphError


class LegacyCsr:
    """Stands in for SciPy's `csr_matrix` of any age: takes its state without running SciPy's code."""

    def __init__(self) -> None:
        self._state: dict[str, Any] = {}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self._state = state

    def to_dense(self) -> npt.NDArray[np.float32]:
        """Give the matrix as float32 [rows, columns]; raises ValueError, KeyError or TypeError if it is damaged."""
        state = self._state
        arrays = state["data"], state["indices"], state["indptr"]
        matrix = scipy.sparse.csr_array(arrays, shape=state.get("_shape", state.get("shape")))
        matrix.check_format(full_check=True)
        dense: npt.NDArray[np.float32] = matrix.toarray().astype(np.float32)
        return dense


def _dtype(code: str, *flags: int) -> np.dtype[Any]:
    # Python 2 wrote align and copy as 0 and 1; NumPy 2.4.0 warns of anything but true booleans.
    return np.dtype(code, *(bool(flag) for flag in flags))


_ALLOWED: dict[tuple[str, str], Any] = {
    ("collections", "defaultdict"): collections.defaultdict,
    ("__builtin__", "list"): list,
    ("builtins", "list"): list,
    ("numpy", "ndarray"): np.ndarray,
    ("numpy", "dtype"): _dtype,
    ("numpy.core.multiarray", "_reconstruct"): np.empty(0).__reduce__()[0],
    ("numpy._core.multiarray", "_reconstruct"): np.empty(0).__reduce__()[0],
    ("scipy.sparse.csr", "csr_matrix"): LegacyCsr,
    ("scipy.sparse._csr", "csr_matrix"): LegacyCsr,
}


class _Unpickler(pickle.Unpickler):
    def find_class(self, module_name: str, global_name: str, /) -> Any:
        try:
            return _ALLOWED[module_name, global_name]
        except KeyError:
            raise GraphError(f"asks for {module_name}.{global_name}, which a graph has no need of") from None


def load_legacy_pickle(path: Path) -> Any:
    """Read a pickle that may hold only arrays, sparse matrices, lists, dictionaries and numbers.

    Parameters
    ----------
    path : Path
        A pickle of Python 2 or 3.

    Returns
    -------
    object
        Arrays, `LegacyCsr`, `defaultdict` and the like. What it holds is not checked.

    Raises
    ------
    GraphError
        The pickle names any other class or function (the message says which), is truncated or damaged.
    """
    try:
        with path.open("rb") as stream:
            return _Unpickler(stream, encoding="latin1").load()
    except OSError as error:
        raise GraphError(f"{path}: cannot be read: {error.strerror or error}") from error
    except GraphError as error:
        raise GraphError(f"{path}: refused: the pickle {error}") from None
    except Exception as error:  # a damaged pickle can raise anything
        raise GraphError(f"{path}: a truncated or damaged pickle: {error}") from error
