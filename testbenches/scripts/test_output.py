"""Results that are whole or not there, and errors that become messages and exit codes."""

import json
import os
import subprocess
import sys
import threading
import warnings
from pathlib import Path

import pytest
import typer

from scripts import output
from scripts.output import Output, git_hash, guarded, write_whole
from sim.config import ConfigError
from sim.graph import GraphError
from sim.program.layout import LayoutError
from testbenches.build import BuildError
from testbenches.models.rules import BenchError
from testbenches.scripts.run import message, nearsage
from testbenches.toolchain import ToolchainError


def test_write_whole(tmp_path):
    path = tmp_path / "new" / "folder" / "results.json"
    write_whole(path, "first µ")
    write_whole(path, "second µ")
    assert path.read_text("utf-8") == "second µ"
    assert os.listdir(path.parent) == ["results.json"]


@pytest.mark.parametrize("stage", ["write_bytes", "replace"])
@pytest.mark.parametrize("error", [KeyboardInterrupt, OSError])
def test_an_interrupted_write_leaves_what_was_there(tmp_path, monkeypatch, stage, error):
    path = tmp_path / "results.json"
    path.write_text("old")
    original = getattr(Path, stage)

    def broken(self, *_, **__):
        if stage == "write_bytes":
            original(self, b"half")
        raise error

    monkeypatch.setattr(Path, stage, broken)
    with pytest.raises(error):
        write_whole(path, "new")
    monkeypatch.undo()
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["results.json"]


def test_a_link_stays_and_its_file_gets_the_text(tmp_path):
    (tmp_path / "elsewhere").mkdir()
    link, target = tmp_path / "link.json", tmp_path / "elsewhere" / "results.json"
    link.symlink_to(target)
    for text in ("first", "second"):
        write_whole(link, text)
        assert link.is_symlink()
        assert target.read_text() == text
    assert os.listdir(target.parent) == ["results.json"]


def test_a_pipe_is_written_to_and_never_replaced(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    read = []
    reader = threading.Thread(target=lambda: read.append(pipe.read_text()), daemon=True)
    reader.start()
    assert nearsage("graph", "karate", "--json", pipe).exit_code == 0
    reader.join(60)
    assert json.loads(read[0])["statistics"]["nodes"] == 34
    assert pipe.is_fifo()


@pytest.mark.parametrize("options", [[], ["--json", "-"]], ids=["table", "json"])
def test_a_reader_that_has_seen_enough_is_no_failed_check(options):
    read, write = os.pipe()
    os.close(read)
    program = "from scripts.cli import main; main()"
    run = subprocess.run(
        [sys.executable, "-c", program, "graph", "karate", *options],
        stdout=write,
        stderr=subprocess.PIPE,
        timeout=60,
        check=False,
    )
    os.close(write)
    assert run.returncode == 0
    assert b"Broken pipe" not in run.stderr


@pytest.mark.parametrize("name", ["a_file/results.json", "a_folder", ".", "/"])
def test_places_that_cannot_be_written(tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a_file").touch()
    (tmp_path / "a_folder").mkdir()
    result = nearsage("graph", "karate", "--json", name)
    assert result.exit_code == 2
    assert "nearsage: [Errno " in message(result) or "is a folder; name a file in it" in message(result)
    assert sorted(os.listdir(tmp_path)) == ["a_file", "a_folder"]


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (BenchError("stream partials, cycle 3: ..."), 1),
        (ConfigError(["nme.interval is 0: ..."]), 2),
        (GraphError("edges.txt: line 3: ..."), 2),
        (LayoutError("MatrixCommand.depth is 10000000000 in record 0; ..."), 2),
        (ToolchainError("no compiler: ..."), 2),
        (BuildError("the simulator could not be compiled: ..."), 2),
        (PermissionError(13, "Permission denied", "results.json"), 2),
    ],
    ids=lambda value: type(value).__name__,
)
def test_errors_become_exit_codes(error, code, capsys):
    def command(engine, *, graph):
        assert (engine, graph) == ("nme", "karate")
        raise error

    with pytest.raises(typer.Exit) as caught:
        guarded(command)("nme", graph="karate")
    assert caught.value.exit_code == code
    assert capsys.readouterr().err == f"nearsage: {error}\n"


def test_control_c(capsys):
    def command():
        raise KeyboardInterrupt

    with warnings.catch_warnings(), pytest.raises(typer.Exit) as caught:
        guarded(command)()
    assert caught.value.exit_code == 130
    assert "interrupted; nothing was left half-written" in capsys.readouterr().err


def test_too_little_memory(capsys):
    def command():
        raise MemoryError("Unable to allocate 119. GiB")

    with pytest.raises(typer.Exit) as caught:
        guarded(command)()
    assert caught.value.exit_code == 2
    assert "not enough memory (Unable to allocate 119. GiB); take a smaller graph" in capsys.readouterr().err


def test_faults_of_the_program_are_not_hidden():
    def command():
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        guarded(command)()


def test_messages_are_shown_as_they_are(capsys):
    def command():
        raise GraphError("[bold]a[/bold] file [/x] " + "long " * 60)

    with pytest.raises(typer.Exit):
        guarded(command)()
    assert capsys.readouterr().err == f"nearsage: [bold]a[/bold] file [/x] {'long ' * 60}\n"


def test_numbers_that_json_lacks_are_refused(tmp_path):
    path = tmp_path / "results.json"
    with pytest.raises(ValueError, match="not JSON compliant"):
        Output("graph", None, str(path)).write(value=float("nan"))
    assert not path.exists()


def test_nothing_is_written_unasked(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    Output("graph", None, None).write(value=1)
    assert os.listdir(tmp_path) == []
    assert capsys.readouterr().out == ""


def test_results_go_where_they_shall(tmp_path, capsys):
    path = tmp_path / "results.json"
    Output("graph", None, str(path)).write(value=1)
    assert capsys.readouterr().out == ""
    Output("graph", None, "-").write(value=1)
    shown, written = json.loads(capsys.readouterr().out), json.loads(path.read_text())
    assert shown["value"] == written["value"] == 1
    assert shown.keys() == written.keys()


def test_without_git_there_is_no_hash(monkeypatch, tmp_path):
    monkeypatch.setattr(output, "__file__", str(tmp_path / "scripts" / "output.py"))
    assert git_hash() is None
    (tmp_path / ".git").mkdir()
    (tmp_path / "scripts").mkdir()
    assert git_hash() is None  # a broken checkout is no reason to fail
    monkeypatch.setenv("PATH", str(tmp_path))
    assert git_hash() is None


def test_without_a_compiler_versions_are_still_told(monkeypatch):
    def broken():
        raise ToolchainError("no compiler")

    monkeypatch.setattr(output, "tool_versions", broken)
    assert output.versions().keys() == {"python", "amaranth", "cocotb", "numpy"}
