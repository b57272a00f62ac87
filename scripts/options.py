"""Options that several commands share."""

from typing import Annotated

import typer
from rich.console import Console

from sim.config import dram_preset_names
from sim.graph import Graph, load_graph

GraphOption = Annotated[
    str,
    typer.Option(
        "--graph",
        metavar="SPEC",
        help="karate, planetoid:cora, a file (edge list, .mtx, .npz), or a generator like rmat:scale=10,edge_factor=8.",
    ),
]
ConfigOption = Annotated[
    str,
    typer.Option(
        "--config", metavar="NAME|FILE", help="A preset (tiny, gnnear, smartsage) or a TOML file of your own."
    ),
]
DramOption = Annotated[
    str | None,
    typer.Option(
        "--dram",
        metavar="NAME",
        help=f"Put another memory into the configuration: {', '.join(dram_preset_names())}.",
    ),
]
JsonOption = Annotated[
    str | None, typer.Option("--json", metavar="FILE", help="Also write the results as JSON; - is standard output.")
]
FeaturesOption = Annotated[
    int | None,
    typer.Option("--features", min=1, help="Input features; the graph's own, else the configuration's hidden width."),
]
HiddenOption = Annotated[
    int | None, typer.Option("--hidden", min=1, help="Hidden features; the configuration's where not given.")
]


def load_and_tell(spec: str, console: Console) -> Graph:
    """Load a graph and tell what its reader did to it.

    Parameters
    ----------
    spec : str
        Its specification.
    console : Console
        Where to tell.

    Returns
    -------
    Graph
        The graph.
    """
    with console.status(f"loading {spec}"):
        graph = load_graph(spec)
    for note in graph.notes:
        console.print(f"note: {note}", style="dim", highlight=False, markup=False)
    return graph
