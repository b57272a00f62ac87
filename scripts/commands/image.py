"""`nearsage image`: a graph as it lies on the SSD."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from scripts.options import ConfigOption, JsonOption, load_and_tell
from scripts.output import Output, check_writable, guarded, write_whole
from sim.config import load_config
from sim.program.ssd_image import make_image


@guarded
def image(
    spec: Annotated[str, typer.Argument(metavar="SPEC", help="The graph, such as karate or path/to/edges.txt.gz.")],
    out_file: Annotated[Path, typer.Option("--out", metavar="FILE", help="Where the image goes.")],
    config: ConfigOption = "smartsage",
    id_bytes: Annotated[
        Literal["4", "8"], typer.Option("--id-bytes", help="Width of a node's number in the edge list.")
    ] = "8",
    edges_address: Annotated[
        int | None,
        typer.Option("--edges-address", min=64, help="Byte at which the edge list begins; the second page."),
    ] = None,
    json: JsonOption = None,
) -> None:
    """Write the flash image of a graph: header, edge list, records of the nodes, in whole pages.

    The page size is that of the configuration's flash. The layout is in docs/ssd.md; `nearsage simulate ssd --image`
    reads the file.
    """
    loaded = load_config(config)
    out = Output("image", loaded, json)
    check_writable(out_file)
    graph = load_and_tell(spec, out.console)
    made = make_image(
        graph.indptr,
        graph.indices,
        page_bytes=loaded.ssd.flash.page_bytes,
        id_bytes=int(id_bytes),
        edges_address=edges_address,
    )
    write_whole(out_file, made.data.tobytes())
    out.console.print(
        f"{out_file}: {graph.name}, {made.edges.nodes:,} nodes, {made.edges.edges:,} edges of {id_bytes} bytes from "
        f"byte {made.edges.address:,} on, records from byte {made.records_address:,} on; {made.pages:,} pages of "
        f"{made.page_bytes:,} bytes",
        highlight=False,
        markup=False,
    )
    out.write(
        graph=spec,
        file=str(out_file),
        nodes=made.edges.nodes,
        edges=made.edges.edges,
        id_bytes=made.edges.id_bytes,
        edges_address=made.edges.address,
        records_address=made.records_address,
        page_bytes=made.page_bytes,
        pages=made.pages,
    )
