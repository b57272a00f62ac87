"""The `nearsage` command line."""

import typer

from scripts.commands.estimate import estimate
from scripts.commands.graph import graph
from scripts.commands.image import image
from scripts.commands.simulate import simulate
from scripts.commands.verilog import verilog
from sim.graph import graph_sources

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="markdown",
    help=(
        "Hardware for training graph neural networks where the data lies: generate its Verilog, run it on real graphs, "
        "and estimate how long an epoch takes, what it costs and what binds it."
    ),
    epilog="Start with `nearsage estimate --verify`. Exit codes: 0 fine, 1 a check failed, 2 wrong usage or input.",
)
for command in (verilog, simulate, estimate, image):
    app.command()(command)
app.command(epilog="\n\n".join(["Every kind of graph:", *(f"`{usage}`" for usage in graph_sources().values())]))(graph)


def main() -> None:
    """Run the command line."""
    app()
