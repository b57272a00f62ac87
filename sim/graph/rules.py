"""What becomes of direction, self-loops and repeated edges: the same three options for every source of graphs."""

import dataclasses
from typing import Any, Literal

from sim.graph.csr import IntArray, csr_from_edges, simplify, symmetrise
from sim.graph.errors import GraphError, unknown
from sim.graph.graph import Graph

SelfLoops = Literal["keep", "drop"]
Repeats = Literal["merge", "keep"]


@dataclasses.dataclass(frozen=True, kw_only=True)
class EdgeRules:
    """How the edges of a source become the edges of a graph, applied in the order of the attributes.

    Attributes
    ----------
    self_loops : {"keep", "drop"}
        Edges u -> u.
    repeats : {"merge", "keep"}
        Edges that occur more than once.
    undirected : bool
        Add the reverse edges that are missing (`sim.graph.csr.symmetrise`).

    Raises
    ------
    GraphError
        Any other value.
    """

    self_loops: SelfLoops = "keep"
    repeats: Repeats = "merge"
    undirected: bool = False

    def __post_init__(self) -> None:
        if self.self_loops not in ("keep", "drop"):
            raise unknown("value of self_loops", str(self.self_loops), ("keep", "drop"))
        if self.repeats not in ("merge", "keep"):
            raise unknown("value of repeats", str(self.repeats), ("merge", "keep"))
        if not isinstance(self.undirected, bool):
            raise GraphError(f"undirected must be true or false, not {self.undirected!r}")


FILE_RULES = EdgeRules()
"""Edges as a file has them, each once."""


def graph_from_edges(
    name: str,
    sources: IntArray,
    destinations: IntArray,
    n_nodes: int,
    rules: EdgeRules,
    *,
    notes: tuple[str, ...] = (),
    **fields: Any,
) -> Graph:
    """Build a graph from edges in any order.

    Parameters
    ----------
    name : str
        The graph's name.
    sources, destinations : ndarray of int64, [E]
        Edge e goes from ``sources[e]`` to ``destinations[e]``.
    n_nodes : int
        Number of nodes.
    rules : EdgeRules
        What becomes of direction, self-loops and repeats; what it changed is added to the notes.
    notes : tuple of str
        What was done to the edges before.
    **fields
        Further fields of `Graph`.

    Returns
    -------
    Graph
        The graph; its memory is its own.

    Raises
    ------
    GraphError
        An edge ends outside 0..n_nodes - 1, or a field is bad.
    """
    indptr, indices = csr_from_edges(sources, destinations, n_nodes)
    done = list(notes)
    if rules.self_loops == "drop" or rules.repeats == "merge":
        indptr, indices, n_dropped, n_merged = simplify(
            indptr, indices, rules.self_loops == "drop", rules.repeats == "merge"
        )
        if n_dropped:
            done.append(f"dropped {n_dropped:,} self-loops")
        if n_merged:
            done.append(f"merged {n_merged:,} repeated edges")
    if rules.undirected:
        n_before = indices.size
        indptr, indices = symmetrise(indptr, indices)
        if indices.size > n_before:
            done.append(f"added {indices.size - n_before:,} reverse edges")
    return Graph(name=name, indptr=indptr, indices=indices, notes=tuple(done), **fields)
