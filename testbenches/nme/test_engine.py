"""Whole Near-Memory Engines with their memories: RTL = golden in every bit, = model in every cycle and DRAM command."""

import os
from pathlib import Path

import numpy as np
import pytest

from sim.config import SystemConfig, load_config
from sim.golden.execute import stored
from sim.graph import adjacency, load_graph
from sim.program.commands import ReduceOpcode
from sim.program.dimm import run_program, store_program
from sim.program.engine_work import decode_engine_work
from sim.program.gcn import shard_adjacency
from sim.program.vectors import vector_numbers
from sim.timing.nme import EngineStalls, engine_timing
from sim.timing.stalls import STALL_KINDS, stall_pattern
from testbenches.graphs import REAL_GRAPHS, real_graph
from testbenches.nme.engine_traces import random_program
from testbenches.nme.programs import reduce_programs
from testbenches.nme.simulate_engine import engine_stalls, simulate_engines
from testbenches.nme.traces import random_bits

TINY, GNNEAR = load_config("tiny"), load_config("gnnear")


def channel(dimms: int, ranks: int, mapping: str, **changes: object) -> SystemConfig:
    """One channel of the smallest system."""
    sizes = {
        "dram.channels": 1,
        "dram.dimms_per_channel": dimms,
        "dram.ranks_per_dimm": ranks,
        "dram.mapping": mapping,
        "nme.max_beats": max(8, 4 * ranks),
    }
    return TINY.replace(**{**sizes, **changes})


ONE = channel(1, 1, "vector_in_bank")
TWO = channel(2, 2, "bursts_over_groups")
THREE = channel(3, 4, "vector_in_bank")
FOUR = channel(4, 2, "vector_in_bank")


def assert_equal(programs, config, **options):
    simulation = simulate_engines(programs, config, **options)
    assert simulation.equal, simulation.first_difference
    return simulation


def graph_by_name(name):
    """One of the real graphs of all tests, or one more."""
    if name in REAL_GRAPHS:
        return real_graph(name)
    folder = os.environ.get("NEARSAGE_DATA")
    if not folder:
        pytest.skip("set NEARSAGE_DATA to the folder with the graphs to run this test")
    return load_graph(str(Path(folder) / "snap" / name))


@pytest.mark.parametrize(
    ("name", "config", "features"),
    [
        ("karate", TWO, 70),
        ("cora", ONE, 80),  # 10 beats: two slices
        ("citeseer", THREE, 40),
        ("as-caida", FOUR, 16),
        ("facebook-combined.txt.gz", TWO, 16),
    ],
)
def test_real_graphs(name, config, features):
    """Every kind of stall would be too much here: the random programs have them all."""
    programs = reduce_programs(graph_by_name(name), config, features)
    simulation = assert_equal(programs, config, stalls=engine_stalls("random", 1, len(programs)))
    assert simulation.cycles_rtl == simulation.cycles_model
    for timing in simulation.timings:
        assert timing.counters["transfer"] == config.dram.gates.burst * timing.events["read"]


@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize(
    ("opcode", "normalization"),
    [
        (ReduceOpcode.ADD, "none"),
        (ReduceOpcode.MULTIPLY_ADD, "gcn"),
        (ReduceOpcode.MULTIPLY_ADD, "mean"),
        (ReduceOpcode.MAX, "none"),
        (ReduceOpcode.MIN, "none"),
    ],
)
def test_every_reduction_in_both_directions(opcode, normalization, transposed):
    programs = reduce_programs(
        real_graph("karate"), TWO, 24, opcode=opcode, normalization=normalization, transposed=transposed
    )
    assert_equal(programs, TWO, stalls=engine_stalls("bursty", 3, 2))


def test_one_interval_of_a_great_graph():
    """A destination interval of ego-twitter, with its hubs, and the sources of it from all over the graph."""
    graph = graph_by_name("ego-twitter-undirected.txt.gz")
    programs = reduce_programs(graph, FOUR, 8, block=7)
    simulation = assert_equal(programs, FOUR, stalls=engine_stalls("random", 2, 4))
    assert sum(timing.events["read"] for timing in simulation.timings) > 100


@pytest.mark.parametrize("stalls", STALL_KINDS)
@pytest.mark.parametrize("config", [ONE, TWO], ids=["one", "two"])
def test_random_programs(config, stalls):
    """Good and bad commands, descriptors, lists and edges, stores between runs, on memories of few rows."""
    small = config.replace(**{"dram.rows": 32})
    n = config.dram.dimms
    for seed in range(4):
        programs = [random_program(small, seed=100 * seed + d) for d in range(n)]
        assert_equal(programs, small, stalls=engine_stalls(stalls, seed, n))


@pytest.mark.parametrize("stream", EngineStalls.__dataclass_fields__)
def test_one_stream_stalls_alone(stream):
    small = ONE.replace(**{"dram.rows": 32})
    stalls = [EngineStalls(**{stream: stall_pattern("stop_and_go", seed=3)})]
    assert_equal([random_program(small, seed=5)], small, stalls=stalls)


@pytest.mark.parametrize(("backend", "rows"), [("pysim", 8), ("cocotb", 32)])
def test_other_simulators_agree(backend, rows):
    small = ONE.replace(**{"dram.rows": rows})
    program = random_program(small, seed=3, commands=2, max_edges=6, vectors=6)
    assert_equal([program], small, stalls=engine_stalls("random", 1, 1), backend=backend)


def test_what_is_stored_is_reduced_next():
    """The hidden layer: updated vectors are written, duplicates too, and the next Reduce reads them."""
    graph = real_graph("karate")
    shards = shard_adjacency(adjacency(graph, "gcn"), TWO)
    values = random_bits(np.random.default_rng(1), (graph.n_nodes, 20), TWO.nme.element, 0.02)
    weights = stored(shards.edge_weight.view(np.uint32), TWO.nme)
    programs, copies = [], 0
    for dimm in range(2):
        numbers = vector_numbers(shards, dimm, TWO)
        copies += int((numbers >= 0).sum())
        store = store_program(values, numbers, 2, TWO, tag=7)
        beats = -(-20 // TWO.nme.lanes)
        run = run_program(shards, dimm, beats, numbers, TWO, kind=2, weights=weights, first_chunk=store.next_chunk)
        programs.append(store.then(run))
    assert copies > graph.n_nodes, "no vertex is duplicated: the test would not show that duplicates are written"
    simulation = assert_equal(programs, TWO, stalls=engine_stalls("random", 4, 2))
    assert sum(timing.events["write"] for timing in simulation.timings) > 0


def started_and_ended(programs, config):
    """Run without stalls; return for each engine (slot, first gather command, status) of each shard."""
    works = [decode_engine_work(program, config) for program in programs]
    return [
        (work.descriptors.slot, timing.status) for work, timing in zip(works, engine_timing(works, config), strict=True)
    ]


def test_the_window_holds_back_the_fast():
    """An engine with little work ends a shard only when the slowest is fewer than the window's shards behind."""
    config = FOUR.replace(**{"partition.window_shards": 2})
    programs = reduce_programs(graph_by_name("as-caida"), config, 16)
    loose = FOUR.replace(**{"partition.window_shards": 1 << 20})
    held, free = started_and_ended(programs, config), started_and_ended(programs, loose)
    window = config.partition.window_shards
    for ahead_slots, ahead_ends in held:
        for behind_slots, behind_ends in held:
            # When a shard ends, all engines have ended every shard that is a window's width below it.
            place = np.searchsorted(behind_slots, ahead_slots - window, side="right") - 1
            known = place >= 0
            assert (behind_ends[place[known]] <= ahead_ends[known]).all()
    assert max(ends[-1] for _, ends in free) < max(ends[-1] for _, ends in held)


@pytest.mark.parametrize("name", ["cora", "as-caida"])
@pytest.mark.parametrize("pes", [1, 2, 4, 16])
def test_little_is_lost_beyond_load_and_compute(name, pes):
    """One engine of GNNear, or one with fewer lanes: at most 2 % more than the greater of reading and adding takes."""
    config = GNNEAR.replace(
        **{"dram.channels": 1, "dram.dimms_per_channel": 1, "nme.pes": pes, "nme.max_beats": 32 // pes}
    )
    works = [decode_engine_work(program, config) for program in reduce_programs(real_graph(name), config, 256)]
    timing = engine_timing(works, config)[0]
    gates = config.dram.gates
    load = timing.events["read"] * gates.burst / (1 - gates.refresh_to_activate / gates.refresh_interval)
    compute = timing.reduce_counters["busy"] / float(config.compute_ratio)
    assert timing.cycles <= 1.02 * max(load, compute)
    assert sum(timing.counters.values()) == timing.status[-1] + 1


def reddit_in_small(engines, **changes):
    """Make a graph with Reddit's reuse and a hundredth of its edges, for the first engines of GNNear's system."""
    config = GNNEAR.replace(**{"nme.interval": 256, **changes})
    graph = load_graph("clustered:nodes=23296,edges=1146158,reuse=1.77,interval=256")
    programs = reduce_programs(graph, config, 128, opcode=ReduceOpcode.ADD, normalization="none")
    return config, programs[:engines]


def test_bandwidth_of_gnnears_setting():
    """256 B per rank and vertex, interval 256, window 4: GNNear's DRAM runs reached 93.5 % of peak on Reddit."""
    config, programs = reddit_in_small(16)
    timings = engine_timing([decode_engine_work(program, config) for program in programs], config)
    shares = [timing.events["read"] * config.dram.gates.burst / timing.cycles for timing in timings]
    assert max(shares) >= 0.95
    assert min(shares) >= 0.905  # engines with less to read wait for the others


def test_rtl_of_gnnears_setting():
    """The same through the RTL of one engine, with half the lanes to keep its simulator small."""
    config, programs = reddit_in_small(1, **{"nme.pes": 8, "nme.max_beats": 4})
    simulation = assert_equal(programs, config)
    timing = simulation.timings[0]
    assert timing.events["read"] * config.dram.gates.burst / timing.cycles >= 0.95


@pytest.mark.soak
@pytest.mark.parametrize("mapping", ["vector_in_bank", "bursts_over_groups"])
@pytest.mark.parametrize("ranks", [1, 2, 4])
@pytest.mark.parametrize("dimms", [1, 2, 3, 4])
def test_every_size(dimms, ranks, mapping):
    config = channel(dimms, ranks, mapping)
    for name, features in (("cora", 80), ("citeseer", 40), ("as-caida", 16), ("facebook-combined.txt.gz", 16)):
        for seed, transposed in enumerate((False, True)):
            programs = reduce_programs(graph_by_name(name), config, features, transposed=transposed)
            assert_equal(programs, config, stalls=engine_stalls("random", seed, dimms))


@pytest.mark.soak
@pytest.mark.parametrize("dimms", [1, 4])
def test_gnnears_engine_whole(dimms):
    """The full 128 lanes, fp32."""
    config = GNNEAR.replace(**{"dram.channels": 1, "dram.dimms_per_channel": dimms})
    programs = reduce_programs(real_graph("cora"), config, 256)
    assert_equal(programs, config, stalls=engine_stalls("random", 1, dimms))
