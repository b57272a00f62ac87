"""SNAP's text format: a line `source destination` per edge, comments with `#` or `%`, plain or gzip."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import numpy as np
import numpy.typing as npt

from sim.graph.csr import IntArray
from sim.graph.errors import GraphError
from sim.graph.graph import Graph
from sim.graph.renumber import renumber
from sim.graph.rules import FILE_RULES, EdgeRules, graph_from_edges
from sim.graph.stream import line_blocks
from sim.jit import njit

Text = npt.NDArray[np.uint8]
ExtraColumns = Literal["refuse", "ignore"]

_NEWLINE, _HASH, _PERCENT, _MINUS, _COMMA = (ord(character) for character in "\n#%-,")
_TAB, _RETURN, _SPACE, _ZERO, _NINE = (ord(character) for character in "\t\r 09")
_LARGEST = 2**63 - 1

_NOT_A_NUMBER, _NEGATIVE, _TOO_LARGE, _TOO_FEW, _TOO_MANY, _EMPTY_COLUMN = range(1, 7)
_FAULTS = {
    _NOT_A_NUMBER: "an id that is not a whole number; a header must begin with '#' or '%'",
    _NEGATIVE: "a negative id; ids count from 0",
    _TOO_LARGE: "an id above 2^63 - 1",
    _TOO_FEW: "one column where an edge has two (source, destination); is the file truncated?",
    _TOO_MANY: "more than two columns (source, destination); to ignore weights and the like, say extra_columns=ignore",
    _EMPTY_COLUMN: "an empty column",
}
_SNAP_HEADER = re.compile(rb"^[#%]\s*Nodes:\s*(\d{1,18})\s+Edges:\s*(\d{1,18})\s*$", re.MULTILINE)


@njit
def _is_blank(character: int) -> bool:
    return character in (_SPACE, _TAB, _RETURN)


@njit
def _is_digit(character: int) -> bool:
    return _ZERO <= character <= _NINE


@njit
def _at_line_end(text: Text, position: int) -> bool:
    return position == text.size or text[position] == _NEWLINE


@njit
def _fault_of_token(text: Text, position: int) -> int:
    if text[position] == _COMMA:
        return _EMPTY_COLUMN
    if text[position] == _MINUS and position + 1 < text.size and _is_digit(text[position + 1]):
        return _NEGATIVE
    return _NOT_A_NUMBER


@njit
def _read_column(text: Text, position: int) -> tuple[int, int]:
    """Read an id and the separator after it; returns the id, or the negated fault, and where the next column begins."""
    token = position
    value = np.int64(0)
    while position < text.size and _is_digit(text[position]):
        digit = np.int64(text[position]) - _ZERO
        if value > (_LARGEST - digit) // 10:
            return -_TOO_LARGE, position
        value = value * 10 + digit
        position += 1
    after = position
    commas = 0
    while position < text.size and (_is_blank(text[position]) or text[position] == _COMMA):
        commas += text[position] == _COMMA
        position += 1
    at_end = _at_line_end(text, position)
    if after == token or (after == position and not at_end):
        return -_fault_of_token(text, token), position
    if commas > 1 or (commas == 1 and at_end):
        return -_EMPTY_COLUMN, position
    return int(value), position


@njit
def _read_line(text: Text, position: int, extra_allowed: bool) -> tuple[int, int, int, int]:
    """Read the edge that begins at `position`; returns fault or 0, source, destination, and where reading ended."""
    source, position = _read_column(text, position)
    if source < 0:
        return -source, 0, 0, position
    if _at_line_end(text, position):
        return _TOO_FEW, 0, 0, position
    destination, position = _read_column(text, position)
    if destination < 0:
        return -destination, 0, 0, position
    fault = 0 if extra_allowed or _at_line_end(text, position) else _TOO_MANY
    return fault, source, destination, position


@njit
def _parse(text: Text, extra_allowed: bool, sources: IntArray, destinations: IntArray) -> tuple[int, int, int, int]:
    """Read lines into edges; returns edges, lines before the end or the faulty line, fault or 0, that line's start."""
    position = lines = edges = 0
    while position < text.size:
        start = position
        while position < text.size and _is_blank(text[position]):
            position += 1
        if not _at_line_end(text, position) and text[position] not in (_HASH, _PERCENT):
            fault, source, destination, position = _read_line(text, position, extra_allowed)
            if fault:
                return edges, lines, fault, start
            sources[edges] = source
            destinations[edges] = destination
            edges += 1
        while not _at_line_end(text, position):
            position += 1
        position += 1
        lines += 1
    return edges, lines, 0, 0


def _read_blocks(path: Path, blocks: Iterator[bytes], extra_allowed: bool) -> Iterator[tuple[IntArray, IntArray]]:
    lines_before = 0
    for block in blocks:
        n_most = block.count(b"\n") + 1
        sources, destinations = np.empty(n_most, np.int64), np.empty(n_most, np.int64)
        n_edges, n_lines, fault, start = _parse(np.frombuffer(block, np.uint8), extra_allowed, sources, destinations)
        if fault:
            line = block[start:].split(b"\n", 1)[0].decode("utf-8", "replace").strip()
            shown = line if len(line) <= 60 else line[:57] + "..."
            raise GraphError(f"{path}:{lines_before + n_lines + 1}: {_FAULTS[fault]}: {shown!r}")
        lines_before += n_lines
        yield sources[:n_edges], destinations[:n_edges]


def _joined(parts: list[IntArray]) -> IntArray:
    """Concatenate and let go of the parts, so that a big file is in memory twice only column by column."""
    whole = np.concatenate(parts) if parts else np.empty(0, np.int64)
    parts.clear()
    return whole


def read_edges(path: Path, *, extra_columns: ExtraColumns = "refuse") -> tuple[IntArray, IntArray, int | None]:
    """Read an edge list as it stands.

    Parameters
    ----------
    path : Path
        Plain or gzip text: two ids of 0..2^63 - 1 a line, set apart by blanks, tabs or a comma. Empty lines and lines
        that begin with `#` or `%` are skipped.
    extra_columns : {"refuse", "ignore"}
        What to do with a third column and more.

    Returns
    -------
    sources, destinations : ndarray of int64, [E]
        The edges in the file's order.
    declared_nodes : int or None
        N of SNAP's comment ``# Nodes: N Edges: E``, if the file begins with one.

    Raises
    ------
    GraphError
        A bad line (with file and line), no edge at all, fewer edges than the comment declares (a truncated file), or a
        file that cannot be read.
    """
    if extra_columns not in ("refuse", "ignore"):
        raise GraphError(f"extra_columns must be refuse or ignore, not {extra_columns!r}")
    header: re.Match[bytes] | None = None

    def watched() -> Iterator[bytes]:
        nonlocal header
        for number, block in enumerate(line_blocks(path)):
            if number == 0:
                header = _SNAP_HEADER.search(block[:4096])
            yield block

    sources_parts, destinations_parts = [], []
    for sources, destinations in _read_blocks(path, watched(), extra_columns == "ignore"):
        sources_parts.append(sources)
        destinations_parts.append(destinations)
    sources, destinations = _joined(sources_parts), _joined(destinations_parts)
    if not sources.size:
        raise GraphError(f"{path}: holds no edge; a graph without edges is empty:n=N")
    declared_nodes, declared_edges = (int(header[1]), int(header[2])) if header else (None, 0)
    if sources.size < declared_edges:
        raise GraphError(
            f"{path}: declares {declared_edges:,} edges but holds {sources.size:,}: truncated; fetch the file again, "
            "or remove the comment if it was shortened on purpose"
        )
    return sources, destinations, declared_nodes


def load_edge_list(
    path: Path,
    *,
    nodes: int | None = None,
    extra_columns: ExtraColumns = "refuse",
    rules: EdgeRules = FILE_RULES,
) -> Graph:
    """Load an edge list as a graph.

    Parameters
    ----------
    path : Path
        See `read_edges`; a line `u v` is the edge u -> v.
    nodes : int, optional
        The ids are 0..nodes - 1, whether they occur or not. Without it the file's own comment ``# Nodes: N`` is taken
        so if all ids lie below N; else nodes are the ids that occur, renumbered 0..N - 1 in ascending order.
    extra_columns : {"refuse", "ignore"}
        What to do with a third column and more.
    rules : EdgeRules
        By default direction and self-loops are kept and repeated edges merged.

    Returns
    -------
    Graph
        Notes say what was done; `node_ids` holds the file's ids if they were renumbered.

    Raises
    ------
    GraphError
        As `read_edges`; or an id is not below `nodes`.
    """
    sources, destinations, declared_nodes = read_edges(path, extra_columns=extra_columns)
    notes = ["ignored the columns after the second"] if extra_columns == "ignore" else []
    largest = int(max(sources.max(), destinations.max()))
    if nodes is not None and largest >= nodes:
        raise GraphError(f"{path}: holds the id {largest}, but nodes={nodes} allows 0..{nodes - 1}")
    n_nodes, node_ids = nodes, None
    if nodes is None and declared_nodes is not None and largest < declared_nodes:
        n_nodes = declared_nodes
    if n_nodes is None:
        n_nodes, node_ids = renumber(sources, destinations)
        if node_ids is not None:
            notes.append(f"renumbered {n_nodes:,} ids of {node_ids[0]}..{node_ids[-1]} to 0..{n_nodes - 1}")
        if declared_nodes is not None and declared_nodes != n_nodes:
            notes.append(f"the file declares {declared_nodes:,} nodes, but {n_nodes:,} ids occur")
    return graph_from_edges(path.name, sources, destinations, n_nodes, rules, notes=tuple(notes), node_ids=node_ids)
