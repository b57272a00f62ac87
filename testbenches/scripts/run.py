"""Running the command line in this process, and what all its JSON has in common."""

import json

from typer.testing import CliRunner

from scripts.cli import app
from sim.config import load_config

COMMON = {"schema", "command", "config_name", "config_hash", "git_hash", "tool_versions", "seconds_wall"}


def nearsage(*arguments):
    """Run a command; give its result with exit_code, stdout and stderr."""
    result = CliRunner().invoke(app, [str(argument) for argument in arguments])
    unexpected = result.exception is not None and not isinstance(result.exception, SystemExit)
    if unexpected:
        raise result.exception
    return result


def message(result):
    """Give what a command said on standard error, without the frame and the breaks of a box."""
    return " ".join(result.stderr.replace("│", " ").split())


def checked_json(text, command, config, keys):
    """Parse machine-readable results and check the common part; give the rest."""
    values = json.loads(text)
    assert values.keys() == COMMON | keys
    assert values["schema"] == "nearsage/1"
    assert values["command"] == command
    assert values["config_name"] == config
    assert values["config_hash"] == (load_config(config).content_hash() if config else None)
    assert values["git_hash"] is None or len(values["git_hash"].removesuffix("-dirty")) == 40
    assert {"python", "amaranth", "cocotb", "numpy"} <= values["tool_versions"].keys()
    assert all(isinstance(version, str) and version for version in values["tool_versions"].values())
    assert 0 < values["seconds_wall"] < 3600
    return {key: values[key] for key in keys}
