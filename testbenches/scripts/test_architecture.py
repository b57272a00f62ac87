"""The structure of the code: who may import whom, and where each file's test is."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FOLDERS = ("hdl", "sim", "scripts", "testbenches")
FILES = sorted(path.relative_to(ROOT) for folder in FOLDERS for path in (ROOT / folder).rglob("*.py"))

LAYERS = ("config", "graph", "program", "golden", "timing", "system", "report")
"""Parts of `sim`: each may import itself, those before it, and `sim.jit`."""

TESTED_THROUGH = {
    "hdl/counters.py": "testbenches/nme/test_reduce.py and cae/test_product.py: counters equal those of the models",
    "hdl/delay.py": "testbenches/cae/test_product.py: every skew of the array is one",
    "hdl/designs.py": "testbenches/test_verilog.py: every design",
    "hdl/generate.py": "testbenches/test_verilog.py",
    "hdl/layout.py": "testbenches/sim/program/test_commands.py, beside the field tables",
    "hdl/shared.py": "testbenches/test_verilog.py and every bench of the array",
    "hdl/dram/gates.py": "testbenches/dram/test_scheduler.py, bugs included",
    "hdl/dram/refresh.py": "testbenches/dram/test_scheduler.py, bugs included",
    "hdl/dram/window.py": "testbenches/dram/test_scheduler.py, bugs included",
    "hdl/nme/accumulator.py": "testbenches/nme/test_reduce.py; its bugs in testbenches/test_planted_bugs.py",
    "hdl/nme/drain.py": "testbenches/nme/test_reduce.py; its bugs in testbenches/test_planted_bugs.py",
    "hdl/nme/lane.py": "testbenches/nme/test_reduce.py; its bugs in testbenches/test_planted_bugs.py",
    "hdl/nme/load.py": "testbenches/nme/test_reduce.py; its bugs in testbenches/test_planted_bugs.py",
    "hdl/nme/run.py": "testbenches/nme/test_reduce.py; its bugs in testbenches/test_planted_bugs.py",
    "hdl/nme/vector_buffer.py": "testbenches/nme/test_reduce.py; its bugs in testbenches/test_planted_bugs.py",
    "hdl/nme/compute_clock.py": "testbenches/nme/test_engine.py; proved in testbenches/formal/test_engine.py",
    "hdl/nme/fetch.py": "testbenches/nme/test_engine.py: plain layouts",
    "hdl/nme/front.py": "testbenches/nme/test_engine.py; window proved in testbenches/formal/test_engine.py",
    "hdl/nme/gather.py": "testbenches/nme/test_engine.py; proved in testbenches/formal/test_engine.py",
    "hdl/nme/list_reader.py": "testbenches/nme/test_engine.py; proved in testbenches/formal/test_engine.py",
    "hdl/nme/requests.py": "testbenches/nme/test_engine.py: every DRAM command's address",
    "hdl/nme/store.py": "testbenches/nme/test_engine.py: what is stored is reduced next",
    "hdl/nme/tickets.py": "testbenches/nme/test_engine.py; proved in testbenches/formal/test_engine.py",
    "hdl/nme/vector_shape.py": "testbenches/nme/test_engine.py: every DRAM command's address; test_engine_corners.py",
    "hdl/nme/window.py": "testbenches/nme/test_engine.py; proved in testbenches/formal/test_engine.py",
    "hdl/stream/queue.py": "testbenches/nme/test_engine.py; proved in testbenches/formal/test_engine.py",
    "hdl/stream/register.py": "testbenches/nme/test_engine.py; proved in testbenches/formal/test_engine.py",
    "hdl/stream/ring.py": "testbenches/nme/test_engine.py; proved in testbenches/formal/test_engine.py",
    "hdl/cae/accumulator.py": "testbenches/cae/test_product.py; its bugs in testbenches/test_planted_bugs.py",
    "hdl/cae/array.py": "testbenches/cae/test_product.py; its bugs in testbenches/test_planted_bugs.py",
    "hdl/cae/drain.py": "testbenches/cae/test_product.py; its bugs in testbenches/test_planted_bugs.py",
    "hdl/cae/load.py": "testbenches/cae/test_product.py; its bugs in testbenches/test_planted_bugs.py",
    "hdl/large_memory.py": "every bench of the Centralized Acceleration Engine: its banks and sums",
    "hdl/cae/array_row.py": "testbenches/cae/test_product.py and test_product_engine.py: every product",
    "hdl/cae/bank.py": "testbenches/cae/vector and test_product_engine.py: every read and write, bf16 too",
    "hdl/cae/banks.py": "testbenches/cae/vector and test_product_engine.py: every read and write",
    "hdl/cae/ports.py": "every bench of a unit of the Centralized Acceleration Engine",
    "hdl/cae/pe.py": "testbenches/cae/test_product.py; its bugs in testbenches/test_planted_bugs.py",
    "hdl/cae/run.py": "testbenches/cae/test_product.py; its bugs in testbenches/test_planted_bugs.py",
    "hdl/cae/judge.py": "testbenches/cae/test_sequencer.py: every code; its bugs in test_engine_bugs.py",
    "hdl/cae/row_walk.py": "testbenches/cae/test_transfer.py: every address",
    "hdl/cae/window.py": "testbenches/cae/test_sequencer.py; proved in testbenches/formal/test_sequencer.py",
    "hdl/cae/operand_reader.py": "testbenches/cae/test_product_engine.py; its bugs in test_product_bugs.py",
    "hdl/cae/vector/columns.py": "testbenches/cae/vector/test_unit.py; its bugs in testbenches/cae/vector/test_bugs.py",
    "hdl/cae/vector/dropout.py": "testbenches/cae/vector/test_unit.py; its bugs in testbenches/cae/vector/test_bugs.py",
    "hdl/cae/vector/front.py": "testbenches/cae/vector/test_unit.py; its bugs in testbenches/cae/vector/test_bugs.py",
    "hdl/cae/vector/lane.py": "testbenches/cae/vector/test_unit.py; its bugs in testbenches/cae/vector/test_bugs.py",
    "hdl/cae/vector/rows.py": "testbenches/cae/vector/test_unit.py; its bugs in testbenches/cae/vector/test_bugs.py",
    "hdl/cae/vector/walk.py": "testbenches/cae/vector/test_unit.py; its bugs in testbenches/cae/vector/test_bugs.py",
    "hdl/ssd/bounded.py": "testbenches/ssd/test_draws.py; proved in testbenches/formal/test_ssd_draws.py",
    "hdl/ssd/chosen.py": "testbenches/ssd/test_draws.py; proved in testbenches/formal/test_ssd_draws.py",
    "hdl/ssd/place.py": "testbenches/ssd/test_draws.py; proved in testbenches/formal/test_ssd_draws.py",
    "hdl/ssd/landing.py": "testbenches/ssd/test_targets.py, bugs included",
    "hdl/ssd/host_targets.py": "testbenches/ssd/test_targets.py, bugs included",
    "hdl/ssd/look_up.py": "testbenches/ssd/test_targets.py, bugs included",
    "hdl/ssd/dram_words.py": "testbenches/ssd/test_translate.py and test_hot.py; bugs in test_extraction_bugs.py",
    "hdl/ssd/die_queues.py": "testbenches/ssd/test_channels.py; proved in testbenches/formal/test_ssd_channels.py",
    "hdl/ssd/channel.py": "testbenches/ssd/test_channels.py; proved in testbenches/formal/test_ssd_channels.py",
    "hdl/ssd/command_judge.py": "testbenches/ssd/test_queue_pair.py: every status",
    "hdl/ssd/line_writer.py": "testbenches/ssd/test_packer.py; proved in testbenches/formal/test_ssd_packer.py",
    "hdl/ssd/frontier.py": "testbenches/ssd/test_packer.py, bugs included",
    "sim/program/ssd.py": "testbenches/sim/report/test_layouts.py: only field tables",
    "sim/golden/sampling/hops.py": "testbenches/sim/golden/sampling/test_engine.py",
    "sim/timing/ssd/channels.py": "testbenches/ssd/test_channels.py: every cycle of every stream and command",
    "sim/timing/ssd/coalesce.py": "testbenches/ssd/test_coalesce.py: every cycle between its neighbours",
    "sim/timing/ssd/collect.py": "testbenches/ssd/test_collect.py: every cycle of every id",
    "sim/timing/ssd/draws.py": "testbenches/ssd/test_draws.py: every cycle of the RTL",
    "sim/timing/ssd/dram_words.py": "testbenches/ssd/test_translate.py: every cycle",
    "sim/timing/ssd/engine.py": "testbenches/ssd/test_engine.py: every cycle of every stream, every counter",
    "sim/timing/ssd/hot.py": "testbenches/ssd/test_hot.py: every cycle",
    "sim/timing/ssd/kernel.py": "testbenches/ssd/test_engine.py: every cycle of every stream, every counter",
    "sim/timing/ssd/loader.py": "testbenches/ssd/test_loader.py: every cycle between its neighbours",
    "sim/timing/ssd/matcher.py": "testbenches/ssd/test_matcher.py: every cycle",
    "sim/timing/ssd/packer.py": "testbenches/ssd/test_packer.py: every cycle of the RTL",
    "sim/timing/ssd/queue_pair.py": "testbenches/ssd/test_queue_pair.py: every cycle of the RTL",
    "sim/timing/ssd/read_memory.py": "testbenches/ssd/test_read_share.py: every cycle of the RTL",
    "sim/timing/ssd/read_share.py": "testbenches/ssd/test_read_share.py: every cycle of the RTL",
    "sim/timing/ssd/ring.py": "every bench of the sampling engine",
    "sim/timing/ssd/rings.py": "every bench of the sampling engine",
    "sim/timing/ssd/targets.py": "testbenches/ssd/test_targets.py: every cycle of the RTL",
    "sim/timing/ssd/trace.py": "every bench of the sampling engine's draws and targets",
    "sim/timing/ssd/translate.py": "testbenches/ssd/test_translate.py: every cycle",
    "sim/program/instructions.py": "testbenches/sim/report/test_layouts.py: only field tables",
    "sim/program/memory.py": "testbenches/models/test_dram.py and dram/test_scheduler.py: only field tables",
    "sim/timing/dram_schedule.py": "testbenches/sim/timing/test_dram.py and dram/test_scheduler.py: every field",
    "sim/timing/dram_steps.py": "testbenches/sim/timing/test_dram.py and dram/test_scheduler.py: every command",
    "sim/timing/cae/engine.py": "testbenches/cae/test_engine.py: every cycle of every stream, every counter",
    "sim/timing/cae/merge.py": "testbenches/cae/test_merge.py: every cycle of every partial sum",
    "sim/timing/cae/sequencer.py": "testbenches/cae/test_sequencer.py: every cycle of instructions and statuses",
    "sim/timing/cae/transfer.py": "testbenches/cae/test_transfer.py: every cycle of every request",
    "sim/timing/cae/job.py": "testbenches/sim/timing/cae/test_vector.py: a plain record",
    "sim/timing/nme/clock.py": "testbenches/nme/test_engine.py: every cycle of every stream and command",
    "sim/timing/nme/engine.py": "testbenches/nme/test_engine.py: every cycle of every stream and command",
    "sim/timing/nme/fetch.py": "testbenches/nme/test_engine.py: every cycle of every stream and command",
    "sim/timing/nme/kernel.py": "testbenches/nme/test_engine.py: every cycle of every stream and command",
    "sim/timing/nme/memory.py": "testbenches/nme/test_engine.py: every cycle of every stream and command",
    "sim/timing/nme/reduce.py": "testbenches/nme/test_engine.py: every cycle of every stream and command",
    "sim/timing/nme/state.py": "testbenches/nme/test_engine.py: every cycle of every stream and command",
    "sim/timing/nme/tables.py": "testbenches/nme/test_engine.py: every cycle of every stream and command",
    "sim/timing/nme/units.py": "testbenches/nme/test_engine.py: every cycle of every stream and command",
    "sim/timing/nme/window.py": "testbenches/nme/test_engine.py: every cycle of every stream and command",
    "sim/jit.py": "every kernel; its cache by testbenches/test_build.py",
    "sim/config/cae.py": "testbenches/sim/config/test_base.py: every field; test_load.py: derived sizes",
    "sim/config/ssd.py": "testbenches/sim/config/test_base.py: every field; test_load.py: derived sizes",
    "sim/config/dram.py": "testbenches/sim/config/test_base.py: every field; test_load.py: derived sizes",
    "sim/config/nme.py": "testbenches/sim/config/test_base.py: every field; test_load.py: derived sizes",
    "sim/config/system.py": "testbenches/sim/config/test_base.py: every field; testbenches/sim/system/test_energy.py",
    "sim/program/items.py": "testbenches/sim/program/test_gcn.py: plain records",
    "sim/golden/numbers.py": "testbenches/arith/test_numbers.py, beside the RTL that must equal it",
    "scripts/options.py": "testbenches/scripts/commands",
    "scripts/simulation.py": "testbenches/scripts/commands/test_simulate.py",
}
"""Files without a test file of their own, and where their tests are."""


def modules_imported(source, name="<text>"):
    """List every imported module; ``from sim import graph`` gives ``sim.graph``."""
    found = []
    for node in ast.walk(ast.parse(source, name)):
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{name}:{node.lineno}: a relative import"
            inside = [f"{node.module}.{alias.name}" for alias in node.names]
            found += inside if node.module in FOLDERS else [node.module]
    return found


def is_within(module, packages):
    return any(module == package or module.startswith(f"{package}.") for package in packages)


def may_import(path):
    """Return the packages of this project that a file may import."""
    match path.parts:
        case ("testbenches", *_):
            return FOLDERS
        case ("scripts", *_):
            return FOLDERS
        case ("hdl", *_):
            return ("hdl", "sim.config", "sim.program")
        case ("sim", part, *_) if part in LAYERS:
            return ("sim.jit", *(f"sim.{layer}" for layer in LAYERS[: LAYERS.index(part) + 1]))
    return ()  # sim/jit.py and sim/__init__.py stand below all


def violations(path, source):
    """List the imports that break the rules."""
    allowed = may_import(path)
    found = []
    for module in modules_imported(source, str(path)):
        if module.split(".")[0] in FOLDERS and not is_within(module, allowed):
            found.append(module)
        if path.parts[0] == "sim" and is_within(module, ("amaranth", "cocotb", "cocotb_tools")):
            found.append(module)
        if path.parts[0] == "scripts" and is_within(module, ("numpy", "scipy", "numba")):
            found.append(module)  # the command line computes nothing
    return found


@pytest.mark.parametrize("path", FILES, ids=str)
def test_imports(path):
    assert violations(path, (ROOT / path).read_text("utf-8")) == []


@pytest.mark.parametrize(
    ("path", "source", "found"),
    [
        ("sim/timing/x.py", "import hdl.nme.reduce", "hdl.nme.reduce"),
        ("sim/timing/x.py", "def f():\n    from testbenches import bench", "testbenches.bench"),
        ("sim/golden/x.py", "from sim.timing.reduce import reduce_timing", "sim.timing.reduce"),
        ("sim/golden/x.py", "from sim import timing", "sim.timing"),
        ("sim/config/x.py", "from sim.graph import Graph", "sim.graph"),
        ("sim/program/x.py", "from amaranth.lib import data", "amaranth.lib"),
        ("sim/jit.py", "from sim.config import Config", "sim.config"),
        ("hdl/nme/x.py", "from sim.golden import reduce", "sim.golden"),
        ("hdl/nme/x.py", "import sim", "sim"),
        ("hdl/nme/x.py", "from testbenches.bench import run", "testbenches.bench"),
        ("scripts/commands/x.py", "import numpy as np", "numpy"),
    ],
)
def test_forbidden_imports_are_found(path, source, found):
    assert found in violations(Path(path), source)


def mirrored(path):
    """Return where the tests of a file stand."""
    parts = path.parts[1:] if path.parts[0] == "hdl" else path.parts
    return Path("testbenches", *parts[:-1], f"test_{path.name}")


def has_code(path):
    tree = ast.parse((ROOT / path).read_text("utf-8"))
    return any(isinstance(node, ast.FunctionDef | ast.ClassDef) for node in tree.body)


def test_every_file_with_code_has_its_test_in_the_mirrored_place():
    sources = [path for path in FILES if path.parts[0] != "testbenches" and has_code(path)]
    assert len(sources) > 50
    untested = [str(path) for path in sources if not (ROOT / mirrored(path)).is_file()]
    assert [path for path in untested if path not in TESTED_THROUGH] == []
    assert sorted(TESTED_THROUGH) == sorted(untested), "an entry of TESTED_THROUGH is no longer needed"


def test_every_folder_is_a_package():
    folders = {path.parent for path in FILES}
    assert [str(folder) for folder in folders if not (ROOT / folder / "__init__.py").is_file()] == []
