"""`nearsage estimate`: time and energy of a training epoch, and what binds it."""

from dataclasses import asdict
from typing import Annotated, Any, Literal

import typer
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from scripts.options import (
    ConfigOption,
    DramOption,
    FeaturesOption,
    GraphOption,
    HiddenOption,
    JsonOption,
    load_and_tell,
)
from scripts.output import CHECK_FAILED, Output, guarded
from scripts.simulation import cae_as_json, channel_as_json, run_cae, run_channel
from sim.config import load_config
from sim.graph import Graph, adjacency
from sim.program.gcn import compile_gcn_epoch
from sim.report.tables import estimate_table, with_unit
from sim.system.estimate import UNITS
from sim.system.estimate import estimate as estimate_program
from testbenches.layer import Layer

DEFAULT_CLASSES = 16


Model = Literal["gcn"]


@guarded
def estimate(
    graph: GraphOption = "karate",
    model: Annotated[Model, typer.Option("--model", help="The model: a two-layer GCN.")] = "gcn",
    config: ConfigOption = "gnnear",
    dram: DramOption = None,
    features: FeaturesOption = None,
    hidden: HiddenOption = None,
    classes: Annotated[
        int | None, typer.Option("--classes", min=1, help=f"Classes; the graph's own, else {DEFAULT_CLASSES}.")
    ] = None,
    verify: Annotated[
        bool,
        typer.Option(
            "--verify/--no-verify",
            help="First run one layer of the graph through the RTL of both engines (configuration tiny) and "
            "compare it with the golden and the timing model.",
        ),
    ] = False,
    json: JsonOption = None,
) -> None:
    """Estimate one epoch of full-batch training: forward, loss, backward and optimiser.

    The engines' cycles come from the timing models that equal the RTL; what else the figures rest on is listed below
    the table.
    """
    loaded = load_config(config, dram=dram)
    out = Output("estimate", loaded, json)
    source = load_and_tell(graph, out.console)
    simulations = _verify(source, out) if verify else {}
    widths = (
        features or source.n_features or loaded.hidden_features,
        hidden or loaded.hidden_features,
        classes or source.n_classes or DEFAULT_CLASSES,
    )
    weighted = adjacency(source, "gcn")
    with Progress(
        TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn(), console=out.console, transient=True
    ) as progress:
        task = progress.add_task("compiling the epoch", total=None)
        program = compile_gcn_epoch(weighted, weighted.transposed(), widths, loaded)
        progress.update(task, description="estimating", total=len(program.items))
        result = estimate_program(program, loaded, progress=lambda: progress.advance(task))
    title = f"one epoch of {model} on {source.name}, widths {widths}, configuration {loaded.name} (modelled)"
    out.console.print(estimate_table(title, result, width=out.console.width))
    binding = UNITS[result.bottleneck][0] if result.bottleneck in UNITS else result.bottleneck
    out.console.print(
        f"epoch: {with_unit(result.epoch_seconds, 's')}, {with_unit(result.energy_joules, 'J')}; "
        f"bound by the {binding}",
        style="green",
        highlight=False,
    )
    for assumption in result.assumptions:
        out.console.print(f"assumed: {assumption}", style="dim", highlight=False)
    out.write(
        graph=graph,
        model=model,
        widths=list(widths),
        epoch_seconds=result.epoch_seconds,
        energy_joules=result.energy_joules,
        bottleneck=result.bottleneck,
        phases=[asdict(phase) for phase in result.phases],
        assumptions=list(result.assumptions),
        confidence={"modelled_share": result.modelled_share},
        simulations=simulations,
    )
    if not all(simulation["equal"] for simulation in simulations.values()):
        raise typer.Exit(CHECK_FAILED)


def _verify(source: Graph, out: Output) -> dict[str, Any]:
    tiny = load_config("tiny")
    layer = Layer(
        source,
        tiny,
        in_features=source.n_features or tiny.hidden_features,
        out_features=tiny.hidden_features,
    )
    channel = run_channel(layer.channel_reduce(), layer.program.name, out.console)
    update = layer.update()
    return {"nme": channel_as_json(channel), "cae": cae_as_json(update, run_cae(update, out.console))}
