"""The graph that everything else works on: incoming edges in compressed rows, with what is known about the nodes."""

import dataclasses
import hashlib
from typing import Any

import numpy as np

from sim.graph.csr import BoolArray, FloatArray, IntArray, first_descent, symmetrise, transpose
from sim.graph.errors import GraphError

_MASKS = ("train_mask", "val_mask", "test_mask")


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class Graph:
    """A directed graph of N nodes and E edges, with optional features, labels and split.

    The arrays are read-only; integer and float arrays of other widths are converted on the way in.

    Attributes
    ----------
    name : str
        For people: the file's name or the specification.
    indptr : ndarray of int64, [N + 1]
        Row v is ``indices[indptr[v]:indptr[v + 1]]``.
    indices : ndarray of int64, [E]
        Row v lists the sources u of v's incoming edges u -> v, ascending by u. Repeated edges and self-loops may occur.
    features : ndarray of float32, [N, F], optional
        Finite.
    labels : ndarray of int64, [N], optional
        Class of each node, 0..n_classes - 1; -1 where it is not known.
    n_classes : int
        0 without labels.
    train_mask, val_mask, test_mask : ndarray of bool, [N], optional
        The split; only nodes with a known label may be in it.
    node_ids : ndarray of int64, [N], optional
        The file's own id of each node, where the reader had to renumber.
    notes : tuple of str
        What the reader did to the file's data: renumbered, merged, dropped.

    Raises
    ------
    GraphError
        Any of the above does not hold.
    """

    name: str
    indptr: IntArray
    indices: IntArray
    features: FloatArray | None = None
    labels: IntArray | None = None
    n_classes: int = 0
    train_mask: BoolArray | None = None
    val_mask: BoolArray | None = None
    test_mask: BoolArray | None = None
    node_ids: IntArray | None = None
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        self._convert("indptr", "iu", np.int64)
        self._convert("indices", "iu", np.int64)
        self._check_rows()
        self._convert("features", "fiu", np.float32, (self.n_nodes, -1))
        self._convert("labels", "iu", np.int64, (self.n_nodes,))
        self._convert("node_ids", "iu", np.int64, (self.n_nodes,))
        for mask in _MASKS:
            self._convert(mask, "b", np.bool_, (self.n_nodes,))
        self._check_nodes()

    def _convert(self, field: str, kinds: str, dtype: type[np.generic], shape: tuple[int, ...] = (-1,)) -> None:
        value = getattr(self, field)
        if value is None:
            return
        array = np.asarray(value)
        # An empty list has a float type of its own: nothing in it can be of the wrong kind.
        if array.dtype.kind not in kinds and array.size:
            raise GraphError(f"{self.name}: {field} holds {array.dtype}, not {np.dtype(dtype)}")
        if array.dtype == np.uint64 and dtype is np.int64 and array.size and array.max() > np.iinfo(np.int64).max:
            raise GraphError(f"{self.name}: {field} holds {array.max()}, which does not fit 64 bits with a sign")
        if len(array.shape) != len(shape) or any(
            want not in (-1, got) for want, got in zip(shape, array.shape, strict=True)
        ):
            wanted = str(shape).replace("-1", "any")
            raise GraphError(f"{self.name}: {field} has the shape {array.shape}, not {wanted}")
        # A view, so that the caller's own array stays writable.
        converted = np.ascontiguousarray(array, dtype=dtype).view()
        converted.flags.writeable = False
        object.__setattr__(self, field, converted)

    def _check_rows(self) -> None:
        if self.indptr.size == 0 or self.indptr[0] != 0:
            raise GraphError(f"{self.name}: indptr must begin with 0; a graph without nodes has indptr [0]")
        falls = np.flatnonzero(self.indptr[1:] < self.indptr[:-1])
        if falls.size:
            raise GraphError(f"{self.name}: indptr falls at row {falls[0]}")
        if self.indptr[-1] != self.indices.size:
            raise GraphError(
                f"{self.name}: indptr ends at {self.indptr[-1]}, but there are {self.indices.size} indices"
            )
        if self.indices.size and (self.indices.min() < 0 or self.indices.max() >= self.n_nodes):
            wrong = int(np.argmax((self.indices < 0) | (self.indices >= self.n_nodes)))
            raise GraphError(
                f"{self.name}: index {wrong} is {self.indices[wrong]}, which lies outside 0..{self.n_nodes - 1}"
            )
        row = first_descent(self.indptr, self.indices)
        if row >= 0:
            raise GraphError(f"{self.name}: row {row} is not ascending; build it with csr_from_edges")

    def _check_nodes(self) -> None:
        if self.features is not None and not np.isfinite(self.features).all():
            node = int(np.argmin(np.isfinite(self.features).all(axis=1)))
            raise GraphError(f"{self.name}: the features of node {node} are not finite")
        if self.n_classes < 0 or (self.labels is None and self.n_classes):
            raise GraphError(f"{self.name}: {self.n_classes} classes need labels")
        if self.labels is not None:
            wrong = np.flatnonzero((self.labels < -1) | (self.labels >= self.n_classes))
            if wrong.size:
                raise GraphError(
                    f"{self.name}: node {wrong[0]} has the label {self.labels[wrong[0]]}, "
                    f"which lies outside -1..{self.n_classes - 1}"
                )
        for field in _MASKS:
            mask = getattr(self, field)
            if mask is not None and (self.labels is None or (self.labels[mask] < 0).any()):
                raise GraphError(f"{self.name}: {field} holds a node without a label")

    @property
    def n_nodes(self) -> int:
        """Number of nodes N, isolated ones included."""
        return int(self.indptr.size - 1)

    @property
    def n_edges(self) -> int:
        """Number of directed edges E; an undirected edge counts as two."""
        return int(self.indices.size)

    @property
    def n_features(self) -> int:
        """Number of features F of a node; 0 without features."""
        return 0 if self.features is None else int(self.features.shape[1])

    def in_degrees(self) -> IntArray:
        """Count each node's incoming edges: int64 [N]."""
        return np.diff(self.indptr)

    def out_degrees(self) -> IntArray:
        """Count each node's outgoing edges: int64 [N]."""
        return np.bincount(self.indices, minlength=self.n_nodes).astype(np.int64, copy=False)

    def transposed(self) -> "Graph":
        """Reverse every edge: row u then lists the destinations of u's outgoing edges in this graph."""
        return self._with_rows(*transpose(self.indptr, self.indices))

    def symmetrised(self) -> "Graph":
        """Add the reverse edges that are missing; see `sim.graph.csr.symmetrise`."""
        return self._with_rows(*symmetrise(self.indptr, self.indices))

    def is_symmetric(self) -> bool:
        """Tell whether u -> v is as often as v -> u for all u and v."""
        indptr, indices = transpose(self.indptr, self.indices)
        return np.array_equal(indptr, self.indptr) and np.array_equal(indices, self.indices)

    def content_hash(self) -> str:
        """Give the SHA-256, in hexadecimal, of all that a result can depend on: a key for caches.

        Covers edges, features, labels, classes and masks, with their shapes; not the name, the notes or the file's ids.
        """
        digest = hashlib.sha256(f"classes {self.n_classes}".encode())
        for field in ("indptr", "indices", "features", "labels", *_MASKS):
            array: Any = getattr(self, field)
            if array is not None:
                digest.update(f"{field} {array.shape}".encode())
                digest.update(array.reshape(-1).view(np.uint8))
        return digest.hexdigest()

    def _with_rows(self, indptr: IntArray, indices: IntArray) -> "Graph":
        return dataclasses.replace(self, indptr=indptr, indices=indices)
