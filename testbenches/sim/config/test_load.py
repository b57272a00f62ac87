"""Shipped presets and files of one's own."""

import os
import re
import tomllib
from importlib import resources
from pathlib import Path

import pytest

from sim.config import ConfigError, SystemConfig, dram_preset_names, flash_preset_names, load_config, preset_names
from sim.program.memory import DRAM_REQUEST

SOURCES = (
    "artifact", "derived", "standard", "assumption", "BeaconGNN's public simulator", "DRAMsim3", "Ramulator 2", "gem5",
    "published", "Cosmos+ sources", "MQSim",
)  # fmt: skip


def preset_text(name):
    return resources.files("sim.config.presets").joinpath(f"{name}.toml").read_text("utf-8")


def memory_text(name):
    return preset_text(f"dram/{name}")


def keys(tree, before=""):
    return [key for name, part in tree.items()
            for key in (keys(part, f"{before}{name}.") if isinstance(part, dict) else [before + name])]  # fmt: skip


# What the artifact of GNNear (PACT 2022) states, by hand; nothing here is read from the presets.
GNNEAR = {
    "dram.channels": 4, "dram.dimms_per_channel": 4, "dram.ranks_per_dimm": 2,
    "dram.bank_groups": 4, "dram.banks_per_group": 4, "dram.rows": 65_536, "dram.columns": 1_024,
    "dram.device_capacity_gbit": 8, "dram.device_width_bits": 8, "dram.burst_length": 8, "dram.bus_width_bits": 64,
    "dram.timing.tck_ns": 0.833, "dram.timing.cl": 16, "dram.timing.cwl": 12, "dram.timing.trcd": 16,
    "dram.timing.trp": 16, "dram.timing.tras": 39, "dram.timing.trfc": 420, "dram.timing.trefi": 9_360,
    "dram.timing.trrd_s": 4, "dram.timing.trrd_l": 6, "dram.timing.twtr_s": 3, "dram.timing.twtr_l": 9,
    "dram.timing.tfaw": 26, "dram.timing.twr": 18, "dram.timing.trtp": 9, "dram.timing.tccd_s": 4,
    "dram.timing.tccd_l": 6, "dram.timing.trtrs": 1,
    "dram.currents.vdd_v": 1.2, "dram.currents.idd0_ma": 48, "dram.currents.idd2n_ma": 34,
    "dram.currents.idd3n_ma": 43, "dram.currents.idd4w_ma": 123, "dram.currents.idd4r_ma": 135,
    "dram.currents.idd5ab_ma": 250,
    "dram.rank_bandwidth_bytes_per_s": 16e9, "dram.channel_bandwidth_bytes_per_s": 16e9,
    "nme.pes": 16, "nme.lanes_per_pe": 8, "nme.clock_hz": 500_000_000, "nme.interval": 128, "nme.element": "fp32",
    "cae.rows": 128, "cae.columns": 128, "cae.vector_lanes": 512,
    "cae.clock_hz": 700_000_000,
    "partition.block_vertices": 32, "partition.duplicated_share": 0.35, "partition.window_shards": 4,
    "partition.update_first_above_features": 256,
    "hidden_features": 256,
}  # fmt: skip


def test_presets():
    assert preset_names() == ["gnnear", "smartsage", "tiny"]
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


@pytest.mark.parametrize(
    "name",
    [
        *preset_names(),
        *(f"dram/{name}" for name in dram_preset_names()),
        *(f"flash/{name}" for name in flash_preset_names()),
    ],
)
def test_every_value_of_a_preset_names_its_source(name):
    for line in [line for line in preset_text(name).splitlines() if re.match(r"\w+ *=", line)]:
        comment = re.fullmatch(r'\w+ *= *("[^"]*"|[\w.+]+) *# (.+)', line)
        assert comment, line
        assert comment[2].startswith(SOURCES), line
        if comment[2].startswith(("derived", "assumption")) and name != "tiny":
            assert ": " in comment[2], f"says neither of what nor why: {line}"


@pytest.mark.parametrize("name", preset_names())
def test_a_preset_and_its_memory_give_each_value_once(name):
    own = tomllib.loads(preset_text(name))
    if "base" in own:  # which gives what the file leaves out
        assert set(keys(own)) - {"base", "ssd.flash.preset"} <= set(keys(load_config(name).model_dump()))
        return
    memory = tomllib.loads(memory_text(own["dram"].pop("preset")))
    flash = tomllib.loads(preset_text(f"flash/{own['ssd']['flash'].pop('preset')}"))
    given = keys(own) + keys({"dram": memory})
    changed = keys({"ssd": {"flash": own["ssd"]["flash"]}})
    given += [key for key in keys({"ssd": {"flash": flash}}) if key not in changed]
    assert sorted(given) == sorted(keys(load_config(name).model_dump()))


# JESD79-4 and JESD79-5 by hand: transfers, and what is written in ns there: tRCD, tRAS, tRFC, tREFI, tWR, tRTP, tFAW.
BINS = {
    "ddr4_2400": (2400, 13.32, 32, 350, 7800, 15, 7.5, 21),
    "ddr4_2666": (2666, 14.25, 32, 350, 7800, 15, 7.5, 21),
    "ddr4_3200": (3200, 13.75, 32, 350, 7800, 15, 7.5, 21),
    "ddr5_4800": (4800, 16.0, 32, 295, 3900, 30, 7.5, 13.333),
}


@pytest.mark.parametrize("name", dram_preset_names())
def test_memories_are_of_their_speed_bins(name):
    transfers, *in_ns = BINS[name]
    dram = load_config("gnnear", dram=name).dram
    t = dram.timing
    assert 2000 / t.tck_ns == pytest.approx(transfers, rel=2e-3)
    for cycles, ns in zip((t.trcd, t.tras, t.trfc, t.trefi, t.twr, t.trtp, t.tfaw), in_ns, strict=True):
        assert abs(cycles - ns * transfers / 2000) <= max(1.0, 1e-3 * cycles)
    assert t.trp == t.trcd
    assert t.tccd_s == dram.gates.burst == dram.burst_length // 2
    assert t.tccd_l == t.trrd_l == max(t.tccd_s, round(5 * transfers / 2000))
    devices = dram.bus_width_bits // dram.device_width_bits
    bits = dram.bank_groups * dram.banks_per_group * dram.rows * dram.columns * dram.device_width_bits
    assert bits == dram.device_capacity_gbit << 30
    assert dram.capacity_bytes == bits // 8 * devices * dram.ranks_per_dimm * dram.dimms
    peak = transfers * 1e6 * dram.bus_width_bits / 8
    assert dram.rank_bandwidth_bytes_per_s / peak == pytest.approx(16 / 19.2, rel=3e-3)
    buses = 64 // dram.bus_width_bits
    assert dram.channel_bandwidth_bytes_per_s == buses * dram.rank_bandwidth_bytes_per_s
    assert dram.postponed_refreshes + 1 <= dram.postponable_refreshes == (4 if name.startswith("ddr5") else 8)
    assert dram.burst_bytes == 64


def test_another_memory():
    base, other = load_config("gnnear"), load_config("gnnear", dram="DDR4-2666")
    assert other.name == "gnnear+ddr4_2666"
    assert (other.dram.timing.tccd_l, other.dram.channels) == (7, base.dram.channels)
    assert other == load_config("gnnear", dram="ddr4_2666")
    same = load_config("gnnear", dram="ddr4_2400")
    assert same.replace(name="gnnear") == base
    every = [load_config(system, dram=name) for system in preset_names() for name in (None, *dram_preset_names())]
    assert len({config.content_hash() for config in every}) == len(every)


def test_a_file_may_name_a_memory_and_change_it(tmp_path):
    path = tmp_path / "own.toml"
    path.write_text(preset_text("tiny").replace('"ddr4_2400"', '"DDR5-4800"') + "[dram.timing]\ncl = 36\n", "utf-8")
    own = load_config(path)
    # The file's own ranks and latency go before the memory's; a memory asked for goes before both.
    assert (own.name, own.dram.ranks_per_dimm, own.dram.timing.cl, own.dram.timing.cwl) == ("tiny", 2, 36, 38)
    asked = load_config(path, dram="ddr5_4800")
    assert (asked.dram.ranks_per_dimm, asked.dram.timing.cl) == (4, 40)
    path.write_text(preset_text("tiny").replace('preset = "ddr4_2400"', "# none"), "utf-8")
    with pytest.raises(ConfigError, match=r"own\.toml: dram\.bank_groups: missing; add it"):
        load_config(path)
    assert load_config(path, dram="ddr4_2400").dram == load_config("tiny").dram
    path.write_text("dram = 3\n", "utf-8")
    with pytest.raises(ConfigError, match=r"own\.toml: .*dram is 3"):
        load_config(path, dram="ddr4_2400")


def test_unknown_memories_name_the_nearest(tmp_path):
    with pytest.raises(
        ConfigError, match=r"memory 'ddr4_2667' is not known; did you mean 'ddr4_2666'\? the presets are"
    ):
        load_config("tiny", dram="DDR4-2667")
    path = tmp_path / "own.toml"
    path.write_text(preset_text("tiny").replace("ddr4_2400", "ddr4_2404"), "utf-8")
    with pytest.raises(ConfigError, match=r"own\.toml: memory 'ddr4_2404' is not known; did you mean 'ddr4_2400'"):
        load_config(path)
    path.write_text(preset_text("tiny").replace('"ddr4_2400"', "2400"), "utf-8")
    with pytest.raises(ConfigError, match=r"own\.toml: dram\.preset is 2400; it must be one of ddr4_2400, "):
        load_config(path)


def test_sizes_are_those_that_a_request_can_name():
    bits = {field.name: field.bits for field in DRAM_REQUEST.fields}
    fits = load_config("gnnear").dram.replace(
        ranks_per_dimm=1 << bits["rank"], bank_groups=1 << bits["bank_group"], banks_per_group=1 << bits["bank"],
        rows=1 << bits["row"], columns=8 << bits["column"],
    )  # fmt: skip
    fits.check()
    for name in ("ranks_per_dimm", "bank_groups", "banks_per_group", "rows"):
        with pytest.raises(ConfigError, match=name):
            fits.replace(**{name: 2 * getattr(fits, name)})
    with pytest.raises(ConfigError, match=r"dram\.columns is 4096; a row may hold 256 bursts of 8"):
        fits.replace(columns=2 * fits.columns).check()


def test_a_file_of_ones_own(tmp_path):
    path = tmp_path / "own.toml"
    path.write_text(preset_text("tiny").replace("interval = 16 ", "interval = 24 "), "utf-8")
    assert load_config(path) == load_config(str(path)) == load_config("tiny").replace(**{"nme.interval": 24})
    assert isinstance(load_config(path), SystemConfig)


# Cosmos+ OpenSSD, the SSD that MQSim ships, BeaconGNN's flash: bytes/s of all channels, us to move a page, TB, cycles
# of a beat in the configuration's clock.
FLASH = {"smartsage": (1.6e9, 81.92, 2.2, 4), "gnnear": (12.8e9, 5.12, 0.55, 4)}


@pytest.mark.parametrize("name", FLASH)
def test_flash_by_hand(name):
    bandwidth, page_us, terabytes, beat_cycles = FLASH[name]
    ssd = load_config(name).ssd
    flash = ssd.flash
    assert flash.channels * flash.channel_bytes_per_s == bandwidth
    assert flash.page_beats * ssd.beat_cycles / ssd.clock_hz * 1e6 == pytest.approx(page_us)
    assert flash.pages * flash.page_bytes / 1e12 == pytest.approx(terabytes, rel=0.01)
    assert ssd.beat_cycles == beat_cycles


def test_times_are_whole_cycles_rounded_up():
    ssd = load_config("smartsage").ssd  # 10 ns a cycle
    assert [ssd.cycles(time) for time in (0.1, 10.0, 10.001, 20.0, 300.0)] == [1, 1, 2, 2, 30]
    assert (ssd.read_cycles, ssd.command_cycles, ssd.column_cycles) == (8000, 30, 30)


def test_smartsage_is_gnnear_but_for_the_ssd():
    sage, near = load_config("smartsage"), load_config("gnnear")
    assert sage.replace(name="gnnear", **{"ssd.clock_hz": 4 * sage.ssd.clock_hz}).ssd != near.ssd
    assert sage.model_copy(update={"name": near.name, "ssd": near.ssd}) == near


def test_a_file_may_build_on_a_shipped_configuration_and_flash(tmp_path):
    path = tmp_path / "own.toml"
    path.write_text('base = "smartsage"\nname = "own"\n[ssd]\npage_slots = 77\n[ssd.flash]\nways = 4\n', "utf-8")
    own = load_config(path)
    assert (own.name, own.ssd.page_slots, own.ssd.flash.ways, own.ssd.flash.channels) == ("own", 77, 4, 8)
    path.write_text('base = "smartsage"\n[ssd.flash]\npreset = "ull"\n', "utf-8")
    assert load_config(path).ssd.flash == load_config("gnnear").ssd.flash
    path.write_text('base = "smartsag"\n', "utf-8")
    with pytest.raises(ConfigError, match="base 'smartsag' is not known; did you mean 'smartsage'"):
        load_config(path)
    path.write_text('base = "smartsage"\n[ssd.flash]\npreset = "cosmo"\n', "utf-8")
    with pytest.raises(ConfigError, match="preset 'cosmo' is not known; did you mean 'cosmos'"):
        load_config(path)


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("window_samples = 48", "ssd.window_samples is 48: it must be a power of two"),
        ("clock_hz = 110_000_000", "ssd.clock_hz is 110000000: a beat of 8 bytes at 200000000 bytes/s must take"),
        ("[ssd.flash]\nblocks_per_plane = 1_099_511_627_776", "ssd.flash has .* pages: there may be 2\\^40"),
        ("[ssd.flash]\nsector_bytes = 1536", "ssd.flash.sector_bytes is 1536: it must be a power of two"),
        ("[ssd.flash]\npage_bytes = 4096", "ssd.flash.sector_bytes is 16384: a page has only 4096"),
    ],
)
def test_an_ssd_that_cannot_be_is_refused(tmp_path, line, problem):
    path = tmp_path / "own.toml"
    path.write_text(f'base = "smartsage"\n[ssd]\n{line}\n', "utf-8")
    with pytest.raises(ConfigError, match=problem):
        load_config(path)


def test_unknown_presets_name_the_nearest():
    with pytest.raises(
        ConfigError, match=r"'gnear' is not known; did you mean 'gnnear'\? the presets are gnnear, smartsage, tiny"
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
    ("values", "message"),
    [
        ("burst_length = 7", r"dram.burst_length is 7; it must be even"),
        ("columns = 1023", r"dram.columns is 1023; it must be a multiple of burst_length, 8"),
        ("device_width_bits = 128", r"dram.bus_width_bits is 64; it must be a multiple of"),
        ("timing.tccd_s = 3", r"dram.timing.tccd_s is 3; bursts take 4 cycles and would overlap"),
        ("timing.trefi = 840", r"dram.timing.trefi is 840; refreshes take 420 cycles each and must fit"),
        ("postponable_refreshes = 3", r"dram.postponed_refreshes is 3; .* at most postponable_refreshes, 3"),
        ("currents.idd0_ma = 1.0", r"dram.currents give activate_pj = -\d+; an energy is positive"),
    ],
)
def test_values_that_do_not_fit_together_are_refused(tmp_path, values, message):
    own = tmp_path / "own.toml"
    own.write_text(preset_text("gnnear").replace("[dram]\n", f"[dram]\n{values}\n"))
    with pytest.raises(ConfigError, match=message):
        load_config(own)
