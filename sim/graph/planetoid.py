"""Planetoid's citation graphs (Cora, Citeseer, PubMed): seven pickles and a list of test nodes in one folder.

Source of the format and of the public split: Yang, Cohen and Salakhutdinov, "Revisiting Semi-Supervised Learning with
Graph Embeddings" (2016), and its repository kimiyoung/planetoid.
"""

import os
import re
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from sim.graph.csr import BoolArray, FloatArray, IntArray
from sim.graph.errors import GraphError, unknown
from sim.graph.graph import Graph
from sim.graph.legacy_pickle import LegacyCsr, load_legacy_pickle
from sim.graph.rules import EdgeRules, graph_from_edges
from sim.graph.stream import line_blocks

PLANETOID_RULES = EdgeRules(undirected=True, self_loops="drop")
"""The graphs that publications speak of: undirected, without self-loops, each edge once."""

_N_VALIDATION = 500


def planetoid_root() -> Path:
    """Give the folder ``$NEARSAGE_DATA/planetoid``; GraphError where the variable is unset."""
    data = os.environ.get("NEARSAGE_DATA")
    if not data:
        raise GraphError("where are the Planetoid files? Set NEARSAGE_DATA to the folder above, or say root=FOLDER")
    return Path(data) / "planetoid"


def _read_matrix(path: Path) -> npt.NDArray[np.float32]:
    value = load_legacy_pickle(path)
    try:
        if isinstance(value, LegacyCsr):
            return value.to_dense()
        if isinstance(value, np.ndarray) and value.ndim == 2 and value.dtype.kind in "fiu":
            return value.astype(np.float32)
    except (ValueError, KeyError, TypeError, IndexError) as error:
        raise GraphError(f"{path}: a damaged matrix: {error}") from error
    raise GraphError(f"{path}: holds no matrix of numbers")


def _read_test_nodes(path: Path) -> IntArray:
    nodes: list[int] = []
    for block in line_blocks(path):
        for line in block.splitlines():
            # Nine digits are far above any such graph; more would be a damaged file.
            if not re.fullmatch(rb"\s*\d{1,9}\s*", line):
                raise GraphError(f"{path}:{len(nodes) + 1}: {line[:40].decode('latin1')!r} is no node id")
            nodes.append(int(line))
    if not nodes or len(set(nodes)) != len(nodes):
        raise GraphError(f"{path}: must list the test nodes, each once")
    return np.array(nodes, np.int64)


def _read_edges(path: Path, n_nodes: int) -> tuple[IntArray, IntArray]:
    lists: Any = load_legacy_pickle(path)
    if not isinstance(lists, dict):
        raise GraphError(f"{path}: holds no dictionary of neighbours")
    pairs = []
    for node, neighbours in lists.items():
        if not isinstance(neighbours, list):
            raise GraphError(f"{path}: the neighbours of node {node} are no list")
        for neighbour in neighbours:
            for end in (node, neighbour):
                if type(end) is not int or not 0 <= end < n_nodes:
                    raise GraphError(f"{path}: node {node}: {end!r} is no node id of 0..{n_nodes - 1}")
            pairs.append((neighbour, node))
    edges = np.array(pairs, np.int64).reshape(-1, 2)
    return edges[:, 0].copy(), edges[:, 1].copy()


def _labels_of(one_hot: FloatArray) -> IntArray:
    return np.where(one_hot.any(axis=1), one_hot.argmax(axis=1), -1).astype(np.int64)


def _mask(n_nodes: int, nodes: Any) -> BoolArray:
    mask = np.zeros(n_nodes, np.bool_)
    mask[nodes] = True
    return mask


def _folder_of(dataset: str, root: Path | None) -> Path:
    folder = planetoid_root() if root is None else root
    if not (folder / f"ind.{dataset}.graph").is_file():
        present = [path.name.split(".")[1] for path in folder.glob("ind.*.graph")]
        raise unknown(f"Planetoid graph in {folder}", dataset, present)
    return folder


def load_planetoid(
    dataset: str,
    *,
    root: Path | None = None,
    rules: EdgeRules = PLANETOID_RULES,
) -> Graph:
    """Load ``ind.DATASET.*`` with its features, labels and public split.

    Parameters
    ----------
    dataset : str
        ``cora``, ``citeseer`` or ``pubmed``, or whatever the folder holds.
    root : Path, optional
        The folder; by default ``$NEARSAGE_DATA/planetoid``.
    rules : EdgeRules
        With ``self_loops=keep,repeats=keep`` the edges are those of the file.

    Returns
    -------
    Graph
        Features are not normalised. Training nodes are the first ``len(y)`` (20 a class), validation nodes the next
        500, test nodes those of ``test.index``. Nodes in the gaps of the test index (15 of Citeseer) have zero features
        and the label -1.

    Raises
    ------
    GraphError
        A file is missing, truncated, does not fit the others, or asks for a class that it should not.
    """
    folder = _folder_of(dataset, root)
    x, tx, allx, y, ty, ally = (
        _read_matrix(folder / f"ind.{dataset}.{part}") for part in ("x", "tx", "allx", "y", "ty", "ally")
    )
    test_nodes = _read_test_nodes(folder / f"ind.{dataset}.test.index")
    n_known = len(allx)
    fits = (
        len(y) == len(x) <= n_known == len(ally) == test_nodes.min()
        and len(tx) == len(ty) == len(test_nodes)
        and x.shape[1] == allx.shape[1] == tx.shape[1]
        and y.shape[1] == ally.shape[1] == ty.shape[1]
    )
    if not fits:
        shapes = ", ".join(str(part.shape) for part in (x, tx, allx, y, ty, ally))
        raise GraphError(
            f"{folder}/ind.{dataset}.*: the files do not fit each other: x, tx, allx, y, ty, ally are {shapes}, "
            f"and {len(test_nodes)} test nodes begin at {test_nodes.min()}"
        )

    n_nodes = int(test_nodes.max()) + 1
    n_gaps = n_nodes - n_known - len(test_nodes)
    features = np.zeros((n_nodes, allx.shape[1]), np.float32)
    features[:n_known] = allx
    features[test_nodes] = tx
    labels = np.full(n_nodes, -1, np.int64)
    labels[:n_known] = _labels_of(ally)
    labels[test_nodes] = _labels_of(ty)
    sources, destinations = _read_edges(folder / f"ind.{dataset}.graph", n_nodes)
    return graph_from_edges(
        dataset,
        sources,
        destinations,
        n_nodes,
        rules,
        notes=(f"{n_gaps} gaps in the test index: zero features, no label",) if n_gaps else (),
        features=features,
        labels=labels,
        n_classes=ally.shape[1],
        train_mask=_mask(n_nodes, slice(0, len(y))),
        val_mask=_mask(n_nodes, slice(len(y), min(len(y) + _N_VALIDATION, n_known))),
        test_mask=_mask(n_nodes, test_nodes),
    )
