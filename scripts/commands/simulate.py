"""`nearsage simulate`: run an engine's RTL on a real graph and compare it with both models."""

from pathlib import Path
from typing import Annotated

import typer

from scripts.options import (
    ConfigOption,
    DramOption,
    FeaturesOption,
    GraphOption,
    HiddenOption,
    JsonOption,
    load_and_tell,
)
from scripts.output import CHECK_FAILED, Output, check_writable, guarded
from scripts.simulation import as_json, channel_as_json, run_channel, run_engine
from sim.config import load_config
from sim.config.dram import Mapping
from sim.timing.stalls import StallKind
from testbenches.channel import ChannelReduce, Model
from testbenches.layer import Engine, Layer


@guarded
def simulate(
    engine: Annotated[
        Engine,
        typer.Argument(
            help="nme (Reduce, on all engines of a channel with their DRAM), reduce (the engines' reduce unit alone), "
            "cae (Update), or dram (fetch of the Reduce's vectors)."
        ),
    ],
    graph: GraphOption = "karate",
    config: ConfigOption = "tiny",
    dram: DramOption = None,
    features: FeaturesOption = None,
    hidden: HiddenOption = None,
    model: Annotated[
        Model,
        typer.Option(
            "--model",
            help="nme only: sum with GCN's weights (gcn), plain sum (gin), mean (sage) or maximum (sage-max) of the "
            "neighbours.",
        ),
    ] = "gcn",
    dimms: Annotated[
        int | None,
        typer.Option(
            "--dimms", min=1, max=16, help="nme only: DIMMs of the channel, an engine each; the configuration's."
        ),
    ] = None,
    mapping: Annotated[
        Mapping | None,
        typer.Option("--mapping", help="How a vector lies in a rank: in one bank, or over all bank groups."),
    ] = None,
    stalls: Annotated[StallKind, typer.Option("--stalls", help="How all streams stall.")] = "none",
    seed: Annotated[int, typer.Option("--seed", min=0, help="Seed of weights, features and stalls.")] = 0,
    waves: Annotated[Path | None, typer.Option("--waves", help="Write all signals there (VCD).")] = None,
    json: JsonOption = None,
) -> None:
    """Run the part of one layer (forward) that falls to an engine through its RTL, under Verilator.

    Every bit that leaves the RTL is compared with the golden model, every cycle with the timing model. The exit code is
    1 where they differ.

    What bound a run of nme is told from the counters: of four shares the greatest. memory: transfer + refresh + row, of
    the cycles; compute: busy + wait_hazard, of the reduce unit's cycles; drain: its wait_drain + flush + drain +
    wait_partials + wait_status; window: window, of the cycles.
    """
    loaded = load_config(config, dram=dram)
    if mapping is not None:
        loaded = loaded.replace(**{"dram.mapping": mapping})
    if engine != "nme" and (model != "gcn" or dimms is not None):
        raise typer.BadParameter("--model and --dimms are for the engine nme")
    out = Output("simulate", loaded, json)
    if waves is not None:
        check_writable(waves)
    source = load_and_tell(graph, out.console)
    in_features = features or source.n_features or loaded.hidden_features
    out_features = hidden or loaded.hidden_features
    told = {"engine": engine, "graph": graph, "stalls": stalls}
    if engine == "nme":
        channel = ChannelReduce(
            source,
            loaded,
            in_features=in_features,
            out_features=out_features,
            model=model,
            dimms=dimms,
            seed=seed,
        )
        title = f"{model} on {source.name}, {channel.features} features"
        run = run_channel(channel, title, out.console, stalls=stalls, seed=seed, waves=waves)
        equal = run.simulation.equal
        told |= {"model": model, "features": channel.features} | channel_as_json(run)
    else:
        layer = Layer(source, loaded, in_features=in_features, out_features=out_features, seed=seed)
        simulation = run_engine(layer, engine, out.console, stalls=stalls, seed=seed, waves=waves)
        equal = simulation.equal
        told |= as_json(simulation)
    if waves is not None:
        out.console.print(f"waves in {waves}; open them with GTKWave or Surfer", highlight=False)
    out.write(**told)
    if not equal:
        raise typer.Exit(CHECK_FAILED)
