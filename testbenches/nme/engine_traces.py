"""Random programs for a whole Near-Memory Engine: good and bad commands, descriptors and edges mixed."""

import numpy as np
from numpy.typing import NDArray

from sim.config import SystemConfig
from sim.program.address import vector_lines
from sim.program.commands import EDGE_RECORD, ReduceOpcode
from sim.program.dimm import DimmProgram
from sim.program.engine_commands import (
    ENGINE_COMMAND,
    SHARD_DESCRIPTOR,
    SOURCE_RECORD,
    EngineOpcode,
    update_beat,
)
from sim.program.geometry import LIST_KIND, Geometry
from sim.program.image import DimmImage
from sim.program.layout import Layout
from sim.program.lists import pack_lists
from testbenches.nme.traces import random_bits

KINDS_USED = 3
"""Kinds of vector that a random program works with."""


def random_program(
    config: SystemConfig,
    seed: int,
    *,
    commands: int = 8,
    max_edges: int = 40,
    bad: float = 0.1,
    special: float = 0.05,
    max_slices: int = 3,
    vectors: int = 24,
) -> DimmProgram:
    """Make a random program for one DIMM, with the memory that it works on.

    Parameters
    ----------
    config : SystemConfig
        The hardware.
    seed : int
        Any number; the same seed gives the same program.
    commands : int
        Commands, about a third of them STORE.
    max_edges : int
        Edges of a shard, at most; one shard in ten has five times as many.
    bad : float
        Share of commands and of descriptors that are refused, of shards with source numbers beyond the memory or with
        wrong marks, of edges that point outside, and of stored vectors with numbers beyond the memory.
    special : float
        Share of special values among elements and weights.
    max_slices : int
        Slices of the widest vectors, as far as a row allows.
    vectors : int
        Vectors of each kind that are in the memory from the start.

    Returns
    -------
    DimmProgram
        The program. Good source numbers name vectors that are in the memory, or were stored before. Reserved bits,
        fields that a command does not use, and lines behind a slice's beats hold noise.
    """
    return _Generator(config, seed, max_edges, bad, special, max_slices).program(commands, vectors)


class _Generator:
    def __init__(
        self, config: SystemConfig, seed: int, max_edges: int, bad: float, special: float, max_slices: int
    ) -> None:
        self.config, self.geometry = config, Geometry.of(config)
        self.rng = np.random.default_rng(seed)
        self.max_edges, self.bad, self.special = max_edges, bad, special
        self.update = update_beat(config.nme.lanes, 8 * config.nme.element_bytes)
        self.image = DimmImage.empty(self.geometry.line_bytes)
        rng = self.rng
        self.kinds = sorted(rng.choice(LIST_KIND, KINDS_USED, replace=False).tolist())
        widest = max_slices * self.geometry.slice_beats
        widths = [beats for beats in range(1, widest + 1) if self.geometry.fits(beats)]
        # One narrow kind, one of any width, one of several slices where a row allows it.
        shares = (widths[: self.geometry.slice_beats], widths, widths[self.geometry.slice_beats :] or widths)
        self.beats = {kind: int(rng.choice(some)) for kind, some in zip(self.kinds, shares, strict=True)}
        self.known: dict[int, list[int]] = {kind: [] for kind in self.kinds}
        # Lists grow upwards from some chunk, and downwards from the end of the memory.
        self.low = int(rng.integers(0, self.geometry.chunks // 2)) if self.chance(0.5) else 0
        self.high = self.geometry.chunks

    def chance(self, share: float) -> bool:
        return bool(self.rng.random() < share)

    def pick(self, some: list) -> int:
        return some[int(self.rng.integers(len(some)))]

    def program(self, commands: int, vectors: int) -> DimmProgram:
        for kind in self.kinds:
            self.known[kind] = np.unique(self.numbers(kind, vectors)).tolist()
            self.fill(kind, np.array(self.known[kind]))
        records, updates = [], [self.update.encode(0, {})]
        for index in range(commands):
            store = self.chance(1 / 3) and index > 0
            record, beats = self.store() if store else (self.run(), None)
            records.append(record)
            if beats is not None:
                updates.append(beats)
        return DimmProgram(
            commands=np.concatenate([ENGINE_COMMAND.encode(0, {}), *records]),
            updates=np.concatenate(updates),
            image=self.image,
            next_chunk=self.low,
        )

    def numbers(self, kind: int, count: int) -> NDArray[np.int64]:
        """Draw numbers of places: close together, far apart, and the last of the memory."""
        room = self.geometry.vectors(self.beats[kind])
        near = int(self.rng.integers(0, room)) + self.rng.integers(0, 2 * count, count)
        return np.where(self.rng.random(count) < 0.1, room - 1, np.where(
            self.rng.random(count) < 0.5, self.rng.integers(0, room, count), near % room
        ))  # fmt: skip

    def fill(self, kind: int, numbers: NDArray[np.int64]) -> None:
        """Put vectors in the memory, with noise behind each slice's beats."""
        geometry, beats = self.geometry, self.beats[kind]
        for index in range(geometry.slices(beats)):
            addresses = vector_lines(numbers, kind, beats, index, geometry)
            shape = (*addresses.shape, geometry.line_bytes // self.config.nme.element_bytes)
            self.image = self.image.write(addresses, self.elements(shape).view(np.uint8))

    def elements(self, shape: tuple[int, ...]) -> NDArray[np.unsignedinteger]:
        return random_bits(self.rng, shape, self.config.nme.element, self.special)

    def with_noise(self, layout: Layout, records: NDArray[np.uint8]) -> NDArray[np.uint8]:
        """Set reserved bits at random."""
        noise = self.rng.integers(0, 256, records.shape).astype(np.uint8)
        for field, offset in layout.placed():
            if field.name:
                bits = np.unpackbits(noise, axis=1, bitorder="little")
                bits[:, offset : offset + field.total_bits] = 0
                noise = np.packbits(bits, axis=1, bitorder="little")
        return records | noise

    def place(self, records: NDArray[np.uint8]) -> int:
        """Put a list in the memory, low or at its end, and return where."""
        chunks = -(-len(records) // self.geometry.records(records.shape[1]))
        upper = self.chance(0.2)
        if upper:
            self.high -= chunks
        packed = pack_lists(records, np.array([len(records)]), self.high if upper else self.low, self.geometry)
        if not upper:
            self.low = packed.next_chunk
        assert self.low <= self.high, "the memory is too small for the lists"
        self.image = self.image.merge(packed.image)
        return int(packed.addresses[0])

    def beyond(self, length: int, record_bytes: int) -> int:
        """Draw an address from which a list goes on beyond the end of the memory."""
        chunks = -(-length // self.geometry.records(record_bytes))
        return int(self.pick([self.geometry.chunks - chunks + 1, self.geometry.chunks, 2**32 - 1]))

    def command(self, fields: dict[str, int]) -> NDArray[np.uint8]:
        unused = {"kind": self.rng.integers(0, 256), "beats": self.rng.integers(0, 65536)}
        values = {**unused, "tag": int(self.rng.integers(0, 65536)), "address": self.rng.integers(0, 2**32), **fields}
        return self.with_noise(ENGINE_COMMAND, ENGINE_COMMAND.encode(1, values))

    def spoil(self, fields: dict[str, int], wrong: dict[str, list[int]]) -> None:
        """Make one or two fields bad."""
        for name in self.rng.choice(sorted(wrong), int(self.rng.integers(1, 3))).tolist():
            fields[name] = int(self.pick(wrong[name]))

    def wide(self) -> list[int]:
        """List numbers of beats that no row holds."""
        too_many = next((beats for beats in range(1, 2**16) if not self.geometry.fits(beats)), 0)
        return [0, too_many, 65535]

    def run(self) -> NDArray[np.uint8]:
        count = int(self.rng.integers(20, 40)) if self.chance(0.1) else int(self.rng.integers(1, 6))
        fields = {"opcode": int(EngineOpcode.RUN), "count": count}
        if self.chance(self.bad):
            fields["address"] = int(self.rng.integers(0, self.low + 1))
            self.spoil(fields, {
                "opcode": [0, 3, 255], "count": [0], "address": [self.beyond(count, SHARD_DESCRIPTOR.bytes)],
            })  # fmt: skip
        else:
            edges = 8 if count > 8 else None
            fields["address"] = self.place(np.concatenate([self.descriptor(edges) for _ in range(count)]))
        return self.command(fields)

    def descriptor(self, max_edges: int | None) -> NDArray[np.uint8]:
        rng, interval, kind = self.rng, self.config.nme.interval, self.pick(self.kinds)
        if max_edges is None:
            max_edges = 5 * self.max_edges if self.chance(0.1) else self.max_edges
        n_edges = 1 if self.chance(0.1) else int(rng.integers(1, max_edges + 1))
        n_sources = 1 if self.chance(0.1) else int(rng.integers(1, n_edges + 1))
        fields = {
            "opcode": int(self.pick(list(ReduceOpcode))), "kind": kind, "beats": self.beats[kind],
            "destinations": interval if self.chance(0.3) else int(rng.integers(1, interval + 1)),
            "tag": int(rng.integers(0, 65536)), "sources": n_sources, "edges": n_edges,
            "slot": int(rng.integers(0, 2**32)),
        }  # fmt: skip
        if self.chance(self.bad):
            fields["sources_address"], fields["edges_address"] = self.low, self.low
            self.spoil(fields, {
                "opcode": [0, 5, 255], "beats": self.wide(), "destinations": [0, interval + 1, 65535],
                "sources": [0], "edges": [0], "kind": [LIST_KIND, LIST_KIND + 1, 255],
                "sources_address": [self.beyond(n_sources, SOURCE_RECORD.bytes)],
                "edges_address": [self.beyond(n_edges, EDGE_RECORD.bytes)],
            })  # fmt: skip
        else:
            fields["sources_address"] = self.place(self.sources(kind, n_sources))
            fields["edges_address"] = self.place(self.edges(n_edges, n_sources, fields["destinations"]))
        return self.with_noise(SHARD_DESCRIPTOR, SHARD_DESCRIPTOR.encode(1, fields))

    def sources(self, kind: int, count: int) -> NDArray[np.uint8]:
        number = self.rng.choice(self.known[kind], count)
        if self.chance(self.bad):
            self.mix_in_beyond(number, kind)
        return SOURCE_RECORD.encode(count, {"number": number})

    def mix_in_beyond(self, number: NDArray[np.int64], kind: int) -> None:
        outside = self.rng.random(len(number)) < 0.3
        outside[int(self.rng.integers(len(number)))] = True
        room = self.geometry.vectors(self.beats[kind])
        number[outside] = self.rng.choice([room, room + 1, 2 * room, 2**31, 2**32 - 1], int(outside.sum()))

    def edges(self, count: int, sources: int, destinations: int) -> NDArray[np.uint8]:
        rng = self.rng
        last = np.zeros(count, bool)
        last[rng.choice(count - 1, sources - 1, replace=False)] = True
        last[-1] = True
        # A hub gets all edges; else the same slot comes again and again, or slots are drawn from all.
        spread = 1 if self.chance(0.1) else int(rng.integers(1, destinations + 1))
        slot = rng.integers(0, spread, count) + rng.integers(0, destinations - spread + 1)
        if self.chance(self.bad):
            outside = rng.random(count) < 0.2
            slot[outside] = rng.choice([destinations, self.config.nme.interval, 65535], int(outside.sum()))
        if self.chance(self.bad):
            last ^= rng.random(count) < 0.2
        weight = self.elements((count,)).astype(np.uint32)
        if self.config.nme.element == "bf16":
            weight |= rng.integers(0, 2**16, count).astype(np.uint32) << 16
        records = EDGE_RECORD.encode(count, {"destination": slot, "last_of_source": last, "weight": weight})
        return self.with_noise(EDGE_RECORD, records)

    def store(self) -> tuple[NDArray[np.uint8], NDArray[np.uint8] | None]:
        kind, count = self.pick(self.kinds), int(self.rng.integers(1, 12))
        beats = self.beats[kind]
        fields = {"opcode": int(EngineOpcode.STORE), "kind": kind, "beats": beats, "count": count}
        if self.chance(self.bad):
            self.spoil(fields, {
                "opcode": [0, 3, 255], "count": [0], "beats": self.wide(), "kind": [LIST_KIND, LIST_KIND + 1, 255],
            })  # fmt: skip
            return self.command(fields), None
        # Some that are known already, some twice.
        number = np.where(
            self.rng.random(count) < 0.5, self.rng.choice(self.known[kind], count), self.numbers(kind, count)
        )
        good = number.copy()
        if self.chance(2 * self.bad):
            self.mix_in_beyond(number, kind)
        stored = good[number == good].tolist()
        self.known[kind] = sorted({*self.known[kind], *stored})
        # The number of a vector is that of its first beat.
        numbers = np.repeat(number, beats)
        later = np.arange(len(numbers)) % beats > 0
        numbers[later & (self.rng.random(len(numbers)) < 0.1)] = int(self.rng.integers(0, 2**32))
        data = self.elements((count * beats, self.config.nme.lanes))
        return self.command(fields), self.update.encode(count * beats, {"number": numbers, "data": data})
