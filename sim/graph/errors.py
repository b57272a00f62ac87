"""The one error of `sim.graph`, and how it names what is near to a wrong name."""

import difflib
from collections.abc import Iterable


class GraphError(ValueError):
    """Bad input for a graph: says what is wrong, where (file and line, if there is one) and what to do."""


def unknown(what: str, name: str, known: Iterable[str]) -> GraphError:
    """Make the error for a name that is not among the known ones.

    Parameters
    ----------
    what : str
        What the name stands for, such as ``"option of rmat"``.
    name : str
        The wrong name.
    known : iterable of str
        The names that would have been right.

    Returns
    -------
    GraphError
        Names the nearest known name, if any is near, and lists all.
    """
    names = sorted(known)
    near = difflib.get_close_matches(name, names, n=1)
    hint = f" Did you mean {near[0]!r}?" if near else ""
    return GraphError(f"unknown {what}: {name!r}.{hint} Known: {', '.join(names) or 'none'}.")
