"""The page of binary layouts: what is checked in is what the field tables give, and it leaves out nothing."""

import re
import subprocess
import sys
from enum import IntEnum
from pathlib import Path

from sim.program import commands, engine_commands, instructions, memory, ssd, ssd_image
from sim.program.layout import Layout
from sim.report.layouts import layouts_markdown

ROOT = Path(__file__).parents[3]
MODULES = (commands, engine_commands, instructions, memory, ssd, ssd_image)
VALUES = [value for module in MODULES for value in vars(module).values()]


def section(title):
    """Cut a section out of the page."""
    (text,) = re.findall(rf"^## {title}$\n(.*?)(?=^## |\Z)", layouts_markdown(), re.M | re.S)
    return text


def test_page_is_the_generated_one():
    advice = "the layouts have changed: python -m sim.report.layouts > docs/layouts.md"
    assert (ROOT / "docs/layouts.md").read_text("utf-8") == layouts_markdown(), advice


def test_page_is_written_as_documented():
    run = subprocess.run(
        [sys.executable, "-m", "sim.report.layouts"], capture_output=True, text=True, check=True, cwd=ROOT
    )
    assert run.stdout == layouts_markdown()


def test_every_field_of_every_record_stands_at_its_place():
    layouts = [value for value in VALUES if isinstance(value, Layout)]
    assert len(layouts) >= 12
    for layout in layouts:
        rows = re.findall(r"^\| ([\d.]+) \| (\d+) \| (\S+) \|", section(layout.name), re.M)
        placed = []
        for bits, width, name in rows:
            high, _, low = bits.rpartition("..")
            assert int(high or low) - int(low) + 1 == int(width), (layout.name, name)
            placed.append((name.strip("`"), int(low), int(width)))
        assert placed == [(field.name or "reserved", offset, field.bits) for field, offset in layout.placed()]


def test_every_code_has_its_meaning():
    enums = [v for v in VALUES if isinstance(v, type) and issubclass(v, IntEnum) and v is not IntEnum]
    assert len(enums) >= 7
    for codes in enums:
        listed = re.findall(r"^- (\d+) `(\w+)`: (.+)", section(codes.__name__), re.M)
        assert [(int(value), name) for value, name, _ in listed] == [(code.value, code.name) for code in codes]
        assert all(len(meaning) > 10 for _, _, meaning in listed)


def test_beats_depend_on_the_element():
    assert "| from 0 | 16 or 32 for each lane | `data` |" in section("Beats of elements")
    assert "| from 32 | 16 or 32 for each lane | `data` |" in section("Beats of updates")
    assert "| from 32 | 32 for each lane | `data` |" in section("Beats of results")
