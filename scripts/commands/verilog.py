"""`nearsage verilog`: generate a design."""

import difflib
import json as json_text
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from hdl.designs import DESIGNS
from hdl.generate import generate
from scripts.options import ConfigOption, DramOption, JsonOption
from scripts.output import Output, guarded, write_whole
from sim.config import load_config


@guarded
def verilog(
    design: Annotated[str | None, typer.Argument(metavar="DESIGN", help="A name that --list shows.")] = None,
    config: ConfigOption = "tiny",
    dram: DramOption = None,
    out: Annotated[Path, typer.Option("--out", help="Folder to write to.")] = Path("build/verilog"),
    everything: Annotated[bool, typer.Option("--all", help="Write all designs.")] = False,
    list_designs: Annotated[bool, typer.Option("--list", help="List the designs and stop.")] = False,
    json: JsonOption = None,
) -> None:
    """Write DESIGN.v, and DESIGN.json with its configuration, hash, ports, latencies and tool versions."""
    loaded = load_config(config, dram=dram)
    output = Output("verilog", loaded, json)
    if list_designs:
        table = Table("design", "what it is", "latencies in cycles", title=f"designs, configuration {loaded.name}")
        for name, entry in DESIGNS.items():
            latencies = ", ".join(f"{key} {cycles}" for key, cycles in entry.latency(loaded).items())
            table.add_row(name, entry.summary, latencies)
        output.console.print(table)
        output.write(designs={name: entry.summary for name, entry in DESIGNS.items()})
        return
    if everything and design:
        raise typer.BadParameter(f"--all writes all designs; leave out {design!r}, or --all")
    if not everything and design not in DESIGNS:
        near = difflib.get_close_matches(design or "", DESIGNS, n=1, cutoff=0.4)
        hint = f" Did you mean {near[0]!r}?" if near else ""
        problem = f"{design!r} is not a design.{hint}" if design else "name a design, or say --all."
        raise typer.BadParameter(f"{problem} The designs are {', '.join(DESIGNS)}")
    names = list(DESIGNS) if everything else [str(design)]
    files: list[Path] = []
    for name in names:
        with output.console.status(f"elaborating {name} for configuration {loaded.name}"):
            text, description = generate(name, loaded)
        written = [out / f"{name}.v", out / f"{name}.json"]
        write_whole(written[0], text)
        write_whole(written[1], json_text.dumps(description, indent=2) + "\n")
        files += written
        output.console.print(
            f"wrote {written[0]} ({len(text.splitlines()):,} lines) and {written[1]}", highlight=False, soft_wrap=True
        )
    output.write(
        design="all" if everything else design,
        files=[str(file) for file in files],
        ports=[] if everything else description["ports"],
        latency={} if everything else description["latency"],
    )
