"""Mini-batches of a graph for the sampling engine, and their run."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from sim.config import SsdConfig
from sim.graph import Graph
from sim.program.ssd import ALL_NEIGHBOURS
from sim.program.ssd_host import MiniBatch, make_commands
from sim.program.ssd_image import FlashImage, make_image
from sim.program.ssd_storage import graph_storage
from sim.system.sampling import SamplingFigures, sampling_figures
from sim.timing.stalls import StallKind
from testbenches.ssd.simulate_engine import SsdSimulation, simulate_commands, ssd_stalls

MOST_IDS = 1 << 22
"""Ids that a result has room for, at most, where a hop asks for all neighbours."""


MOST_COMMANDS = 65_534
"""Commands that are submitted at once, at most: a queue's numbers have 16 bits, and one entry stays free."""


class WorkloadError(ValueError):
    """The batch that is asked for cannot be made."""


@dataclass(frozen=True, kw_only=True)
class SsdWorkload:
    """Mini-batches of random targets.

    Attributes
    ----------
    graph : Graph or None
        The graph; None if an image is given.
    config : SsdConfig
        The engine.
    batch : int
        Targets of a mini-batch, different nodes.
    fanouts : tuple of int
        Of each hop; `ALL_NEIGHBOURS` for all.
    batches : int
        Mini-batches, all submitted at once.
    seed : int
        Of targets and draws.
    replace : bool
        Draw with replacement.
    id_bytes : int
        Width of an id, 4 or 8.
    target_commands : bool
        A command for each target, instead of one for each mini-batch.
    image : FlashImage, optional
        What the flash holds; made of the graph by default.
    """

    graph: Graph | None
    config: SsdConfig
    batch: int
    fanouts: tuple[int, ...]
    batches: int = 1
    seed: int = 0
    replace: bool = False
    id_bytes: int = 8
    target_commands: bool = False
    image: FlashImage | None = None

    def simulate(
        self, *, stalls: StallKind = "none", waves: Path | None = None
    ) -> tuple[SsdSimulation, SamplingFigures]:
        """Run the RTL and compare it with both models.

        Parameters
        ----------
        stalls : StallKind
            How all streams stall.
        waves : Path, optional
            Write a VCD file there.

        Returns
        -------
        simulation : SsdSimulation
            The comparison.
        figures : SamplingFigures
            What it did.
        """
        config = self.config
        image = self.image or self._image()
        if image.pages > config.flash.pages:
            raise WorkloadError(f"the image has {image.pages} pages, but the flash only {config.flash.pages}")
        commands = self.batches * (self.batch if self.target_commands else 1)
        if commands > MOST_COMMANDS:
            raise WorkloadError(f"{commands} commands: the submission queue holds {MOST_COMMANDS}")
        storage = graph_storage(image, hot_pages=config.hot_pages)
        begin, degree = storage.records(np.arange(image.edges.nodes))
        commands = make_commands(self._batches(begin, degree), image.edges)
        simulation = simulate_commands(
            commands, image, storage, config,
            stalls=None if stalls == "none" else ssd_stalls(stalls, self.seed, config), waves=waves,
        )  # fmt: skip
        return simulation, figures_of(simulation, config)

    def _image(self) -> FlashImage:
        assert self.graph is not None
        return make_image(
            self.graph.indptr, self.graph.indices, page_bytes=self.config.flash.page_bytes, id_bytes=self.id_bytes
        )

    def _batches(self, begin: np.ndarray, degree: np.ndarray) -> list[MiniBatch]:
        nodes = len(begin)
        if nodes < self.batch:
            raise WorkloadError(f"a batch of {self.batch} targets: the graph has only {nodes} nodes")
        rng = np.random.default_rng(self.seed)
        made = []
        for number in range(self.batches):
            targets = rng.choice(nodes, self.batch, replace=False)
            for part in targets.reshape(-1, 1) if self.target_commands else [targets]:
                batch = MiniBatch(
                    node=part.astype(np.uint64), offset=begin[part].astype(np.uint64),
                    degree=degree[part].astype(np.uint64), fanouts=self.fanouts, seed=self.seed, number=number,
                    replace=self.replace,
                )  # fmt: skip
                made.append(self._with_room(batch))
        return made

    def _with_room(self, batch: MiniBatch) -> MiniBatch:
        """Give a batch that asks for all neighbours room for its result: what it needs is known only when it ran."""
        if ALL_NEIGHBOURS not in self.fanouts:
            return batch
        counts = MOST_IDS // 16 if len(self.fanouts) > 1 else -(-len(batch.node) // 16)
        ids = MOST_IDS if len(self.fanouts) > 1 else int(batch.degree.sum())
        lines = counts + -(-ids // 8) + 1
        return MiniBatch(**vars(batch) | {"ids_line": counts, "result_lines": lines})


def figures_of(simulation: SsdSimulation, config: SsdConfig) -> SamplingFigures:
    """Put the figures of a run together.

    Parameters
    ----------
    simulation : SsdSimulation
        The run.
    config : SsdConfig
        The engine.

    Returns
    -------
    SamplingFigures
        From the RTL's own counters.
    """
    channels, counters = range(config.flash.channels), simulation.counters
    outside = simulation.cycles_simulated - simulation.cycles_rtl
    by_channel = []
    for c in channels:
        prefix = f"channel_{c}_cycles_"
        cycles = {name.removeprefix(prefix): n for name, n in counters.items() if name.startswith(prefix)}
        by_channel.append(cycles | {"idle": cycles["idle"] - outside})
    flash_samples = simulation.timing.flash_samples
    return sampling_figures(
        simulation.golden.commands,
        config,
        cycles=simulation.cycles_rtl,
        hot_samples=counters["count_ids"] - flash_samples,
        pages=[counters[f"channel_{c}_count_pages"] for c in channels],
        beats=[counters[f"channel_{c}_count_beats"] for c in channels],
        channel_cycles=by_channel,
    )
