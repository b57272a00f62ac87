"""The command line as a whole: help, wrong usage, exit codes, and what goes to which stream."""

import json
import subprocess
import sys

import pytest
import typer

from scripts.cli import app
from testbenches.scripts.run import message, nearsage

COMMANDS = ("verilog", "simulate", "estimate", "graph")


def test_help_lists_the_commands():
    result = nearsage("--help")
    assert result.exit_code == 0
    for command in COMMANDS:
        assert command in result.stdout
    assert "Exit codes: 0 fine, 1 a check failed, 2 wrong usage or input" in " ".join(result.stdout.split())


@pytest.mark.parametrize("command", COMMANDS)
def test_help_of_each_command(command):
    result = nearsage(command, "--help")
    assert result.exit_code == 0
    assert "--json" in result.stdout
    described = typer.main.get_command(app).commands[command]
    assert len(described.help.split()) > 5
    for parameter in described.params:
        assert parameter.help, parameter.name


def test_without_a_command_help_is_shown():
    result = nearsage()
    assert result.exit_code == 2
    assert "Usage" in result.stdout + result.stderr


@pytest.mark.parametrize(
    ("arguments", "near"),
    [
        (["grpah", "karate"], "'graph'"),
        (["graph", "karat"], "'karate'"),
        (["graph", "rmat:scael=4"], "'scale'"),
        (["graph", "karate", "--jsn", "-"], "--json"),
        (["graph", "no/such/file.txt"], "no such file"),
        (["estimate", "--config", "gnnaer"], "'gnnear'"),
        (["estimate", "--config", "no/such.toml"], "cannot be read"),
        (["estimate", "--graph", "kartae"], "'karate'"),
        (["estimate", "--model", "gncn"], "'gcn'"),
        (["estimate", "--hidden", "0"], "--hidden"),
        (["estimate", "--hidden", "many"], "--hidden"),
        (["simulate", "nem"], "'nme', 'reduce', 'cae'"),
        (["simulate", "nme", "--stalls", "bursts"], "'bursty'"),
        (["simulate", "nme", "--seed", "-1"], "--seed"),
        (["simulate"], "engine"),
        (["verilog", "fp32_ad"], "'fp32_add'"),
        (
            ["verilog"],
            "name a design, or say --all. The designs are nme, reduce, cae, product, vector, dram, ssd, fp32",
        ),
        (["verilog", "zzzz"], "'zzzz' is not a design. The designs are"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_wrong_usage_is_told_with_what_is_near(arguments, near):
    result = nearsage(*arguments)
    assert result.exit_code == 2
    assert near in message(result)
    assert "Traceback" not in result.stderr
    assert result.stdout == ""


def test_errors_of_a_file_name_the_field(tmp_path):
    path = tmp_path / "own.toml"
    path.write_text('name = "own"\nhidden_feature = 3\n')
    result = nearsage("estimate", "--config", path)
    assert result.exit_code == 2
    assert "own.toml: hidden_feature: key 'hidden_feature' is not known; did you mean 'hidden_features'?" in message(
        result
    )


def test_a_process_writes_json_and_nothing_else_to_a_pipe():
    program = "from scripts.cli import main; main()"
    run = subprocess.run(
        [sys.executable, "-c", program, "graph", "karate", "--json", "-"],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert run.returncode == 0
    assert json.loads(run.stdout)["statistics"]["nodes"] == 34
    assert "graph karate" in run.stderr
