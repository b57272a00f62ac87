"""A typed face of numba's compiler, with a cache on disk that can never be stale."""

import hashlib
import os
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, TypeVar, cast

import numba

F = TypeVar("F", bound=Callable[..., Any])


def cache_root() -> Path:
    """Return the folder of everything that NearSAGE caches: ``$NEARSAGE_CACHE``, or the user's cache folder.

    Returns
    -------
    Path
        The folder; it need not exist yet.
    """
    if own := os.environ.get("NEARSAGE_CACHE"):
        return Path(own)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "nearsage"


@cache
def _kernel_cache() -> str:
    # numba looks only at the file of the kernel itself; one kernel calls others in other files, so all of them count.
    digest = hashlib.sha256(numba.__version__.encode())
    for source in sorted(Path(__file__).parent.rglob("*.py")):
        digest.update(source.read_bytes())
    return str(cache_root() / "kernels" / digest.hexdigest()[:16])


def njit(function: F) -> F:
    """Compile `function` with numba, cached on disk, strictly IEEE (no fast-math: results are compared bit for bit).

    Parameters
    ----------
    function : callable
        A function over numpy arrays and scalars, in numba's subset of Python.

    Returns
    -------
    callable
        The compiled function with the same signature; releases the GIL.
    """
    numba.config.CACHE_DIR = _kernel_cache()
    return cast(F, numba.njit(cache=True, nogil=True, fastmath=False)(function))


def njit_in_place(function: F) -> F:
    """Compile a function that makes no array: it works on those it is given, without counting references.

    In all else it is as `njit`, but that it becomes a part of each kernel that calls it: one that hands tables to many
    small functions would spend most of its time on counting references and handing on. Call it from kernels only: what
    it returns to Python is not counted either, so it must return plain numbers or nothing there.

    Parameters
    ----------
    function : callable
        A function that allocates nothing.

    Returns
    -------
    callable
        The compiled function with the same signature; numba refuses one that allocates.
    """
    numba.config.CACHE_DIR = _kernel_cache()
    return cast(F, numba.njit(cache=True, nogil=True, fastmath=False, _nrt=False, forceinline=True)(function))


def njit_apart(function: F) -> F:
    """Compile a function like `njit_in_place`, but to be called: a large kernel made of such parts compiles sooner.

    Parameters
    ----------
    function : callable
        A function that allocates nothing and returns plain numbers or nothing.

    Returns
    -------
    callable
        The compiled function with the same signature; numba refuses one that allocates.
    """
    numba.config.CACHE_DIR = _kernel_cache()
    return cast(F, numba.njit(cache=True, nogil=True, fastmath=False, _nrt=False)(function))


def elementwise(signature: str) -> Callable[[F], F]:
    """Compile a function of scalars to one that works on arrays of any shape, broadcast as numpy does.

    Parameters
    ----------
    signature : str
        Types in numba's notation, such as ``uint32(uint32)``.

    Returns
    -------
    callable
        The decorator.
    """

    def compiled(function: F) -> F:
        numba.config.CACHE_DIR = _kernel_cache()
        return cast(F, numba.vectorize([signature], cache=True)(function))

    return compiled
