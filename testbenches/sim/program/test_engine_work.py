"""What an engine finds in its commands and memory: codes by hand, arrays equal to the shards they were made from."""

import numba
import numpy as np
import pytest

from sim.config import load_config
from sim.program.commands import EDGE_RECORD
from sim.program.dimm import DimmProgram, reduce_program, store_program
from sim.program.engine_commands import ENGINE_COMMAND, SHARD_DESCRIPTOR, SOURCE_RECORD, EngineCode, update_beat
from sim.program.engine_work import EngineWork, decode_engine_work
from sim.program.geometry import Geometry
from sim.program.image import DimmImage
from sim.program.lists import list_chunks, pack_lists
from sim.program.vectors import vector_numbers
from testbenches.nme.engine_traces import random_program
from testbenches.sim.program.strategies import sharded

TINY = load_config("tiny").replace(**{"nme.interval": 4, "partition.block_vertices": 2})
GEOMETRY = Geometry.of(TINY)
UPDATE = update_beat(8, 16)


def program_of(commands, descriptors=(), updates=None):
    """Make a program of fields; the descriptors are one list, from chunk 0 on."""
    image = DimmImage.empty(GEOMETRY.line_bytes)
    records = np.concatenate([SHARD_DESCRIPTOR.encode(1, fields) for fields in descriptors or [{}]])
    image = image.merge(pack_lists(records, np.array([len(records)]), 0, GEOMETRY).image)
    sources = SOURCE_RECORD.encode(130, {"number": np.arange(130)})
    image = image.merge(pack_lists(sources, np.array([130]), 100, GEOMETRY).image)
    edges = EDGE_RECORD.encode(66, {"destination": np.arange(66), "last_of_source": 1, "weight": 5})
    image = image.merge(pack_lists(edges, np.array([66]), GEOMETRY.chunks - 2, GEOMETRY).image)
    return DimmProgram(
        commands=np.concatenate([ENGINE_COMMAND.encode(0, {}), *(ENGINE_COMMAND.encode(1, c) for c in commands)]),
        updates=UPDATE.encode(0, {}) if updates is None else updates,
        image=image,
    )


RUN = {"opcode": 1, "count": 1, "address": 0}
STORE = {"opcode": 2, "count": 1, "beats": 1024, "kind": 6}
SHARD = {
    "opcode": 4, "kind": 6, "beats": 1024, "destinations": 4, "sources": 129, "edges": 65, "sources_address": 100,
    "edges_address": GEOMETRY.chunks - 2,
}  # fmt: skip
"""The greatest that is accepted of everything: 1,024 beats are a row, the edges end in the last chunk."""


def code_of_command(**changes):
    (code,) = decode_engine_work(program_of([changes]), TINY).commands.code.tolist()
    return EngineCode(code).name


def code_of_shard(**changes):
    (code,) = decode_engine_work(program_of([RUN], [{**SHARD, **changes}]), TINY).descriptors.code.tolist()
    return EngineCode(code).name


def test_commands_are_judged_in_order():
    end = GEOMETRY.chunks
    for opcode in (0, 3, 255):
        assert code_of_command(opcode=opcode, address=end, kind=9) == "BAD_OPCODE"
    assert code_of_command(opcode=1, count=0, address=end + 5) == "EMPTY"
    assert code_of_command(opcode=2, count=0, beats=0, kind=7) == "EMPTY"
    assert code_of_command(opcode=1, count=1, address=end) == "BAD_ADDRESS"
    assert code_of_command(opcode=1, count=17, address=end - 1) == "BAD_ADDRESS"
    assert code_of_command(opcode=1, count=2**32 - 1, address=2**32 - 1) == "BAD_ADDRESS"
    assert code_of_command(opcode=1, count=1, address=0, beats=0, kind=255) == "OK"
    for beats in (0, 1025, 65535):
        assert code_of_command(opcode=2, count=1, beats=beats, kind=7) == "BAD_BEATS"
    for kind in (7, 8, 255):
        assert code_of_command(opcode=2, count=1, beats=1024, kind=kind, address=end) == "BAD_KIND"
    beats = UPDATE.encode(1024, {"number": GEOMETRY.vectors(1024) - 1})
    work = decode_engine_work(program_of([{**STORE, "address": end}], updates=beats), TINY)
    assert work.commands.code.tolist() == [EngineCode.OK]


def test_descriptors_are_judged_in_order():
    bad = {
        "opcode": (0, 5, 255), "beats": (0, 1025, 65535), "destinations": (0, 5, 65535), "sources": (0,),
        "edges": (0,), "kind": (7, 8, 255), "sources_address": (GEOMETRY.chunks - 1, GEOMETRY.chunks, 2**32 - 1),
    }  # fmt: skip
    codes = ["BAD_OPCODE", "BAD_BEATS", "BAD_DESTINATIONS", "NO_SOURCES", "NO_EDGES", "BAD_KIND", "BAD_ADDRESS"]
    names = list(bad)
    for place, (name, code) in enumerate(zip(names, codes, strict=True)):
        later = {other: bad[other][0] for other in names[place + 1 :]}
        for value in bad[name]:
            assert code_of_shard(**{name: value}) == code
            assert code_of_shard(**{**later, name: value}) == code
    for address in (GEOMETRY.chunks - 1, GEOMETRY.chunks, 2**32 - 1):
        assert code_of_shard(edges_address=address) == "BAD_ADDRESS"
    assert code_of_shard() == "OK"


def test_refused_descriptors_fetch_nothing():
    shards = [SHARD, {**SHARD, "kind": 7}, {**SHARD, "beats": 9, "edges": 2, "sources": 1, "tag": 3}]
    commands = [{"opcode": 9}, {**RUN, "count": 3}, {**STORE, "count": 0}, {**RUN, "count": 1}]
    work = decode_engine_work(program_of(commands, shards), TINY)
    assert work.commands.first_descriptor.tolist() == [0, 0, 3, 3, 4]
    assert work.commands.first_update.tolist() == [0] * 5
    assert work.descriptors.command.tolist() == [1, 1, 1, 3]
    assert work.descriptors.code.tolist() == [0, EngineCode.BAD_KIND, 0, 0]
    assert work.descriptors.first_source.tolist() == [0, 129, 129, 130, 259]
    assert work.descriptors.first_edge.tolist() == [0, 65, 65, 67, 132]
    assert work.sources.number.tolist() == [*range(129), 0, *range(129)]
    assert work.sources.valid.all()
    assert work.edges.destination.tolist() == [*range(65), 0, 1, *range(65)]
    # Rows of 1,024 beats are 128 slices of 8; nine beats are two.
    assert work.passes.descriptor.tolist() == [0] * 128 + [2] * 2 + [3] * 128
    assert work.passes.slice_index.tolist() == [*range(128), 0, 1, *range(128)]
    assert work.passes.beats.tolist() == [8] * 129 + [1] + [8] * 128


def test_numbers_beyond_the_memory():
    room = {beats: GEOMETRY.vectors(beats) for beats in (8, 9)}
    assert room[8] == 2 * room[9]
    numbers = [room[9] - 1, room[9], 2**32 - 1, 0]
    updates = np.concatenate(
        [UPDATE.encode(9, {"number": np.where(np.arange(9) == 0, number, 0)}) for number in numbers]
        + [UPDATE.encode(8, {"number": number}) for number in numbers]
    )
    commands = [{"opcode": 2, "count": 4, "beats": beats, "kind": 2} for beats in (9, 8)]
    work = decode_engine_work(program_of(commands, updates=updates), TINY)
    assert work.updates.number.tolist() == numbers * 2
    assert work.updates.valid.tolist() == [True, False, False, True, True, True, False, True]
    assert work.updates.first_beat.tolist() == [0, 9, 18, 27, 36, 44, 52, 60, 68]
    for wrong in (updates[1:], np.concatenate([updates, updates[:1]])):
        with pytest.raises(ValueError, match="updates: the commands take 68 beats, but the trace holds"):
            decode_engine_work(program_of(commands, updates=wrong), TINY)
    sources = SOURCE_RECORD.encode(4, {"number": numbers})
    for beats in (8, 9):
        shard = {**SHARD, "beats": beats, "sources": 4, "edges": 4}
        program = program_of([RUN], [shard])
        program = DimmProgram(
            commands=program.commands,
            updates=program.updates,
            image=program.image.merge(pack_lists(sources, np.array([4]), 100, GEOMETRY).image),
        )
        work = decode_engine_work(program, TINY)
        assert work.sources.valid.tolist() == [True, beats == 8, False, True]


def test_arrays_of_a_graph():
    rng = np.random.default_rng(0)
    edges = [tuple(pair) for pair in rng.integers(0, 40, (300, 2)).tolist()] + [(3, v) for v in range(40)]
    shards, _ = sharded(edges, 40, TINY.dram, TINY.partition, 4)
    values = rng.integers(0, 2**16, (40, 100)).astype(np.uint16)
    weights = rng.integers(0, 2**16, len(edges)).astype(np.uint16)
    for dimm in range(4):
        numbers, order = vector_numbers(shards, dimm, TINY), shards.of_dimm(dimm)
        store = store_program(values, numbers, 1, TINY, tag=4)
        program = store.then(reduce_program(shards, dimm, values, TINY, weights=weights, kind=1, tag=5))
        work = decode_engine_work(program, TINY)
        assert work.commands.tag.tolist() == [4, 5]
        assert work.commands.length.tolist() == [np.count_nonzero(numbers >= 0), len(order)]
        shard = work.descriptors
        assert shard.command.tolist() == [1] * len(order)
        assert not shard.code.any()
        assert shard.slot.tolist() == shards.slot[order].tolist()
        assert shard.tag.tolist() == list(range(len(order)))
        assert shard.destinations.tolist() == shards.destinations(order).tolist()
        sources = [shards.sources[shards.source_start[s] : shards.source_start[s + 1]] for s in order.tolist()]
        assert work.sources.number.tolist() == numbers[np.concatenate(sources)].tolist()
        assert np.diff(shard.first_source).tolist() == shard.sources.tolist() == [len(some) for some in sources]
        of_edges = [np.arange(shards.edge_start[s], shards.edge_start[s + 1]) for s in order.tolist()]
        pick = np.concatenate(of_edges)
        assert work.edges.destination.tolist() == shards.edge_destination[pick].tolist()
        assert work.edges.last.tolist() == shards.edge_last[pick].tolist()
        assert work.edges.weight.tolist() == weights[pick].tolist()
        assert np.diff(shard.first_edge).tolist() == shard.edges.tolist() == [len(some) for some in of_edges]
        assert work.passes.beats.tolist() == [8, 5] * len(order)
        held = np.sort(numbers[numbers >= 0])
        assert work.updates.number.tolist() == held.tolist()


def test_kernels_can_take_it():
    """Arrays are int64 and bool, in an order that numba takes, in a program without anything too."""

    @numba.njit
    def total(work):
        return work.commands.opcode.sum() + work.sources.valid.sum() + work.passes.beats.sum()

    for program in (random_program(TINY, 1), random_program(TINY, 1, commands=0)):
        work = decode_engine_work(program, TINY)
        assert isinstance(work, EngineWork)
        for part in work:
            for array in part:
                assert array.dtype in (np.int64, np.bool_)
                assert array.flags.c_contiguous
        want = work.commands.opcode.sum() + work.sources.valid.sum() + work.passes.beats.sum()
        assert total(work) == want


def test_random_programs_have_everything():
    """What the benches rely on: that their random programs reach the corners."""
    seen = set()
    for seed in range(40):
        work = decode_engine_work(random_program(TINY, seed, bad=0.2), TINY)
        again = decode_engine_work(random_program(TINY, seed, bad=0.2), TINY)
        assert all(
            np.array_equal(a, b) for one, two in zip(work, again, strict=True) for a, b in zip(one, two, strict=True)
        )
        shard, commands = work.descriptors, work.commands
        good = shard.code == EngineCode.OK
        slices = np.bincount(work.passes.descriptor, minlength=len(good))
        ends = shard.edges_address + list_chunks(shard.edges, EDGE_RECORD.bytes, GEOMETRY)
        stored = np.flatnonzero((commands.opcode == 2) & (commands.code == EngineCode.OK))
        runs = np.flatnonzero(np.diff(commands.first_descriptor))
        starts = shard.first_edge[:-1][good]
        seen |= {
            name
            for name, happened in {
                "one edge": (shard.edges[good] == 1).any(),
                "one source, many edges": (good & (shard.sources == 1) & (shard.edges > 8)).any(),
                "all edges to one slot": any(
                    count > 8 and len(set(work.edges.destination[start : start + count].tolist())) == 1
                    for start, count in zip(starts.tolist(), shard.edges[good].tolist(), strict=True)
                ),
                "one slice": (slices == 1).any(),
                "three slices": (slices == 3).any(),
                "several chunks of edges": (good & (shard.edges > 64)).any(),
                "several chunks of descriptors": (np.diff(commands.first_descriptor) > 16).any(),
                "a list in the last chunk": (good & (ends == GEOMETRY.chunks)).any(),
                "several kinds": len(set(shard.kind[good].tolist())) > 2,
                "a store between runs": any(runs.min() < store < runs.max() for store in stored.tolist()),
                "a vector stored twice": len(set(work.updates.number.tolist())) < len(work.updates.number),
                "stored, then read": bool(set(work.updates.number.tolist()) & set(work.sources.number.tolist())),
                "beyond the memory": not work.sources.valid.all(),
                "stored beyond the memory": not work.updates.valid.all(),
            }.items()
            if happened
        }
    assert len(seen) == 14, seen
