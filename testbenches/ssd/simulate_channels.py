"""Run pages through the channels' RTL with the flash behind it, and compare with the timing model."""

import tempfile
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from amaranth.lib import wiring
from numpy.typing import NDArray

from sim.config import SsdConfig
from sim.program.flash import FLASH_COMMAND
from sim.program.ssd_counters import CHANNEL_COUNTERS
from sim.program.ssd_storage import FORMULA_MULTIPLIER
from sim.program.ssd_streams import LOADED, PAGE_BEAT, PLACED, READY
from sim.timing.ssd.channels import BEAT_NUMBER, PLACED_FIELDS, READY_FIELDS
from sim.timing.stalls import PERIOD_CYCLES, STALL_KINDS, never_stalled, stall_pattern
from testbenches.bench import Backend, Bench, Result, Sink, Source, run
from testbenches.models.flash_rules import FlashRule
from testbenches.models.flash_storage import FlashDesign, flash_files
from testbenches.ssd.channels_model import Channel, Played, play_model
from testbenches.ssd.closed_loop import ClosedLoop
from testbenches.ssd.flash_channels import FlashChannels


@dataclass(frozen=True, kw_only=True, eq=False)
class Pages:
    """Pages to read, and what is wanted of them.

    Attributes
    ----------
    page, page_slot, hot, place : ndarray of int64, shape [pages]
        As in `PLACED`.
    first, last : list of ndarray of int64
        Of each channel's pages, in the order in which they are ready: the first and the last beat that are wanted.
    image : ndarray of uint8
        Contents of the flash.
    bad_pages : tuple of int
        Physical pages that cannot be read.
    node_bits : int
        Not 0: the contents are those of `FormulaStorage`.
    """

    page: NDArray[np.int64]
    page_slot: NDArray[np.int64]
    hot: NDArray[np.int64]
    place: NDArray[np.int64]
    first: list[NDArray[np.int64]]
    last: list[NDArray[np.int64]]
    image: NDArray[np.uint8] = field(default_factory=lambda: np.zeros(0, np.uint8))
    bad_pages: tuple[int, ...] = ()
    node_bits: int = 0

    @property
    def rows(self) -> NDArray[np.int64]:
        """The pages in the order of `PLACED_FIELDS`."""
        return np.stack([getattr(self, name) for name in PLACED_FIELDS], axis=1)


def random_pages(
    config: SsdConfig, n: int, seed: int, *, hot: float = 0.0, whole: bool = False, places: int = 0
) -> Pages:
    """Make pages at random places.

    Parameters
    ----------
    config : SsdConfig
        The SSD; it must have as many page slots.
    n : int
        Pages.
    seed : int
        Of the choice.
    hot : float
        Share of the pages that are in the DRAM.
    whole : bool
        Want whole pages, not parts.
    places : int
        Physical pages, from 0 on, that are chosen from, with contents by formula; 0: few, with random contents.

    Returns
    -------
    Pages
        Each with a slot of its own.
    """
    rng = np.random.default_rng(seed)
    flash = config.flash
    made = 4 * flash.channels * flash.units
    place = rng.integers(0, places or made, n)
    in_dram = (rng.random(n) < hot).astype(np.int64)
    channel = np.where(in_dram, flash.channels, place % flash.channels)
    first, last = [], []
    for c in range(flash.channels):
        size = int((channel == c).sum())
        two = np.sort(rng.integers(0, flash.page_beats, (size, 2)), axis=1)
        first.append(np.zeros(size, np.int64) if whole else two[:, 0])
        last.append(np.full(size, flash.page_beats - 1) if whole else two[:, 1])
    return Pages(
        page=rng.integers(0, 1 << 40, n),
        page_slot=rng.permutation(config.page_slots)[:n],
        hot=in_dram,
        place=place,
        first=first,
        last=last,
        # The last of the pages lie behind the end of the image.
        image=rng.integers(0, 256, 0 if places else (made - 2) * flash.page_bytes, np.uint8),
        bad_pages=tuple(np.unique(place[rng.random(n) < 0.1]).tolist()),
        node_bits=40 if places else 0,
    )


def channel_stalls(kind: str, seed: int, config: SsdConfig) -> dict[str, NDArray[np.bool_]]:
    """Make stall patterns of all streams; ``mixed`` gives each another kind, ``slow`` lets few pages in, or out."""
    names = ["placed", "ready"]
    names += [f"{name}_{c}" for name in ("wants", "beats") for c in range(config.flash.channels)]
    kinds = STALL_KINDS if kind == "mixed" else (kind,)
    if kind == "slow":
        rng = np.random.default_rng(seed)
        return dict.fromkeys(names, never_stalled()) | {("placed", "ready")[seed % 2]: rng.random(PERIOD_CYCLES) < 0.98}
    return {
        name: stall_pattern(kinds[(number + seed) % len(kinds)], seed=100 * seed + number)
        for number, name in enumerate(names)
    }


@dataclass(frozen=True, kw_only=True)
class ChannelsSimulation:
    """A run of the RTL against the model: the first difference or None, what the model says, what the RTL showed."""

    first_difference: str | None
    model: Played
    result: Result


def simulate_channels(
    config: SsdConfig,
    pages: Pages,
    *,
    stalls: str = "none",
    seed: int = 0,
    backend: Backend = "trace",
    channels: wiring.Component | None = None,
    depth: int = 0,
    host_cycles: int = 1,
    max_quiet_cycles: int = 0,
    ready_after_valid: bool = False,
) -> ChannelsSimulation:
    """Run pages and compare each handover, each command, each payload and each counter.

    Parameters
    ----------
    config : SsdConfig
        The SSD.
    pages : Pages
        What is read.
    stalls, seed
        As for `channel_stalls`.
    backend : {"trace", "cocotb", "pysim"}
        How to run the RTL.
    channels : wiring.Component, optional
        Other channels, such as some with a planted bug.
    depth, host_cycles : int
        Not 0: those of a `ClosedLoop`.
    max_quiet_cycles : int
        0: as many as the flash may need.

    ready_after_valid : bool
        As for `Sink`, of ready pages and of beats.

    Returns
    -------
    ChannelsSimulation
        The comparison.
    """
    numbers, patterns = range(config.flash.channels), channel_stalls(stalls, seed, config)
    model = play_model(
        config,
        pages.rows,
        patterns["placed"],
        patterns["ready"],
        [Channel(pages.first[c], pages.last[c], patterns[f"wants_{c}"], patterns[f"beats_{c}"]) for c in numbers],
        depth=depth,
        host_cycles=host_cycles,
    )
    contents = {"words": _words(pages.image), "bad_pages": pages.bad_pages} if backend == "pysim" else {}
    if depth:
        design = FlashDesign(ClosedLoop, config, depth=depth, host_cycles=host_cycles, node_bits=pages.node_bits)
    else:
        design = FlashDesign(FlashChannels, config, channels=channels, node_bits=pages.node_bits, **contents)
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(
            sources={
                "placed": Source(
                    payloads=PLACED.encode(len(pages.page), dict(zip(PLACED_FIELDS, pages.rows.T, strict=True))),
                    stalled=patterns["placed"],
                ),
                **{
                    f"wants_{c}": Source(
                        payloads=LOADED.encode(
                            len(pages.first[c]), {"first_beat": pages.first[c], "last_beat": pages.last[c]}
                        ),
                        stalled=patterns[f"wants_{c}"],
                    )
                    for c in numbers
                },
            },
            sinks={
                "ready": Sink(count=len(pages.page), stalled=patterns["ready"], ready_after_valid=ready_after_valid),
                **{
                    f"beats_{c}": Sink(
                        count=len(model.beats[c]), stalled=patterns[f"beats_{c}"], ready_after_valid=ready_after_valid
                    )
                    for c in numbers
                },
                **{f"commands_{c}": Sink(count=len(model.commands[c])) for c in numbers},
            },
            files=flash_files(Path(folder), pages.image, pages.bad_pages),
            max_quiet_cycles=max_quiet_cycles
            or 4 * (config.read_cycles + config.command_cycles + config.column_cycles + 200),
        )
        result = run(design, bench, backend=backend)
    return ChannelsSimulation(first_difference=_difference(config, pages, model, result), model=model, result=result)


def _words(image: NDArray[np.uint8]) -> list[int]:
    return [int(word) for word in image.view("<u8")]


def _difference(config: SsdConfig, pages: Pages, model: Played, result: Result) -> str | None:
    code = result.outputs["violation"]
    if code:
        return f"{FlashRule(code).name} broken in cycle {result.outputs['violation_cycle']}"
    ready = READY.decode(result.payloads["ready"])
    checks = [
        ("cycle of page", model.placed, result.accepted["placed"]),
        ("cycle of ready page", model.ready, result.accepted["ready"]),
        *((f"{name} of ready page", model.ready_rows[:, i], ready[name]) for i, name in enumerate(READY_FIELDS)),
    ]
    list_size = config.flash.channels * config.flash.units
    for c in range(config.flash.channels):
        commands = FLASH_COMMAND.decode(result.payloads[f"commands_{c}"])
        reads = model.commands[c][:, 1] == 0
        beats = PAGE_BEAT.decode(result.payloads[f"beats_{c}"])
        data, bad = _contents(config, pages, model, c)
        checks += [
            (f"cycle of command {c}", model.commands[c][:, 0], result.accepted[f"commands_{c}"]),
            (f"kind of command {c}", model.commands[c][:, 1], commands["transfer"]),
            (f"die of command {c}", model.commands[c][:, 2], commands["unit"]),
            (f"page of command {c}", model.commands[c][reads, 3] // list_size, commands["page"][reads]),
            (f"cycle of wants {c}", model.wants[c], result.accepted[f"wants_{c}"]),
            (f"cycle of beat {c}", model.beats[c], result.accepted[f"beats_{c}"]),
            (f"number of beat {c}", model.beat_rows[c][:, BEAT_NUMBER], beats["beat"]),
            (f"end of beat {c}", model.beat_rows[c][:, 1], beats["last"]),
            (f"data of beat {c}", data, np.where(beats["bad"], 0, beats["data"])),
            (f"fault of beat {c}", bad, beats["bad"]),
        ]
        counters = [*(f"cycles_{name}" for name in CHANNEL_COUNTERS), "count_pages", "count_beats"]
        expected, seen = (
            np.array(values)
            for values in (
                [int(of_all[c]) for of_all in model.counts.values()],
                [result.outputs[f"{name}_{c}"] for name in counters],
            )
        )
        idle = list(CHANNEL_COUNTERS).index("idle")
        expected[idle] = seen[idle] = 0  # the bench goes on
        checks.append((f"counter of channel {c}", expected, seen))
    for what, expected, seen in checks:
        if len(expected) != len(seen):
            return f"{what}: the model has {len(expected)}, the RTL {len(seen)}"
        wrong = np.flatnonzero(np.asarray(expected).astype(np.uint64) != np.asarray(seen).astype(np.uint64))
        if len(wrong):
            return f"{what} {wrong[0]}: the model says {expected[wrong[0]]}, the RTL {seen[wrong[0]]}"
    return None


def _contents(
    config: SsdConfig, pages: Pages, model: Played, channel: int
) -> tuple[NDArray[np.uint64], NDArray[np.bool_]]:
    """Return the beats that a channel should move, 0 where a page cannot be read, and whether that is so."""
    rows = model.ready_rows[model.ready_rows[:, 3] == channel]
    of_slot = np.full(int(pages.page_slot.max(initial=0)) + 1, -1)
    of_slot[pages.page_slot] = pages.place
    place = of_slot[rows[:, 1]]
    ends = np.flatnonzero(model.beat_rows[channel][:, 1])
    number = np.searchsorted(ends, np.arange(len(model.beat_rows[channel])))
    word = place[number] * config.flash.page_beats + model.beat_rows[channel][:, BEAT_NUMBER]
    if pages.node_bits:
        data = (word.astype(np.uint64) * np.uint64(FORMULA_MULTIPLIER)) >> np.uint64(64 - pages.node_bits)
    else:
        words = pages.image.view("<u8")
        data = np.where(word < len(words), words[np.minimum(word, len(words) - 1)], 0).astype(np.uint64)
    bad = np.isin(place, pages.bad_pages)[number]
    return np.where(bad, 0, data), bad
