"""Runs of the draw unit, on the RTL and on the models."""

from dataclasses import dataclass

import numpy as np

from hdl.ssd.draws import DrawUnit
from sim.golden.sampling.draws import draw_edges
from sim.jit import njit
from sim.program.ssd_counters import DRAW_COUNTERS
from sim.program.ssd_streams import DRAW_JOB, SAMPLE
from sim.timing.ssd.draws import SAMPLE_FIELDS, make_draws, skip_draws, step_draws
from sim.timing.ssd.ring import LEVEL, commit, commit_sink, make_ring, make_source, offer, open_sink
from sim.timing.stalls import stall_pattern
from testbenches.bench import Bench, Sink, Source, run
from testbenches.build import Design

MOST_CYCLES = 1_000_000
"""A run of the model that is longer has hung."""


@dataclass(frozen=True, kw_only=True)
class DrawHop:
    """A hop and its targets, as arrays."""

    seed: int
    batch: int
    hop: int
    wide: bool
    replace: bool
    edges_address: int
    node: np.ndarray
    offset: np.ndarray
    degree: np.ndarray
    count: np.ndarray


def random_hop(rng, config, *, targets, fanout, degrees, wide=None, replace=None):
    """Make a hop whose targets have at least one sample."""
    wide = bool(rng.integers(2)) if wide is None else wide
    degree = np.maximum(rng.choice(degrees, targets), 1)
    count = degree if fanout is None else np.minimum(degree, fanout)
    node = rng.integers(0, 1 << 48, targets)
    node[::5] = (1 << 48) - 1 - np.arange(len(node[::5]))
    room = min(1 << 48, (config.flash.page_bytes << 40) // 16) - (1 << 32)
    return DrawHop(
        seed=int(rng.integers(0, 1 << 64, dtype=np.uint64)),
        batch=int(rng.integers(0, 1 << 32)),
        hop=int(rng.integers(4)),
        wide=wide,
        replace=bool(rng.integers(2)) if replace is None else replace,
        edges_address=int(rng.integers(0, 1 << 32)) * (8 if wide else 4),
        node=node,
        offset=rng.integers(0, room, targets),
        degree=degree,
        count=count,
    )


def jobs_of(hops):
    """Encode the jobs; return them and the model's rows."""
    records, rows = [], []
    for h in hops:
        fields = {"hop_seed": h.seed, "hop_edges_address": h.edges_address, "hop_batch": h.batch, "hop_hop": h.hop}
        fields |= {"hop_wide": h.wide, "hop_replace": h.replace, "begins_hop": 1}
        records.append(DRAW_JOB.encode(1, {name: np.uint64(value) for name, value in fields.items()}))
        targets = {f"target_{name}": getattr(h, name) for name in ("node", "offset", "degree", "count")}
        records.append(DRAW_JOB.encode(len(h.node), targets))
        rows += [[1, 0], *([0, n] for n in h.count.tolist())]
    return np.concatenate(records), np.array(rows, np.int64).reshape(-1, 2)


def expected(hops, config):
    """Return the samples as fields and the trace of the model."""
    fields, trace = {name: [] for name in ("page", "beat", "half", "wide")}, []
    for h in hops:
        draws, rejected, divided = draw_edges(
            h.node.astype(np.uint64), h.degree, h.count, seed=h.seed, batch=h.batch, hop=h.hop, replace=h.replace
        )
        address = h.edges_address + (np.repeat(h.offset, h.count) + draws) * (8 if h.wide else 4)
        page, within = np.divmod(address, config.flash.page_bytes)
        half = within // 4 % 2 * (not h.wide)
        for name, value in (("page", page), ("beat", within // 8), ("half", half)):
            fields[name].append(value)
        fields["wide"].append(np.full(len(page), h.wide))
        trace.append(np.stack([page, within // 8, half, rejected.astype(np.int64), divided.astype(np.int64)], axis=1))
    fields = {name: np.concatenate(parts).astype(np.uint64) for name, parts in fields.items()}
    return fields, np.ascontiguousarray(np.concatenate(trace))


@njit
def _play(unit, jobs, out, source, trace, stalled, taken):
    # The unit sleeps when it says that nothing will change, until something around it does.
    now, awake, shut = 0, True, False
    while out.at[LEVEL] < len(taken) and now < MOST_CYCLES:
        offer(source, jobs, now)
        is_shut = open_sink(out, stalled, now)
        if awake or is_shut != shut:
            awake = step_draws(unit, jobs, out, trace)
        else:
            skip_draws(unit, 1)
        shut = is_shut
        awake |= commit(jobs)
        awake |= commit_sink(out, taken, now)
        now += 1
    return now


def model(hops, config, stalls="none", seed=0, *, jobs_stalled=None):
    """Return cycles of jobs and samples, the counters at the last sample, and the cycles until then."""
    jobs_stalled = stall_pattern(stalls, seed=seed) if jobs_stalled is None else jobs_stalled
    rows, (_, trace) = jobs_of(hops)[1], expected(hops, config)
    unit, jobs = make_draws(config), make_ring(2, 2)
    out = make_ring(len(trace) + 1, SAMPLE_FIELDS)
    source = make_source(rows, jobs_stalled)
    taken = np.full(len(trace), -1, np.int64)
    end = _play(unit, jobs, out, source, trace, stall_pattern(stalls, seed=seed + 1), taken)
    assert end < MOST_CYCLES, "the model hangs"
    assert (out.data[:-1] == trace[:, :SAMPLE_FIELDS]).all()
    return source.taken, taken, dict(zip(DRAW_COUNTERS, unit.counts.tolist(), strict=True)), end


def compare(
    hops, config, stalls="none", seed=0, *, design=None, backend="trace", ready_after_valid=False, quiet=5_000,
    jobs_stalled=None,
):  # fmt: skip
    """Run hops on the RTL; return the first difference from the models, or None."""
    records, _ = jobs_of(hops)
    fields, _ = expected(hops, config)
    jobs_stalled = stall_pattern(stalls, seed=seed) if jobs_stalled is None else jobs_stalled
    job_cycles, sample_cycles, counters, end = model(hops, config, stalls, seed, jobs_stalled=jobs_stalled)
    bench = Bench(
        sources={"jobs": Source(payloads=records, stalled=jobs_stalled)},
        sinks={
            "samples": Sink(
                count=len(sample_cycles),
                stalled=stall_pattern(stalls, seed=seed + 1),
                ready_after_valid=ready_after_valid,
            )
        },
        max_quiet_cycles=quiet,
    )
    result = run(Design(DrawUnit, config) if design is None else design, bench, backend=backend)
    got = SAMPLE.decode(result.payloads["samples"])
    for name, value in fields.items():
        if (got[name] != value).any():
            place = int(np.argmax(got[name] != value))
            return f"{name} of sample {place}: the golden model says {value[place]}, the RTL {got[name][place]}"
    for name, cycles in (("samples", sample_cycles), ("jobs", job_cycles)):
        if (result.accepted[name] != cycles).any():
            place = int(np.argmax(result.accepted[name] != cycles))
            return f"cycle of {name} {place}: the model says {cycles[place]}, the RTL {result.accepted[name][place]}"
    # Behind the last sample the bench goes on; then nothing is at hand.
    seen = {name: result.outputs[f"cycles_{name}"] for name in DRAW_COUNTERS}
    after = sum(seen.values()) - end
    if seen != counters | {"idle": counters["idle"] + after}:
        return f"counters: the model says {counters}, the RTL {seen} with {after} cycles after the last sample"
    return None
