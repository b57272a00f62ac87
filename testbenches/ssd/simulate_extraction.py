"""Run samples through `testbenches.ssd.extraction` and compare every id with numpy's, every cycle with the model's."""

from dataclasses import dataclass, field

import numpy as np
from amaranth.lib import wiring
from numpy.typing import NDArray

from sim.config import SsdConfig
from sim.program.ssd_extract import ID_WORD
from sim.program.ssd_streams import LOADED, OPENED, PLACED, READY, SAMPLE
from sim.timing.stalls import StallKind, stall_pattern
from testbenches.bench import Backend, Bench, Sink, Source, run
from testbenches.build import Design
from testbenches.models.scoreboard import first_difference
from testbenches.ssd.extraction import NO_PAGES, PATTERN, STALLED, WRITTEN, Extraction, word_of
from testbenches.ssd.extraction_model import FIELDS, WATCHED, Played, play_model

MAP_BASE = 0x12345
"""Of the page map in the benches' DRAM."""

RECORDS = {
    "opened": OPENED,
    "placed": PLACED,
    "ready": READY,
    "close": OPENED,
    "loaded": LOADED,
    "written": WRITTEN,
}


@dataclass(frozen=True, kw_only=True)
class Samples:
    """Samples in order, and what kind of pages there are.

    Attributes
    ----------
    page, beat, half, wide : ndarray of int64, shape [n]
        As in `SAMPLE`; pages below 2^16 unless there are no hot ones.
    hot_low, bad_low : int
        Low four bits of the numbers of pages that are in the DRAM, or cannot be read on flash; `NO_PAGES`: none.
    """

    page: NDArray[np.int64]
    beat: NDArray[np.int64]
    half: NDArray[np.int64]
    wide: NDArray[np.int64]
    hot_low: int = NO_PAGES
    bad_low: int = NO_PAGES

    def entries(self, config: SsdConfig) -> NDArray[np.int64]:
        """Return the page map."""
        if self.hot_low == NO_PAGES:
            return np.zeros(0, np.int64)
        page = np.arange(int(self.page.max()) + 1)
        hot = page % 16 == self.hot_low
        return np.where(hot, (page * (config.flash.page_beats // 2)) | np.int64(-(1 << 63)), page)

    def ids(self, config: SsdConfig) -> dict[str, NDArray[np.uint64]]:
        """Return what must come out."""
        with np.errstate(over="ignore"):
            page, beat = self.page.astype(np.uint64), self.beat.astype(np.uint64)
            word = word_of(page, beat, np.uint64(config.flash.page_beats)) if len(page) else page
        low = self.page % 16
        failed = (low == self.bad_low) & (low != self.hot_low)
        part = np.where(self.half == 1, word >> np.uint64(32), word & np.uint64(0xFFFFFFFF))
        value = np.where(failed, page, np.where(self.wide == 1, word, part))
        slots = config.window_samples
        phase = 1 - np.arange(len(page)) // slots % 2
        return {"value": value, "failed": failed.astype(np.uint64), "phase": phase.astype(np.uint64)}


@dataclass(frozen=True, kw_only=True)
class Stalls:
    """Patterns by the names of `STALLED`, 64 bits each, and of both ends."""

    words: dict[str, int] = field(default_factory=dict)
    samples: NDArray[np.bool_] = field(default_factory=lambda: stall_pattern("none", seed=0))
    ids: NDArray[np.bool_] = field(default_factory=lambda: stall_pattern("none", seed=0))

    def patterns(self) -> dict[str, int]:
        """Return the bench's inputs."""
        return {f"stalls_{name}": self.words.get(name, 0) for name in STALLED}

    @classmethod
    def of(cls, kind: StallKind, seed: int) -> "Stalls":
        """Make stalls of a kind for all streams."""
        if kind == "none":
            return cls()
        begins = {name: 97 * (i + seed) for i, name in enumerate(STALLED)}
        bits = {name: np.resize(stall_pattern(kind, seed=seed + at), at + PATTERN)[at:] for name, at in begins.items()}
        return cls(
            # One cycle of each pattern is free.
            words={name: sum(int(b) << n for n, b in enumerate(b)) & ~(1 << len(name)) for name, b in bits.items()},
            samples=stall_pattern(kind, seed=seed),
            ids=stall_pattern(kind, seed=seed + 1),
        )


LATE = Stalls(words={"ready": ~(1 << 5) % (1 << 64)})
"""The first page is ready in cycle 69 only: a window of samples is there before anything else happens."""


def model_of(samples: Samples, config: SsdConfig, stalls: Stalls, **how: bool) -> Played:
    """Play the model alone; `how` as for `play_model`."""
    rows = np.stack([samples.page, samples.beat], axis=1)
    return play_model(config, rows, samples.entries(config), stalls.patterns(), stalls.samples, stalls.ids, **how)


def difference(
    samples: Samples,
    config: SsdConfig,
    stalls: Stalls | None = None,
    *,
    design: wiring.Component | None = None,
    backend: Backend = "trace",
    max_quiet_cycles: int = 2000,
) -> str | None:
    """Run RTL and model.

    Parameters
    ----------
    samples : Samples
        What is sampled.
    config : SsdConfig
        The engine.
    stalls : Stalls, optional
        Of all streams.
    design : wiring.Component, optional
        Another `Extraction`, such as one with a planted bug.
    backend : {"trace", "cocotb", "pysim"}
        How to run the RTL.
    max_quiet_cycles : int
        So many cycles in which nothing is handed over end the run.

    Returns
    -------
    str or None
        The first difference.

    Raises
    ------
    BenchError
        The RTL hung, or gave too much.
    """
    stalls = Stalls() if stalls is None else stalls
    model = model_of(samples, config, stalls)
    if model.cycles < 0:
        return "the model hangs"
    fields = {name: getattr(samples, name) for name in ("page", "beat", "half", "wide")}
    bench = Bench(
        sources={"samples": Source(payloads=SAMPLE.encode(len(samples.page), fields), stalled=stalls.samples)},
        sinks={
            "ids": Sink(count=len(samples.page), stalled=stalls.ids, ready_after_valid=len(samples.page) % 2 == 1),
            **{f"saw_{name}": Sink(count=len(model.seen[name])) for name in WATCHED},
        },
        inputs={"map_base": MAP_BASE, "hot_low": samples.hot_low, "bad_low": samples.bad_low, **stalls.patterns()},
        max_quiet_cycles=max_quiet_cycles,
    )
    result = run(Design(Extraction, config) if design is None else design, bench, backend=backend)
    checks = []
    for i, name in enumerate(WATCHED):
        got, rows = RECORDS[name].decode(result.payloads[f"saw_{name}"]), model.seen[name]
        # Where a page of the DRAM lies is nobody's business but the hot reader's; die and place are not told of it.
        hot = rows[:, 3] == config.flash.channels if name == "ready" else np.zeros(len(rows), np.bool_)
        for column, of in enumerate(FIELDS[i]):
            keep = ~hot if of in ("unit", "place") else np.ones(len(rows), np.bool_)
            checks.append((f"{name} {of}", rows[keep, column], got[of].astype(np.int64)[keep]))
        checks.append((f"cycle of {name}", rows[:, -1], result.accepted[f"saw_{name}"]))
    expected, got = samples.ids(config), ID_WORD.decode(result.payloads["ids"])
    checks += [(f"id's {name}", expected[name], got[name]) for name in expected]
    checks += [
        ("cycle of id", model.ids, result.accepted["ids"]),
        ("cycle of sample", model.samples, result.accepted["samples"]),
    ]
    for what, wanted, seen in checks:
        found = first_difference(wanted, seen, names=("number",))
        if found is not None:
            number = found.coordinates["number"]
            return f"{what} {number}: expected {wanted[number]}, the RTL has {seen[number]}"
    counts = {name: result.outputs[name] for name in model.counts}
    return None if counts == model.counts else f"counts: expected {model.counts}, the RTL has {counts}"


def random_samples(seed: int, config: SsdConfig, count: int, *, pages: int, beats: int, **kinds: int) -> Samples:
    """Draw samples on some pages and some beats of each, so that many meet."""
    rng = np.random.default_rng(seed)
    places = rng.choice(config.flash.page_beats, beats, replace=False)
    return Samples(
        page=rng.integers(pages, size=count),
        beat=places[rng.integers(beats, size=count)],
        half=rng.integers(2, size=count),
        wide=rng.integers(2, size=count),
        **kinds,
    )
