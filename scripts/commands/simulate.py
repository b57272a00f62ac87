"""`nearsage simulate`: run an engine's RTL on a real graph and compare it with both models."""

from pathlib import Path
from typing import Annotated

import typer

from scripts.options import ConfigOption, FeaturesOption, GraphOption, HiddenOption, JsonOption, load_and_tell
from scripts.output import CHECK_FAILED, Output, check_writable, guarded
from scripts.simulation import as_json, run_engine
from sim.config import load_config
from sim.timing.stalls import StallKind
from testbenches.layer import Engine, Layer


@guarded
def simulate(
    engine: Annotated[
        Engine, typer.Argument(help="nme (Reduce), cae (Update), or dram (fetch of the Reduce's vectors).")
    ],
    graph: GraphOption = "karate",
    config: ConfigOption = "tiny",
    features: FeaturesOption = None,
    hidden: HiddenOption = None,
    stalls: Annotated[StallKind, typer.Option("--stalls", help="How all streams stall.")] = "none",
    seed: Annotated[int, typer.Option("--seed", min=0, help="Seed of weights, features and stalls.")] = 0,
    waves: Annotated[Path | None, typer.Option("--waves", help="Write all signals there (VCD).")] = None,
    json: JsonOption = None,
) -> None:
    """Run the part of one GCN layer (forward) that falls to an engine through its RTL, under Verilator.

    Every bit that leaves the RTL is compared with the golden model, every cycle with the timing model. The exit code is
    1 where they differ.
    """
    loaded = load_config(config)
    out = Output("simulate", loaded, json)
    if waves is not None:
        check_writable(waves)
    source = load_and_tell(graph, out.console)
    layer = Layer(
        source,
        loaded,
        in_features=features or source.n_features or loaded.hidden_features,
        out_features=hidden or loaded.hidden_features,
        seed=seed,
    )
    simulation = run_engine(layer, engine, out.console, stalls=stalls, seed=seed, waves=waves)
    if waves is not None:
        out.console.print(f"waves in {waves}; open them with GTKWave or Surfer", highlight=False)
    out.write(engine=engine, graph=graph, stalls=stalls, **as_json(simulation))
    if not simulation.equal:
        raise typer.Exit(CHECK_FAILED)
