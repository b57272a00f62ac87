"""The queue pair with a host and a packer that a bench paces, on the RTL and on the model."""

from dataclasses import dataclass

import numpy as np
from amaranth.hdl import Module, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In

from hdl.layout import struct_layout
from hdl.ssd.queue_pair import QueuePair
from sim.jit import njit
from sim.program.layout import Field, Layout
from sim.program.ssd import MODE_LOOK_UP, MODE_REPLACE, NS_CONFIG, SUBMISSION, SsdStatus
from sim.program.ssd_check import check_command
from sim.program.ssd_streams import CONTEXT, JOB
from sim.timing.ssd.queue_pair import ERROR, GOOD, REFUSED, REFUSED_AT_ENTRY, Submitted, make_pair, step_pair
from sim.timing.ssd.ring import LEVEL, NEXT, OPEN, PUSHED, commit, commit_sink, make_ring, make_source, offer, open_sink
from sim.timing.stalls import stall_pattern
from testbenches.bench import Bench, Sink, Source, run
from testbenches.build import Design

RING = Layout(
    "Ring",
    (
        Field(name="queue", bits=1),
        Field(name="", bits=15),
        Field(name="value", bits=16),
        Field(name="after", bits=32, meaning="completions that are written before the doorbell is rung"),
    ),
)
"""A doorbell of the host, who waits for completions."""

INPUTS = ("doorbell", "lines", "completions")
OUTPUTS = ("lines_request", "contexts", "jobs")

SQ_ADDRESS = 0xFFFF_FFFF_FFFE_0000
"""Of the submission queue: no sum of it with an entry's place goes beyond 64 bits."""

MOST_CYCLES = 4_000_000
"""A run of the model that is longer has hung."""


class PairBench(wiring.Component):
    """The unit. Lines come when they were asked for, completions when their contexts were told.

    Parameters
    ----------
    config : SsdConfig
        The engine.
    unit : wiring.Component, optional
        In place of `QueuePair`, such as one with a planted bug.

    Attributes
    ----------
    doorbell : In(stream of `RING`)
        Doorbells, each rung when so many completions are written.
    completions : In(stream of 1 bit)
        Each is one that is written.
    lines, lines_request, contexts, jobs, doorbell_error, sq_address, sq_entries, cq_entries, pages
        As of `QueuePair`.
    """

    def __init__(self, config, unit=None) -> None:
        self._unit = QueuePair(config) if unit is None else unit
        members = self._unit.signature.members
        same = {name: member for name, member in members.items() if name not in ("doorbell", "completed")}
        super().__init__(
            {
                **same,
                "doorbell": In(stream.Signature(struct_layout(RING))),
                "completions": In(stream.Signature(1)),
            }
        )

    def elaborate(self, _platform: object) -> Module:
        """Connect them."""
        m = Module()
        m.submodules.unit = unit = self._unit
        due, told, written = Signal(8), Signal(8), Signal(32)
        rings = Signal()
        m.d.comb += [
            *(
                getattr(unit, name).eq(getattr(self, name))
                for name in ("sq_address", "sq_entries", "cq_entries", "pages")
            ),
            self.doorbell_error.eq(unit.doorbell_error),
            rings.eq(written >= self.doorbell.payload.after),
            unit.doorbell.valid.eq(self.doorbell.valid & rings),
            unit.doorbell.payload.queue.eq(self.doorbell.payload.queue),
            unit.doorbell.payload.value.eq(self.doorbell.payload.value),
            self.doorbell.ready.eq(unit.doorbell.ready & rings),
            unit.lines.valid.eq(self.lines.valid & (due != 0)),
            unit.lines.payload.eq(self.lines.payload),
            self.lines.ready.eq(unit.lines.ready & (due != 0)),
            self.completions.ready.eq(told != 0),
            unit.completed.eq(self.completions.valid & (told != 0)),
        ]
        for name in OUTPUTS:
            wiring.connect(m, getattr(unit, name), wiring.flipped(getattr(self, name)))
        asks = unit.lines_request.valid & unit.lines_request.ready
        m.d.sync += [
            due.eq(due + asks - (unit.lines.valid & unit.lines.ready)),
            told.eq(told + (unit.contexts.valid & unit.contexts.ready) - unit.completed),
            written.eq(written + unit.completed),
        ]
        return m


@dataclass(frozen=True, kw_only=True)
class Script:
    """What is submitted, and how.

    Attributes
    ----------
    entries, configs : ndarray of uint8, shape [n, 64]
        Commands.
    doorbells : list of tuple of int
        Queue, value and completions before it.
    sq_entries, cq_entries, pages : int
        Of the queues and of the SSD.
    """

    entries: np.ndarray
    configs: np.ndarray
    doorbells: list
    sq_entries: int
    cq_entries: int
    pages: int


@dataclass(frozen=True, kw_only=True)
class Expected:
    """What must come of it."""

    status: np.ndarray
    lines: np.ndarray
    requests: np.ndarray
    contexts: dict
    jobs: dict
    commands: Submitted


def expected(script, config):
    """Judge all commands with the software's twin."""
    pairs = list(zip(script.entries, script.configs, strict=True))
    status = np.array([check_command(entry, asked, config, pages=script.pages) for entry, asked in pairs], np.int64)
    at_entry = np.isin(status, [SsdStatus.INVALID_OPCODE, SsdStatus.PRP_OFFSET])
    entry, asked = SUBMISSION.decode(script.entries), NS_CONFIG.decode(script.configs)
    lines, requests = [], []
    for place, (first, second) in enumerate(pairs):
        lines.append(first)
        requests.append(SQ_ADDRESS + 64 * (place % script.sq_entries))
        if not at_entry[place]:
            lines.append(second)
            requests.append(int(entry["prp1"][place]))
    good = status == SsdStatus.OK
    heads = (np.arange(len(status)) + 1) % script.sq_entries
    contexts = {"cid": entry["cid"], "sq_head": heads, "status": status}
    contexts |= {name: asked[name] for name in ("result_address", "result_lines", "ids_line")}
    contexts["wide"] = asked["id_bytes"] == 8
    jobs = {f.name: asked[f.name][good] for f in JOB.fields if f.name in asked}
    jobs["targets_address"] = entry["prp1"][good] + np.uint64(64)
    jobs["wide"] = asked["id_bytes"][good] == 8
    jobs["replace"] = asked["mode"][good] & MODE_REPLACE != 0
    jobs["look_up"] = asked["mode"][good] & MODE_LOOK_UP != 0
    fate = np.where(good, GOOD, np.where(at_entry, REFUSED_AT_ENTRY, REFUSED))
    number = np.arange(len(status))
    rows = Submitted(fate, np.stack([number, status], axis=1), np.stack([number] * 3, axis=1))
    return Expected(
        status=status,
        lines=np.array(lines, np.uint8).reshape(-1, 64),
        requests=np.array(requests, np.uint64),
        contexts=contexts,
        jobs=jobs,
        commands=rows,
    )


@njit
def _play(unit, commands, doorbell, lines, completions, rings, line_ring, written, sinks, stalled, taken, most):
    """Run the model until all that is due has been handed over; return whether it was."""
    due, told, done = 0, 0, 0
    for now in range(most):
        place = doorbell.at[NEXT]
        rings.at[OPEN] = place == len(doorbell.rows) or done >= doorbell.rows[place, 2]
        line_ring.at[OPEN] = due > 0
        written.at[OPEN] = told > 0
        offer(doorbell, rings, now)
        offer(lines, line_ring, now)
        offer(completions, written, now)
        for i in range(3):
            open_sink(sinks[i], stalled[i], now)
        completed = written.at[PUSHED]
        step_pair(unit, rings, sinks[0], line_ring, sinks[1], sinks[2], completed, commands)
        due += sinks[0].at[PUSHED] - line_ring.at[PUSHED]
        told += sinks[1].at[PUSHED] - completed
        done += completed
        commit(rings)
        commit(line_ring)
        commit(written)
        left = 0
        for i in range(3):
            commit_sink(sinks[i], taken[i], now)
            left += len(taken[i]) - 1 - sinks[i].at[LEVEL]
        for source in (doorbell, lines, completions):
            left += len(source.rows) - source.at[NEXT]
        if left == 0:
            # The last doorbell is still to be seen.
            step_pair(unit, rings, sinks[0], line_ring, sinks[1], sinks[2], 0, commands)
            return True
    return False


def patterns(stalls, seed=0, slow=None):
    """Return the stall pattern of each stream; `slow` has some that differ."""
    return {n: stall_pattern(stalls, seed=10 * seed + i) for i, n in enumerate((*INPUTS, *OUTPUTS))} | (slow or {})


def model(script, due, config, stalls="none", seed=0, slow=None):
    """Return the cycles of all handovers by name of the stream, and whether a doorbell was ignored."""
    pattern = patterns(stalls, seed, slow)
    n = len(due.status)
    counts = {"lines_request": len(due.requests), "contexts": n, "jobs": len(due.jobs["batch"])}
    rows = {
        "doorbell": np.array(script.doorbells, np.int64).reshape(-1, 3),
        "lines": np.zeros((len(due.lines), 1), np.int64),
        "completions": np.zeros((n, 1), np.int64),
    }
    sources = {name: make_source(rows[name], pattern[name]) for name in INPUTS}
    # Depths are those of the unit's queues; completions are never read.
    taken = tuple(np.full(counts[name] + 1, -1, np.int64) for name in OUTPUTS)
    sinks = tuple(make_ring(counts[name] + 1, 3) for name in OUTPUTS)
    unit = make_pair(config, sq_entries=script.sq_entries, cq_entries=script.cq_entries)
    whole = _play(
        unit, due.commands, *sources.values(), make_ring(2, 3), make_ring(1, 1), make_ring(n + 1, 1), sinks,
        tuple(pattern[name] for name in OUTPUTS), taken, MOST_CYCLES,
    )  # fmt: skip
    assert whole, "the model hangs"
    assert (sinks[1].data[:n, 0] == np.arange(n)).all()
    cycles = {name: source.taken for name, source in sources.items()}
    cycles |= {name: cycle[:-1] for name, cycle in zip(OUTPUTS, taken, strict=True)}
    return cycles, int(unit.at[ERROR])


def _columns(got, wanted, where):
    return [(name, np.asarray(wanted[name])[where].astype(np.uint64), got[name][where]) for name in wanted]


def compare(
    script,
    config,
    stalls="none",
    seed=0,
    *,
    design=None,
    backend="trace",
    ready_after_valid=False,
    quiet=2_000,
    slow=None,
):
    """Run commands on the RTL; return the first difference from what must come of them and from the model, or None."""
    due = expected(script, config)
    cycles, error = model(script, due, config, stalls, seed, slow)
    pattern = patterns(stalls, seed, slow)
    queue, value, after = np.array(script.doorbells, np.int64).reshape(-1, 3).T
    n = len(due.status)
    payloads = {
        "doorbell": RING.encode(len(queue), {"queue": queue, "value": value, "after": after}),
        "lines": due.lines,
        "completions": np.zeros((n, 1), np.uint8),
    }
    bench = Bench(
        sources={name: Source(payloads=payloads[name], stalled=pattern[name]) for name in INPUTS},
        sinks={
            name: Sink(count=len(cycles[name]), stalled=pattern[name], ready_after_valid=ready_after_valid)
            for name in OUTPUTS
        },
        inputs={
            "sq_address": SQ_ADDRESS,
            "sq_entries": script.sq_entries,
            "cq_entries": script.cq_entries,
            "pages": script.pages,
        },
        max_quiet_cycles=quiet,
    )
    result = run(Design(PairBench, config) if design is None else design, bench, backend=backend)
    contexts, jobs = CONTEXT.decode(result.payloads["contexts"]), JOB.decode(result.payloads["jobs"])
    always = {name: due.contexts[name] for name in ("cid", "sq_head", "status")}
    checks = [
        ("lines_request", due.requests, result.payloads["lines_request"].view("<u8").ravel()),
        *_columns(contexts, always, slice(None)),
        *_columns(contexts, due.contexts, due.status == SsdStatus.OK),
        *_columns(jobs, due.jobs, slice(None)),
        *((f"cycle of {name}", cycles[name], result.accepted[name]) for name in (*INPUTS, *OUTPUTS)),
        ("doorbell_error", np.array([error]), np.array([result.outputs["doorbell_error"]])),
    ]
    for what, said, seen in checks:
        if len(said) != len(seen) or (said != seen).any():
            place = int(np.argmax(said != seen)) if len(said) == len(seen) else -1
            return f"{what} {place}: expected {said[place]}, the RTL has {seen[place]}"
    return None
