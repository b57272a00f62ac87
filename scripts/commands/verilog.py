"""`nearsage verilog`: generate a design."""

import difflib
import json as json_text
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from hdl.designs import DESIGNS
from hdl.generate import generate
from scripts.options import ConfigOption, JsonOption
from scripts.output import Output, guarded, write_whole
from sim.config import load_config


@guarded
def verilog(
    design: Annotated[str | None, typer.Argument(metavar="DESIGN", help="A name that --list shows.")] = None,
    config: ConfigOption = "tiny",
    out: Annotated[Path, typer.Option("--out", help="Folder to write to.")] = Path("build/verilog"),
    list_designs: Annotated[bool, typer.Option("--list", help="List the designs and stop.")] = False,
    json: JsonOption = None,
) -> None:
    """Write DESIGN.v, and DESIGN.json with its configuration, hash, ports, latencies and tool versions."""
    loaded = load_config(config)
    output = Output("verilog", loaded, json)
    if list_designs:
        table = Table("design", "what it is", "latencies in cycles", title=f"designs, configuration {loaded.name}")
        for name, entry in DESIGNS.items():
            latencies = ", ".join(f"{key} {cycles}" for key, cycles in entry.latency(loaded).items())
            table.add_row(name, entry.summary, latencies)
        output.console.print(table)
        output.write(designs={name: entry.summary for name, entry in DESIGNS.items()})
        return
    if design not in DESIGNS:
        near = difflib.get_close_matches(design or "", DESIGNS, n=1, cutoff=0.4)
        hint = f"; did you mean {near[0]!r}?" if near else ""
        raise typer.BadParameter(f"{design!r} is not a design{hint} --list shows them: {', '.join(DESIGNS)}")
    with output.console.status(f"elaborating {design} for configuration {loaded.name}"):
        text, description = generate(design, loaded)
    files = [out / f"{design}.v", out / f"{design}.json"]
    write_whole(files[0], text)
    write_whole(files[1], json_text.dumps(description, indent=2) + "\n")
    output.console.print(f"wrote {files[0]} ({len(text.splitlines()):,} lines) and {files[1]}", highlight=False)
    output.write(
        design=design,
        files=[str(file) for file in files],
        ports=description["ports"],
        latency=description["latency"],
    )
