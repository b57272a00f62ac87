"""Shipped presets and files of one's own."""

import os
import re
from importlib import resources
from pathlib import Path

import pytest

from sim.config import ConfigError, SystemConfig, load_config, preset_names

SOURCES = ("artifact", "derived", "standard", "assumption", "BeaconGNN's public simulator")


def preset_text(name):
    return resources.files("sim.config.presets").joinpath(f"{name}.toml").read_text("utf-8")


def count_values(tree):
    return sum(count_values(part) if isinstance(part, dict) else 1 for part in tree.values())


# What the artifact of GNNear (PACT 2022) states, by hand; nothing here is read from the presets.
GNNEAR = {
    "dram.channels": 4, "dram.dimms_per_channel": 4, "dram.ranks_per_dimm": 2,
    "dram.bank_groups": 4, "dram.banks_per_group": 4, "dram.rows": 65_536, "dram.columns": 1_024,
    "dram.device_capacity_gbit": 8, "dram.device_width_bits": 8, "dram.burst_length": 8, "dram.bus_width_bits": 64,
    "dram.queue_depth": 8,
    "dram.timing.tck_ns": 0.833, "dram.timing.cl": 16, "dram.timing.cwl": 12, "dram.timing.trcd": 16,
    "dram.timing.trp": 16, "dram.timing.tras": 39, "dram.timing.trfc": 420, "dram.timing.trefi": 9_360,
    "dram.timing.trrd_s": 4, "dram.timing.trrd_l": 6, "dram.timing.twtr_s": 3, "dram.timing.twtr_l": 9,
    "dram.timing.tfaw": 26, "dram.timing.twr": 18, "dram.timing.trtp": 9, "dram.timing.tccd_s": 4,
    "dram.timing.tccd_l": 6, "dram.timing.trtrs": 1,
    "dram.currents.vdd_v": 1.2, "dram.currents.idd0_ma": 48, "dram.currents.ipp0_ma": 3,
    "dram.currents.idd2p_ma": 25, "dram.currents.idd2n_ma": 34, "dram.currents.idd3p_ma": 37,
    "dram.currents.idd3n_ma": 43, "dram.currents.idd4w_ma": 123, "dram.currents.idd4r_ma": 135,
    "dram.currents.idd5ab_ma": 250, "dram.currents.idd6x_ma": 30,
    "dram.rank_bandwidth_bytes_per_s": 16e9, "dram.channel_bandwidth_bytes_per_s": 16e9,
    "nme.pes": 16, "nme.lanes_per_pe": 8, "nme.clock_hz": 500_000_000, "nme.interval": 128, "nme.element": "fp32",
    "cae.rows": 128, "cae.columns": 128, "cae.vector_units": 16, "cae.lanes_per_vector_unit": 32,
    "cae.clock_hz": 700_000_000,
    "partition.block_vertices": 32, "partition.duplicated_share": 0.35, "partition.window_shards": 4,
    "partition.update_first_above_features": 256,
    "hidden_features": 256,
}  # fmt: skip


def test_presets():
    assert preset_names() == ["gnnear", "tiny"]
    for name in preset_names():
        assert load_config(name).name == name


@pytest.mark.parametrize(("key", "value"), GNNEAR.items(), ids=GNNEAR)
def test_gnnear_is_as_published(key, value):
    found = load_config("gnnear")
    for part in key.split("."):
        found = getattr(found, part)
    assert found == value


def test_gnnear_derived_sizes():
    config = load_config("gnnear")
    assert config.dram.dimms == 16
    assert config.dram.capacity_bytes == 256 * 2**30
    assert config.dram.burst_bytes == 64
    assert config.dram.dimm_bandwidth_bytes_per_s == 32e9
    assert config.dram.dimms * config.dram.dimm_bandwidth_bytes_per_s == 512e9
    assert config.nme.lanes == 128
    assert config.nme.element_bytes == 4
    assert config.nme.max_features == 256
    assert config.nme.output_buffer_bytes == 128 * 2**10
    assert config.cae.vector_lanes == 512
    assert config.cae.peak_multiply_adds_per_s * 2 == pytest.approx(22.9e12, rel=0.002)


def test_engine_latencies_by_hand():
    tiny = load_config("tiny")
    # Read 1, multiply 1, add 3; the next addition to a place: read, add 3, write.
    assert (tiny.nme.pipeline_cycles, tiny.nme.hazard_cycles) == (5, 5)
    # 4 rows of 3 cycles, the skew over 4 columns, read and multiply.
    assert (tiny.cae.pipeline_cycles, tiny.cae.reuse_cycles, tiny.cae.swap_cycles) == (17, 14, 13)


@pytest.mark.parametrize("name", preset_names())
def test_every_value_of_a_preset_names_its_source(name):
    values = [line for line in preset_text(name).splitlines() if re.match(r"\w+ *=", line)]
    assert len(values) == count_values(load_config(name).model_dump())
    for line in values:
        comment = re.fullmatch(r'\w+ *= *("[^"]*"|[\w.+]+) *# (.+)', line)
        assert comment, line
        assert comment[2].startswith(SOURCES), line
        if comment[2].startswith(("derived", "assumption")) and name == "gnnear":
            assert ": " in comment[2], f"says neither of what nor why: {line}"


def test_a_file_of_ones_own(tmp_path):
    path = tmp_path / "own.toml"
    path.write_text(preset_text("tiny").replace("interval = 16 ", "interval = 24 "), "utf-8")
    assert load_config(path) == load_config(str(path)) == load_config("tiny").replace(**{"nme.interval": 24})
    assert isinstance(load_config(path), SystemConfig)


def test_unknown_presets_name_the_nearest():
    with pytest.raises(
        ConfigError, match=r"'gnear' is not known; did you mean 'gnnear'\? the presets are gnnear, tiny"
    ):
        load_config("gnear")
    with pytest.raises(ConfigError, match="'zzzzzz' is not known; the presets are"):
        load_config("zzzzzz")


def test_broken_files_are_told_with_their_place(tmp_path):
    path = tmp_path / "own.toml"
    with pytest.raises(ConfigError, match=r"own\.toml: cannot be read: .*No such file"):
        load_config(path)
    (tmp_path / "folder.toml").mkdir()
    with pytest.raises(ConfigError, match="cannot be read"):
        load_config(tmp_path / "folder.toml")
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(ConfigError, match="cannot be read"):
        load_config(path)
    path.write_text("name = \n")
    with pytest.raises(ConfigError, match=r"own\.toml: not valid TOML: .*line 1"):
        load_config(path)
    path.write_text(preset_text("tiny") + "\nchannels = 3\n", "utf-8")
    with pytest.raises(ConfigError, match=r"own\.toml: energy\.channels: key 'channels' is not known; did you mean"):
        load_config(path)
    path.write_text(preset_text("tiny").replace('"bf16"', "16"), "utf-8")
    with pytest.raises(ConfigError, match=r"own\.toml: nme\.element is 16: .*'bf16' or 'fp32'"):
        load_config(path)


def test_energies_of_a_rank_from_the_currents():
    """GNNear's own DRAM runs, with their clock of 0.83 ns: 2.93 nJ, 3.34 nJ, 693 nJ, 413 mW, 326 mW."""
    dram = load_config("gnnear").replace(**{"dram.timing.tck_ns": 0.83}).dram
    energy = dram.energy
    assert energy.read_pj == pytest.approx(2_932, rel=1e-3)
    assert energy.write_pj == pytest.approx(2_932 * (123 - 43) / (135 - 43), rel=1e-3)
    assert energy.activate_pj == pytest.approx(3_339, rel=1e-3)
    assert energy.refresh_pj == pytest.approx(692_700, rel=1e-3)
    assert energy.active_standby_mw == pytest.approx(412.8, rel=1e-3)
    assert energy.precharge_standby_mw == pytest.approx(326.4, rel=1e-3)


def test_energies_are_those_that_dramsim3_prints():
    """Its event energies are mW times cycles under the name of pJ."""
    folder = os.environ.get("NEARSAGE_ORACLES")
    if not folder:
        pytest.skip("set NEARSAGE_ORACLES to the folder with dram_commands/ to run this test")
    text = (Path(folder) / "dram_commands" / "random_read_256.stats.txt").read_text()
    lines = (line.partition("#")[0].split("=") for line in text.splitlines() if "=" in line)
    printed = {name.strip(): float(value) for name, value in lines}
    base = load_config("gnnear").dram
    config = base.replace(timing=base.timing.replace(cl=17, trcd=17, trp=17, tck_ns=1.0).model_dump())
    assert config.energy.read_pj * printed["num_read_cmds"] == pytest.approx(printed["read_energy"], rel=1e-3)
    assert config.energy.activate_pj * printed["num_act_cmds"] == pytest.approx(printed["act_energy"], rel=1e-3)
    assert config.energy.refresh_pj * printed["num_ref_cmds"] == pytest.approx(printed["ref_energy"], rel=1e-3)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("burst_length = 8", "burst_length = 7", r"dram.burst_length is 7; it must be even"),
        ("columns = 1024", "columns = 1023", r"dram.columns is 1023; it must be a multiple of burst_length, 8"),
        ("device_width_bits = 8", "device_width_bits = 128", r"dram.bus_width_bits is 64; it must be a multiple of"),
        ("tccd_s = 4", "tccd_s = 3", r"dram.timing.tccd_s is 3; bursts take 4 cycles and would overlap"),
        ("trefi = 9360", "trefi = 840", r"dram.timing.trefi is 840; refreshes take 420 cycles each and must fit"),
    ],
)
def test_values_that_do_not_fit_together_are_refused(tmp_path, old, new, message):
    text = resources.files("sim.config.presets").joinpath("gnnear.toml").read_text("utf-8")
    assert text.count(f"\n{old} ") == 1
    own = tmp_path / "own.toml"
    own.write_text(text.replace(f"\n{old} ", f"\n{new} "))
    with pytest.raises(ConfigError, match=message):
        load_config(own)
