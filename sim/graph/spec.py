"""One line of text for any graph: ``karate``, ``planetoid:cora``, ``web.txt.gz:undirected=true``, ``rmat:scale=16``."""

import dataclasses
import inspect
import re
import types
import typing
from collections.abc import Callable
from pathlib import Path
from typing import Any

from sim.graph.block_model import sbm
from sim.graph.clustered import clustered
from sim.graph.edge_list import load_edge_list
from sim.graph.errors import GraphError, unknown
from sim.graph.generators import complete, empty, ring, rmat, star, uniform
from sim.graph.graph import Graph
from sim.graph.karate import load_karate
from sim.graph.matrix import load_matrix_market, load_npz
from sim.graph.planetoid import load_planetoid
from sim.graph.rules import EdgeRules
from sim.graph.stream import open_bytes

Loader = Callable[..., Graph]

_NAMED: dict[str, Loader] = {
    "karate": load_karate,
    "rmat": rmat,
    "uniform": uniform,
    "clustered": clustered,
    "sbm": sbm,
    "star": star,
    "ring": ring,
    "complete": complete,
    "empty": empty,
}
_PLANETOID = "planetoid"
_COLON_BEFORE_OPTION = re.compile(r":(?=[A-Za-z_]\w*=)")


def _split(spec: str) -> tuple[str, str]:
    """Split at the first colon that an option follows: folders and values may hold colons of their own."""
    head, *options = _COLON_BEFORE_OPTION.split(spec, maxsplit=1)
    return head, options[0] if options else ""


def _options_of(loader: Loader) -> dict[str, tuple[Any, Any]]:
    """List a loader's keyword options with type and default; `rules` stands for its fields."""
    options: dict[str, tuple[Any, Any]] = {}
    for parameter in inspect.signature(loader).parameters.values():
        if parameter.kind is not parameter.KEYWORD_ONLY:
            continue
        if parameter.name == "rules":
            for field in dataclasses.fields(EdgeRules):
                options[field.name] = (field.type, getattr(parameter.default, field.name))
        else:
            options[parameter.name] = (parameter.annotation, parameter.default)
    return options


def _convert(what: str, text: str, kind: Any) -> Any:
    if isinstance(kind, types.UnionType):  # such as Path | None: None is the default and cannot be written
        kind = kind.__args__[0]
    if typing.get_origin(kind) is typing.Literal:
        choices = typing.get_args(kind)
        if text not in choices:
            raise unknown(f"value of {what}", text, choices)
        return text
    if kind is bool:
        if text.lower() not in ("true", "false"):
            raise GraphError(f"{what}={text}: must be true or false")
        return text.lower() == "true"
    try:
        return kind(text)
    except ValueError:
        names = {int: "a whole number", float: "a number"}
        raise GraphError(f"{what}={text}: must be {names[kind]}") from None


def _parse_options(head: str, text: str, known: dict[str, tuple[Any, Any]]) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for item in text.split(",") if text else ():
        key, equals, value = item.partition("=")
        if not equals or not value:
            raise GraphError(f"{head}: {item!r} is no option; options are key=value, set apart by commas")
        if key not in known:
            raise unknown(f"option of {head}", key, known)
        if key in values:
            raise GraphError(f"{head}: {key} is given twice")
        values[key] = _convert(f"{head}: {key}", value, known[key][0])
    missing = [key for key, (_, default) in known.items() if default is inspect.Parameter.empty and key not in values]
    if missing:
        example = ",".join(f"{key}=..." for key in missing)
        raise GraphError(f"{head}: needs {' and '.join(missing)}: {head}:{example}")
    return values


def _call(loader: Loader, head: str, options: str, *arguments: Any) -> Graph:
    known = _options_of(loader)
    values = _parse_options(head, options, known)
    if "rules" in inspect.signature(loader).parameters:
        fields = [field.name for field in dataclasses.fields(EdgeRules)]
        values["rules"] = EdgeRules(**{name: values.pop(name, known[name][1]) for name in fields})
    try:
        return loader(*arguments, **values)
    except MemoryError as error:
        raise GraphError(f"{head}: the graph does not fit into memory: {error}") from error


def _file_loader(path: Path) -> Loader:
    """Choose by what the file begins with, not by what it is called."""
    with open_bytes(path) as stream:
        begin = stream.read(14)
    if begin.startswith(b"PK\x03\x04"):
        return load_npz
    if begin.lower() == b"%%matrixmarket":
        return load_matrix_market
    return load_edge_list


def graph_sources() -> dict[str, str]:
    """Describe every kind of specification.

    Returns
    -------
    dict of str to str
        The name, and how it is written with all its options and their defaults.
    """
    heads: dict[str, tuple[str, Loader]] = {name: (name, loader) for name, loader in _NAMED.items()}
    heads[_PLANETOID] = ("planetoid:NAME", load_planetoid)
    heads["edge list"] = ("EDGE_LIST_FILE", load_edge_list)
    heads["matrix"] = ("MATRIX_FILE", load_npz)
    lines = {}
    for name, (head, loader) in heads.items():
        options = []
        for key, (_, default) in _options_of(loader).items():
            shown = "..." if default is inspect.Parameter.empty or default is None else str(default)
            options.append(f"{key}={shown.lower()}")
        lines[name] = f"{head}:{','.join(options)}" if options else head
    return lines


def load_graph(spec: str) -> Graph:
    """Load or make the graph that a line of text stands for.

    Parameters
    ----------
    spec : str
        A name or a file, then ``:key=value,key=value`` as far as wanted: ``karate``; ``planetoid:cora`` (also with
        ``root=FOLDER``); ``rmat:scale=16,edge_factor=16,seed=1``, ``uniform``, ``clustered``, ``sbm``, ``star``,
        ``ring``, ``complete``, ``empty``; or the path of an edge list, a Matrix Market file or a SciPy `.npz`, such as
        ``web.txt.gz:undirected=true,self_loops=drop``. A file that is called like a name is written ``./karate``.
        `graph_sources` lists all options.

    Returns
    -------
    Graph
        See the loader in question for its defaults.

    Raises
    ------
    GraphError
        An unknown name, option or value (the nearest known one is named), no such file, or bad contents.
    """
    family, _, rest = spec.partition(":")
    if family in _NAMED:
        return _call(_NAMED[family], family, rest)
    head, options = (spec, "") if Path(spec).is_file() else _split(spec)
    if family == _PLANETOID:
        dataset = head.removeprefix(_PLANETOID).removeprefix(":")
        if not re.fullmatch(r"[\w-]+", dataset):
            raise GraphError(f"planetoid needs the name of a graph: planetoid:cora, not {spec!r}")
        return _call(load_planetoid, head, options, dataset)
    path = Path(head)
    if head and path.exists():
        return _call(_file_loader(path), head, options, path)
    if "/" in head or "." in head:
        raise GraphError(f"{head}: no such file")
    raise unknown("graph (nor is there such a file)", family, [*_NAMED, _PLANETOID])
