"""What every command has in common: machine-readable results, messages, exit codes."""

import functools
import importlib.metadata
import json
import os
import platform
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, ParamSpec

import typer
from rich.console import Console

from sim.config import ConfigError, SystemConfig
from sim.graph import GraphError
from sim.program.layout import LayoutError
from sim.program.ssd_image import ImageError
from testbenches.build import BuildError
from testbenches.models.rules import BenchError
from testbenches.toolchain import ToolchainError, tool_versions

SCHEMA = "nearsage/1"
"""Version of the machine-readable results: it rises when a key changes its meaning or goes."""

CHECK_FAILED, WRONG_INPUT, INTERRUPTED = 1, 2, 130

_Parameters = ParamSpec("_Parameters")


class _Console(Console):
    def on_broken_pipe(self) -> None:
        raise BrokenPipeError  # for `guarded`: rich itself would end with 1, which stands for a failed check


class Output:
    """Destination of one command's results.

    Parameters
    ----------
    command : str
        Name of the command.
    config : SystemConfig or None
        The configuration it used.
    json_file : str or None
        Where the machine-readable results go; ``-`` sends them to standard output, and all else to standard error.
    """

    def __init__(self, command: str, config: SystemConfig | None, json_file: str | None) -> None:
        self._command, self._config, self._json_file = command, config, json_file
        self._start = time.perf_counter()
        # A pipe has no width: tables keep theirs instead of being squeezed to 80 columns.
        width = None if sys.stdout.isatty() else 160
        self.console = _Console(stderr=json_file == "-", width=width)
        if json_file not in (None, "-"):
            check_writable(Path(str(json_file)))  # now, not after minutes of work

    def write(self, **values: Any) -> None:
        """Write the results as JSON, if the user asked for them.

        Parameters
        ----------
        **values
            Results of this command.
        """
        if self._json_file is None:
            return
        result = {
            "schema": SCHEMA,
            "command": self._command,
            "config_name": self._config.name if self._config else None,
            "config_hash": self._config.content_hash() if self._config else None,
            "git_hash": git_hash(),
            "tool_versions": versions(),
            "seconds_wall": time.perf_counter() - self._start,
            **values,
        }
        text = json.dumps(result, indent=2, allow_nan=False) + "\n"
        if self._json_file == "-":
            sys.stdout.write(text)
        else:
            write_whole(Path(self._json_file), text)


def check_writable(path: Path) -> None:
    """Make sure that a file can be written.

    Parameters
    ----------
    path : Path
        The file; its folder is made where needed.

    Raises
    ------
    OSError
        It cannot; the message says why.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a folder; name a file in it")
    if _is_special(path):
        return
    if not os.access(path.resolve().parent, os.W_OK):
        raise PermissionError(f"{path} cannot be written: the folder does not allow it")


def _is_special(path: Path) -> bool:
    """Tell whether this is a device or a pipe, such as ``/dev/stdout``."""
    return path.exists() and not path.is_file()


def write_whole(path: Path, content: str | bytes) -> None:
    """Write a file so that it is either whole or not there; a device or a pipe is written to as it stands.

    Parameters
    ----------
    path : Path
        The file; its folder is made where needed.
    content : str or bytes
        Its content; text is written as UTF-8.
    """
    data = content.encode("utf-8") if isinstance(content, str) else content
    if _is_special(path):
        path.write_bytes(data)
        return
    path = path.resolve()  # the file behind a link, not the link, gets the content
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.parent / f".{path.name}.{os.getpid()}"
    try:
        partial.write_bytes(data)
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)


def git_hash() -> str | None:
    """Return the commit that runs, None outside a checkout; it ends in ``-dirty`` where files were changed."""
    folder = Path(__file__).parent
    if not (folder.parent / ".git").exists():
        return None
    command = ["git", "-C", str(folder), "describe", "--always", "--dirty", "--abbrev=40", "--exclude=*"]
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip() or None
    except (OSError, subprocess.CalledProcessError):
        return None


def versions() -> dict[str, str]:
    """Return the versions of the tools; without a compiler, those of Python's packages alone."""
    try:
        found: dict[str, str] = tool_versions()
        return found
    except ToolchainError:
        packages = {name: importlib.metadata.version(name) for name in ("amaranth", "cocotb", "numpy")}
        return {"python": platform.python_version(), **packages}


def guarded(command: Callable[_Parameters, None]) -> Callable[_Parameters, None]:
    """Turn the errors that a user can mend into a message and an exit code.

    Parameters
    ----------
    command : callable
        A command.

    Returns
    -------
    callable
        The same command: exit code 1 where a check failed, 2 where the input or the tool chain is wrong, 130 on Ctrl-C.
    """

    @functools.wraps(command)
    def wrapped(*args: _Parameters.args, **kwargs: _Parameters.kwargs) -> None:
        try:
            command(*args, **kwargs)
        except BenchError as error:
            _fail(str(error), CHECK_FAILED)
        except BrokenPipeError:  # the reader, such as head, has seen enough
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        except (ConfigError, GraphError, LayoutError, ImageError, ToolchainError, BuildError, OSError) as error:
            _fail(str(error), WRONG_INPUT)
        except MemoryError as error:
            _fail(f"not enough memory ({error}); take a smaller graph or fewer features", WRONG_INPUT)
        except KeyboardInterrupt:
            warnings.simplefilter("ignore")  # Amaranth would tell of each block that was made and is now not used
            _fail("interrupted; nothing was left half-written", INTERRUPTED)

    return wrapped


def _fail(message: str, code: int) -> None:
    Console(stderr=True, soft_wrap=True).print(f"nearsage: {message}", markup=False, highlight=False)
    raise typer.Exit(code)
