"""Compiled simulators, kept in a cache that cannot be stale.

A simulator's key is the hash of everything it is made from: all Verilog text, all flags and the versions of all tools.
It is built in a folder of its own and moved into place at the end, so that an interrupted build leaves nothing that
could be used.
"""

import ast
import contextlib
import fcntl
import functools
import hashlib
import json
import os
import re
import shutil
import sys
import tempfile
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import amaranth
import cocotb_tools.config
from amaranth.lib import wiring

from hdl.shared import to_verilog
from sim.jit import cache_root
from testbenches.models.ports import Ports, discover
from testbenches.toolchain import ToolchainError, find_program, find_verilator, run_logged, tail, tool_versions

DUT = "dut"
"""The top module of every design's Verilog."""
FLAGS = (
    "--assert",
    "-O3",
    *("--x-assign", "fast", "--x-initial", "fast"),
    *("-Wno-WIDTHEXPAND", "-Wno-WIDTHTRUNC", "-Wno-CASEINCOMPLETE"),  # Yosys writes such Verilog by design
    *("--timescale", "1ns/1ps"),
)
OPTIMIZATION = "-O1"
"""Of g++: builds faster than -Os, and runs integer arrays twice as fast and bf16 arrays about as fast."""


ROOT = Path(__file__).parent.parent
SOURCE_TREES = {"hdl": ("hdl", "sim/config", "sim/program"), "testbenches": ("hdl", "sim")}
"""All that a design's Verilog depends on, by the package of its class: those that the package may import. Of the
benches it depends on what the class' own module imports, and that in turn."""


class BuildError(RuntimeError):
    """A simulator could not be compiled; the message holds the end of the log and where to find all of it."""


def cache_folder() -> Path:
    """Return ``$NEARSAGE_CACHE``, or ``nearsage`` in the user's cache folder; made when it is missing."""
    folder = cache_root()
    folder.mkdir(parents=True, exist_ok=True)
    if " " in str(folder.resolve()):
        raise ToolchainError(
            f"the cache folder {folder} has a space in its name, which make cannot handle; set NEARSAGE_CACHE"
        )
    return folder.resolve()


def _digest(facts: object) -> str:
    return hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()[:32]


@contextlib.contextmanager
def _locked(entry: Path) -> Iterator[None]:
    """Hold the lock of a cache entry; a process that dies gives it back."""
    entry.parent.mkdir(parents=True, exist_ok=True)
    with entry.with_name(entry.name + ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _store(entry: Path, make: Callable[[Path], None]) -> Path:
    """Return a cache entry (a folder), made by `make` in a temporary folder if it does not exist."""
    if entry.is_dir():
        return entry
    with _locked(entry):
        if entry.is_dir():
            return entry
        for abandoned in entry.parent.glob(f"{entry.name}.partial-*"):
            shutil.rmtree(abandoned, ignore_errors=True)
        partial = Path(tempfile.mkdtemp(prefix=f"{entry.name}.partial-", dir=entry.parent))
        try:
            make(partial)
            partial.rename(entry)
        finally:
            shutil.rmtree(partial, ignore_errors=True)
    return entry


class Design:
    """A design whose ports and Verilog are kept in the cache, so that a large one is elaborated once.

    They are found again as long as the sources in `SOURCE_TREES`, Amaranth's version, the class and its arguments are
    the same. Only classes of `hdl` and of the benches are kept, with arguments that are such classes too or whose
    ``repr`` tells everything. Any other design is elaborated each time: one with a class that is not the one that an
    import gives (a planted bug, a class inside of a test), or one whose sources were edited after this process had
    started.

    Parameters
    ----------
    component_class : type
        A subclass of `wiring.Component`.
    *args, **kwargs
        Its arguments.
    """

    def __init__(self, component_class: type[wiring.Component], *args: Any, **kwargs: Any) -> None:
        self._class = component_class
        self._args = args
        self._kwargs = kwargs

    @functools.cached_property
    def component(self) -> wiring.Component:
        """The component itself."""
        return self._class(*self._args, **self._kwargs)

    def ports(self) -> Ports:
        """Return its ports."""
        return Ports(**json.loads(self._generated[1]))

    def verilog(self) -> str:
        """Return its Verilog text, with a top module called `DUT`."""
        return self._generated[0]

    @functools.cached_property
    def _generated(self) -> tuple[str, str]:
        entry = self._entry()
        if entry is not None and entry.is_dir():
            return (entry / "text.v").read_text(), (entry / "ports.json").read_text()
        generated = verilog_text(self.component), json.dumps(asdict(discover(self.component)))
        if entry is not None and entry == self._entry():  # no edit in the meantime

            def write(folder: Path) -> None:
                for name, content in zip(("text.v", "ports.json"), generated, strict=True):
                    (folder / name).write_text(content)

            _store(entry, write)
        return generated

    def _entry(self) -> Path | None:
        """Return the place in the cache, or None if this design cannot be kept."""
        given = [*self._args, *self._kwargs.values()]
        classes = [self._class, *(value for value in given if isinstance(value, type))]
        if not all(map(_is_importable, classes)):
            return None
        told = repr(
            (
                [_named(value) for value in self._args],
                {name: _named(value) for name, value in sorted(self._kwargs.items())},
            )
        )
        if re.search(r" at 0x|\.\.\.|<class ", told):
            return None
        sources = _digest_of_loaded_sources(_sources_of({one.__module__ for one in classes}))
        if sources is None:
            return None
        facts = [DUT, _named(self._class), told, amaranth.__version__, sources]
        return cache_folder() / "verilog" / _digest(facts)


def _named(value: object) -> object:
    """Give a class its full name; anything else stays."""
    return f"class {value.__module__}:{value.__qualname__}" if isinstance(value, type) else value


def _is_importable(value: type) -> bool:
    """Tell whether a class is the one of its name in sources that the cache knows."""
    found: object = sys.modules.get(value.__module__)
    for name in value.__qualname__.split("."):
        found = getattr(found, name, None)
    return found is value and value.__module__.partition(".")[0] in SOURCE_TREES


_texts: weakref.WeakKeyDictionary[wiring.Component, str] = weakref.WeakKeyDictionary()


def verilog_text(component: wiring.Component) -> str:
    """Elaborate a component to Verilog, once per component and process, with a top module called `DUT`."""
    if component not in _texts:
        _texts[component] = to_verilog(component, DUT)
    return _texts[component]


def _sources_of(modules: set[str]) -> list[Path]:
    """List the files that designs of some modules depend on."""
    trees = {tree for module in modules for tree in SOURCE_TREES[module.partition(".")[0]]}
    files = {file for tree in trees for file in (ROOT / tree).rglob("*.py")}
    left = {module for module in modules if module.partition(".")[0] == "testbenches"}
    seen: set[str] = set()
    while left:
        module = left.pop()
        seen.add(module)
        path = ROOT / module.replace(".", "/")
        file = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
        if not file.is_file():  # what was imported is not a module, but in one
            continue
        files.add(file)
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.Import):
                named = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom) and node.module:
                named = [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
            else:
                continue
            # A package's own file runs before the module in it.
            steps = (name.split(".") for name in named)
            every = {".".join(parts[:end]) for parts in steps for end in range(1, len(parts) + 1)}
            left |= {name for name in every if name.partition(".")[0] == "testbenches"} - seen
    return sorted(files)


def _digest_of_loaded_sources(files: Sequence[Path]) -> str | None:
    """Hash some sources, or return None if they may not be the ones that this process has loaded."""
    changed = [max(file.stat().st_mtime, file.stat().st_ctime) for file in files]
    started = _process_start()
    if started is None or max(changed) > started - 2:  # the clock behind the start has a resolution of 1 s
        return None
    return _digest([(file.relative_to(ROOT).as_posix(), file.read_text()) for file in files])


def _process_start() -> float | None:
    """Return when this process started, in seconds since the epoch; None where the system does not tell."""
    status, system = Path("/proc/self/stat"), Path("/proc/stat")
    if not (status.is_file() and system.is_file()):
        return None
    ticks = int(status.read_text().rpartition(")")[2].split()[19])
    booted = re.search(r"^btime (\d+)$", system.read_text(), re.MULTILINE)
    return int(booted[1]) + ticks / os.sysconf("SC_CLK_TCK") if booted else None


def simulator(sources: Mapping[str, str], *, top: str, waves: bool = False, waived: tuple[str, ...] = ()) -> Path:
    """Compile Verilog to a simulator that cocotb can drive; only the signals of its top module are visible to cocotb.

    Parameters
    ----------
    sources : mapping of str to str
        File name to Verilog text.
    top : str
        The top module.
    waves : bool
        Whether it can write a VCD file (``--trace``); such a simulator is slower.
    waived : tuple of str
        Warnings of Verilator that are no errors here, besides those of `FLAGS`.

    Returns
    -------
    Path
        The program, in the cache.

    Raises
    ------
    BuildError
        If Verilator or the compiler reports errors.
    ToolchainError
        If a tool is missing.
    """
    common = (*FLAGS, "--trace") if waves else FLAGS
    versions = tool_versions()
    runtime = _store(
        cache_folder() / "runtime" / _digest([common, versions]), lambda folder: _compile_runtime(folder, common)
    )
    flags = (*common, *(f"-Wno-{warning}" for warning in waived))
    facts = [dict(sources), top, flags, OPTIMIZATION, versions, str(cocotb_tools.config.libs_dir)]
    entry = cache_folder() / "simulators" / _digest(facts)
    return _store(entry, lambda folder: _compile(folder, sources, top, flags, runtime)) / top


def _compile_runtime(partial: Path, flags: tuple[str, ...]) -> None:
    """Compile Verilator's own library, the same in every simulator, which takes g++ several seconds."""
    work = _make(partial, {"empty.v": "module empty(input clk);\nendmodule\n"}, "empty", flags, objects=())
    for compiled in work.glob("verilated*.o"):
        shutil.copyfile(compiled, partial / compiled.name)
    shutil.rmtree(work)


def _compile(partial: Path, sources: Mapping[str, str], top: str, flags: tuple[str, ...], runtime: Path) -> None:
    work = _make(partial, sources, top, flags, objects=sorted(runtime.glob("*.o")))
    shutil.copy2(work / top, partial / top)
    shutil.rmtree(work)


def _make(
    partial: Path, sources: Mapping[str, str], top: str, flags: tuple[str, ...], *, objects: Sequence[Path]
) -> Path:
    """Translate and compile in a folder below `partial`, which is returned; `objects` need no compilation any more."""
    verilator = find_verilator()
    work = partial / "work"
    work.mkdir()
    for name, text in sources.items():
        (partial / name).write_text(text)
    # All signals public, as cocotb's own runner asks for, costs half the speed and twice the build time.
    (partial / "public.vlt").write_text(f'`verilator_config\npublic_flat_rw -module "{top}" -var "*"\n')
    libs = cocotb_tools.config.libs_dir
    translate = [
        *verilator.command,
        *("--cc", "--exe", "--vpi", "--prefix", "Vtop", "--top-module", top, "-o", top, "-Mdir", str(work)),
        *("-LDFLAGS", f"-Wl,-rpath,{libs} -L{libs} -lcocotbvpi_verilator"),
        *flags,
        str(cocotb_tools.config.share_dir / "lib" / "verilator" / "verilator.cpp"),
        *(str(partial / name) for name in (*sources, "public.vlt")),
    ]
    compiler = find_program("g++", package="g++")
    make = [
        *(find_program("make", package="make"), "-C", str(work), "-f", "Vtop.mk", "-j", str(os.cpu_count() or 1)),
        *(f"CXX={compiler}", f"LINK={compiler}", "AR=ar", f"OPT_FAST={OPTIMIZATION}"),
        *verilator.make_variables,
        f"VM_TRACE={int('--trace' in flags)}",
    ]
    _run(translate, partial, verilator.environment)
    for compiled in objects:  # copied now, to be younger than the makefile
        shutil.copyfile(compiled, work / compiled.name)
    _run(make, partial, verilator.environment)
    return work


def _run(command: list[str], partial: Path, environment: Mapping[str, str]) -> None:
    log = partial / "build.log"
    status = run_logged(command, folder=partial, log=log, extra=environment)
    if status != 0:
        kept = cache_folder() / "failed" / f"{partial.name.partition('.')[0]}.log"
        kept.parent.mkdir(exist_ok=True)
        shutil.copyfile(log, kept)
        program = Path(command[0]).name
        raise BuildError(f"{program} ended with status {status}; all of its output is in {kept}:\n{tail(log)}")
