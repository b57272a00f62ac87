"""The walk through targets with a host, a DRAM and a frontier that a bench paces, on the RTL and on the model."""

from dataclasses import dataclass

import numpy as np
from amaranth.hdl import Array, Cat, Module, Mux, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from hdl.large_memory import LargeMemory
from hdl.layout import struct_layout
from hdl.ssd.targets import Targets
from sim.jit import njit
from sim.program.layout import Field, Layout
from sim.program.ssd import ALL_NEIGHBOURS, NODE_RECORD, TARGET
from sim.program.ssd_streams import DESCRIPTOR, DRAW_JOB, JOB
from sim.timing.ssd.ring import LEVEL, OPEN, PUSHED, commit, commit_sink, make_ring, make_source, offer, open_sink
from sim.timing.ssd.targets import PULSE_RELEASE, PULSE_RESET, make_targets, step_targets
from sim.timing.ssd.trace import FLAG_FAILED, FLAG_LAST_HOP, FLAG_LAST_OF_COMMAND, FLAG_LAST_OF_HOP, FLAG_NOTHING
from sim.timing.stalls import stall_pattern
from testbenches.bench import Bench, Sink, Source, run
from testbenches.build import Design

FOUND = Layout(
    "Found",
    (
        Field(name="node", bits=48),
        Field(name="ends_hop", bits=1),
        Field(name="", bits=15),
        Field(name="command", bits=16, meaning="number of the command, from 0"),
    ),
)
"""What a packer would have found: a node for the frontier."""

MOST_CYCLES = 100_000
"""A run of the model that is longer has hung."""

RECORDS_BASE = 0x12_3456_789A


class TargetsBench(wiring.Component):
    """The unit with two banks of a frontier. Lines and records come when they were asked for, at the pace of sources.

    Parameters
    ----------
    config : SsdConfig
        The engine.
    unit : wiring.Component, optional
        In place of `Targets`, such as one with a planted bug.

    Attributes
    ----------
    jobs, draws, descriptors, lines_request, lines, records_request, records
        As of `Targets`.
    found : In(stream of `FOUND`)
        Nodes of the frontier; taken when their bank is free and their command's turn has come.
    pulses : Out(stream of 1 bit)
        A bank was released (0), or both were reset (1); its sink must always be ready.
    """

    def __init__(self, config, unit=None) -> None:
        self._config, self._unit = config, Targets(config) if unit is None else unit
        members = self._unit.signature.members
        names = ("jobs", "draws", "descriptors", "lines_request", "lines", "records_request", "records")
        super().__init__(
            {
                **{name: members[name] for name in names},
                "found": In(stream.Signature(struct_layout(FOUND))),
                "pulses": Out(stream.Signature(1)),
            }
        )

    def elaborate(self, _platform: object) -> Module:
        """Connect them."""
        m = Module()
        unit, most = self._unit, self._config.frontier_entries
        m.submodules.unit = unit
        m.d.comb += unit.records_base.eq(RECORDS_BASE)
        wiring.connect(m, wiring.flipped(self.jobs), unit.jobs)
        for name in ("draws", "descriptors", "lines_request", "records_request"):
            wiring.connect(m, getattr(unit, name), wiring.flipped(getattr(self, name)))
        for name in ("lines", "records"):
            request, source, answer = getattr(unit, f"{name}_request"), getattr(self, name), getattr(unit, name)
            due = Signal(8, name=f"{name}_due")
            m.d.comb += [
                answer.valid.eq(source.valid & (due != 0)),
                answer.payload.eq(source.payload),
                source.ready.eq(answer.ready & (due != 0)),
            ]
            m.d.sync += due.eq(due + (request.valid & request.ready) - (answer.valid & answer.ready))
        m.submodules.memory = memory = LargeMemory(part_bits=48, parts=1, depth=2 * most)
        written = Array(Signal(range(most + 1), name=f"written_{i}") for i in range(2))
        closed = Array(Signal(name=f"closed_{i}") for i in range(2))
        write, read, resets = Signal(), Signal(), Signal(16)
        taken = self.found.valid & self.found.ready
        m.d.comb += [
            self.found.ready.eq(~closed[write] & (self.found.payload.command == resets)),
            memory.write.eq(taken),
            memory.write_address.eq(Mux(write, most, 0) + written[write]),
            memory.write_data.eq(self.found.payload.node),
            memory.read.eq(unit.frontier_read),
            memory.read_address.eq(Mux(read, most, 0) + unit.frontier_index),
            unit.frontier_node.eq(memory.read_data),
            unit.frontier_written.eq(written[read]),
            self.pulses.valid.eq(unit.frontier_release | unit.frontier_reset),
            self.pulses.payload.eq(unit.frontier_reset),
        ]
        with m.If(taken):
            m.d.sync += written[write].eq(written[write] + 1)
            with m.If(self.found.payload.ends_hop):
                m.d.sync += [closed[write].eq(1), write.eq(~write)]
        with m.If(unit.frontier_release):
            m.d.sync += [read.eq(~read), written[read].eq(0), closed[read].eq(0)]
        with m.If(unit.frontier_reset):
            m.d.sync += [Cat(*written, *closed, write, read).eq(0), resets.eq(resets + 1)]
        return m


@dataclass(frozen=True, kw_only=True)
class Command:
    """A command, and for each hop the node, offset and degree of all targets: as the host or the DRAM tells them."""

    fields: dict
    hops: list


@dataclass(frozen=True, kw_only=True)
class Walk:
    """What must come of commands: payloads by stream, the model's rows of targets."""

    sources: dict
    sinks: dict
    commands: np.ndarray
    found: np.ndarray
    rows: np.ndarray


def random_command(
    rng, config, *, fanouts, targets, nodes=1 << 20, edges=1 << 32, look_up=False, odd=0.2, degrees=None
):
    """Make a command with any targets, good ones and bad ones."""
    degrees = np.array([0, 1, 2, 3, 4]) if degrees is None else np.asarray(degrees)
    if edges == 0:
        degrees = np.zeros(1, np.int64)
    fields = {
        "edges_address": int(rng.integers(1 << 40)) * 8, "edges": edges, "nodes": nodes,
        "seed": int(rng.integers(1 << 63)), "targets_address": int(rng.integers(1 << 40)) * 64, "targets": targets,
        "batch": int(rng.integers(1 << 32)), "wide": int(rng.integers(2)), "replace": int(rng.integers(2)),
        "look_up": int(look_up), "hops": len(fanouts), **{f"fanout_{i}": f for i, f in enumerate(fanouts)},
    }  # fmt: skip
    hops, n = [], targets
    for number in range(len(fanouts)):
        if n == 0:
            break
        node = rng.integers(0, nodes, n).astype(np.uint64)
        degree = rng.choice(degrees, n).astype(np.uint64)
        offset = np.minimum(rng.integers(0, max(1, edges), n).astype(np.uint64), np.uint64(edges) - degree)
        for place in np.flatnonzero(rng.random(n) < odd):
            what = rng.integers(6)
            if what == 0:
                node[place] = [nodes, (1 << 48) - 1, nodes - 1][rng.integers(3)]
                if number == 0 and rng.integers(2):
                    node[place] += np.uint64(1 << 48)
            elif what == 1:
                offset[place] = np.uint64(edges) - degree[place] + np.uint64(rng.integers(2))
            elif what == 2:
                offset[place] = (
                    np.uint64(edges) + np.uint64(1) if rng.integers(2) else offset[place] + np.uint64(1 << 48)
                )
            elif what == 3:
                degree[place] = (1 << 31) + int(rng.integers(4))
            elif what == 4:
                degree[place] = int(rng.integers(4)) << 30
            else:
                offset[place] = np.uint64((1 << 64) - 1)
        hops.append((node, offset, degree))
        count = sum(judge(fields, number, *(int(part[i]) for part in hops[-1]))[0] for i in range(n))
        n = min(count, config.frontier_entries)
    return Command(fields=fields, hops=hops)


def judge(fields, hop, node, offset, degree):
    """Return a target's samples, and whether it is bad."""
    good = node < fields["nodes"] and degree < 1 << 31 and offset < 1 << 48 and offset + degree <= fields["edges"]
    fanout = fields[f"fanout_{hop}"]
    return (0 if not good else degree if fanout == ALL_NEIGHBOURS else min(degree, fanout)), not good


def walk(commands):
    """Work out what must come of commands."""
    jobs, draws, descriptors, lines, line_addresses, records, record_addresses = ([] for _ in range(7))
    rows, found, found_rows, pulses = [], [], [], []
    for number, c in enumerate(commands):
        f, hops = c.fields, c.fields["hops"]
        jobs.append(JOB.encode(1, {name: np.uint64(value) for name, value in f.items()}))
        pairs = -(-f["targets"] // 2)
        both = np.full((2 * pairs, TARGET.bytes), 0xA5, np.uint8)
        both[: f["targets"]] = TARGET.encode(
            f["targets"], dict(zip(("node", "offset", "degree"), c.hops[0], strict=True))
        )
        lines.append(both.reshape(-1, 64))
        line_addresses += [f["targets_address"] + 64 * i for i in range(pairs)]
        for hop in range(hops):
            last_hop = FLAG_LAST_HOP | FLAG_LAST_OF_COMMAND if hop + 1 == hops else 0
            if hop >= len(c.hops):
                flags = FLAG_NOTHING | FLAG_LAST_OF_HOP | last_hop
                descriptors.append((0, flags))
                rows.append((0, flags, 0, 0, 0))
                continue
            shared = {f"hop_{name}": f[name] for name in ("seed", "edges_address", "batch", "wide", "replace")}
            draws.append(shared | {"hop_hop": hop, "begins_hop": 1})
            if hop:
                ends = np.arange(len(c.hops[hop][0])) == len(c.hops[hop][0]) - 1
                found.append(FOUND.encode(len(ends), {"node": c.hops[hop][0], "ends_hop": ends, "command": number}))
                found_rows += [(int(end), number) for end in ends]
            if hop > 1:
                pulses.append(0)
            targets = list(zip(*(part.tolist() for part in c.hops[hop]), strict=True))
            for place, (node, offset, degree) in enumerate(targets):
                looked_up = (hop > 0 or f["look_up"]) and node < f["nodes"]
                if looked_up:
                    records.append((offset, degree))
                    record_addresses.append((RECORDS_BASE + node) % (1 << 40))
                count, bad = judge(f, hop, node, offset, degree)
                if count:
                    names = ("node", "offset", "degree", "count")
                    draws.append({f"target_{k}": v for k, v in zip(names, (node, offset, degree, count), strict=True)})
                flags = FLAG_FAILED * bad | FLAG_LAST_HOP * (hop + 1 == hops)
                if place == len(targets) - 1:
                    flags |= FLAG_LAST_OF_HOP | last_hop
                descriptors.append((count, flags))
                rows.append((count, flags, 0, degree, int(looked_up)))
        pulses.append(1)
    record_fields = {"offset": [r[0] for r in records], "degree": [r[1] for r in records]}
    record_fields = {name: np.array(value, np.uint64) for name, value in record_fields.items()}
    return Walk(
        sources={
            "jobs": np.concatenate(jobs),
            "lines": np.concatenate(lines),
            "records": NODE_RECORD.encode(len(records), record_fields),
            "found": np.concatenate([FOUND.encode(0, {}), *found]),
        },
        sinks={
            "draws": draws, "descriptors": descriptors, "lines_request": line_addresses,
            "records_request": record_addresses, "pulses": pulses,
        },
        commands=np.array([(c.fields["targets"], c.fields["hops"], c.fields["look_up"]) for c in commands], np.int64),
        found=np.array(found_rows, np.int64).reshape(-1, 2),
        rows=np.array(rows, np.int64),
    )  # fmt: skip


OUTPUTS = ("draws", "descriptors", "lines_request", "records_request")
INPUTS = ("jobs", "lines", "records", "found")


@njit
def _play(unit, rings, sources, sinks, stalls, taken, written, pulses, rows, found, told, tells):
    draws, descriptors, lines_request, records_request = sinks
    jobs, lines, records, nodes = rings
    banks, closed = np.zeros(2, np.int64), np.zeros(2, np.int64)
    write, read, resets, n_pulses, left, now = 0, 0, 0, 0, 1, 0
    # The unit sleeps when it says that nothing will change, until something around it does.
    awake, shut, before = True, np.zeros(4, np.bool_), 0
    while left > 0 and now < MOST_CYCLES:
        offer(sources[0], jobs, now)
        lines.at[OPEN] = lines_request.at[LEVEL] > sources[1].at[0]
        offer(sources[1], lines, now)
        records.at[OPEN] = records_request.at[LEVEL] > sources[2].at[0]
        offer(sources[2], records, now)
        nodes.at[OPEN] = closed[write] == 0 and sources[3].at[0] < len(found) and found[sources[3].at[0], 1] == resets
        offer(sources[3], nodes, now)
        for i in range(4):
            is_shut = open_sink(sinks[i], stalls[i], now)
            awake |= is_shut != shut[i]
            shut[i] = is_shut
        written[0] = banks[read]
        awake |= written[0] != before
        before = written[0]
        pulses[:] = 0
        if awake:
            awake = step_targets(
                unit, jobs, draws, descriptors, lines_request, lines, records_request, records, written, pulses, rows
            )
        if nodes.at[PUSHED]:
            place = nodes.at[LEVEL]
            banks[write] += 1
            if found[place, 0]:
                closed[write] = 1
                write = 1 - write
        if pulses[PULSE_RELEASE] or pulses[PULSE_RESET]:
            if n_pulses == len(told):
                return -2
            told[n_pulses], tells[n_pulses] = now, pulses[PULSE_RESET]
            n_pulses += 1
        if pulses[PULSE_RELEASE]:
            banks[read] = closed[read] = 0
            read = 1 - read
        if pulses[PULSE_RESET]:
            banks[:] = 0
            closed[:] = 0
            write = read = 0
            resets += 1
        awake |= commit(jobs)
        awake |= commit(lines)
        awake |= commit(records)
        commit(nodes)
        for i in range(4):
            awake |= commit_sink(sinks[i], taken[i], now)
        now += 1
        left = len(told) - n_pulses
        for i in range(4):
            left += len(taken[i]) - 1 - sinks[i].at[LEVEL]
    return now


def patterns(stalls, seed, slow):
    """Return the stall pattern of every stream; those of `slow` are given."""
    return {name: stall_pattern(stalls, seed=seed + i) for i, name in enumerate((*INPUTS, *OUTPUTS))} | (slow or {})


def model(w, config, stalls="none", seed=0, *, slow=None):
    """Return the cycle of every handover, by stream."""
    unit = make_targets(config)
    lengths = {"lines": config.host_lines_in_flight, "records": config.dram_reads_in_flight, "jobs": 2}
    rings = tuple(make_ring(lengths.get(name, len(w.found) + 1), 3) for name in INPUTS)
    pattern = patterns(stalls, seed, slow)
    content = {"jobs": w.commands, "found": w.found}
    sources = tuple(
        make_source(content.get(name, np.zeros((len(w.sources[name]), 1), np.int64)), pattern[name]) for name in INPUTS
    )
    taken = tuple(np.full(len(w.sinks[name]) + 1, -1, np.int64) for name in OUTPUTS)
    sinks = tuple(make_ring(len(w.sinks[name]) + 1, 2) for name in OUTPUTS)
    told, tells = np.full(len(w.sinks["pulses"]), -1, np.int64), np.zeros(len(w.sinks["pulses"]), np.int64)
    rows = np.concatenate([w.rows, np.zeros((1, 5), np.int64)])
    _play(
        unit, rings, sources, sinks, tuple(pattern[name] for name in OUTPUTS), taken, np.zeros(1, np.int64),
        np.zeros(2, np.int64), rows, w.found, told, tells,
    )  # fmt: skip
    assert tells.tolist() == w.sinks["pulses"]
    cycles = {name: source.taken for name, source in zip(INPUTS, sources, strict=True)}
    cycles |= {name: cycle[:-1] for name, cycle in zip(OUTPUTS, taken, strict=True)}
    return cycles | {"pulses": told}


def _expected_fields(w):
    draws = {name: [d.get(name, 0) for d in w.sinks["draws"]] for name in {k for d in w.sinks["draws"] for k in d}}
    count, flags = (np.array(column) for column in zip(*w.sinks["descriptors"], strict=True))
    names = ("failed", "last_of_hop", "last_of_command", "last_hop", "nothing")
    return draws, {"count": count, **{name: flags >> bit & 1 for bit, name in enumerate(names)}}


def compare(
    commands, config, stalls="none", seed=0, *, design=None, backend="trace", ready_after_valid=False, quiet=2_000,
    slow=None,
):  # fmt: skip
    """Run commands on the RTL; return the first difference from what must come of them and from the model, or None."""
    w = walk(commands)
    cycles = model(w, config, stalls, seed, slow=slow)
    names, pattern = (*INPUTS, *OUTPUTS), patterns(stalls, seed, slow)
    bench = Bench(
        sources={name: Source(payloads=w.sources[name], stalled=pattern[name]) for name in INPUTS},
        sinks={
            name: Sink(count=len(w.sinks[name]), stalled=pattern[name], ready_after_valid=ready_after_valid)
            for name in OUTPUTS
        }
        | {"pulses": Sink(count=len(w.sinks["pulses"]))},
        max_quiet_cycles=quiet,
    )
    result = run(Design(TargetsBench, config) if design is None else design, bench, backend=backend)
    draws, descriptors = _expected_fields(w)
    got = DRAW_JOB.decode(result.payloads["draws"])
    begins = got["begins_hop"] != 0
    checks = [("draws.begins_hop", np.array(draws["begins_hop"]), got["begins_hop"])]
    for name, values in draws.items():
        matters = begins if name.startswith("hop_") else ~begins
        if name != "begins_hop":
            checks.append((f"draws.{name}", np.array(values, np.uint64)[matters], got[name][matters]))
    told = DESCRIPTOR.decode(result.payloads["descriptors"])
    checks += [(f"descriptors.{name}", values, told[name]) for name, values in descriptors.items()]
    for name in ("lines_request", "records_request", "pulses"):
        seen = np.zeros((len(w.sinks[name]), 8), np.uint8)
        seen[:, : result.payloads[name].shape[1]] = result.payloads[name]
        checks.append((name, np.array(w.sinks[name], np.uint64), seen.view("<u8").ravel()))
    checks += [(f"cycle of {name}", cycles[name], result.accepted[name]) for name in (*names, "pulses")]
    for what, said, seen in checks:
        if len(said) != len(seen) or (said != seen).any():
            place = int(np.argmax(said != seen)) if len(said) == len(seen) else -1
            return f"{what} {place}: the model says {said[place]}, the RTL {seen[place]}"
    return None
