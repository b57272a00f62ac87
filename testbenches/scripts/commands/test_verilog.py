"""`nearsage verilog`."""

import json
import os

from hdl.designs import DESIGNS
from scripts.commands import verilog as module
from sim.config import load_config
from testbenches.scripts.run import checked_json, nearsage


def test_list():
    result = nearsage("verilog", "--list", "--json", "-")
    assert result.exit_code == 0
    values = checked_json(result.stdout, "verilog", "tiny", {"designs"})
    assert values["designs"].keys() == DESIGNS.keys()
    for name in DESIGNS:
        assert name in result.stderr


def test_files(tmp_path):
    result = nearsage("verilog", "fp32_add", "--out", tmp_path / "new", "--config", "gnnear", "--json", "-")
    assert result.exit_code == 0
    values = checked_json(result.stdout, "verilog", "gnnear", {"design", "files", "ports", "latency"})
    assert sorted(os.listdir(tmp_path / "new")) == ["fp32_add.json", "fp32_add.v"]
    assert values["files"] == [str(tmp_path / "new" / f"fp32_add.{end}") for end in ("v", "json")]
    text = (tmp_path / "new" / "fp32_add.v").read_text()
    description = json.loads((tmp_path / "new" / "fp32_add.json").read_text())
    key = load_config("gnnear").content_hash()
    assert text.startswith(f"// NearSAGE fp32_add, configuration gnnear ({key})\n")
    assert "module fp32_add(" in text
    assert description["config_hash"] == key
    assert description["config"] == load_config("gnnear").model_dump(mode="json")
    assert values["latency"] == description["latency"] == {"result": 3}
    assert values["ports"] == description["ports"]
    assert {"name": "a", "direction": "input", "width_bits": 32} in values["ports"]
    assert {"name": "o", "direction": "output", "width_bits": 32} in values["ports"]


def test_all_designs(tmp_path, monkeypatch):
    few = {name: DESIGNS[name] for name in ("fp32_compare", "bf16_to_fp32")}
    monkeypatch.setattr(module, "DESIGNS", few)
    result = nearsage("verilog", "--all", "--out", tmp_path, "--json", "-")
    assert result.exit_code == 0
    values = checked_json(result.stdout, "verilog", "tiny", {"design", "files", "ports", "latency"})
    assert sorted(values["files"]) == sorted(str(path) for path in tmp_path.iterdir())
    assert len(values["files"]) == 4


def test_a_folder_that_cannot_be_made(tmp_path):
    (tmp_path / "file").touch()
    result = nearsage("verilog", "fp32_add", "--out", tmp_path / "file")
    assert result.exit_code == 2
    assert "nearsage: [Errno" in result.stderr
