"""The program of a DIMM, taken apart with `struct` and compared with the shards it was made from."""

import struct

import numpy as np
import pytest

from sim.config import load_config
from sim.program.address import chunk_lines, vector_lines
from sim.program.commands import ReduceOpcode
from sim.program.dimm import reduce_program, run_program, store_program
from sim.program.geometry import Geometry
from sim.program.partition import home_dimm
from sim.program.vectors import vector_image, vector_numbers
from testbenches.sim.program.strategies import sharded

TINY = load_config("tiny").replace(**{"nme.interval": 4, "partition.block_vertices": 2})
FP32 = TINY.replace(**{"nme.element": "fp32"})
EDGES = [(0, 1), (5, 1), (0, 2), (5, 8), (5, 8), (7, 7), (11, 9), (3, 4), (9, 0), (0, 9), (0, 5), (1, 6), (12, 3)]
N_NODES = 14


def example(config):
    shards, triples = sharded(EDGES, N_NODES, config.dram, config.partition, config.nme.interval)
    dtype = np.dtype(f"<u{config.nme.element_bytes}")
    values = np.arange(N_NODES * 9, dtype=dtype).reshape(N_NODES, 9) + dtype.type(100)
    weights = np.arange(len(triples), dtype=dtype) + dtype.type(50000)
    return shards, values, weights


def read_bytes(image, chunk, count, geometry):
    chunks = np.arange(chunk, chunk + -(-count // geometry.chunk_bytes))
    return image.read(chunk_lines(chunks, geometry)).tobytes()[:count]


@pytest.mark.parametrize("config", [TINY, FP32], ids=["bf16", "fp32"])
@pytest.mark.parametrize("first_chunk", [0, 77])
def test_lists_and_vectors(config, first_chunk):
    shards, values, weights = example(config)
    geometry = Geometry.of(config)
    seen = 0
    for dimm in range(config.dram.dimms):
        numbers = vector_numbers(shards, dimm, config)
        program = reduce_program(
            shards, dimm, values, config, weights=weights, kind=3, first_chunk=first_chunk, tag=900 + dimm
        )
        order = shards.of_dimm(dimm).tolist()
        assert len(program.updates) == 0
        assert [struct.unpack("<BBHHxxII", record.tobytes()) for record in program.commands] == [
            (1, 0, 0, 900 + dimm, len(order), first_chunk)
        ]
        records = read_bytes(program.image, first_chunk, 32 * len(order), geometry)
        for tag, shard in enumerate(order):
            fields = struct.unpack("<BBHHHIIIIIxxxx", records[32 * tag : 32 * tag + 32])
            s, e = slice(*shards.source_start[shard : shard + 2]), slice(*shards.edge_start[shard : shard + 2])
            destinations = min(4, N_NODES - 4 * int(shards.interval_index[shard]))
            n_sources, n_edges = s.stop - s.start, e.stop - e.start
            head = (2, 3, 2, destinations, tag, n_sources, n_edges)
            assert fields[:7] == head
            assert fields[9] == shards.slot[shard]
            sources = struct.unpack(f"<{n_sources}I", read_bytes(program.image, fields[7], 4 * n_sources, geometry))
            assert list(sources) == numbers[shards.sources[s]].tolist()
            edges = read_bytes(program.image, fields[8], 8 * n_edges, geometry)
            assert [struct.unpack("<HHI", edges[8 * i : 8 * i + 8]) for i in range(n_edges)] == [
                (int(shards.edge_destination[i]), int(shards.edge_last[i]), int(weights[i]))
                for i in range(e.start, e.stop)
            ]
            seen += n_edges
        for vertex in np.flatnonzero(numbers >= 0).tolist():
            line = program.image.read(vector_lines(numbers[[vertex]], 3, 2, 0, geometry)).tobytes()
            data = values[vertex].tobytes()
            assert line == data.ljust(len(line), b"\0")
    assert seen == len(EDGES)


@pytest.mark.parametrize("config", [TINY, FP32], ids=["bf16", "fp32"])
def test_store(config):
    shards, values, _ = example(config)
    numbers = vector_numbers(shards, 1, config)
    program = store_program(values, numbers, 5, config, tag=7)
    held = sorted(np.flatnonzero(numbers >= 0).tolist(), key=lambda vertex: numbers[vertex])
    assert len(held) > np.count_nonzero(home_dimm(np.arange(N_NODES), config.dram, config.partition) == 1)
    assert [struct.unpack("<BBHHxxII", record.tobytes()) for record in program.commands] == [(2, 5, 2, 7, len(held), 0)]
    beats = [
        struct.pack("<I", numbers[vertex]) + np.pad(values[vertex], (0, 7))[8 * beat : 8 * beat + 8].tobytes()
        for vertex in held
        for beat in (0, 1)
    ]
    assert [record.tobytes() for record in program.updates] == beats
    assert len(program.image.addresses) == 0


def test_nothing_to_do():
    _, values, weights = example(TINY)
    nowhere = np.full(N_NODES, -1)
    assert len(store_program(values, nowhere, 0, TINY).commands) == 0
    assert len(vector_image(values, nowhere, 0, TINY).addresses) == 0
    empty, _ = sharded([], N_NODES, TINY.dram, TINY.partition, 4)
    program = reduce_program(empty, 0, values, TINY, weights=weights[:0])
    assert len(program.commands) == len(program.updates) == 0
    assert len(program.image.addresses)


def test_weights_are_not_needed_by_all():
    shards, values, weights = example(TINY)
    with pytest.raises(ValueError, match="MULTIPLY_ADD needs weights"):
        reduce_program(shards, 0, values, TINY)
    program = reduce_program(shards, 0, values, TINY, opcode=ReduceOpcode.ADD)
    geometry = Geometry.of(TINY)
    record = read_bytes(program.image, 0, 32, geometry)
    edges_at = struct.unpack("<BBHHHIIIIIxxxx", record)[8]
    assert record[0] == 1
    assert read_bytes(program.image, edges_at, 8, geometry)[4:] == bytes(4)
    with pytest.raises(ValueError, match=r"weights must be bits of bf16 \(uint16\), not float32"):
        reduce_program(shards, 0, values, TINY, weights=weights.astype(np.float32))


def test_what_does_not_fit():
    shards, values, weights = example(TINY)
    numbers = np.arange(N_NODES)
    with pytest.raises(ValueError, match=r"vectors must be bits of bf16 \(uint16\), not uint32"):
        store_program(values.astype(np.uint32), numbers, 0, TINY)
    with pytest.raises(ValueError, match="vectors without elements cannot be stored"):
        store_program(values[:, :0], numbers, 0, TINY)
    wide = np.zeros((N_NODES, 8 * 8 * 129), np.uint16)
    for make in (store_program, vector_image):
        with pytest.raises(
            ValueError, match="vectors of 1032 beats of 16 bytes need 129 bursts of a row, which has 128"
        ):
            make(wide, numbers, 0, TINY)
    with pytest.raises(ValueError, match="vectors of 1032 beats of 16 bytes need 129 bursts of a row, which has 128"):
        run_program(shards, 0, 1032, numbers, TINY, weights=weights)
    with pytest.raises(ValueError, match="vertex 0 is read by DIMM 0, but has no number there"):
        reduce_program(shards, 0, values, TINY, weights=weights, numbers=np.full(N_NODES, -1))
    last = Geometry.of(TINY).chunks - 1
    with pytest.raises(ValueError, match=f"chunk {last + 1}: a DIMM holds"):
        reduce_program(shards, 0, values, TINY, weights=weights, first_chunk=last)


def test_one_after_the_other():
    shards, values, weights = example(TINY)
    numbers = vector_numbers(shards, 0, TINY)
    store, run = store_program(values, numbers, 0, TINY), run_program(shards, 0, 2, numbers, TINY, weights=weights)
    both = store.then(run)
    assert both.commands.tobytes() == store.commands.tobytes() + run.commands.tobytes()
    assert both.updates.tobytes() == store.updates.tobytes()
    assert np.array_equal(both.image.addresses, run.image.addresses)
    # Three shards: a chunk of descriptors, and one of sources and one of edges for each.
    assert len(shards.of_dimm(0)) == 3
    assert (store.next_chunk, run.next_chunk, both.next_chunk) == (0, 7, 7)
    further = run_program(shards, 0, 2, numbers, TINY, weights=weights, kind=1, first_chunk=both.next_chunk)
    three = both.then(further)
    assert three.next_chunk == 14
    assert not set(further.image.addresses.tolist()) & set(both.image.addresses.tolist())
    assert np.array_equal(three.image.addresses, np.union1d(further.image.addresses, both.image.addresses))
