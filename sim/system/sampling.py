"""What a run of the sampling engine tells: samples, pages, how busy the channels were, how near the flash's bound."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sim.config import SsdConfig
from sim.golden.sampling.engine import Sampled


@dataclass(frozen=True, kw_only=True)
class SamplingFigures:
    """Figures of some commands.

    Attributes
    ----------
    targets, samples : list of int
        Targets and samples of each hop, all commands together.
    distinct_nodes : int
        Different nodes among all targets and samples.
    failed_targets : int
        Targets with the failed bit.
    cycles : int
        From the first doorbell to the last completion.
    pages : list of int
        Pages read in each channel.
    distinct_pages : int
        Different pages that hold the samples of a hop of a command: each would be read once for it by an engine that
        waits for all draws of the hop.
    hot_samples : int
        Samples read from copies in the DRAM.
    channel_cycles : list of dict of str to int
        Counters of each channel.
    bound_cycles : int
        The busiest channel's pages, moved without a pause: below this the flash cannot go.
    clock_hz : int
        Clock.
    """

    targets: list[int]
    samples: list[int]
    distinct_nodes: int
    failed_targets: int
    cycles: int
    pages: list[int]
    distinct_pages: int
    hot_samples: int
    channel_cycles: list[dict[str, int]]
    bound_cycles: int
    clock_hz: int

    @property
    def over_bound(self) -> float | None:
        """Cycles over the flash's bound; None if no page was read."""
        return self.cycles / self.bound_cycles if self.bound_cycles else None

    @property
    def samples_per_page(self) -> float:
        """Samples for each page read: what sharing pages among samples gains."""
        flash_samples = sum(self.samples) - self.hot_samples
        return flash_samples / sum(self.pages) if sum(self.pages) else 0.0

    @property
    def channel_utilization(self) -> float:
        """Share of the cycles in which the channels moved data, on average."""
        moved = sum(counters["transfer"] for counters in self.channel_cycles)
        return moved / (self.cycles * len(self.channel_cycles)) if self.cycles else 0.0

    @property
    def seconds(self) -> float:
        """Time of all commands."""
        return self.cycles / self.clock_hz

    @property
    def samples_per_second(self) -> float:
        """Rate."""
        return sum(self.samples) / self.seconds if self.cycles else 0.0


def sampling_figures(
    done: Sequence[Sampled],
    config: SsdConfig,
    *,
    cycles: int,
    hot_samples: int,
    pages: Sequence[int],
    beats: Sequence[int],
    channel_cycles: Sequence[dict[str, int]],
) -> SamplingFigures:
    """Put the figures of a run together.

    Parameters
    ----------
    done : sequence of Sampled
        What came of the commands.
    config : SsdConfig
        The engine.
    cycles : int
        From the first doorbell to the last completion.
    hot_samples : int
        Samples from copies in the DRAM.
    pages, beats : sequence of int
        Pages and beats that each channel moved.
    channel_cycles : sequence of dict
        Counters of each channel.

    Returns
    -------
    SamplingFigures
        The figures.
    """
    hops = max((len(one.hops) for one in done), default=0)
    every = [[one.hops[hop] for one in done if hop < len(one.hops)] for hop in range(hops)]
    nodes = [hop.node for level in every for hop in level] + [
        hop.ids[~hop.unreadable] for level in every for hop in level
    ]
    return SamplingFigures(
        targets=[sum(len(hop.node) for hop in level) for level in every],
        samples=[sum(len(hop.ids) for hop in level) for level in every],
        distinct_nodes=len(np.unique(np.concatenate(nodes))) if nodes else 0,
        failed_targets=sum(int((one.counts >> np.uint32(31)).sum()) for one in done),
        cycles=cycles,
        pages=list(pages),
        distinct_pages=sum(len(np.unique(hop.page)) for level in every for hop in level),
        hot_samples=hot_samples,
        channel_cycles=list(channel_cycles),
        bound_cycles=max(beats, default=0) * config.beat_cycles,
        clock_hz=config.clock_hz,
    )
