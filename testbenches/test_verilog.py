"""The generated Verilog: lint clean, synthesizable without latches, no input ignored, described truly."""

import json
import os
import re
import subprocess
import sys

import pytest

from hdl.designs import DESIGNS
from hdl.generate import generate
from sim.config import load_config
from testbenches.toolchain import find_verilator

WAIVED = {
    "DECLFILENAME": "a file holds the whole design; its modules are named after their place in it",
    "WIDTHEXPAND": "Yosys leaves out leading zeros of constants and operands; Amaranth fixed all widths before",
    "WIDTHTRUNC": "Yosys writes the logical not of a wide operand; the result is one bit by definition",
    "PROCASSINIT": "registers have an initial value as well as a synchronous reset, for FPGAs",
    "CASEINCOMPLETE": "all case statements follow a default assignment of the same register",
    "UNUSEDSIGNAL": "struct fields and ports of inner modules get alias nets, so that waves show them by name; "
    "that no input of the design is ignored is tested below, on the netlist",
}
"""What of Verilator's -Wall does not hold for text written by Amaranth and Yosys, and why."""

IGNORED_INPUTS = {
    "rst": "pipelines without state that needs a reset",
    "command__payload": "reserved bits",
    "job__payload": "what a unit does not use of an instruction",
    "partials_0__payload": "reserved bits",
    "partials_1__payload": "reserved bits",
    "requests__payload": "high bits of numbers that the channel has fewer of",
    "cq_address": "low bits, which are 0",
    "host_line__payload": "reserved bits",
    "edges__payload": "reserved bits; the weight's high half where elements are bf16",
}
"""Inputs of which some bits may go unread, and why."""

SYNTHESIS = """
from pyosys import libyosys as ys
design = ys.Design()
for command in (
    "read_verilog -sv {verilog}", "hierarchy -check -top {top}", "proc", "check -assert", "synth -top {top}",
    "check -assert", "select -assert-none t:$_DLATCH* t:$dlatch t:$_SR_* t:$sr t:$_DLATCHSR*",
    "flatten", "opt_clean -purge", "write_json {netlist}",
):
    ys.run_pass(command, design)
"""


# Small: memories become flip-flops in a generic synthesis.
SIZES = {
    "nme.pes": 1, "nme.lanes_per_pe": 2, "nme.interval": 5, "nme.max_beats": 3,
    "cae.rows": 2, "cae.columns": 3, "cae.accumulator_rows": 6, "cae.operand_banks": 2, "cae.operand_bank_beats": 3,
    "cae.vector_banks": 2, "cae.vector_bank_beats": 4, "cae.merge_sources": 2, "cae.window_instructions": 3,
    "dram.ranks_per_dimm": 2, "dram.bank_groups": 2, "dram.banks_per_group": 1, "dram.window_requests": 3,
}  # fmt: skip
# A memory whose lines hold one descriptor, and whose sizes are powers of two.
OWN_SIZES = {
    "nme": {
        "nme.max_beats": 8, "nme.vector_slots": 2, "nme.list_slots": 2, "nme.queued_passes": 2,
        "dram.ranks_per_dimm": 1, "dram.bus_width_bits": 32, "dram.device_width_bits": 8,
    },
    "ssd": {
        "ssd.window_samples": 4, "ssd.page_slots": 4, "ssd.table_entries": 4, "ssd.targets_in_flight": 4,
        "ssd.frontier_entries": 4, "ssd.max_fanout": 3, "ssd.commands_in_flight": 2, "ssd.dram_reads_in_flight": 2,
        "ssd.host_lines_in_flight": 2, "ssd.flash.page_bytes": 512, "ssd.flash.channels": 1,
        "ssd.flash.ways": 2,
    },
}  # fmt: skip


@pytest.fixture(params=[*((design, "bf16") for design in DESIGNS), ("reduce", "fp32")], ids="-".join)
def generated(request, tmp_path):
    design, element = request.param
    config = load_config("tiny").replace(**SIZES | OWN_SIZES.get(design, {}), **{"nme.element": element})
    text, description = generate(design, config)
    (tmp_path / f"{design}.v").write_text(text)
    return design, tmp_path / f"{design}.v", text, description


def test_lint(generated):
    design, path, _, _ = generated
    verilator = find_verilator()
    waived = [f"-Wno-{name}" for name in WAIVED]
    command = [*verilator.command, "--lint-only", "-Wall", *waived, "--top-module", design, str(path)]
    environment = os.environ | dict(verilator.environment)
    run = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    assert run.returncode == 0, run.stderr[-3000:]
    assert "%Warning" not in run.stderr


def test_synthesis(generated, tmp_path):
    design, path, _, description = generated
    netlist = tmp_path / "netlist.json"
    script = SYNTHESIS.format(verilog=path, top=design, netlist=netlist)
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert run.returncode == 0, (run.stdout + run.stderr)[-3000:]

    module = json.loads(netlist.read_text())["modules"][design]
    read = {bit for cell in module["cells"].values() for bits in cell["connections"].values() for bit in bits}
    outputs = {bit for port in module["ports"].values() if port["direction"] == "output" for bit in port["bits"]}
    for name, port in module["ports"].items():
        unread = [bit for bit in port["bits"] if bit not in read | outputs]
        if port["direction"] == "input" and name not in IGNORED_INPUTS:
            assert not unread or (name == "clk" and description["latency"] == {"result": 0}), name


def test_planted_latch_is_found(tmp_path):
    path = tmp_path / "latch.v"
    path.write_text("module latch(input e, input d, output reg q); always @* if (e) q = d; endmodule\n")
    script = SYNTHESIS.format(verilog=path, top="latch", netlist=tmp_path / "netlist.json")
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert run.returncode != 0


def test_description_matches_the_text(generated):
    design, _, text, description = generated
    top = text[re.search(rf"^module {design}\(", text, re.M).start() :]
    top = top[: top.index("\nendmodule")]
    declared = {
        name: (direction, int(high or 0) + 1)
        for direction, high, name in re.findall(r"^  (input|output)(?: \[(\d+):0\])? (\w+);", top, re.M)
    }
    assert {port["name"]: (port["direction"], port["width_bits"]) for port in description["ports"]} == declared
    assert text.startswith(f"// NearSAGE {design}, configuration tiny ({description['config_hash']})\n")
    assert description["tool_versions"]["amaranth"]


def test_generation_is_repeatable():
    config = load_config("tiny")
    for design in ("nme", "reduce"):
        assert generate(design, config) == generate(design, config)
