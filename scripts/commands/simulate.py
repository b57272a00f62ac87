"""`nearsage simulate`: run an engine's RTL on a real graph and compare it with both models."""

from pathlib import Path
from typing import Annotated, Any, Literal

import typer
from rich.console import Console

from scripts.options import (
    ConfigOption,
    DramOption,
    FeaturesOption,
    GraphOption,
    HiddenOption,
    JsonOption,
    load_and_tell,
)
from scripts.output import CHECK_FAILED, Output, check_writable, guarded, write_whole
from scripts.simulation import (
    as_json,
    cae_as_json,
    channel_as_json,
    run_cae,
    run_channel,
    run_engine,
    run_ssd,
    ssd_as_json,
)
from sim.config import SystemConfig, load_config
from sim.config.dram import Mapping
from sim.program.assembly import AssemblyError, disassemble
from sim.program.cae_products import TilingError
from sim.program.instructions import ProductKind
from sim.program.ssd import ALL_NEIGHBOURS, MOST_HOPS
from sim.program.ssd_image import FlashImage, read_image_file
from sim.timing.stalls import StallKind
from testbenches.cae.workload import CaeWorkload, product_workload, program_workload
from testbenches.channel import ChannelReduce, Model
from testbenches.layer import Engine, Layer
from testbenches.ssd.workload import SsdWorkload, WorkloadError


@guarded
def simulate(
    engine: Annotated[
        Engine,
        typer.Argument(
            help="nme (Reduce, on all engines of a channel with their DRAM), reduce (the engines' reduce unit alone), "
            "cae (Update, on the whole engine with its memory), product (its product unit alone), dram (fetch of "
            "the Reduce's vectors), or ssd (sampling of mini-batches, in the SSD)."
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
    product: Annotated[
        Literal["xw", "dywt", "xtdy"] | None,
        typer.Option(
            "--product",
            help="cae only, with --m --k --n: a product of random matrices, memory to memory: X W, dY W^T or X^T dY.",
        ),
    ] = None,
    m: Annotated[int | None, typer.Option("--m", min=1, max=65535, help="Rows of the product's result.")] = None,
    k: Annotated[int | None, typer.Option("--k", min=1, max=65535, help="Length of its dot products.")] = None,
    n: Annotated[int | None, typer.Option("--n", min=1, max=65535, help="Columns of its result.")] = None,
    times: Annotated[
        int | None,
        typer.Option("--times", min=1, help="Run the product so often: the loads of one hide behind the one before."),
    ] = None,
    program: Annotated[
        Path | None,
        typer.Option(
            "--program",
            exists=True,
            dir_okay=False,
            help="cae only: a program's text (docs/cae.md). Memory and partial sums are random.",
        ),
    ] = None,
    listing: Annotated[
        Path | None, typer.Option("--listing", help="cae only: write the program's text there, to read or to change.")
    ] = None,
    memory_beats_per_cycle: Annotated[
        float,
        typer.Option("--memory-beats-per-cycle", min=1e-3, max=1, help="cae only: bandwidth of the memory."),
    ] = 1.0,
    batch: Annotated[int | None, typer.Option("--batch", min=1, help="ssd only: targets of a mini-batch; 64.")] = None,
    fanout: Annotated[
        str | None,
        typer.Option("--fanout", metavar="N,N", help="ssd only: samples a target, hop by hop, or all; 10,5."),
    ] = None,
    batches: Annotated[int | None, typer.Option("--batches", min=1, help="ssd only: mini-batches; 1.")] = None,
    replace: Annotated[bool, typer.Option("--replace", help="ssd only: draw with replacement.")] = False,
    id_bytes: Annotated[
        Literal["4", "8"] | None, typer.Option("--id-bytes", help="ssd only: width of an id on the flash; 8.")
    ] = None,
    command_per_target: Annotated[
        bool, typer.Option("--command-per-target", help="ssd only: a command for each target, not for each mini-batch.")
    ] = False,
    image: Annotated[
        Path | None,
        typer.Option(
            "--image", exists=True, dir_okay=False, help="ssd only: a file of `nearsage image`, in place of --graph."
        ),
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
    size = _product_size(engine, product, (m, k, n), program)
    for is_wrong, advice in (
        (engine != "nme" and (model != "gcn" or dimms is not None), "--model and --dimms are for the engine nme"),
        (size is None and times is not None, "--times is for --product"),
        (
            memory_beats_per_cycle != 1 and (engine != "cae" or stalls != "none"),
            "--memory-beats-per-cycle is for the engine cae, without --stalls",
        ),
        (engine != "cae" and listing is not None, "--listing is for the engine cae"),
        (
            engine != "ssd"
            and (
                replace or command_per_target or any(x is not None for x in (batch, fanout, batches, id_bytes, image))
            ),
            "--batch, --fanout, --batches, --replace, --id-bytes, --command-per-target and --image are for the "
            "engine ssd",
        ),
        (
            engine == "ssd" and any(x is not None for x in (features, hidden, dram, mapping)),
            "--features, --hidden, --dram and --mapping say nothing to the engine ssd",
        ),
        (image is not None and id_bytes is not None, "an --image has a width of ids of its own"),
    ):
        if is_wrong:
            raise typer.BadParameter(advice)
    out = Output("simulate", loaded, json)
    for file in (waves, listing):
        if file is not None:
            check_writable(file)
    if engine == "ssd":
        sampled = SsdWorkload(
            graph=None if image else load_and_tell(graph, out.console),
            config=loaded.ssd,
            batch=batch or 64,
            fanouts=_fanouts(fanout or "10,5", loaded),
            batches=batches or 1,
            seed=seed,
            replace=replace,
            id_bytes=int(id_bytes or 8),
            target_commands=command_per_target,
            image=None if image is None else _read(image, loaded),
        )
        is_equal = _sample(sampled, str(image or graph), out, stalls=stalls, waves=waves)
        if not is_equal:
            raise typer.Exit(CHECK_FAILED)
        return
    workload = _given_workload(loaded, product, size, program, seed=seed, times=times or 1)
    told: dict[str, Any] = {"engine": engine, "graph": None if workload else graph, "stalls": stalls}
    if workload is None:
        source = load_and_tell(graph, out.console)
        in_features = features or source.n_features or loaded.hidden_features
        out_features = hidden or loaded.hidden_features
        layer = Layer(source, loaded, in_features=in_features, out_features=out_features, seed=seed)
        workload = layer.update() if engine == "cae" else None
    if workload is not None:
        _list(workload, listing)
        ran = run_cae(
            workload, out.console, stalls=stalls, seed=seed, memory_beats_per_cycle=memory_beats_per_cycle, waves=waves
        )
        equal = ran.equal
        told |= cae_as_json(workload, ran)
    elif engine == "nme":
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
        simulation = run_engine(layer, engine, out.console, stalls=stalls, seed=seed, waves=waves)
        equal = simulation.equal
        told |= as_json(simulation)
    _tell_waves(waves, out.console)
    out.write(**told)
    if not equal:
        raise typer.Exit(CHECK_FAILED)


def _fanouts(text: str, config: SystemConfig) -> tuple[int, ...]:
    """Read ``25,10`` or ``all``; refuse what the engine would."""
    words = text.split(",")
    most = config.ssd.max_fanout
    if len(words) > MOST_HOPS:
        raise typer.BadParameter(f"--fanout {text}: {len(words)} hops; there may be {MOST_HOPS}")
    fanouts = []
    for word in words:
        if word.strip() == "all":
            fanouts.append(ALL_NEIGHBOURS)
        elif word.strip().isdecimal() and 1 <= int(word) <= most:
            fanouts.append(int(word))
        else:
            raise typer.BadParameter(f"--fanout {text}: {word!r} must be a number from 1 to {most}, or all")
    return tuple(fanouts)


def _read(file: Path, config: SystemConfig) -> FlashImage:
    image = read_image_file(file)
    if image.page_bytes != config.ssd.flash.page_bytes:
        raise typer.BadParameter(
            f"{file} has pages of {image.page_bytes} bytes, but those of the configuration {config.name} have "
            f"{config.ssd.flash.page_bytes}; make it with --config {config.name}"
        )
    return image


def _sample(workload: SsdWorkload, source: str, out: Output, *, stalls: StallKind, waves: Path | None) -> bool:
    """Run the sampling engine; return whether it equals the models."""
    names = ["all" if fanout == ALL_NEIGHBOURS else str(fanout) for fanout in workload.fanouts]
    title = f"{workload.batches} x {workload.batch} targets of {source}, fan-out {','.join(names)}"
    try:
        simulation, figures = run_ssd(workload, title, out.console, stalls=stalls, waves=waves)
    except WorkloadError as error:
        raise typer.BadParameter(str(error)) from None
    _tell_waves(waves, out.console)
    out.write(
        engine="ssd", graph=source, stalls=stalls, batch=workload.batch, fanout=",".join(names),
        **ssd_as_json(simulation, figures),
    )  # fmt: skip
    equal: bool = simulation.equal
    return equal


def _tell_waves(waves: Path | None, console: Console) -> None:
    if waves is not None:
        console.print(f"waves in {waves}; open them with GTKWave or Surfer", highlight=False)


def _product_size(
    engine: Engine, product: str | None, size: tuple[int | None, int | None, int | None], program: Path | None
) -> tuple[int, int, int] | None:
    """Return M, K and N of a product that is asked for; refuse options that do not go together."""
    given = product is not None or any(one is not None for one in size)
    if engine != "cae" and (given or program is not None):
        raise typer.BadParameter("--product, --m, --k, --n and --program are for the engine cae")
    if given and program is not None:
        raise typer.BadParameter("--product and --program exclude each other")
    if not given:
        return None
    rows, depth, columns = size
    if product is None or rows is None or depth is None or columns is None:
        raise typer.BadParameter("a product takes all of --product, --m, --k and --n")
    return rows, depth, columns


def _given_workload(
    config: SystemConfig,
    product: str | None,
    size: tuple[int, int, int] | None,
    program: Path | None,
    *,
    seed: int,
    times: int,
) -> CaeWorkload | None:
    """Make the product or the program that is asked for, if one is."""
    if size is None and program is None:
        return None
    try:
        if size is not None:
            return product_workload(ProductKind[str(product).upper()], size, config.cae, seed=seed, times=times)
        assert program is not None
        return program_workload(program.read_text(encoding="utf-8"), program.name, config.cae, seed=seed)
    except TilingError as error:
        raise typer.BadParameter(str(error)) from None
    except (AssemblyError, UnicodeDecodeError) as error:
        raise typer.BadParameter(f"{program}: {error}") from None


def _list(workload: CaeWorkload, listing: Path | None) -> None:
    if listing is not None:
        write_whole(listing, disassemble(workload.instructions))
