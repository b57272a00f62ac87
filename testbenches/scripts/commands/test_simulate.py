"""`nearsage simulate`: the RTL of both engines, and what is said when they differ from a model."""

import dataclasses
import json

import pytest

from testbenches.cae import simulate as cae
from testbenches.layer import Layer
from testbenches.models.rules import BenchError
from testbenches.nme import simulate as nme
from testbenches.scripts.run import checked_json, message, nearsage

KEYS = {
    "engine", "graph", "stalls", "equal", "first_difference", "cycles_rtl", "cycles_model", "counters", "utilization",
}  # fmt: skip


@pytest.mark.parametrize("engine", ["nme", "cae"])
def test_engines_equal_their_models(engine):
    result = nearsage("simulate", engine, "--stalls", "random", "--seed", 3, "--json", "-")
    assert result.exit_code == 0, result.stderr
    values = checked_json(result.stdout, "simulate", "tiny", KEYS)
    assert values["engine"] == engine
    assert values["equal"] is True
    assert values["first_difference"] is None
    assert values["cycles_rtl"] == values["cycles_model"] > 0
    assert min(values["counters"].values()) >= 0
    assert values["utilization"] == values["counters"]["busy"] / values["cycles_rtl"]
    assert "equal to the golden model in every bit and to the timing model in every cycle" in message(result)


def test_the_dram_scheduler_equals_its_model():
    result = nearsage("simulate", "dram", "--stalls", "random", "--json", "-")
    assert result.exit_code == 0, result.stderr
    values = checked_json(result.stdout, "simulate", "tiny", KEYS)
    assert values["equal"] is True
    assert values["cycles_rtl"] == values["cycles_model"] == sum(values["counters"].values())
    # Each burst keeps the data bus for four cycles.
    assert values["utilization"] == 4 * values["counters"]["read"] / values["cycles_rtl"]


def flipped(result, name):
    """Give a golden result with one bit of one element changed: beat 5, lowest bit of the last lane."""
    beats = getattr(result, name).copy()
    beats[5, -4] ^= 1
    return dataclasses.replace(result, **{name: beats})


@pytest.mark.parametrize(
    ("engine", "module", "function", "stream"),
    [("nme", nme, "reduce_streams", "partials"), ("cae", cae, "product_streams", "results")],
)
def test_one_wrong_bit_of_the_golden_model_is_named(monkeypatch, engine, module, function, stream):
    golden = getattr(module, function)
    monkeypatch.setattr(module, function, lambda *arguments: flipped(golden(*arguments), stream))
    result = nearsage("simulate", engine, "--json", "-")
    assert result.exit_code == 1
    values = checked_json(result.stdout, "simulate", "tiny", KEYS)
    assert values["equal"] is False
    assert values["first_difference"].startswith(f"{stream}.data (index ")
    assert "beat 5" in values["first_difference"]
    assert "DIFFERENT" in message(result)
    assert " ".join(values["first_difference"].split()) in message(result)


@pytest.mark.parametrize(
    ("engine", "module", "function"), [("nme", nme, "reduce_timing"), ("cae", cae, "product_timing")]
)
def test_one_wrong_cycle_of_the_timing_model_is_named(monkeypatch, engine, module, function):
    timing = getattr(module, function)

    def late(*arguments):
        result = timing(*arguments)
        status = result.status.copy()
        status[-1] += 1
        return dataclasses.replace(result, status=status)

    monkeypatch.setattr(module, function, late)
    result = nearsage("simulate", engine, "--json", "-")
    assert result.exit_code == 1
    values = json.loads(result.stdout)
    assert values["first_difference"].startswith("status, beat ")
    assert values["cycles_model"] == values["cycles_rtl"] + 1


def test_a_wrong_counter_of_the_timing_model_is_named(monkeypatch):
    timing = nme.reduce_timing

    def miscounted(*arguments):
        result = timing(*arguments)
        return dataclasses.replace(result, counters=result.counters | {"flush": result.counters["flush"] - 1})

    monkeypatch.setattr(nme, "reduce_timing", miscounted)
    result = nearsage("simulate", "nme", "--json", "-")
    assert result.exit_code == 1
    assert json.loads(result.stdout)["first_difference"].startswith("counter flush: the model says ")


def test_a_broken_bench_is_a_failed_check(monkeypatch):
    def broken(*_, **__):
        raise BenchError("stream partials, cycle 7: valid fell before ready")

    monkeypatch.setattr(Layer, "simulate", broken)
    result = nearsage("simulate", "nme", "--json", "-")
    assert result.exit_code == 1
    assert "nearsage: stream partials, cycle 7: valid fell before ready" in message(result)
    assert result.stdout == ""


def test_waves_that_cannot_be_written_are_told_before_the_run(tmp_path):
    result = nearsage("simulate", "nme", "--waves", tmp_path)
    assert result.exit_code == 2
    assert "is a folder; name a file in it" in message(result)
    assert result.stdout == ""


@pytest.mark.parametrize("engine", ["nme", "cae", "dram"])
def test_an_empty_graph_is_told(engine):
    result = nearsage("simulate", engine, "--graph", "empty:n=0", "--json", "-")
    assert result.exit_code == 2
    assert "nothing to simulate: the graph has no" in message(result)
    assert result.stdout == ""
