"""`nearsage simulate`: the RTL of all engines, and what is said when they differ from a model."""

import dataclasses
import json

import pytest

from sim.config import load_config
from testbenches.cae import simulate as product
from testbenches.channel import ChannelReduce
from testbenches.models.rules import BenchError
from testbenches.nme import simulate as reduce
from testbenches.nme import simulate_engine as nme
from testbenches.scripts.run import checked_json, message, nearsage

KEYS = {
    "engine", "graph", "stalls", "equal", "first_difference", "cycles_rtl", "cycles_model", "counters", "utilization",
}  # fmt: skip
BOTH_KEYS = {
    "counters", "utilization", "reduce_counters", "dram_commands", "row_hits", "edges", "vectors", "partial_sums",
    "bandwidth_bytes_per_s", "bandwidth_share", "busy_shares", "bound", "dram_energy_joules",
}  # fmt: skip
ENGINE_KEYS = KEYS | BOTH_KEYS | {"model", "features", "engines"}


def engines(*arguments):
    """Run the engines, which must equal their models, and give the values."""
    result = nearsage("simulate", "nme", *arguments, "--json", "-")
    assert result.exit_code == 0, result.stderr
    assert "nme: equal to the golden model in every bit and to the timing model in every cycle" in message(result)
    values = checked_json(result.stdout, "simulate", json.loads(result.stdout)["config_name"], ENGINE_KEYS)
    assert values["equal"] is True
    assert values["cycles_rtl"] == values["cycles_model"] > 0
    assert f"bound by {values['bound']}" in message(result)
    return values


@pytest.mark.parametrize("engine", ["reduce", "product"])
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


CAE_KEYS = KEYS | {"unit_counters", "instructions", "refused", "multiply_adds", "memory_beats"}


def central_engine(*arguments):
    """Run the Centralized Acceleration Engine, which must equal its models, and give the values."""
    result = nearsage("simulate", "cae", *arguments, "--json", "-")
    assert result.exit_code == 0, result.stderr
    assert "cae: equal to the golden model in every bit and to the timing model in every cycle" in message(result)
    values = checked_json(result.stdout, "simulate", "tiny", CAE_KEYS)
    assert values["equal"] is True
    assert values["cycles_rtl"] == values["cycles_model"] > 0
    for counters in values["unit_counters"].values():
        assert sum(counters.values()) == values["cycles_rtl"]
        assert min(counters.values()) >= 0
    return values, message(result)


def test_a_layer_on_the_central_engine():
    values, _ = central_engine("--stalls", "random", "--seed", 3)
    assert values["graph"] == "karate"
    assert values["multiply_adds"] == 34 * 34 * 16
    assert values["refused"] == {}


@pytest.mark.parametrize("product", ["xw", "dywt", "xtdy"])
def test_a_product_on_the_central_engine(product):
    values, told = central_engine("--product", product, "--m", 20, "--k", 9, "--n", 7, "--times", 2)
    assert values["graph"] is None
    assert values["multiply_adds"] == 2 * 20 * 9 * 7
    assert values["utilization"] == pytest.approx(values["multiply_adds"] / 16 / values["cycles_rtl"])
    assert f"{product} 20 x 9 x 7, 2 times" in told


def test_a_slow_memory_is_waited_for():
    fast, slow = (
        central_engine("--product", "xw", "--m", 20, "--k", 16, "--n", 4, "--memory-beats-per-cycle", rate)[0]
        for rate in (1, 0.25)
    )
    assert slow["memory_beats"] == fast["memory_beats"]
    assert slow["cycles_rtl"] >= 4 * (slow["memory_beats"] - 1)


def test_a_program_with_a_bad_instruction(tmp_path):
    file = tmp_path / "program.txt"
    file.write_text("load.bf16 memory=m[0:2] result=b0[0:2] rows=3 columns=7\nmerge rows=0\nsynchronise\n")
    values, told = central_engine("--program", file)
    assert (values["instructions"], values["refused"]) == (3, {"1": "BAD_ROWS"})
    assert "instruction 1: BAD_ROWS" in told


def test_the_listing_of_a_product_is_a_program(tmp_path):
    file = tmp_path / "product.txt"
    values, _ = central_engine("--product", "xw", "--m", 20, "--k", 9, "--n", 7, "--listing", file)
    again, _ = central_engine("--program", file)
    for key in ("cycles_rtl", "multiply_adds", "instructions", "memory_beats", "unit_counters"):
        assert again[key] == values[key]


def test_a_faulty_program_is_told_with_its_line(tmp_path):
    file = tmp_path / "program.txt"
    file.write_text("synchronise\nmerge row=1\n")
    result = nearsage("simulate", "cae", "--program", file)
    assert result.exit_code == 2
    assert "line 2: merge has no 'row' (did you mean 'rows'?)" in message(result)


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["nme", "--product", "xw"], "--product, --m, --k, --n and --program are for the engine cae"),
        (["cae", "--product", "xw", "--m", 3], "a product takes all of --product, --m, --k and --n"),
        (["cae", "--m", 3, "--k", 3, "--n", 3], "a product takes all of --product, --m, --k and --n"),
        (["cae", "--product", "xw", "--m", 60000, "--k", 60000, "--n", 8], "beats of memory; there are 16777216"),
        (["nme", "--listing", "x.txt"], "--listing is for the engine cae"),
        (["cae", "--times", 3], "--times is for --product"),
        (["nme", "--memory-beats-per-cycle", 0.5], "--memory-beats-per-cycle is for the engine cae"),
    ],
)
def test_options_of_the_central_engine_go_together(arguments, told):
    result = nearsage("simulate", *arguments)
    assert result.exit_code == 2
    assert told in message(result)


def test_the_dram_scheduler_equals_its_model():
    result = nearsage("simulate", "dram", "--stalls", "random", "--json", "-")
    assert result.exit_code == 0, result.stderr
    values = checked_json(result.stdout, "simulate", "tiny", KEYS)
    assert values["equal"] is True
    assert values["cycles_rtl"] == values["cycles_model"] == sum(values["counters"].values())
    # Each burst keeps the data bus for four cycles.
    assert values["utilization"] == 4 * values["counters"]["read"] / values["cycles_rtl"]


def test_all_engines_of_a_channel_equal_their_models():
    values = engines("--stalls", "random", "--seed", 3)
    assert len(values["engines"]) == 2
    assert values["edges"] == sum(one["edges"] for one in values["engines"]) == 2 * 78 + 34
    assert values["features"] == 16  # updated first: 34 is more than 16
    for one in values["engines"]:
        assert one.keys() == BOTH_KEYS | {"cycles"}
        assert sum(one["counters"].values()) == values["cycles_rtl"] >= one["cycles"]
        assert one["counters"]["transfer"] == 4 * one["dram_commands"]["read"]  # a burst takes four cycles
        assert one["bandwidth_share"] == pytest.approx(one["counters"]["transfer"] / values["cycles_rtl"])
        assert one["utilization"] == one["reduce_counters"]["busy"] / sum(one["reduce_counters"].values())
        assert one["bound"] == max(one["busy_shares"], key=one["busy_shares"].get)


@pytest.mark.parametrize("model", ["gin", "sage", "sage-max"])
def test_other_models(model):
    values = engines("--model", model, "--features", 12, "--hidden", 12)
    assert (values["model"], values["features"], values["edges"]) == (model, 12, 2 * 78)


def test_a_maximum_is_not_updated_first():
    assert engines("--model", "sage-max")["features"] == 34


def test_dimms_and_mapping():
    result = nearsage("simulate", "nme", "--dimms", 1, "--mapping", "bursts_over_groups", "--json", "-")
    assert result.exit_code == 0, result.stderr
    values = json.loads(result.stdout)
    assert values["equal"] is True
    assert len(values["engines"]) == 1
    assert values["config_hash"] == load_config("tiny").replace(**{"dram.mapping": "bursts_over_groups"}).content_hash()
    assert "bursts_over_groups" in message(result)


@pytest.mark.parametrize("arguments", [["--model", "gin"], ["--dimms", 1]])
def test_options_of_the_engines_are_theirs_alone(arguments):
    result = nearsage("simulate", "cae", *arguments)
    assert result.exit_code == 2
    assert "--model and --dimms are for the engine nme" in message(result)


def flipped(result, name):
    """Give a golden result with one bit of one element changed: beat 5, lowest bit of the last lane."""
    beats = getattr(result, name).copy()
    beats[5, -4] ^= 1
    return dataclasses.replace(result, **{name: beats})


@pytest.mark.parametrize(
    ("engine", "module", "function", "stream"),
    [("reduce", reduce, "reduce_streams", "partials"), ("product", product, "product_streams", "results")],
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
    ("engine", "module", "function"), [("reduce", reduce, "reduce_timing"), ("product", product, "product_timing")]
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
    timing = reduce.reduce_timing

    def miscounted(*arguments):
        result = timing(*arguments)
        return dataclasses.replace(result, counters=result.counters | {"flush": result.counters["flush"] - 1})

    monkeypatch.setattr(reduce, "reduce_timing", miscounted)
    result = nearsage("simulate", "reduce", "--json", "-")
    assert result.exit_code == 1
    assert json.loads(result.stdout)["first_difference"].startswith("counter flush: the model says ")


def assert_different(start):
    """Run the engines, which must differ from a model, and check what is told."""
    result = nearsage("simulate", "nme", "--json", "-")
    assert result.exit_code == 1
    values = checked_json(result.stdout, "simulate", "tiny", ENGINE_KEYS)
    assert values["equal"] is False
    assert values["first_difference"].startswith(start)
    assert "DIFFERENT" in message(result)
    assert " ".join(values["first_difference"].split()) in message(result)


def test_one_wrong_bit_of_the_engines_golden_model_is_named(monkeypatch):
    golden = nme.engine_streams
    monkeypatch.setattr(nme, "engine_streams", lambda *arguments: flipped(golden(*arguments), "partials"))
    assert_different("engine 0: partials.data, ")


def test_one_wrong_cycle_or_counter_of_the_engines_timing_model_is_named(monkeypatch):
    timing = nme.engine_timing

    def late(*arguments, **options):
        first, last = timing(*arguments, **options)
        status = last.status.copy()
        status[0] += 1
        return [first, dataclasses.replace(last, status=status)]

    def miscounted(*arguments, **options):
        first, last = timing(*arguments, **options)
        return [first, dataclasses.replace(last, counters=last.counters | {"row": last.counters["row"] + 1})]

    monkeypatch.setattr(nme, "engine_timing", late)
    assert_different("engine 1: cycle of status 0: the model says ")
    monkeypatch.setattr(nme, "engine_timing", miscounted)
    assert_different("engine 1: counter cycles_row: the model says ")


def test_a_broken_bench_is_a_failed_check(monkeypatch):
    def broken(*_, **__):
        raise BenchError("stream partials, cycle 7: valid fell before ready")

    monkeypatch.setattr(ChannelReduce, "simulate", broken)
    result = nearsage("simulate", "nme", "--json", "-")
    assert result.exit_code == 1
    assert "nearsage: stream partials, cycle 7: valid fell before ready" in message(result)
    assert result.stdout == ""


def test_waves_that_cannot_be_written_are_told_before_the_run(tmp_path):
    result = nearsage("simulate", "nme", "--waves", tmp_path)
    assert result.exit_code == 2
    assert "is a folder; name a file in it" in message(result)
    assert result.stdout == ""


@pytest.mark.parametrize("engine", ["nme", "reduce", "cae", "product", "dram"])
def test_an_empty_graph_is_told(engine):
    result = nearsage("simulate", engine, "--graph", "empty:n=0", "--json", "-")
    assert result.exit_code == 2
    assert "nothing to simulate: the graph has no" in message(result)
    assert result.stdout == ""


SSD_KEYS = {
    "engine", "graph", "stalls", "equal", "first_difference", "cycles_rtl", "cycles_model", "counters", "utilization",
    "batch", "fanout", "channels", "targets", "samples", "distinct_nodes", "failed_targets", "pages", "distinct_pages",
    "samples_per_page", "hot_samples", "bound_cycles", "over_bound", "samples_per_second", "commands",
}  # fmt: skip


def test_sampling_in_the_ssd(tmp_path):
    image = tmp_path / "karate.flash"
    assert nearsage("image", "karate", "--out", image, "--config", "tiny").exit_code == 0
    options = ("--batch", 20, "--fanout", "4,all", "--batches", 2, "--json", "-")
    runs = [nearsage("simulate", "ssd", *source, *options) for source in (("--graph", "karate"), ("--image", image))]
    graph, file = (checked_json(run.stdout, "simulate", "tiny", SSD_KEYS) for run in runs)
    assert graph | {"graph": None} == file | {"graph": None}
    assert (graph["equal"], graph["cycles_rtl"]) == (True, graph["cycles_model"])
    assert graph["targets"] == [40, graph["samples"][0]]
    assert [one["status"] for one in graph["commands"]] == ["OK", "OK"]
    assert sum(one["detail"] for one in graph["commands"]) == sum(graph["samples"])
    for channel in graph["channels"]:
        assert sum(channel.values()) == graph["cycles_rtl"]
    assert "over the bound" in runs[0].stderr


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (("ssd", "--fanout", "4,0"), "'0' must be a number from 1 to 64, or all"),
        (("ssd", "--fanout", "1,1,1,1,1"), "5 hops; there may be 4"),
        (("ssd", "--batch", "35"), "a batch of 35 targets: the graph has only 34 nodes"),
        (("ssd", "--batches", "3000", "--batch", "30", "--command-per-target"), "90000 commands: the submission queue"),
        (("ssd", "--features", "4"), "say nothing to the engine ssd"),
        (("nme", "--fanout", "4"), "are for the engine ssd"),
    ],
)
def test_sampling_that_cannot_be_is_refused(options, problem):
    result = nearsage("simulate", *options)
    assert result.exit_code == 2
    assert problem in message(result)


def test_an_image_of_other_pages_is_refused(tmp_path):
    image = tmp_path / "karate.flash"
    nearsage("image", "karate", "--out", image, "--config", "tiny")
    result = nearsage("simulate", "ssd", "--image", image, "--config", "smartsage")
    assert result.exit_code == 2
    assert "has pages of 2048 bytes, but those of the configuration smartsage have 16384" in message(result)
    image.write_bytes(b"nothing")
    assert "are no flash image" in message(nearsage("simulate", "ssd", "--image", image))
