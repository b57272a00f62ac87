"""The estimate of an epoch: sums, bounds, one phase by hand, and the answer to every knob."""

import pytest

from sim.config import SystemConfig, load_config
from sim.graph import adjacency, load_graph
from sim.program.gcn import compile_gcn_epoch
from sim.program.items import Product, Program, Reduce, Vector
from sim.system.estimate import UNITS, Estimate, Phase, estimate, phases_of
from testbenches.sim.config.test_base import NUMBERS, value_at

WIDTHS = (50, 20, 5)
GRAPH = adjacency(load_graph("rmat:scale=8,edge_factor=6,seed=3"), "gcn")
# Slow memory, so that nothing hides behind anything else for good; partial rows and beats everywhere.
BASE = load_config("tiny").replace(
    **{"dram.rank_bandwidth_bytes_per_s": 1e9, "dram.channel_bandwidth_bytes_per_s": 2e9, "cae.vector_units": 2}
)


def epoch(config, weighted=GRAPH, widths=WIDTHS):
    return estimate(compile_gcn_epoch(weighted, weighted.transposed(), widths, config), config)


def busy(result, unit):
    return sum(phase.unit_seconds[unit] for phase in result.phases)


BASE_RESULT = epoch(BASE)


def test_phases_add_up_and_are_within_their_bounds():
    result = BASE_RESULT
    assert result.epoch_seconds == pytest.approx(sum(phase.seconds for phase in result.phases))
    assert result.energy_joules == pytest.approx(sum(phase.energy_joules for phase in result.phases))
    for phase in result.phases:
        assert phase.unit_seconds.keys() == UNITS.keys()
        assert min(phase.unit_seconds.values()) >= 0
        serial = sum(phase.unit_seconds.values())
        cae = phase.unit_seconds["array"] + phase.unit_seconds["vector"]
        assert max(phase.unit_seconds.values()) <= phase.seconds <= serial * (1 + 1e-12)
        assert phase.seconds == max(phase.unit_seconds["nme"], phase.unit_seconds["channel"], cae)
        assert phase.energy_joules > 0
        assert phase.kind == UNITS[phase.unit][1]
    assert result.assumptions
    assert 0 < result.modelled_share <= 1


def test_phases_are_cut_at_every_barrier():
    program = compile_gcn_epoch(GRAPH, GRAPH.transposed(), WIDTHS, BASE)
    names = [name for name, _ in phases_of(program)]
    assert names == [
        "layer 0 forward: product", "layer 0 forward: reduce + merge + relu",
        "layer 1 forward: reduce + merge + product", "layer 1 backward: loss",
        "layer 1 backward: reduce + merge + product + relu_gradient + adam",
        "layer 0 backward: reduce + merge + product + adam",
    ]  # fmt: skip
    assert [item for _, items in phases_of(program) for item in items] == list(program.items)
    assert names == [phase.name for phase in BASE_RESULT.phases]
    for _, items in phases_of(program):
        assert not any(isinstance(item, Reduce) for item in items[1:])


def test_one_phase_by_hand():
    config = load_config("tiny")
    item = Product(layer=0, direction="forward", kind="xw", rows=2, depth=4, columns=4, left="h0", right="w0",
                   result="z0")  # fmt: skip
    (phase,) = estimate(Program(name="product", items=(item,)), config).phases
    # 28 cycles of 700 MHz (see test_work); 16 B over each channel at 16 GB/s.
    assert phase.name == "layer 0 forward: product"
    assert phase.unit_seconds == pytest.approx({"nme": 0, "array": 40e-9, "vector": 0, "channel": 1e-9})
    assert (phase.unit, phase.kind) == ("array", "modelled")
    assert phase.seconds == pytest.approx(40e-9)
    # In each of two channels 8 B are read and 8 B written: a burst and a row each.
    bursts_ma, rows_ma = 2 * (92 + 80) * 4, 2 * 2 * (48 * 55 - 43 * 39 - 34 * 16) / 2
    dynamic_pj = 32 * (1.1 + 0.9) + 32 * 8 * 40 + 8 * 1.2 * 0.833 * (bursts_ma + rows_ma)
    standing_w = 8 * 8 * 1.2 * (0.043 + 0.207 * 420 / 9360)
    assert phase.energy_joules == pytest.approx(dynamic_pj * 1e-12 + standing_w * 40e-9, rel=1e-9)


def test_what_a_phase_made_is_on_chip_in_that_phase_only():
    config = load_config("tiny")
    product = Product(layer=0, direction="forward", kind="xw", rows=64, depth=4, columns=4, left="h0", right="w0",
                      result="z0")  # fmt: skip
    relu = Vector(layer=0, direction="forward", operation="relu", elements=256, source="z0", result="h1")
    late = Vector(layer=1, direction="forward", operation="relu", elements=256, source="z0", result="h2")
    together = estimate(Program(name="one phase", items=(product, relu)), config)
    apart = estimate(Program(name="two phases", items=(product, late)), config)
    assert (len(together.phases), len(apart.phases)) == (1, 2)
    assert busy(apart, "channel") - busy(together, "channel") == pytest.approx(256 / 16e9)


# What the estimate declares not to model, and the widths, which the program holds.
SILENT = {
    "hidden_features", "dram.rows", "dram.bank_groups", "dram.banks_per_group",
    "dram.device_capacity_gbit", "dram.window_requests",
    "dram.postponed_refreshes", "dram.postponable_refreshes", "energy.fp32_multiply_pj",
    # The whole engine's depths: estimates time its reduce unit only.
    "nme.vector_slots", "nme.list_slots", "nme.queued_passes",
    # And the tiles of the product unit, not the engine that feeds them.
    *(f"cae.{name}" for name in ("vector_mul_latency", "operand_banks", "operand_bank_beats", "vector_banks",
                                 "vector_bank_beats", "merge_sources", "merge_ports", "window_instructions",
                                 "memory_beats")),
    # Full-batch epochs do not sample.
    *(name for name, _ in NUMBERS if name.startswith("ssd.")),
    # The energies hear of the row cycle, the refresh and the burst; no time hears of the rest yet.
    *(f"dram.timing.{name}" for name in type(BASE.dram.timing).model_fields
      if name not in ("tck_ns", "trefi", "tras", "trp", "trfc")),
}  # fmt: skip


@pytest.mark.parametrize("key", [name for name, _ in NUMBERS])
def test_every_knob_changes_the_estimate_or_is_declared_not_to(key):
    value = value_at(BASE, key)
    # The widest Reduce has 20 features, three beats.
    special = {"partition.update_first_above_features": 50, "nme.max_beats": 2}
    other = special.get(key, value + 1 if value == 1 else type(value)(value / 2))
    changed = epoch(BASE.replace(**{key: other})).phases != BASE_RESULT.phases
    assert changed == (key not in SILENT)


def test_fp32_multiplications_cost_where_elements_are_fp32():
    fp32 = BASE.replace(**{"nme.element": "fp32"})
    dearer = fp32.replace(**{"energy.fp32_multiply_pj": 2 * BASE.energy.fp32_multiply_pj})
    assert epoch(dearer).energy_joules > epoch(fp32).energy_joules


BETTER = {
    # More of this makes these units' own time shorter.
    "nme.clock_hz": ["nme"], "nme.pes": ["nme"], "nme.lanes_per_pe": ["nme"],
    "dram.rank_bandwidth_bytes_per_s": ["nme"], "dram.ranks_per_dimm": ["nme"],
    "dram.channels": ["nme", "channel"], "dram.dimms_per_channel": ["nme"],
    "cae.clock_hz": ["array", "vector"], "cae.rows": ["array", "vector"], "cae.columns": ["array", "vector"],
    "cae.accumulator_rows": ["array"],
    "cae.vector_units": ["vector"],
    "dram.channel_bandwidth_bytes_per_s": ["channel"],
    "partition.window_shards": ["nme"],
}  # fmt: skip
FAST_MEMORY = BASE.replace(**{"dram.rank_bandwidth_bytes_per_s": 64e9, "partition.window_shards": 1})
# Tiles that are too short to hide the weights; beyond that, longer ones only lengthen the last drain.
SHORT_TILES = BASE.replace(**{"cae.accumulator_rows": 8})


@pytest.mark.parametrize("key", BETTER)
def test_more_hardware_is_faster(key):
    base = FAST_MEMORY if key in ("nme.clock_hz", "partition.window_shards") else BASE
    if key in ("nme.pes", "nme.lanes_per_pe"):
        base = FAST_MEMORY
    if key == "cae.accumulator_rows":
        base = SHORT_TILES
    value = value_at(base, key)
    before, after = epoch(base), epoch(base.replace(**{key: value * 2}))
    for unit in BETTER[key]:
        assert busy(after, unit) < busy(before, unit), unit
    for unit in UNITS.keys() - set(BETTER[key]):
        if key not in ("dram.dimms_per_channel", "dram.channels"):  # more DIMMs make more partial sums to merge
            assert busy(after, unit) == busy(before, unit), unit
            assert after.epoch_seconds <= before.epoch_seconds


def test_clocks_scale_exactly():
    twice = BASE.replace(**{"cae.clock_hz": 2 * BASE.cae.clock_hz})
    for unit in ("array", "vector"):
        assert busy(epoch(twice), unit) == pytest.approx(busy(BASE_RESULT, unit) / 2)


@pytest.mark.parametrize("key", ["nme.add_latency", "nme.mul_latency", "cae.add_latency", "cae.mul_latency"])
def test_deeper_pipelines_are_slower(key):
    unit = {"nme": "nme", "cae": "array"}[key[:3]]
    base = FAST_MEMORY
    shallow, deep = epoch(base.replace(**{key: 1})), epoch(base.replace(**{key: 4}))
    assert busy(deep, unit) > busy(shallow, unit)


def test_wider_elements_cost_bandwidth_and_energy():
    fp32 = epoch(BASE.replace(**{"nme.element": "fp32"}))
    assert busy(fp32, "channel") > busy(BASE_RESULT, "channel")
    assert busy(fp32, "nme") > busy(BASE_RESULT, "nme")
    assert fp32.energy_joules > BASE_RESULT.energy_joules


COEFFICIENTS = ["dram.currents.vdd_v", "dram.currents.idd0_ma", "dram.currents.idd4r_ma", "dram.currents.idd4w_ma",
                "dram.currents.idd5ab_ma", "energy.fp32_add_pj", "energy.bf16_multiply_pj",
                "energy.channel_pj_per_bit", "energy.node_nm"]  # fmt: skip


@pytest.mark.parametrize("key", COEFFICIENTS)
def test_every_energy_coefficient_raises_the_total_and_no_time(key):
    result = epoch(BASE.replace(**{key: value_at(BASE, key) * 1.01}))
    assert result.energy_joules > BASE_RESULT.energy_joules
    assert result.epoch_seconds == BASE_RESULT.epoch_seconds


@pytest.mark.parametrize("preset", ["tiny", "gnnear"])
@pytest.mark.parametrize("spec", ["empty:n=0", "empty:n=1", "empty:n=9", "star:n=40", "karate"])
@pytest.mark.parametrize("normalization", ["gcn", "none"])
def test_any_graph_has_an_estimate(preset, spec, normalization):
    config = load_config(preset)
    result = epoch(config, adjacency(load_graph(spec), normalization))
    assert result.bottleneck in UNITS
    assert len(result.phases) == (6 if preset == "tiny" else 5)
    assert result.epoch_seconds > 0  # the optimiser works on the weights, whatever the graph
    assert result.energy_joules > 0


def test_an_epoch_without_work():
    nothing = Estimate(phases=())
    assert (nothing.epoch_seconds, nothing.energy_joules, nothing.bottleneck, nothing.modelled_share) == (
        0,
        0,
        "none",
        0,
    )


def phase_of(unit, seconds):
    return Phase(name="", unit=unit, seconds=seconds, energy_joules=0.0, kind=UNITS[unit][1],
                 unit_seconds=dict.fromkeys(UNITS, 0.0) | {unit: seconds})  # fmt: skip


def test_bottleneck_is_what_binds_for_the_longest_time():
    result = Estimate(phases=(phase_of("nme", 3.0), phase_of("channel", 2.0), phase_of("channel", 2.0)))
    assert result.bottleneck == "channel"
    assert result.modelled_share == pytest.approx(3 / 7)


def test_vector_time_beside_the_array_is_not_modelled():
    both = {"nme": 1.0, "array": 2.0, "vector": 1.5, "channel": 0.0}
    phase = Phase(name="", unit="array", seconds=3.5, energy_joules=0.0, kind="modelled", unit_seconds=both)
    assert Estimate(phases=(phase,)).modelled_share == pytest.approx(2 / 3.5)


@pytest.mark.parametrize(
    ("unit", "spec", "slow"),
    [
        ("nme", "karate", {"nme.clock_hz": 10_000_000}),
        ("array", "karate", {"cae.rows": 1, "cae.columns": 1}),
        # Few vertices: the optimiser's passes over the weights count most.
        ("vector", "empty:n=9", {"cae.vector_units": 1, "cae.rows": 4, "cae.columns": 4}),
        ("channel", "karate", {"dram.channel_bandwidth_bytes_per_s": 1e7}),
    ],
)
def test_the_slowed_unit_is_named(unit, spec, slow):
    fast = load_config("tiny").replace(**{"cae.rows": 16, "cae.columns": 16, "cae.vector_units": 64})
    assert epoch(fast.replace(**slow), adjacency(load_graph(spec), "gcn")).bottleneck == unit


@pytest.mark.parametrize("share", [1.03, 1.1, 1.6])
def test_a_little_more_bandwidth_is_a_little_faster(share):
    key = "dram.rank_bandwidth_bytes_per_s"
    slow = BASE.replace(**{key: 0.2e9})
    before, after = busy(epoch(slow), "nme"), busy(epoch(slow.replace(**{key: 0.2e9 * share})), "nme")
    assert before / after == pytest.approx(share, rel=0.05)


def test_the_same_twice():
    assert epoch(BASE) == BASE_RESULT
    assert isinstance(BASE, SystemConfig)


def test_progress_is_told_for_each_item():
    program = compile_gcn_epoch(GRAPH, GRAPH.transposed(), WIDTHS, BASE)
    calls = []
    estimate(program, BASE, progress=lambda: calls.append(1))
    assert len(calls) == len(program.items)
