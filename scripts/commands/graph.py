"""`nearsage graph`: what is in a graph."""

import dataclasses
from typing import Annotated

import typer

from scripts.options import JsonOption, load_and_tell
from scripts.output import Output, guarded
from sim.graph import statistics
from sim.report.tables import graph_table


@guarded
def graph(
    spec: Annotated[str, typer.Argument(metavar="SPEC", help="The graph, such as karate or path/to/edges.txt.gz.")],
    json: JsonOption = None,
) -> None:
    """Print the statistics of a graph.

    A graph is a name (karate), a Planetoid set (planetoid:cora, looked for in $NEARSAGE_DATA/planetoid), a file (an
    edge list, plain or gzip; Matrix Market .mtx; scipy .npz), or a generator (rmat:scale=16,edge_factor=16,seed=1).
    Options follow a colon: edges.txt.gz:undirected=true.
    """
    out = Output("graph", None, json)
    loaded = load_and_tell(spec, out.console)
    numbers = statistics(loaded)
    out.console.print(graph_table(loaded.name, numbers))
    out.write(
        graph=spec, content_hash=loaded.content_hash(), notes=list(loaded.notes), statistics=dataclasses.asdict(numbers)
    )
