"""Cells of parts of the Centralized Acceleration Engine after a generic synthesis, against the documented table.

``python -m testbenches.synthesis`` synthesizes them anew and compares, ``--write`` puts the new numbers into the table.
"""

import argparse
import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from amaranth.back import verilog
from amaranth.lib import wiring
from rich.console import Console
from rich.progress import track
from rich.table import Table

from hdl.cae.array import SystolicArray
from hdl.cae.pe import ProcessingElement
from hdl.cae.vector.unit import VectorUnit
from hdl.shared import to_verilog
from sim.config import CaeConfig, load_config

PAGE = Path(__file__).parent.parent / "docs" / "synthesis.md"
SCRIPT = """
import sys
from pyosys import libyosys as ys
verilog, top, counts = sys.argv[1:]
design = ys.Design()
for command in (
    f"tee -q -o /dev/null read_verilog -sv {verilog}", f"tee -q -o /dev/null synth -top {top}",
    f"tee -q -o {counts} stat -json",
):
    ys.run_pass(command, design)
"""


@dataclass(frozen=True, kw_only=True)
class Cells:
    """What a block becomes.

    Attributes
    ----------
    logic : int
        Gates of two or three inputs.
    flip_flops : int
        Flip-flops of a bit.
    """

    logic: int
    flip_flops: int


def _square(side: int) -> CaeConfig:
    return load_config("tiny").cae.replace(rows=side, columns=side)


BLOCKS: dict[str, Callable[[], wiring.Component]] = {
    "processing element": lambda: ProcessingElement(_square(4)),
    "systolic array, 4 x 4": lambda: SystolicArray(_square(4)),
    "systolic array, 8 x 8": lambda: SystolicArray(_square(8)),
    "vector unit, 4 lanes": lambda: VectorUnit(_square(4)),
    "vector unit, 8 lanes": lambda: VectorUnit(_square(8)),
}
"""What the table lists."""


def synthesize(component: wiring.Component) -> Cells:
    """Synthesize a component into gates.

    Parameters
    ----------
    component : wiring.Component
        The component.

    Returns
    -------
    Cells
        Its cells, those of all blocks within it included.

    Raises
    ------
    RuntimeError
        Yosys failed; the message holds the end of what it said.
    """
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        # A processing element stands in for itself wherever modules are shared.
        is_element = isinstance(component, ProcessingElement)
        text = verilog.convert(component, name="block") if is_element else to_verilog(component, "block")
        (folder / "block.v").write_text(text, encoding="utf-8")
        command = [sys.executable, "-c", SCRIPT, str(folder / "block.v"), "block", str(folder / "counts.json")]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise RuntimeError(f"Yosys failed: {(done.stdout + done.stderr)[-2000:]}")
        counted = json.loads((folder / "counts.json").read_text(encoding="utf-8"))["design"]["num_cells_by_type"]
    kinds = {kind: count for kind, count in counted.items() if kind.startswith("$_")}
    flip_flops = sum(count for kind, count in kinds.items() if "DFF" in kind)
    return Cells(logic=sum(kinds.values()) - flip_flops, flip_flops=flip_flops)


def committed(page: str) -> dict[str, Cells]:
    """Read the table.

    Parameters
    ----------
    page : str
        Text of the page.

    Returns
    -------
    dict of str to Cells
        By block.
    """
    rows = re.findall(r"^\| ([^|]+?) \| *([\d,]+) \| *([\d,]+) \|$", page, re.MULTILINE)
    return {
        block: Cells(logic=int(logic.replace(",", "")), flip_flops=int(flip_flops.replace(",", "")))
        for block, logic, flip_flops in rows
    }


def written(page: str, cells: dict[str, Cells]) -> str:
    """Put numbers into the table.

    Parameters
    ----------
    page : str
        Text of the page, with one table.
    cells : dict of str to Cells
        By block.

    Returns
    -------
    str
        The new text.
    """
    rows = [f"| {block} | {found.logic:,} | {found.flip_flops:,} |" for block, found in cells.items()]
    table = "\n".join(["| block | gates | flip-flops |", "|---|--:|--:|", *rows])
    return re.sub(r"(?:^\|.*\|\n)+", lambda _: f"{table}\n", page, count=1, flags=re.MULTILINE)


def main() -> None:
    """Synthesize, compare, and write if asked to."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help="put the new numbers into docs/synthesis.md")
    arguments = parser.parse_args()
    console, page = Console(), PAGE.read_text(encoding="utf-8")
    before = committed(page)
    found = {block: synthesize(make()) for block, make in track(BLOCKS.items(), "synthesizing", transient=True)}
    table = Table(title="cells after generic synthesis", title_justify="left")
    for column in ("block", "gates", "committed", "flip-flops", "committed"):
        table.add_column(column, justify="left" if column == "block" else "right")
    for block, cells in found.items():
        known = before.get(block)
        logic, flip_flops = (f"{known.logic:,}", f"{known.flip_flops:,}") if known else ("-", "-")
        table.add_row(block, f"{cells.logic:,}", logic, f"{cells.flip_flops:,}", flip_flops)
    console.print(table)
    if arguments.write:
        PAGE.write_text(written(page, found), encoding="utf-8")
        console.print(f"written to {PAGE.relative_to(PAGE.parent.parent)}", highlight=False)
    elif found != before:
        console.print("the numbers differ from the table in docs/synthesis.md; --write puts them there", style="red")
        sys.exit(1)
    else:
        console.print("equal to the table in docs/synthesis.md", style="green")


if __name__ == "__main__":
    main()
