"""A memory's port with several users, and the memory, on the RTL and on the model."""

import numpy as np
from amaranth.hdl import Module, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from hdl.layout import struct_layout
from hdl.ssd.read_share import ReadShare
from sim.jit import njit
from sim.timing.ssd.read_memory import make_memory, next_memory, step_memory
from sim.timing.ssd.read_share import make_share, step_share
from sim.timing.ssd.ring import HEAD, LEVEL, NEXT, OFFERED, POPPED, PUSHED, commit, make_ring, open_sink
from sim.timing.ssd.rings import commit_all, make_rings
from sim.timing.stalls import stall_pattern
from testbenches.bench import Bench, Sink, Source, run
from testbenches.build import Design
from testbenches.models.read_memory import ReadMemory, read_image

UNIT_BYTES = 16
UNITS = 256


class ShareBench(wiring.Component):
    """The port with a memory that is loaded first.

    Parameters
    ----------
    users, depth : int
        As of `ReadShare`.
    latency : int
        Of the memory.
    unit : wiring.Component, optional
        In place of `ReadShare`, such as one with a planted bug.

    Attributes
    ----------
    load : In(stream of `read_image`)
        What the memory holds: `UNITS` of them are awaited before the first request.
    request_<i> : In(stream), response_<i> : Out(stream)
        The users.
    request : Out(stream)
        Watches the requests, and holds them back.
    """

    def __init__(self, users, depth, latency, unit=None) -> None:
        self._users = range(users)
        self._unit = ReadShare(users=users, address_bits=40, data_bits=128, depth=depth) if unit is None else unit
        self._memory = ReadMemory(address_bits=40, unit_bytes=UNIT_BYTES, units=UNITS, latency=latency)
        members = self._unit.signature.members
        super().__init__(
            {
                **{name: member for name, member in members.items() if name != "response"},
                "request": Out(stream.Signature(40)),
                "load": In(stream.Signature(struct_layout(read_image(UNIT_BYTES)))),
            }
        )

    def elaborate(self, _platform: object) -> Module:
        """Connect them."""
        m = Module()
        m.submodules.unit, m.submodules.memory = unit, memory = self._unit, self._memory
        wiring.connect(m, wiring.flipped(self.load), memory.load)
        loaded, whole = Signal(range(UNITS + 1)), Signal()
        m.d.sync += loaded.eq(loaded + self.load.valid)
        m.d.comb += [
            whole.eq(loaded == UNITS),
            self.request.valid.eq(unit.request.valid),
            self.request.payload.eq(unit.request.payload),
            memory.request.valid.eq(unit.request.valid & self.request.ready),
            memory.request.payload.eq(unit.request.payload),
            unit.request.ready.eq(self.request.ready),
        ]
        wiring.connect(m, memory.response, unit.response)
        for i in self._users:
            wiring.connect(m, getattr(unit, f"response_{i}"), wiring.flipped(getattr(self, f"response_{i}")))
            asks, asked = getattr(self, f"request_{i}"), getattr(unit, f"request_{i}")
            m.d.comb += [
                asked.valid.eq(asks.valid & whole),
                asked.payload.eq(asks.payload),
                asks.ready.eq(asked.ready & whole),
            ]
        return m


@njit
def _play(share, memory, rows, offset, stalled, at, taken, asks, answers, request, response, watch, watched, order,
          given, most, skips):  # fmt: skip
    """Run the model until all answers are given; return the cycles that were stepped, or -1."""
    users, stepped, asked, answered, now = len(offset) - 1, 0, 0, 0, 0
    while now < most:
        stepped += 1
        again = False
        for i in range(users):
            # As `offer` does, with the sources in one table.
            place = offset[i] + at[i, NEXT]
            if place == offset[i + 1]:
                continue
            if now < UNITS or (at[i, OFFERED] == 0 and stalled[i, now % stalled.shape[1]]):
                again = True
            if at[i, OFFERED] == 0 and stalled[i, now % stalled.shape[1]]:
                continue
            at[i, OFFERED] = 1
            if now >= UNITS and asks.at[i, LEVEL] < 2:
                asks.data[i, (asks.at[i, HEAD] + asks.at[i, LEVEL]) % 2, 0] = rows[place]
                asks.at[i, PUSHED] = 1
                taken[place] = now
                at[i, NEXT] += 1
                at[i, OFFERED] = 0
        again |= open_sink(request, watch, now)
        again |= step_share(share, asks, request, response, answers)
        again |= step_memory(memory, request, response, now)
        if request.at[PUSHED]:
            watched[asked] = now
            place = request.at[HEAD] + request.at[LEVEL]
            order[asked] = request.data[place % 2, 0]
            asked += 1
        for i in range(users):
            if answers.at[i, PUSHED]:
                # The bench's sink sees the answer in the cycle in which it is pushed.
                given[answered, 0] = now
                given[answered, 1] = i
                answered += 1
            answers.at[i, POPPED] = answers.at[i, LEVEL] > 0
        again |= commit_all(asks)
        again |= commit_all(answers)
        again |= commit(request)
        again |= commit(response)
        if answered == len(rows):
            return stepped
        now = now + 1 if again or not skips else max(now + 1, next_memory(memory))
    return -1


def model(requests, depth, latency, stalls="none", seed=0, *, skips=True):
    """Return cycles of all handovers by name, all requests in order, and the cycles that were stepped."""
    users = len(requests)
    pattern = patterns(stalls, seed, users)
    rows = np.concatenate(requests).astype(np.int64)
    offset = np.concatenate([[0], np.cumsum([len(r) for r in requests])])
    length = max(len(p) for p in pattern.values())
    stalled = np.stack([np.resize(pattern[f"request_{i}"], length) for i in range(users)])
    taken, watched, order = (np.full(len(rows), -1, np.int64) for _ in range(3))
    given = np.zeros((len(rows), 2), np.int64)
    asks, answers = make_rings(users, 2, 1), make_rings(users, 2, 1)
    stepped = _play(
        make_share(users, depth), make_memory(latency), rows, offset, stalled, np.zeros((users, 2), np.int64), taken,
        asks, answers, make_ring(2, 1), make_ring(2, 1), pattern["request"], watched, order, given, 1_000_000, skips,
    )  # fmt: skip
    assert stepped >= 0, "the model hangs"
    cycles = {f"request_{i}": taken[offset[i] : offset[i + 1]] for i in range(users)}
    cycles |= {f"response_{i}": given[given[:, 1] == i, 0] for i in range(users)}
    return cycles | {"request": watched}, order, stepped


def patterns(stalls, seed, users):
    """Return the stall pattern of each stream that may stall."""
    names = ("request", *(f"request_{i}" for i in range(users)))
    return {name: stall_pattern(stalls, seed=10 * seed + i) for i, name in enumerate(names)}


def _bytes(numbers, size):
    return np.ascontiguousarray(np.asarray(numbers, "<u8").reshape(-1, 1).view(np.uint8)[:, :size])


def compare(requests, depth, latency, stalls="none", seed=0, *, design=None, backend="trace", quiet=2_000):
    """Ask for units of the memory; return the first difference of the RTL from memory and model, or None."""
    users = len(requests)
    cycles, order, _ = model(requests, depth, latency, stalls, seed)
    pattern = patterns(stalls, seed, users)
    units = np.random.default_rng(seed).integers(0, 256, (UNITS, UNIT_BYTES), np.uint8)
    image = read_image(UNIT_BYTES).encode(UNITS, {"address": np.arange(UNITS), "data": units})
    bench = Bench(
        sources={"load": Source(payloads=image)}
        | {
            f"request_{i}": Source(payloads=_bytes(requests[i], 5), stalled=pattern[f"request_{i}"])
            for i in range(users)
        },
        sinks={"request": Sink(count=len(order), stalled=pattern["request"])}
        | {f"response_{i}": Sink(count=len(requests[i])) for i in range(users)},
        max_quiet_cycles=quiet,
    )
    result = run(Design(ShareBench, users, depth, latency) if design is None else design, bench, backend=backend)
    checks = [("request", _bytes(order, 5), result.payloads["request"])]
    checks += [(f"response_{i}", units[requests[i]], result.payloads[f"response_{i}"]) for i in range(users)]
    checks += [(f"cycle of {name}", said, result.accepted[name]) for name, said in cycles.items()]
    for what, said, seen in checks:
        if len(said) != len(seen) or (said != seen).any():
            place = int(np.argwhere(said != seen)[0][0]) if len(said) == len(seen) else -1
            return f"{what} {place}: expected {said[place]}, the RTL has {seen[place]}"
    return None
