"""`nearsage estimate`."""

import json
from importlib import resources

import pytest

from scripts.commands import estimate as module
from testbenches.scripts.run import checked_json, message, nearsage

KEYS = {
    "graph", "model", "widths", "epoch_seconds", "energy_joules", "bottleneck", "phases", "assumptions", "confidence",
    "simulations",
}  # fmt: skip


@pytest.mark.parametrize("config", ["tiny", "gnnear"])
def test_json(config):
    result = nearsage("estimate", "--config", config, "--json", "-")
    assert result.exit_code == 0
    values = checked_json(result.stdout, "estimate", config, KEYS)
    assert values["widths"] == [34, 16 if config == "tiny" else 256, 2]
    phases = values["phases"]
    assert all({"name", "unit", "seconds", "energy_joules", "kind"} <= phase.keys() for phase in phases)
    assert values["epoch_seconds"] == pytest.approx(sum(phase["seconds"] for phase in phases))
    assert values["energy_joules"] == pytest.approx(sum(phase["energy_joules"] for phase in phases))
    seconds = {}
    for phase in phases:
        seconds[phase["unit"]] = seconds.get(phase["unit"], 0) + phase["seconds"]
    assert values["bottleneck"] == max(seconds, key=seconds.get)
    assert values["assumptions"]
    assert 0 <= values["confidence"]["modelled_share"] <= 1
    assert values["simulations"] == {}
    assert "bound by the" in result.stderr
    for assumption in values["assumptions"]:
        assert assumption in message(result)


def test_widths_of_ones_own():
    arguments = ["--features", 7, "--hidden", 9, "--classes", 3, "--config", "tiny", "--json", "-"]
    assert json.loads(nearsage("estimate", *arguments).stdout)["widths"] == [7, 9, 3]
    # Without features or classes of its own, a graph gets the configuration's width and 16 classes.
    arguments = ["--graph", "ring:n=20", "--config", "tiny", "--json", "-"]
    assert json.loads(nearsage("estimate", *arguments).stdout)["widths"] == [16, 16, 16]


def test_a_file_of_ones_own_changes_the_answer(tmp_path):
    text = resources.files("sim.config.presets").joinpath("tiny.toml").read_text("utf-8")
    results = {}
    for name, changed in {"same": text, "dear": text.replace("fp32_add_pj = 0.9 ", "fp32_add_pj = 90.0 ")}.items():
        path = tmp_path / f"{name}.toml"
        path.write_text(changed, "utf-8")
        results[name] = json.loads(nearsage("estimate", "--config", path, "--json", "-").stdout)
    assert results["dear"]["energy_joules"] > results["same"]["energy_joules"]
    assert results["dear"]["epoch_seconds"] == results["same"]["epoch_seconds"]
    assert results["dear"]["config_hash"] != results["same"]["config_hash"]


def test_another_memory():
    results = [
        json.loads(nearsage("estimate", "--config", "gnnear", *arguments, "--json", "-").stdout)
        for arguments in ([], ["--dram", "ddr4-2400"], ["--dram", "DDR5-4800"])
    ]
    assert [result["config_name"] for result in results] == ["gnnear", "gnnear+ddr4_2400", "gnnear+ddr5_4800"]
    assert results[0]["phases"] == results[1]["phases"]
    assert results[2]["epoch_seconds"] < results[0]["epoch_seconds"]
    refused = nearsage("estimate", "--dram", "ddr4-2401")
    assert refused.exit_code == 2
    assert "did you mean 'ddr4_2400'?" in message(refused)


@pytest.mark.parametrize("spec", ["empty:n=0", "empty:n=3"])
def test_graphs_without_edges(spec):
    result = nearsage("estimate", "--graph", spec, "--config", "tiny", "--json", "-")
    assert result.exit_code == 0
    assert json.loads(result.stdout)["epoch_seconds"] > 0


def test_verify_runs_both_engines():
    result = nearsage("estimate", "--config", "gnnear", "--verify", "--json", "-")
    assert result.exit_code == 0
    simulations = checked_json(result.stdout, "estimate", "gnnear", KEYS)["simulations"]
    assert simulations.keys() == {"nme", "cae"}
    for simulation in simulations.values():
        assert simulation["equal"] is True
        assert simulation["cycles_rtl"] == simulation["cycles_model"] > 0


def test_an_empty_graph_cannot_be_verified():
    result = nearsage("estimate", "--graph", "empty:n=0", "--config", "tiny", "--verify")
    assert result.exit_code == 2
    assert "nearsage: nothing to simulate: the graph has no edges to reduce" in message(result)


def test_a_failed_verification_is_an_error(monkeypatch):
    monkeypatch.setattr(module, "_verify", lambda _source, _out: {"nme": {"equal": True}, "cae": {"equal": False}})
    result = nearsage("estimate", "--config", "tiny", "--verify", "--json", "-")
    assert result.exit_code == 1
    assert json.loads(result.stdout)["simulations"]["cae"]["equal"] is False
