# amaranth: UnusedElaboratable=no
"""The cache gives back what was built from the same text, and nothing else."""

import signal
import subprocess
import sys
import threading
import time
import types
from pathlib import Path

import pytest
from amaranth.hdl import Module
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from testbenches import build
from testbenches.build import BuildError, Design, cache_folder, simulator, verilog_text
from testbenches.models.ports import discover
from testbenches.toolchain import ToolchainError

TEXT = (
    "module counter(input clk, output reg [7:0] count);\n  always @(posedge clk) count <= count + {step};\nendmodule\n"
)


@pytest.fixture
def cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setenv("NEARSAGE_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def test_where_the_cache_is(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("NEARSAGE_CACHE", str(tmp_path / "mine"))
    assert cache_folder() == tmp_path / "mine"
    monkeypatch.delenv("NEARSAGE_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert cache_folder() == tmp_path / "xdg" / "nearsage"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setattr(Path, "home", lambda: tmp_path)
    assert cache_folder() == tmp_path / ".cache" / "nearsage"
    monkeypatch.setenv("NEARSAGE_CACHE", str(tmp_path / "two words"))
    with pytest.raises(ToolchainError, match="space"):
        cache_folder()


def test_simulator_is_built_once_per_text(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    shared = cache_folder() / "runtime"
    shared.mkdir(exist_ok=True)
    cache = tmp_path / "cache"
    cache.mkdir()
    (cache / "runtime").symlink_to(shared)  # saves the compilation of Verilator's own library
    monkeypatch.setenv("NEARSAGE_CACHE", str(cache))

    first = simulator({"counter.v": TEXT.format(step=1)}, top="counter")
    made = first.stat().st_mtime_ns
    assert simulator({"counter.v": TEXT.format(step=1)}, top="counter") == first
    assert first.stat().st_mtime_ns == made
    second = simulator({"counter.v": TEXT.format(step=2)}, top="counter")
    assert second != first
    assert second.read_bytes() != first.read_bytes()
    assert not list(cache.rglob("*.partial-*"))

    log = simulator({"counter.v": TEXT.format(step=2)}, top="counter").parent / "build.log"
    assert "verilated.cpp" not in log.read_text(), "the run-time library was compiled again"

    with pytest.raises(BuildError, match=r"(?s)ended with status.*%Error.*") as caught:
        simulator({"counter.v": TEXT.format(step="nothing")}, top="counter")
    (kept,) = (cache / "failed").iterdir()
    assert str(kept) in str(caught.value)
    assert "nothing" in kept.read_text()
    assert len([entry for entry in (cache / "simulators").iterdir() if entry.is_dir()]) == 2


def test_key_holds_tools_and_flags(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = []
    monkeypatch.setattr(build, "_compile", lambda folder, *_: made.append(folder))
    monkeypatch.setattr(build, "_compile_runtime", lambda *_: None)
    sources = {"counter.v": TEXT.format(step=1)}
    paths = {simulator(sources, top="counter"), simulator(sources, top="counter", waves=True)}
    paths |= {simulator(sources, top="counter", waived=("UNOPTFLAT",)), simulator(sources, top="other")}
    for name, value in (("OPTIMIZATION", "-O2"), ("FLAGS", ("-O0",)), ("tool_versions", lambda: {"g++": "1"})):
        monkeypatch.setattr(build, name, value)
        paths.add(simulator(sources, top="counter"))
    assert len(paths) == len(made) == 7
    assert all(path.is_relative_to(cache) for path in paths)


def test_failed_entry_is_not_kept(cache: Path) -> None:
    def fail(folder: Path) -> None:
        (folder / "half").touch()
        raise OSError("disk full")

    entry = cache / "kind" / "key"
    with pytest.raises(OSError, match="disk full"):
        build._store(entry, fail)
    assert [path.name for path in entry.parent.iterdir()] == ["key.lock"]


def test_killed_builder_leaves_nothing_that_is_used(cache: Path) -> None:
    script = (
        "import pathlib, time, testbenches.build as b\n"
        "def make(folder):\n    (folder / 'half').touch()\n    print('started', flush=True)\n    time.sleep(300)\n"
        f"b._store(pathlib.Path({str(cache / 'kind' / 'key')!r}), make)"
    )
    builder = subprocess.Popen([sys.executable, "-c", script], cwd=build.ROOT, stdout=subprocess.PIPE, text=True)
    assert builder.stdout is not None
    assert builder.stdout.readline() == "started\n"
    builder.send_signal(signal.SIGKILL)
    builder.communicate(timeout=20)
    assert list((cache / "kind").glob("key.partial-*/half"))
    entry = build._store(cache / "kind" / "key", lambda folder: (folder / "whole").touch())
    assert [path.name for path in entry.iterdir()] == ["whole"]
    assert not list((cache / "kind").glob("key.partial-*"))


def test_parallel_builders_build_once(cache: Path) -> None:
    made = []

    def make(folder: Path) -> None:
        time.sleep(0.1)
        made.append(folder)

    builders = [threading.Thread(target=build._store, args=(cache / "kind" / "key", make)) for _ in range(4)]
    for builder in builders:
        builder.start()
    for builder in builders:
        builder.join()
    assert len(made) == 1


class Inverter(wiring.Component):
    """Stands in for a class of `hdl`, with a count of its elaborations."""

    __module__ = "hdl.inverter"
    elaborations = 0

    def __init__(self, width: int, config: object = None) -> None:
        self.config = config
        super().__init__({"i": In(width), "o": Out(width)})

    def elaborate(self, _platform: object) -> Module:
        """Invert, and count."""
        type(self).elaborations += 1
        m = Module()
        m.d.comb += self.o.eq(~self.i)
        return m


@pytest.fixture
def loaded(cache: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Make the cache believe that the loaded sources are those on disk; returns its folder of Verilog."""
    module = types.ModuleType(Inverter.__module__)
    module.Inverter = Inverter
    monkeypatch.setitem(sys.modules, Inverter.__module__, module)
    monkeypatch.setattr(build, "_digest_of_loaded_sources", lambda *_: "one")
    monkeypatch.setattr(Inverter, "elaborations", 0)
    return cache / "verilog"


def test_design_is_elaborated_once(loaded: Path) -> None:
    text = Design(Inverter, 8).verilog()
    assert "module dut(" in text
    assert Design(Inverter, 8).ports() == discover(Inverter(8))
    assert Design(Inverter, 8).verilog() == text
    assert Inverter.elaborations == 1
    assert len([entry for entry in loaded.iterdir() if entry.is_dir()]) == 1


def test_design_is_elaborated_anew_when_anything_changes(loaded: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    texts = {Design(Inverter, 8).verilog(), Design(Inverter, 9).verilog()}
    texts.add(Design(Inverter, width=8, config="other").verilog())
    assert (len(texts), Inverter.elaborations) == (2, 3)
    monkeypatch.setattr(build, "_digest_of_loaded_sources", lambda *_: "two")
    Design(Inverter, 8).verilog()
    assert Inverter.elaborations == 4
    assert len([entry for entry in loaded.iterdir() if entry.is_dir()]) == 4


@pytest.mark.parametrize("argument", [object(), list(range(10_000)).__iter__(), [Module], Module])
def test_design_with_a_vague_argument_is_not_kept(loaded: Path, argument: object) -> None:
    for _ in range(2):
        Design(Inverter, 8, config=argument).verilog()
    assert Inverter.elaborations == 2
    assert not loaded.exists()


def test_design_of_another_package_is_not_kept(loaded: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Inverter, "__module__", "elsewhere.inverter")
    monkeypatch.setitem(sys.modules, "elsewhere.inverter", sys.modules[__name__])
    Design(Inverter, 8).verilog()
    assert not loaded.exists()


class Sound(Inverter):
    """Another class, of the benches, which its module's name leads to."""

    __module__ = __name__


def test_design_of_the_benches_is_kept_with_all_that_it_may_import(
    loaded: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []
    monkeypatch.setattr(build, "_digest_of_loaded_sources", lambda files: asked.append(files) or "one")
    for design in (Design(Sound, 8), Design(Inverter, 8, config=Sound), Design(Inverter, 8)):
        text = design.verilog()
        elaborated = Sound.elaborations + Inverter.elaborations
        assert Design(design._class, *design._args, **design._kwargs).verilog() == text
        assert Sound.elaborations + Inverter.elaborations == elaborated
    assert len([entry for entry in loaded.iterdir() if entry.is_dir()]) == 3
    told = [Path(__file__) in files for files in asked]
    assert told[0]
    assert told[-4:-1] == [True, False, False]


def test_sources_of_a_bench_are_those_that_it_imports(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    texts = {
        "testbenches/__init__.py": "",
        "testbenches/top/__init__.py": "from testbenches.models import deep\n",
        "testbenches/top/design.py": "def late():\n    import testbenches.models.late as late\n",
        "testbenches/models/__init__.py": "",
        "testbenches/models/deep.py": "from testbenches.models.deeper import (\n    Name,\n)\nimport numpy\n",
        "testbenches/models/deeper.py": "Name = 1\n",
        "testbenches/models/late.py": "from testbenches.top.design import late\n",
        "testbenches/models/other.py": "",
        "testbenches/top/test_design.py": "",
        "sim/timing.py": "",
        "hdl/block.py": "",
        "scripts/cli.py": "",
    }
    for name, text in texts.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    monkeypatch.setattr(build, "ROOT", tmp_path)
    found = {file.relative_to(tmp_path).as_posix() for file in build._sources_of({"testbenches.top.design"})}
    left_out = {"testbenches/models/other.py", "testbenches/top/test_design.py", "scripts/cli.py"}
    assert found == texts.keys() - left_out
    assert build._sources_of({"hdl.block"}) == [tmp_path / "hdl" / "block.py"]


def test_class_that_its_name_does_not_lead_to_is_not_kept(loaded: Path) -> None:
    """A planted bug has the name of the sound class."""

    class Other(Inverter):
        pass

    Other.__module__, Other.__qualname__ = Inverter.__module__, "Inverter"
    for design in (Design(Other, 8), Design(Inverter, 8, config=Other), Design(Inverter, 8, Other)):
        design.verilog()
        assert not loaded.exists()
    Other.__qualname__ = "Missing"
    Design(Other, 8).verilog()
    assert not loaded.exists()


def test_design_edited_during_elaboration_is_not_kept(loaded: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    digests = iter(["one", "two"])
    monkeypatch.setattr(build, "_digest_of_loaded_sources", lambda *_: next(digests))
    Design(Inverter, 8).verilog()
    assert not loaded.exists()


def test_sources_are_trusted_only_if_older_than_the_process(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "hdl" / "part").mkdir(parents=True)
    source = tmp_path / "hdl" / "part" / "a.py"
    source.write_text("a = 1\n")
    monkeypatch.setattr(build, "ROOT", tmp_path)
    assert build._digest_of_loaded_sources(build._sources_of({"hdl.part.a"})) is None
    digests = set()
    monkeypatch.setattr(build, "_process_start", lambda: time.time() + 10)
    for text in ("a = 2\n", "a = 3\n"):
        source.write_text(text)
        digests.add(build._digest_of_loaded_sources(build._sources_of({"hdl.part.a"})))
    digests.add(build._digest_of_loaded_sources(build._sources_of({"hdl.part.a"})))
    source.rename(source.with_name("b.py"))
    digests.add(build._digest_of_loaded_sources(build._sources_of({"hdl.part.a"})))
    assert len(digests) == 3
    assert None not in digests
    monkeypatch.setattr(build, "_process_start", lambda: None)
    assert build._digest_of_loaded_sources(build._sources_of({"hdl.part.a"})) is None


def test_process_start_is_known_on_linux() -> None:
    started = build._process_start()
    if Path("/proc/self/stat").is_file():
        assert started is not None
        assert 0 < time.time() - started < 24 * 3600


def test_component_is_elaborated_once_per_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Inverter, "elaborations", 0)
    component = Inverter(4)
    assert verilog_text(component) is verilog_text(component)
    assert Inverter.elaborations == 1
