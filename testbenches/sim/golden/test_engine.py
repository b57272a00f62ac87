"""The golden model of the whole engine: against plain Python, sums made from the graph, and `execute`."""

import numpy as np
import pytest

from sim.config import load_config
from sim.golden.engine import engine_streams
from sim.golden.execute import execute, stored
from sim.golden.numbers import bf16_to_fp32, flush, fp32_add, fp32_max, fp32_min, fp32_mul
from sim.graph import adjacency, load_graph
from sim.program.commands import ReduceOpcode, result_beat
from sim.program.dimm import DimmProgram, reduce_program, run_program, store_program
from sim.program.engine_commands import ENGINE_STATUS, EngineCode
from sim.program.engine_work import decode_engine_work
from sim.program.gcn import shard_adjacency
from sim.program.items import Merge, Program, Reduce
from sim.program.layout import LayoutError
from sim.program.partition import duplicated_sources, home_dimm
from sim.program.reduce_trace import beats_of
from sim.program.vectors import vector_image, vector_numbers
from testbenches.graphs import real_graph
from testbenches.nme.engine_traces import random_program
from testbenches.sim.golden.engine_reference import run_engine

TINY = load_config("tiny")
GNNEAR = load_config("gnnear")
NARROW = TINY.replace(**{"nme.lanes_per_pe": 1, "nme.pes": 2, "nme.interval": 5, "nme.max_beats": 32})
CONFIGS = {
    "narrow": NARROW,
    "narrow, short slices": NARROW.replace(**{"dram.bus_width_bits": 16, "nme.max_beats": 8, "dram.rows": 8}),
    "narrow, over groups": NARROW.replace(**{"dram.mapping": "bursts_over_groups", "nme.max_beats": 256}),
    "one line in one group": NARROW.replace(
        **{"dram.mapping": "bursts_over_groups", "nme.max_beats": 16, "dram.ranks_per_dimm": 1}
    ),
    "fp32, one rank, over groups": NARROW.replace(
        **{"dram.mapping": "bursts_over_groups", "nme.element": "fp32", "dram.ranks_per_dimm": 1}
    ),
    "beats wider than lines": NARROW.replace(
        **{"dram.bus_width_bits": 32, "dram.ranks_per_dimm": 1, "nme.lanes_per_pe": 16, "nme.max_beats": 2}
    ),
    "four ranks": NARROW.replace(**{"dram.ranks_per_dimm": 4, "nme.max_beats": 128}),
}


def decoded(result, config):
    """Return (partials, status) of a result as the reference gives them."""
    beats = result_beat(config.nme.lanes).decode(result.partials)
    partials = zip(*(beats[name].tolist() for name in ("index", "first", "last", "data")), strict=True)
    fields = ENGINE_STATUS.decode(result.status)
    return list(partials), list(zip(*(fields[name].tolist() for name in ("tag", "code", "last", "count")), strict=True))


@pytest.mark.parametrize("name", CONFIGS)
@pytest.mark.parametrize("bad", [0.0, 0.2])
def test_random_programs(name, bad):
    config = CONFIGS[name]
    for seed in range(8):
        program = random_program(config, seed, commands=6, max_edges=12, bad=bad, vectors=10)
        found, want = engine_streams(program, config), run_engine(program, config)
        partials, status = decoded(found, config)
        assert status == want.status
        assert [tuple(beat) for beat in partials] == want.partials
        assert found.partials_of.tolist() == want.partials_of
        memory = dict(zip(found.image.addresses.tolist(), map(bytes, found.image.lines), strict=True))
        assert memory == want.memory.addresses()


def test_every_code_occurs():
    codes = {0}
    for seed in range(60):
        program = random_program(NARROW, seed, bad=0.3, vectors=4)
        codes |= set(ENGINE_STATUS.decode(engine_streams(program, NARROW).status)["code"].tolist())
    assert codes == set(EngineCode)


def in_order(weighted, values, weights, opcode, config):
    """Work out every destination's partial sums from the graph alone: {dimm: fp32 bits [N, F], NaN where none}.

    Edges are taken by rising source, repeated ones as they come: what one DIMM adds is in this order.
    """
    dram, partition = config.dram, config.partition
    n_nodes = weighted.n_nodes
    home = home_dimm(np.arange(n_nodes), dram, partition)
    degrees = np.bincount(weighted.indices, minlength=n_nodes).astype(np.int64)
    duplicated = duplicated_sources(degrees, dram, partition)
    widen = bf16_to_fp32 if config.nme.element == "bf16" else flush
    vectors, factors = widen(values), widen(weights)
    one = np.array([0x3F800000], np.uint32)
    sums = {}
    for v in range(n_nodes):
        row = slice(*weighted.indptr[v : v + 2])
        for u, factor in zip(weighted.indices[row].tolist(), factors[row], strict=True):
            dimm = int(home[u])
            if duplicated[u]:
                dimm += v // config.nme.interval % dram.dimms_per_channel - dimm % dram.dimms_per_channel
            of_dimm = sums.setdefault(dimm, {})
            match opcode:
                case ReduceOpcode.ADD | ReduceOpcode.MULTIPLY_ADD:
                    term = fp32_mul(one if opcode == ReduceOpcode.ADD else factor.reshape(1), vectors[u])
                    of_dimm[v] = fp32_add(of_dimm.get(v, np.zeros(1, np.uint32)), term)
                case ReduceOpcode.MAX:
                    of_dimm[v] = fp32_max(of_dimm.get(v, vectors[u]), vectors[u])
                case ReduceOpcode.MIN:
                    of_dimm[v] = fp32_min(of_dimm.get(v, vectors[u]), vectors[u])
    return sums


def partial_sums(program, shards, dimm, features, config):
    """Run one DIMM, check its status, and return {vertex: fp32 bits [F]} of its partial sums."""
    work = decode_engine_work(program, config)
    result = engine_streams(program, config, work)
    status = {name: values.tolist() for name, values in ENGINE_STATUS.decode(result.status).items()}
    order = shards.of_dimm(dimm)
    n = len(order)
    assert status["code"][-n:] == [0] * n
    assert status["tag"][-n:] == [i % 65536 for i in range(n)]
    assert status["count"][-n:] == np.diff(shards.edge_start)[order].tolist()
    assert status["last"][-n:] == [0] * (n - 1) + [1]
    beats = result_beat(config.nme.lanes).decode(result.partials)
    of_pass = np.repeat(np.arange(len(result.partials_of)), result.partials_of)
    shard = order[work.passes.descriptor[of_pass]]
    vertices = shards.interval_index[shard] * shards.interval + beats["index"].astype(np.int64)
    sums = {}
    width = beats_of(features, config.nme.lanes) * config.nme.lanes
    lanes, taken = config.nme.lanes, {}
    for vertex, data in zip(vertices.tolist(), beats["data"], strict=True):
        place = taken.get(vertex, 0)
        sums.setdefault(vertex, np.zeros(width, np.uint32))[place : place + lanes] = data
        taken[vertex] = place + lanes
    assert set(taken.values()) <= {width}
    return {vertex: data[:features] for vertex, data in sums.items()}


def variants():
    """Make configurations of 1 to 4 DIMMs, 1 to 4 ranks, both mappings."""
    for channels, dimms, ranks, mapping, base in (
        (1, 1, 1, "vector_in_bank", TINY),
        (1, 2, 2, "bursts_over_groups", TINY),
        (2, 2, 4, "vector_in_bank", TINY),
        (1, 4, 1, "bursts_over_groups", TINY),
        (1, 3, 2, "vector_in_bank", GNNEAR),
        (2, 1, 4, "bursts_over_groups", GNNEAR),
    ):
        name = f"{base.name}, {channels} x {dimms} DIMMs, {ranks} ranks, {mapping}"
        yield pytest.param(
            base.replace(
                **{
                    "dram.channels": channels, "dram.dimms_per_channel": dimms, "dram.ranks_per_dimm": ranks,
                    "dram.mapping": mapping, "nme.max_beats": max(base.nme.max_beats, 4 * ranks),
                    "partition.block_vertices": 3, "partition.duplicated_share": 0.2,
                }
            ),
            id=name,
        )  # fmt: skip


def graph_inputs(weighted, features, config, seed=5):
    rng = np.random.default_rng(seed)
    values = stored(rng.standard_normal((weighted.n_nodes, features)).astype(np.float32).view(np.uint32), config.nme)
    return values, shard_adjacency(weighted, config)


@pytest.mark.parametrize("config", list(variants()))
@pytest.mark.parametrize("opcode", list(ReduceOpcode))
def test_sums_of_a_graph(config, opcode):
    """Every DIMM's partial sums are those of the graph's edges by rising source; wide features go in three slices."""
    weighted = adjacency(load_graph("karate"), "gcn")
    features = 2 * config.nme.max_features + config.nme.lanes + 3 if config.name == "tiny" else 700
    values, shards = graph_inputs(weighted, features, config)
    weights = stored(weighted.weights.view(np.uint32), config.nme)
    want = in_order(weighted, values, weights, opcode, config)
    of_shards = stored(shards.edge_weight.view(np.uint32), config.nme)
    assert len(want) == config.dram.dimms
    for dimm in range(config.dram.dimms):
        program = reduce_program(shards, dimm, values, config, opcode=opcode, kind=dimm, weights=of_shards)
        found = partial_sums(program, shards, dimm, features, config)
        assert found.keys() == want[dimm].keys()
        for vertex, data in found.items():
            assert np.array_equal(data, want[dimm][vertex]), (dimm, vertex)


@pytest.mark.parametrize("config", [TINY, GNNEAR, GNNEAR.replace(**{"dram.mapping": "bursts_over_groups"})])
@pytest.mark.parametrize("name", ["karate", "cora"])
def test_the_same_as_execute(name, config):
    """Merged by rising DIMM, the partial sums are what the Reduce and Merge of a layer's program give."""
    graph = real_graph(name)
    weighted = adjacency(graph, "gcn")
    features = 70 if config.name == "tiny" else 300
    shards = shard_adjacency(weighted, config)
    common = {"layer": 0, "direction": "forward", "shards": shards, "features": features}
    items = (Reduce(source="h0", result="p0", **common), Merge(source="p0", result="a0", **common))
    h0 = np.random.default_rng(1).standard_normal((graph.n_nodes, features)).astype(np.float32).view(np.uint32)
    want = execute(Program(name="reduce", items=items), {"h0": h0}, config)["a0"]
    values, weights = stored(h0, config.nme), stored(shards.edge_weight.view(np.uint32), config.nme)
    sums = np.zeros_like(want)
    for dimm in range(config.dram.dimms):
        if len(shards.of_dimm(dimm)):
            program = reduce_program(shards, dimm, values, config, weights=weights)
            partials = partial_sums(program, shards, dimm, features, config)
            vertices = np.array(list(partials))
            sums[vertices] = fp32_add(sums[vertices], np.stack(list(partials.values())))
    assert np.array_equal(sums, want)


@pytest.mark.parametrize("config", list(variants()))
def test_what_was_stored_is_read(config):
    """A memory filled by STORE gives the same as one filled beforehand, old values and all other kinds untouched."""
    weighted = adjacency(load_graph("karate"), "gcn")
    features = config.nme.max_features + 1
    values, shards = graph_inputs(weighted, features, config)
    older, _ = graph_inputs(weighted, features, config, seed=6)
    weights = stored(shards.edge_weight.view(np.uint32), config.nme)
    for dimm in range(config.dram.dimms):
        numbers = vector_numbers(shards, dimm, config)
        plain = reduce_program(shards, dimm, values, config, weights=weights, kind=2)
        before = reduce_program(shards, dimm, older, config, weights=weights, kind=2)
        other = reduce_program(shards, dimm, older, config, weights=weights, kind=1, first_chunk=5000)
        store = store_program(values, numbers, 2, config, tag=77)
        # The same shards twice, with other values in between.
        program = other.then(before).then(store).then(before)
        found, want = engine_streams(program, config), engine_streams(plain, config)
        n_beats = len(want.partials)
        assert np.array_equal(found.partials[-n_beats:], want.partials)
        assert np.array_equal(found.partials[n_beats : 2 * n_beats], engine_streams(before, config).partials)
        assert not np.array_equal(found.partials[n_beats : 2 * n_beats], want.partials)
        n_shards = len(want.status)
        status = {name: values[-n_shards - 1] for name, values in ENGINE_STATUS.decode(found.status).items()}
        assert status == {"tag": 77, "code": 0, "last": 1, "count": np.count_nonzero(numbers >= 0)}
        after = other.image.merge(before.image).merge(plain.image)
        assert np.array_equal(found.image.addresses, after.addresses)
        assert np.array_equal(found.image.lines, after.lines)
        alone = engine_streams(store, config)
        assert np.array_equal(alone.image.lines, vector_image(values, numbers, 2, config).lines)


def test_vectors_that_nobody_wrote():
    weighted = adjacency(load_graph("karate"), "gcn")
    values, shards = graph_inputs(weighted, 20, TINY)
    numbers = vector_numbers(shards, 0, TINY)
    program = run_program(shards, 0, 3, numbers, TINY, opcode=ReduceOpcode.ADD)
    with pytest.raises(LayoutError, match=r"line \d+ is read, but was never written"):
        engine_streams(program, TINY)
    store = store_program(values, numbers, 0, TINY)
    engine_streams(store.then(program), TINY)
    with pytest.raises(ValueError, match=r"updates: the commands take \d+ beats, but the trace holds \d+"):
        engine_streams(DimmProgram(commands=store.commands, updates=store.updates[1:], image=store.image), TINY)


def test_no_commands():
    program = random_program(TINY, 0, commands=0)
    result = engine_streams(program, TINY)
    assert len(result.partials) == len(result.status) == len(result.partials_of) == 0
    assert np.array_equal(result.image.lines, program.image.lines)
