"""Designs with a planted bug: `hdl` imported anew with one line of source changed, the shipped RTL untouched."""

import contextlib
import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from types import ModuleType

from amaranth.lib import wiring


@dataclass(frozen=True, kw_only=True)
class Bug:
    """A change of one line of RTL.

    Attributes
    ----------
    name : str
        What is wrong.
    module : str
        The module whose source changes.
    old, new : str
        Text that stands in it exactly once, and what takes its place.
    """

    name: str
    module: str
    old: str
    new: str


class _Loader(importlib.machinery.SourceFileLoader):
    bug: Bug

    def get_code(self, fullname: str):  # no cached byte code: it would be the sound source's
        text = self.get_data(self.get_filename(fullname)).decode()
        if fullname == self.bug.module:
            if text.count(self.bug.old) != 1:
                raise ValueError(f"{self.bug.name}: {self.bug.old!r} does not stand exactly once in {fullname}")
            text = text.replace(self.bug.old, self.bug.new)
        return compile(text, self.get_filename(fullname), "exec")


class _Finder(importlib.abc.MetaPathFinder):
    def __init__(self, bug: Bug) -> None:
        self._bug = bug

    def find_spec(self, fullname: str, path, target: ModuleType | None = None):
        spec = importlib.machinery.PathFinder.find_spec(fullname, path, target)
        if fullname.partition(".")[0] != "hdl" or spec is None or spec.origin is None:
            return None
        loader = _Loader(fullname, spec.origin)
        loader.bug = self._bug
        return importlib.util.spec_from_file_location(
            fullname, spec.origin, loader=loader, submodule_search_locations=spec.submodule_search_locations
        )


@contextlib.contextmanager
def _fresh_hdl(bug: Bug) -> Iterator[None]:
    sound = {name: module for name, module in sys.modules.items() if name.partition(".")[0] == "hdl"}
    for name in sound:
        del sys.modules[name]
    finder = _Finder(bug)
    sys.meta_path.insert(0, finder)
    try:
        yield
    finally:
        sys.meta_path.remove(finder)
        for name in [name for name in sys.modules if name.partition(".")[0] == "hdl"]:
            del sys.modules[name]
        sys.modules.update(sound)


def plant(bug: Bug, top: str, class_name: str, *args: object) -> wiring.Component:
    """Make a design with a bug in it.

    Parameters
    ----------
    bug : Bug
        The bug.
    top, class_name : str
        Module and class of the design.
    *args
        Its arguments.

    Returns
    -------
    wiring.Component
        The design; all of `hdl` that it uses was imported anew.
    """
    with _fresh_hdl(bug):
        return getattr(importlib.import_module(top), class_name)(*args)
