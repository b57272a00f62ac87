"""Timing model of the whole sampling engine: every handover and every counter."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from sim.config import SsdConfig
from sim.golden.sampling.engine import SsdResult
from sim.program.ssd import MODE_LOOK_UP, NS_CONFIG, SsdStatus
from sim.program.ssd_counters import CHANNEL_COUNTERS, DRAW_COUNTERS
from sim.program.ssd_host import Command, HostImage
from sim.program.ssd_storage import PageMap
from sim.timing.ssd.channels import make_channels, settle_counts
from sim.timing.ssd.coalesce import COUNT_OPENED, COUNT_SAMPLES, make_coalesce
from sim.timing.ssd.collect import COUNT_IDS, make_collect
from sim.timing.ssd.draws import make_draws
from sim.timing.ssd.hot import make_hot
from sim.timing.ssd.kernel import DOORBELLS, DRAM_REQUESTS, HOST_REQUESTS, LINES, Engine, Outside, run_engine
from sim.timing.ssd.loader import make_load
from sim.timing.ssd.matcher import make_match
from sim.timing.ssd.packer import make_packer
from sim.timing.ssd.queue_pair import GOOD, REFUSED, REFUSED_AT_ENTRY, Submitted, make_pair
from sim.timing.ssd.read_memory import make_memory
from sim.timing.ssd.read_share import make_share
from sim.timing.ssd.ring import make_ring, make_source
from sim.timing.ssd.rings import make_rings
from sim.timing.ssd.targets import make_targets
from sim.timing.ssd.trace import T_LOOKED_UP, make_trace
from sim.timing.ssd.translate import make_translate
from sim.timing.stalls import never_stalled

_AT_ENTRY = (SsdStatus.INVALID_OPCODE, SsdStatus.PRP_OFFSET)
_HOT_ENTRY = -(1 << 63)


@dataclass(frozen=True, kw_only=True)
class SsdStalls:
    """How the environment of an engine stalls.

    Attributes
    ----------
    doorbell : ndarray of bool, shape [period]
        Cycles in which no new doorbell is rung.
    host_write : ndarray of bool, shape [period]
        Cycles in which no line is taken.
    host_request, dram_request : ndarray of bool, shape [period]
        Cycles in which the memory takes no request.
    flash : tuple of ndarray of bool
        For each channel, cycles in which its bus moves no beat; none stalls if there is no pattern.
    """

    doorbell: NDArray[np.bool_] = field(default_factory=never_stalled)
    host_write: NDArray[np.bool_] = field(default_factory=never_stalled)
    host_request: NDArray[np.bool_] = field(default_factory=never_stalled)
    dram_request: NDArray[np.bool_] = field(default_factory=never_stalled)
    flash: tuple[NDArray[np.bool_], ...] = ()


@dataclass(frozen=True, kw_only=True)
class SsdTiming:
    """When an engine does what.

    Attributes
    ----------
    doorbell, host_write, host_request, dram_request : ndarray of int64
        Cycles of the handovers.
    bus : list of ndarray of int64
        For each channel, cycles of the beats on its bus; only where the environment stalls.
    pages, beats : ndarray of int64, shape [channels]
        Pages and beats that each channel moved.
    samples, opened, ids : int
        Samples drawn, pages asked for, ids found.
    flash_samples : int
        Samples that were read from the flash, not from copies in the DRAM.
    """

    doorbell: NDArray[np.int64]
    host_write: NDArray[np.int64]
    host_request: NDArray[np.int64]
    dram_request: NDArray[np.int64]
    bus: list[NDArray[np.int64]]
    pages: NDArray[np.int64]
    beats: NDArray[np.int64]
    samples: int
    opened: int
    ids: int
    flash_samples: int
    engine: Engine
    end: int

    @property
    def cycles(self) -> int:
        """From the first doorbell to the last completion, inclusive."""
        return int(self.host_write[-1] - self.doorbell[0]) + 1 if len(self.host_write) else 0

    def channel_counters(self, until: int) -> list[dict[str, int]]:
        """Return each channel's counters after so many cycles.

        Parameters
        ----------
        until : int
            Cycles since reset, all commands ended.

        Returns
        -------
        list of dict of str to int
            By the names of `CHANNEL_COUNTERS`; those of a channel add up to `until`.
        """
        settled = settle_counts(self.engine.channels, until)
        return [{name: int(settled[name][c]) for name in CHANNEL_COUNTERS} for c in range(len(self.pages))]

    def counters(self, until: int) -> dict[str, int]:
        """Return all counters after so many cycles, by the engine's names.

        Parameters
        ----------
        until : int
            Cycles since reset, all commands ended.

        Returns
        -------
        dict of str to int
            The counters.
        """
        draws = dict(zip(DRAW_COUNTERS, self.engine.draws.counts.tolist(), strict=True))
        draws["idle"] += until - self.end
        counters = {f"draw_cycles_{name}": cycles for name, cycles in draws.items()}
        for c, channel in enumerate(self.channel_counters(until)):
            counters |= {f"channel_{c}_cycles_{name}": cycles for name, cycles in channel.items()}
            counters |= {f"channel_{c}_count_pages": int(self.pages[c]), f"channel_{c}_count_beats": int(self.beats[c])}
        return counters | {"count_samples": self.samples, "count_opened": self.opened, "count_ids": self.ids}


def ssd_timing(
    golden: SsdResult,
    commands: Sequence[Command],
    config: SsdConfig,
    *,
    doorbells: NDArray[np.int64],
    page_map: PageMap,
    host: HostImage,
    host_latency: int,
    dram_latency: int,
    stalls: SsdStalls | None = None,
    first_cycle: int = 0,
) -> SsdTiming:
    """Predict the run of commands.

    Parameters
    ----------
    golden : SsdResult
        What the golden model says of the commands.
    commands : sequence of Command
        The commands.
    config : SsdConfig
        The engine.
    doorbells : ndarray of int64, shape [n, 2]
        Queue and value of each.
    page_map : PageMap
        Where the pages lie.
    host : HostImage
        The queues.
    host_latency, dram_latency : int
        Cycles from a request to its answer.
    stalls : SsdStalls, optional
        How the environment stalls; not at all by default.
    first_cycle : int
        The first cycle in which doorbells come through.

    Returns
    -------
    SsdTiming
        Every handover and counter.

    Raises
    ------
    RuntimeError
        The commands do not end, as when doorbells are missing.
    """
    stalls = stalls or SsdStalls()
    trace = make_trace(golden.commands, page_bytes=config.flash.page_bytes)
    lines, channels, n_samples = len(golden.address), config.flash.channels, len(trace.samples)
    entries = _entries(page_map)
    engine = _engine(config, host, entries)
    patterns = [never_stalled(), stalls.host_write, stalls.host_request, stalls.dram_request]
    patterns += list(stalls.flash or (never_stalled(),) * channels)
    steady = not any(pattern.any() for pattern in (stalls.doorbell, *patterns))
    lines_asked = 2 * len(commands) + sum(-(-len(command.targets) // 2) for command in commands)
    beats = 1 if steady else (n_samples + 1) * config.flash.page_beats
    most = max(len(doorbells), lines, lines_asked, int(trace.targets[:, T_LOOKED_UP].sum()) + 2 * n_samples, beats)
    outside = Outside(
        doorbells=make_source(doorbells, stalls.doorbell),
        commands=_submitted(golden, commands),
        trace=trace,
        host=make_memory(host_latency),
        dram=make_memory(dram_latency),
        doorbell=make_ring(2, 2),
        host_request=make_ring(2, 1),
        dram_request=make_ring(2, 1),
        host_line=make_ring(2, 1),
        dram_beat=make_ring(2, 1),
        lines=make_ring(2, 1),
        stalled=_stacked(patterns),
        seen=np.zeros((4 + channels, most), np.int64),
        counts=np.zeros(4 + channels, np.int64),
        first_cycle=first_cycle,
        steady=steady,
    )
    end = run_engine(engine, outside, lines) if lines else 0
    if end < 0:
        raise RuntimeError("the commands do not end: a doorbell is missing, or the completion queue is full")
    hot = page_map.look_up(trace.samples[:, 0])[1]
    settled = settle_counts(engine.channels, end)
    seen = [outside.seen[kind, : outside.counts[kind]].copy() for kind in range(4 + channels)]
    return SsdTiming(
        doorbell=seen[DOORBELLS],
        host_write=seen[LINES],
        host_request=seen[HOST_REQUESTS],
        dram_request=seen[DRAM_REQUESTS],
        bus=seen[4:],
        pages=settled["pages"],
        beats=settled["beats"],
        samples=int(engine.coalesce.at[COUNT_SAMPLES]),
        opened=int(engine.coalesce.at[COUNT_OPENED]),
        ids=int(engine.collect.at[COUNT_IDS]),
        flash_samples=int((~hot).sum()),
        engine=engine,
        end=end,
    )


def _entries(page_map: PageMap) -> NDArray[np.int64]:
    """Return the page map as the DRAM holds it, as far as it is not plain."""
    page = np.arange(int(page_map.page[-1]) + 1 if len(page_map.page) else 0)
    place, hot = page_map.look_up(page)
    return np.where(hot, place + _HOT_ENTRY, place).astype(np.int64)


def _stacked(patterns: Sequence[NDArray[np.bool_]]) -> NDArray[np.bool_]:
    period = int(np.lcm.reduce([len(pattern) for pattern in patterns]))
    return np.stack([np.resize(pattern, period) for pattern in patterns])


def _submitted(golden: SsdResult, commands: Sequence[Command]) -> Submitted:
    """Tell what queues, targets and packer see of each command."""
    fate, contexts, jobs = [], [], []
    for command, one in zip(commands, golden.commands, strict=True):
        asked = {name: int(value[0]) for name, value in NS_CONFIG.decode(command.config[None]).items()}
        good = bool(one.hops)
        fate.append(GOOD if good else REFUSED_AT_ENTRY if one.status in _AT_ENTRY else REFUSED)
        contexts.append(
            [
                int(not good),
                int(asked["id_bytes"] == 8),
                asked["ids_line"],
                max(0, asked["result_lines"] - asked["ids_line"]),
            ]
        )
        jobs.append([asked["targets"], asked["hops"], int(bool(asked["mode"] & MODE_LOOK_UP))])
    shape = (len(commands), -1) if commands else (0, 1)
    return Submitted(
        np.array(fate, np.int64), np.array(contexts, np.int64).reshape(shape), np.array(jobs, np.int64).reshape(shape)
    )


def _engine(config: SsdConfig, host: HostImage, entries: NDArray[np.int64]) -> Engine:
    channels = config.flash.channels
    return Engine(
        pair=make_pair(config, sq_entries=host.sq_entries, cq_entries=host.cq_entries),
        targets=make_targets(config),
        draws=make_draws(config),
        coalesce=make_coalesce(config),
        translate=make_translate(config, entries),
        channels=make_channels(config),
        load=make_load(config),
        match=make_match(config),
        hot=make_hot(config),
        collect=make_collect(config),
        packer=make_packer(config),
        host_share=make_share(2, config.host_lines_in_flight + 1),
        dram_share=make_share(3, 3 * config.dram_reads_in_flight),
        rings=make_rings(9, 2, 5),
        contexts=make_ring(config.commands_in_flight, 4),
        descriptors=make_ring(config.targets_in_flight, 2),
        loaded=make_rings(channels, 2, 3),
        beats=make_rings(channels, 2, 3),
        matches=make_rings(channels + 1, 2, 1),
        host_asks=make_rings(2, 2, 1),
        host_answers=make_rings(2, max(2, config.host_lines_in_flight), 1),
        dram_asks=make_rings(3, 2, 1),
        dram_answers=make_rings(3, max(2, config.dram_reads_in_flight), 1),
    )
