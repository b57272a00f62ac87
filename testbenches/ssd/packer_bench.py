"""Packer and frontier with a window of ids and a reader of the frontier that a bench paces, on RTL and model."""

from dataclasses import dataclass, field

import numpy as np
from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from hdl.large_memory import LargeMemory
from hdl.layout import struct_layout
from hdl.ssd.frontier import Frontier
from hdl.ssd.line_writer import LINE_WRITE
from hdl.ssd.packer import Packer
from sim.jit import njit
from sim.program.layout import Field, Layout
from sim.program.ssd import COMPLETION, COUNT_FAILED, NO_ID, SsdStatus
from sim.program.ssd_extract import ID_WORD
from sim.program.ssd_streams import CONTEXT, DESCRIPTOR
from sim.timing.ssd.collect import make_collect
from sim.timing.ssd.packer import WIRE_COMPLETED, WIRE_RETIRED, commit_frontier, make_packer, step_packer
from sim.timing.ssd.ring import LEVEL, OPEN, PUSHED, commit, commit_sink, make_ring, make_source, offer, open_sink
from sim.timing.ssd.targets import PULSE_RELEASE, PULSE_RESET
from sim.timing.ssd.trace import FLAG_FAILED, FLAG_LAST_HOP, FLAG_LAST_OF_COMMAND, FLAG_LAST_OF_HOP, FLAG_NOTHING
from sim.timing.stalls import stall_pattern
from testbenches.bench import Bench, Sink, Source, run
from testbenches.build import Design

CQ_ADDRESS, CQ_ENTRIES = 0x7000_0000_0030, 5
"""The completion queue begins with the last entry of a line."""

NO_NODE = (1 << 48) - 1

ORDER = Field(name="after", bits=24, meaning="so many operations of the frontier's reader come before")
TARGET = Layout("PacedDescriptor", (*DESCRIPTOR.fields, ORDER))
FOUND_ID = Layout(
    "FoundId", (*ID_WORD.fields, Field(name="number", bits=32, meaning="of the sample"), Field(name="", bits=30))
)
READ, RELEASE, RESET = range(3)
OPERATION = Layout("Operation", (Field(name="kind", bits=8), Field(name="index", bits=24)))
"""What the reader of the frontier does; it reads a node when it is there."""

TOLD = Layout(
    "Told",
    (
        Field(name="node", bits=48),
        Field(name="valid", bits=1),
        Field(name="end_of_hop", bits=1),
        Field(name="reset", bits=1),
        Field(name="", bits=13),
    ),
)
"""What the packer tells the frontier."""

INPUTS = ("contexts", "descriptors", "ids", "operations")


class PackerBench(wiring.Component):
    """The units, and what a bench needs to pace them.

    Parameters
    ----------
    config : SsdConfig
        The engine.
    packer, frontier : wiring.Component, optional
        In place of the shipped ones, such as some with a planted bug.

    Attributes
    ----------
    contexts, lines
        As of `Packer`.
    descriptors : In(stream of `TARGET`)
        Those of `Packer`, each handed on when so many operations were done.
    ids : In(stream of `FOUND_ID`)
        Ids of the window, in any order; taken when their slot is free.
    operations : In(stream of `OPERATION`)
        Of the reader.
    told : Out(stream of `TOLD`)
        What the frontier is told.
    retired, completed : Out(stream of 1 bit)
        Pulses of the packer.
    nodes : Out(stream of 48 bits)
        Nodes that were read. These four sinks must always be ready.
    """

    def __init__(self, config, packer=None, frontier=None) -> None:
        self._config = config
        self._packer = Packer(config) if packer is None else packer
        self._frontier = Frontier(config) if frontier is None else frontier
        super().__init__(
            {
                "contexts": In(stream.Signature(struct_layout(CONTEXT))),
                "descriptors": In(stream.Signature(struct_layout(TARGET))),
                "ids": In(stream.Signature(struct_layout(FOUND_ID))),
                "operations": In(stream.Signature(struct_layout(OPERATION))),
                "lines": Out(stream.Signature(LINE_WRITE)),
                "told": Out(stream.Signature(struct_layout(TOLD))),
                "retired": Out(stream.Signature(1)),
                "completed": Out(stream.Signature(1)),
                "nodes": Out(stream.Signature(48)),
            }
        )

    def elaborate(self, _platform: object) -> Module:
        """Connect them."""
        m = Module()
        window = self._config.window_samples
        m.submodules.packer = packer = self._packer
        m.submodules.frontier = frontier = self._frontier
        m.submodules.memory = memory = LargeMemory(part_bits=ID_WORD.bits, parts=1, depth=window)
        wiring.connect(m, wiring.flipped(self.contexts), packer.contexts)
        wiring.connect(m, packer.lines, wiring.flipped(self.lines))
        done, retired = Signal(32), Signal(32)
        may = Signal()
        told = self.told.payload
        m.d.comb += [
            packer.cq_address.eq(CQ_ADDRESS),
            packer.cq_entries.eq(CQ_ENTRIES),
            may.eq(self.descriptors.payload.after <= done),
            packer.descriptors.valid.eq(self.descriptors.valid & may),
            self.descriptors.ready.eq(packer.descriptors.ready & may),
            *(packer.descriptors.payload[f.name].eq(self.descriptors.payload[f.name])
              for f in DESCRIPTOR.fields if f.name),
            self.ids.ready.eq((self.ids.payload.number - retired)[:32] < window),
            memory.write.eq(self.ids.valid & self.ids.ready),
            memory.write_address.eq(self.ids.payload.number),
            memory.write_data.eq(self.ids.payload.as_value()[: ID_WORD.bits]),
            memory.read.eq(1),
            memory.read_address.eq(packer.ids_address),
            packer.ids_data.eq(memory.read_data),
            *(getattr(frontier, name).eq(getattr(packer, name))
              for name in ("found_valid", "found_node", "found_end_of_hop", "found_reset")),
            told.node.eq(Mux(packer.found_valid, packer.found_node, 0)),
            told.valid.eq(packer.found_valid),
            told.end_of_hop.eq(packer.found_end_of_hop),
            told.reset.eq(packer.found_reset),
            self.told.valid.eq(packer.found_valid | packer.found_end_of_hop | packer.found_reset),
            self.retired.valid.eq(packer.retired),
            self.completed.valid.eq(packer.completed),
        ]  # fmt: skip
        m.d.sync += retired.eq(retired + packer.retired)
        operation, does, reads = self.operations.payload, Signal(), Signal()
        m.d.comb += [
            self.operations.ready.eq((operation.kind != READ) | (operation.index < frontier.written)),
            does.eq(self.operations.valid & self.operations.ready),
            reads.eq(does & (operation.kind == READ)),
            frontier.read.eq(reads),
            frontier.index.eq(operation.index),
            frontier.release.eq(does & (operation.kind == RELEASE)),
            frontier.reset.eq(does & (operation.kind == RESET)),
            self.nodes.payload.eq(frontier.node),
        ]
        m.d.sync += [done.eq(done + does), self.nodes.valid.eq(reads)]
        return m


@dataclass(frozen=True, kw_only=True)
class Hop:
    """Counts of a hop's targets, which are bad, and values of its ids, which of them are unreadable."""

    count: np.ndarray
    bad: np.ndarray
    value: np.ndarray
    unreadable: np.ndarray


@dataclass(frozen=True, kw_only=True)
class Command:
    """A command as the packer sees it; of one that is refused only cid, sq_head and status count."""

    status: int = 0
    cid: int = 0
    sq_head: int = 0
    wide: int = 0
    result_address: int = 0
    ids_line: int = 0
    result_lines: int = 0
    hops: list = field(default_factory=list)


def random_command(rng, config, *, hops, targets, counts, bad=0.02, unreadable=0.02, room=None, wide=None, number=0):
    """Make a command of any counts and ids; `room` are lines for counts and for ids, ample if it is None."""
    made, n = [], targets
    wide = int(rng.integers(2)) if wide is None else wide
    for hop in range(hops):
        if n == 0:
            none = np.zeros(0, np.int64)
            made.append(Hop(count=none, bad=none > 0, value=none.astype(np.uint64), unreadable=none > 0))
            continue
        is_bad = rng.random(n) < bad
        count = np.where(is_bad, 0, rng.choice(counts, n))
        m = int(count.sum())
        value = rng.integers(0, 1 << (63 if wide else 32), m).astype(np.uint64)
        odd = rng.random(m)
        value[odd < 0.2] %= np.uint64(1 << 30)
        if wide:
            value[(odd > 0.9) & (odd < 0.92)] = NO_NODE
            value[(odd > 0.92) & (odd < 0.94)] = NO_NODE - 1
            value[(odd > 0.94) & (odd < 0.96)] = NO_NODE + 1
            value[(odd > 0.96) & (odd < 0.98)] = NO_ID
            value[odd > 0.98] = 1 << 63
        else:
            value[odd > 0.95] = (1 << 32) - 1
        failed = rng.random(m) < unreadable
        value[failed] = rng.integers(0, 1 << 40, int(failed.sum()))
        made.append(Hop(count=count, bad=is_bad, value=value, unreadable=failed))
        n = min(m, config.frontier_entries) if hop + 1 < hops else 0
    most = sum(len(h.count) for h in made), sum(len(h.value) for h in made)
    lines = (-(-most[0] // 16), -(-most[1] // (8 if wide else 16))) if room is None else room
    address = int(rng.integers(1 << 57)) * 64
    if rng.random() < 0.1:
        address = (1 << 64) - 64 * sum(lines)
    return Command(
        cid=number & 0xFFFF, sq_head=int(rng.integers(1 << 16)), wide=wide, result_address=address % (1 << 64),
        ids_line=lines[0], result_lines=sum(lines), hops=made,
    )  # fmt: skip


def refused(rng, number=0):
    """Make a command that was refused."""
    # The fields that do not count are anything.
    return Command(
        status=int(rng.choice([SsdStatus.INVALID_OPCODE, SsdStatus.BAD_RESULT, SsdStatus.PRP_OFFSET])), cid=number,
        sq_head=int(rng.integers(1 << 16)), wide=int(rng.integers(2)), result_address=int(rng.integers(1 << 63)),
        ids_line=int(rng.integers(1 << 32)), result_lines=int(rng.integers(1 << 32)),
    )  # fmt: skip


class Part:
    """A part of a result in the order in which it is filled."""

    def __init__(self, line, lines, size, out) -> None:
        self.address, self.left, self.size, self.out, self.bytes = 64 * line, 64 * lines, size, out, b""

    def fits(self):
        """Return whether there is room for a value."""
        return self.left > len(self.bytes)

    def put(self, value):
        """Put a value in, if there is."""
        if self.fits():
            self.bytes += (value % (1 << 8 * self.size)).to_bytes(self.size, "little")
            if len(self.bytes) == 64:
                self.end()

    def end(self):
        """Write the line."""
        if self.bytes:
            size = len(self.bytes)
            self.out.append((self.address, int.from_bytes(self.bytes, "little"), (1 << size) - 1))
            self.address, self.left, self.bytes = self.address + 64, self.left - 64, b""


def pack(commands, frontier_entries, *, cq_address=CQ_ADDRESS, cq_entries=CQ_ENTRIES):
    """Return all writes: address, line and mask of each, as numbers; worked out value by value."""
    out = []
    for place, c in enumerate(commands):
        faults, target, taken = [] if c.status == 0 else [(c.status, 0)], 0, 0
        line = c.result_address // 64
        counts = Part(line, c.ids_line, 4, out)
        ids = Part(line + c.ids_line, c.result_lines - c.ids_line, 8 if c.wide else 4, out)
        for number, hop in enumerate(c.hops):
            values = list(zip(hop.value.tolist(), hop.unreadable.tolist(), strict=True))
            in_hop = 0
            for count, bad in zip(hop.count.tolist(), hop.bad.tolist(), strict=True):
                failed = bad
                if bad:
                    faults.append((SsdStatus.OUT_OF_RANGE, target))
                for value, unreadable in values[in_hop : in_hop + count]:
                    failed |= unreadable
                    if unreadable:
                        faults.append((SsdStatus.UNRECOVERED_READ, value))
                    if not ids.fits():
                        faults.append((SsdStatus.RESULT_TOO_SMALL, target))
                    if in_hop >= frontier_entries and number + 1 < len(c.hops):
                        faults.append((SsdStatus.FRONTIER_FULL, target))
                    ids.put(NO_ID if unreadable else value)
                    in_hop, taken = in_hop + 1, taken + 1
                if not counts.fits():
                    faults.append((SsdStatus.RESULT_TOO_SMALL, target))
                counts.put(count | (COUNT_FAILED if failed else 0))
                target += 1
        counts.end()
        ids.end()
        status, detail = faults[0] if faults else (0, taken)
        lap, slot = divmod(place, cq_entries)
        entry = {"detail": detail, "sq_head": c.sq_head, "cid": c.cid, "phase": 1 - lap % 2, "status": status}
        whole = int.from_bytes(COMPLETION.encode(1, entry)[0].tobytes(), "little")
        address = cq_address + 16 * slot
        low = address % 64
        out.append((address - low, whole << 8 * low, 0xFFFF << low))
    return out


@dataclass(frozen=True, kw_only=True)
class Script:
    """What goes in and what must come of it: payloads by stream, and rows for the model."""

    sources: dict
    rows: dict
    told: list
    nodes: list
    lines: list
    completed: int


def _nodes(hop):
    return [
        NO_NODE if bad else min(value, NO_NODE) for value, bad in zip(hop.value.tolist(), hop.unreadable, strict=True)
    ]


def script(commands, config, seed=0):
    """Work out what goes in and what must come of commands; ids come in an order made from the seed."""
    rng = np.random.default_rng(seed)
    descriptors, after, operations, told, nodes, values, failed = [], [], [], [], [], [], []
    for c in commands:
        for number, hop in enumerate(c.hops):
            last_hop = number + 1 == len(c.hops)
            shared = FLAG_LAST_HOP * last_hop
            last = FLAG_LAST_OF_HOP | FLAG_LAST_OF_COMMAND * last_hop
            n = len(hop.count)
            if n == 0:
                descriptors.append((0, shared | last | FLAG_NOTHING))
                after.append(len(operations))
                told.append((0, 0, 1, int(last_hop)))
                continue
            found = _nodes(hop)
            at = 0
            for i, (count, bad) in enumerate(zip(hop.count.tolist(), hop.bad.tolist(), strict=True)):
                if number:
                    nodes.append(_nodes(c.hops[number - 1])[i])
                    operations.append((READ, i))
                ends = i == n - 1
                descriptors.append((count, shared | FLAG_FAILED * bad | last * ends))
                after.append(len(operations))
                for k in range(at, at + count):
                    ends_now = ends and k == at + count - 1
                    if not last_hop or ends_now:
                        told.append(
                            (0 if last_hop else found[k], int(not last_hop), int(ends_now), int(ends_now and last_hop))
                        )
                at += count
                if ends and count == 0:
                    told.append((0, 0, 1, int(last_hop)))
            if number and not last_hop and at > 0:
                operations.append((RELEASE, 0))
            values.append(hop.value)
            failed.append(hop.unreadable)
        if c.hops:
            operations.append((RESET, 0))
    value = np.concatenate([np.zeros(0, np.uint64), *values])
    bad = np.concatenate([np.zeros(0, bool), *failed])
    # Ids come out of order, but none so late that an earlier one's slot is not free.
    window = config.window_samples
    number = np.argsort(np.arange(len(value)) + rng.integers(0, window // 2, len(value)), kind="stable")
    lap = number // window
    count, flags = (
        (np.array(column, np.int64) for column in zip(*descriptors, strict=True)) if descriptors else ([], [])
    )
    names = ("failed", "last_of_hop", "last_of_command", "last_hop", "nothing")
    kinds, index = np.array(operations, np.int64).reshape(-1, 2).T
    names_of_context = ("result_address", "result_lines", "ids_line", "cid", "sq_head", "status", "wide")
    contexts = {name: np.array([getattr(c, name) for c in commands], np.uint64) for name in names_of_context}
    lines = pack(commands, config.frontier_entries)
    return Script(
        sources={
            "contexts": CONTEXT.encode(len(commands), contexts),
            "descriptors": TARGET.encode(
                len(after),
                {"count": count, **{name: flags >> bit & 1 for bit, name in enumerate(names)}, "after": after},
            ),
            "ids": FOUND_ID.encode(
                len(value), {"number": number, "value": value[number], "failed": bad[number], "phase": 1 - lap % 2}
            ),
            "operations": OPERATION.encode(len(kinds), {"kind": kinds, "index": index}),
        },
        rows={
            "contexts": np.array([
                (c.status != 0, c.wide, c.ids_line, (c.result_lines - c.ids_line) % (1 << 32)) for c in commands
            ], np.int64),
            "descriptors": np.stack([count, flags, np.array(after)], axis=1).astype(np.int64).reshape(-1, 3),
            "ids": number.astype(np.int64).reshape(-1, 1),
            "operations": np.array(operations, np.int64).reshape(-1, 2),
        },
        told=told, nodes=nodes, lines=lines, completed=len(commands),
    )  # fmt: skip


MOST_CYCLES = 400_000


@njit
def _play(state, collect, rings, sources, lines, line_stalls, line_cycles, pulse_cycles, counts):
    contexts, descriptors, ids, operations = rings
    context_source, descriptor_source, id_source, operation_source = sources
    wires, pulses, written = np.zeros(2, np.int64), np.zeros(2, np.int64), np.zeros(1, np.int64)
    window = len(collect.phase)
    now, done, left, awake, shut, untrue = 0, 0, 1, True, False, 0
    while left > 0 and now < MOST_CYCLES:
        n = operation_source.at[0]
        offer(context_source, contexts, now)
        # A descriptor is handed on when its operations were done, an id when its slot is free.
        at = descriptor_source.at[0]
        if at < len(descriptor_source.rows):
            descriptors.at[OPEN] = descriptor_source.rows[at, 2] <= done
        offer(descriptor_source, descriptors, now)
        at = id_source.at[0]
        if at < len(id_source.rows):
            ids.at[OPEN] = id_source.rows[at, 0] < counts[0] + window
        offer(id_source, ids, now)
        writes = ids.at[PUSHED] != 0
        if n < len(operation_source.rows):
            operations.at[OPEN] = operation_source.rows[n, 0] != 0 or operation_source.rows[n, 1] < written[0]
        offer(operation_source, operations, now)
        if operations.at[PUSHED]:
            kind = operation_source.rows[n, 0]
            if kind == 0:
                pulse_cycles[3, counts[3]] = now + 1
                counts[3] += 1
            else:
                pulses[PULSE_RELEASE if kind == 1 else PULSE_RESET] = 1
            done += 1
        if writes:
            slot = id_source.rows[id_source.at[0] - 1, 0] % window
            collect.phase[slot] ^= 1
            collect.written_at[slot] = now
        was_shut = shut
        shut = open_sink(lines, line_stalls, now)
        awake |= shut != was_shut
        before = state.at.copy()
        moved = step_packer(state, contexts, descriptors, collect, lines, wires, now)
        if not awake and (moved or (before != state.at).any()):
            untrue += 1
        awake = moved or writes
        if wires[WIRE_RETIRED]:
            pulse_cycles[0, counts[0]] = now
            counts[0] += 1
        if wires[WIRE_COMPLETED]:
            pulse_cycles[1, counts[1]] = now
            counts[1] += 1
        frontier = state.frontier
        if frontier[0] or frontier[1] or frontier[2]:
            if counts[2] < pulse_cycles.shape[1]:
                pulse_cycles[2, counts[2]] = now
            counts[2] += 1
        commit_frontier(state, pulses, written)
        awake |= commit(contexts)
        awake |= commit(descriptors)
        commit(ids)
        commit(operations)
        awake |= commit_sink(lines, line_cycles, now)
        now += 1
        left = len(line_cycles) - 1 - lines.at[LEVEL] + len(operation_source.rows) - operation_source.at[0]
    return untrue


def patterns(stalls, seed, slow=None):
    """Return the stall pattern of every stream; those of `slow` are given."""
    return {name: stall_pattern(stalls, seed=seed + i) for i, name in enumerate((*INPUTS, "lines"))} | (slow or {})


def model(s, config, stalls="none", seed=0, *, slow=None):
    """Return the cycle of every handover, by stream."""
    pattern = patterns(stalls, seed, slow)
    depths = {"contexts": config.commands_in_flight, "descriptors": config.targets_in_flight}
    fields = {"contexts": 4, "descriptors": 3, "ids": 1, "operations": 2}
    rings = tuple(make_ring(depths.get(name, len(s.rows[name]) + 1), fields[name]) for name in INPUTS)
    sources = tuple(make_source(s.rows[name].reshape(-1, fields[name]), pattern[name]) for name in INPUTS)
    lines, line_cycles = make_ring(len(s.lines) + 1, 1), np.full(len(s.lines) + 1, -1, np.int64)
    size = {"retired": len(s.rows["ids"]), "completed": s.completed, "told": len(s.told), "nodes": len(s.nodes)}
    pulse_cycles, counts = np.full((4, max(size.values()) + 1), -1, np.int64), np.zeros(4, np.int64)
    untrue = _play(
        make_packer(config), make_collect(config), rings, sources, lines, pattern["lines"], line_cycles, pulse_cycles,
        counts,
    )  # fmt: skip
    assert untrue == 0
    cycles = {name: source.taken for name, source in zip(INPUTS, sources, strict=True)}
    cycles |= {name: pulse_cycles[i, :n] for i, (name, n) in enumerate(size.items())}
    assert counts.tolist() == list(size.values())
    return cycles | {"lines": line_cycles[:-1]}


def _number(rows):
    return [int.from_bytes(row.tobytes(), "little") for row in rows]


def compare(commands, config, stalls="none", seed=0, *, design=None, backend="trace", ready_after_valid=False,
            quiet=2_000, slow=None):  # fmt: skip
    """Run commands on the RTL; return the first difference from what must come of them and from the model, or None."""
    s = script(commands, config, seed)
    cycles, pattern = model(s, config, stalls, seed, slow=slow), patterns(stalls, seed, slow)
    bench = Bench(
        sources={name: Source(payloads=s.sources[name], stalled=pattern[name]) for name in INPUTS},
        sinks={
            "lines": Sink(count=len(s.lines), stalled=pattern["lines"], ready_after_valid=ready_after_valid),
            **{name: Sink(count=len(cycles[name])) for name in ("told", "retired", "completed", "nodes")},
        },
        max_quiet_cycles=quiet,
    )
    result = run(Design(PackerBench, config) if design is None else design, bench, backend=backend)
    lines = [(n % (1 << 64), n >> 64 & ((1 << 512) - 1), n >> 576) for n in _number(result.payloads["lines"])]
    told = TOLD.decode(result.payloads["told"])
    seen = list(zip(*(told[name].tolist() for name in ("node", "valid", "end_of_hop", "reset")), strict=True))
    checks = [("lines", s.lines, lines), ("told", s.told, seen), ("nodes", s.nodes, _number(result.payloads["nodes"]))]
    checks += [(f"cycle of {name}", at.tolist(), result.accepted[name].tolist()) for name, at in cycles.items()]
    for what, said, got in checks:
        for place, (a, b) in enumerate(zip(said, got, strict=True)):
            if a != b:
                return f"{what} {place}: the model says {a}, the RTL {b}"
    return None
