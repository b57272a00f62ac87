"""The reduce unit's RTL equals the golden model in every bit and the timing model in every cycle."""

import numpy as np
import pytest

from hdl.nme.reduce import ReduceUnit
from sim.config import load_config
from sim.golden.execute import reduce_traces
from sim.golden.reduce import reduce_streams
from sim.graph import adjacency
from sim.program.commands import EDGE_RECORD, REDUCE_COMMAND, REDUCE_STATUS, ReduceCode, ReduceOpcode
from sim.program.gcn import shard_adjacency
from sim.program.items import Reduce
from sim.program.reduce_trace import ReduceTrace
from sim.timing.reduce import ReduceStalls, reduce_timing
from sim.timing.stalls import STALL_KINDS, stall_pattern
from testbenches.graphs import REAL_GRAPHS, drawn_graphs, real_graph
from testbenches.layer import Layer
from testbenches.nme.simulate import reduce_stalls, simulate_reduce
from testbenches.nme.traces import random_trace

TINY = load_config("tiny")


def assert_equivalent(trace, config, **options):
    simulation = simulate_reduce(trace, config, **options)
    assert simulation.equal, simulation.first_difference
    assert simulation.cycles_rtl == simulation.cycles_model
    return simulation


@pytest.mark.parametrize("stalls", STALL_KINDS)
@pytest.mark.parametrize("name", REAL_GRAPHS)
def test_real_graphs(name, stalls):
    graph = real_graph(name)
    layer = Layer(graph, TINY, in_features=min(graph.n_features or 16, 1433), out_features=16)
    simulation = layer.simulate("reduce", stalls=stalls, seed=3)
    assert simulation.equal, simulation.first_difference
    assert simulation.counters["busy"] == 2 * adjacency(graph, "gcn").n_edges  # 16 features are 2 beats of 8 lanes


def trace_of_graph(graph, config, seed):
    weighted = adjacency(graph, "gcn" if seed % 2 else "none")
    rng = np.random.default_rng(seed)
    features = int(rng.integers(1, config.nme.max_features + 1))
    h0 = rng.standard_normal((graph.n_nodes, features)).astype(np.float32).view(np.uint32)
    item = Reduce(
        layer=0,
        direction="forward",
        shards=shard_adjacency(weighted, config),
        features=features,
        source="h0",
        result="p0",
    )
    return list(reduce_traces(item, {"h0": h0}, config).values())


def joined(traces, config):
    empty = random_trace(config, seed=0, commands=0)
    parts = [empty, *traces]
    return ReduceTrace(
        **{name: np.concatenate([getattr(p, name) for p in parts]) for name in ("commands", "edges", "vectors")}
    )


@pytest.mark.parametrize("stalls", STALL_KINDS)
def test_drawn_graphs(stalls):
    """200 graphs back to back on one engine; if they differ, the graph that does it is run alone and named."""
    graphs = drawn_graphs(200)
    traces = [trace_of_graph(graph, TINY, seed) for seed, graph in enumerate(graphs)]
    everything = joined([trace for of_graph in traces for trace in of_graph], TINY.nme)
    simulation = simulate_reduce(everything, TINY.nme, stalls=reduce_stalls(stalls, 1))
    if simulation.equal:
        assert len(everything.commands) > 200
        return
    for graph, of_graph in zip(graphs, traces, strict=True):
        alone = simulate_reduce(joined(of_graph, TINY.nme), TINY.nme, stalls=reduce_stalls(stalls, 1))
        assert alone.equal, f"rows {graph.indptr.tolist()}, sources {graph.indices.tolist()}: {alone.first_difference}"
    pytest.fail(f"only back to back: {simulation.first_difference}")


@pytest.mark.parametrize(
    "changes",
    [
        {"element": "fp32"},
        {"pes": 1, "lanes_per_pe": 1, "interval": 1, "max_beats": 1, "mul_latency": 0, "add_latency": 0},
        {"pes": 3, "lanes_per_pe": 1, "interval": 5, "max_beats": 3, "mul_latency": 4, "add_latency": 4},
        {"element": "fp32", "pes": 1, "interval": 33, "max_beats": 1, "mul_latency": 2, "add_latency": 1},
    ],
    ids=["fp32", "least", "odd", "one-beat"],
)
@pytest.mark.parametrize("stalls", ["none", "random"])
def test_sizes_and_latencies(changes, stalls):
    config = TINY.nme.replace(**changes)
    trace = random_trace(config, seed=5, commands=150, bad=0.15, special=0.1)
    assert_equivalent(trace, config, stalls=reduce_stalls(stalls, 2))


@pytest.mark.parametrize("stalls", STALL_KINDS)
def test_bad_commands_and_edges_among_good_ones(stalls):
    trace = random_trace(TINY.nme, seed=11, commands=400, bad=0.3, special=0.2)
    codes = REDUCE_STATUS.decode(reduce_streams(trace, TINY.nme).status)["code"]
    assert set(codes.tolist()) == set(ReduceCode), "every way to end must occur"
    assert_equivalent(trace, TINY.nme, stalls=reduce_stalls(stalls, 4))


@pytest.mark.parametrize("opcode", ReduceOpcode)
@pytest.mark.parametrize("element", ["bf16", "fp32"])
@pytest.mark.parametrize("add_latency", range(5))
def test_every_opcode_with_special_values(opcode, element, add_latency):
    """Most elements are NaN, infinite, zero of either sign or subnormal, and few slots are hit often."""
    config = TINY.nme.replace(element=element, add_latency=add_latency, lanes_per_pe=1, max_beats=2)
    options = {"max_edges": 30, "destinations": 4, "special": 0.6}
    trace = random_trace(config, seed=17, commands=60, opcodes=[opcode], **options)
    assert_equivalent(trace, config, stalls=reduce_stalls("bursty", 8))


def test_the_cycles_do_not_depend_on_the_opcode():
    traces = [random_trace(TINY.nme, seed=3, commands=40, opcodes=[opcode]) for opcode in ReduceOpcode]
    first, *others = (assert_equivalent(trace, TINY.nme).counters for trace in traces)
    assert all(counters == first for counters in others)


SLOW = {
    "partials": {"partials": np.arange(23) > 0},
    "status": {"status": np.arange(61) > 0},
    "both": {"partials": np.arange(5) > 0, "status": np.arange(37) > 0},
    "shut": {"partials": np.arange(4000) < 2000},
}


@pytest.mark.parametrize("slow", SLOW)
def test_slow_sinks_hold_up_the_run(slow):
    """One shard runs while one drains; the next waits, and nothing is lost or comes out of order."""
    trace = random_trace(TINY.nme, seed=41, commands=80, bad=0.1)
    simulation = assert_equivalent(trace, TINY.nme, stalls=ReduceStalls(**SLOW[slow]))
    assert simulation.counters["wait_drain"] > simulation.counters["busy"]


@pytest.mark.parametrize("bad", [0.0, 0.5])
@pytest.mark.parametrize("stalls", STALL_KINDS)
def test_tiny_shards_back_to_back(stalls, bad):
    """Shards of one edge, half of them refused or bad: every stage changes hands as often as it can."""
    trace = random_trace(TINY.nme, seed=51, commands=500, max_edges=1, bad=bad)
    simulation = assert_equivalent(trace, TINY.nme, stalls=reduce_stalls(stalls, 9))
    if stalls == "none" and not bad:
        # While one drains the next runs: of each shard less than its way through the pipeline is not hidden.
        n_beats = len(reduce_streams(trace, TINY.nme).partials)
        assert simulation.cycles_rtl <= n_beats + 500 * TINY.nme.pipeline_cycles


@pytest.mark.parametrize(("beats", "edges_of_source"), [(1, 1), (2, 1), (2, 2), (4, 3)])
def test_no_cycle_is_lost_between_shards(beats, edges_of_source):
    """With all data at hand shards of 36 edges to 24 slots, like Cora's, keep the lanes busy all but 2 % of the time.

    The edges of one shard follow those of the one before without a gap, even where each edge has a source of its own.
    """
    config = TINY.nme.replace(interval=128)
    n, n_edges = 100, 36
    commands = REDUCE_COMMAND.encode(
        n,
        {
            "opcode": np.arange(n) % 4 + 1,
            "beats": beats,
            "destinations": 128,
            "tag": np.arange(n),
            "sources": n_edges // edges_of_source,
            "edges": n_edges,
        },
    )
    count = np.arange(n * n_edges)
    edges = EDGE_RECORD.encode(
        len(count),
        {"destination": count % n_edges % 24, "last_of_source": count % edges_of_source == edges_of_source - 1},
    )
    shape = (len(count) // edges_of_source * beats, config.lanes * config.element_bytes)
    vectors = np.random.default_rng(0).integers(0, 256, shape, np.uint8)
    simulation = assert_equivalent(ReduceTrace(commands=commands, edges=edges, vectors=vectors), config)
    assert simulation.counters["busy"] == beats * len(count)
    assert simulation.counters["busy"] >= 0.98 * simulation.cycles_rtl
    assert simulation.counters["wait_drain"] == simulation.counters["wait_hazard"] == 0


@pytest.mark.parametrize("destinations", [1, 2, 3])
def test_neighbouring_edges_to_one_destination(destinations):
    """Hubs: the interlock must hold an edge back, and only as long as needed."""
    trace = random_trace(TINY.nme, seed=destinations, commands=60, max_edges=40, destinations=destinations)
    simulation = assert_equivalent(trace, TINY.nme)
    assert simulation.counters["wait_hazard"] > 0


def test_one_beat_per_cycle_without_hazards():
    """A source with an edge to each destination: after the first vector nothing waits."""
    config = TINY.nme.replace(interval=16, max_beats=4)
    n_sources, n_edges = 50, 50 * 16
    trace = random_trace(config, seed=1, commands=1, max_edges=1)
    rng = np.random.default_rng(0)
    commands = REDUCE_COMMAND.encode(
        1, {"opcode": 2, "beats": 4, "destinations": 16, "sources": n_sources, "edges": n_edges}
    )
    edges = EDGE_RECORD.encode(
        n_edges, {"destination": np.tile(np.arange(16), n_sources), "last_of_source": np.arange(n_edges) % 16 == 15}
    )
    vectors = rng.integers(0, 256, (4 * n_sources, trace.vectors.shape[1]), np.uint8)
    simulation = assert_equivalent(ReduceTrace(commands=commands, edges=edges, vectors=vectors), config)
    waits = sum(simulation.counters[name] for name in ("wait_edge", "wait_hazard"))
    assert simulation.counters["busy"] == 4 * n_edges
    assert waits == 0
    assert simulation.counters["wait_vector"] == 3  # the first vector's beats, but for one: the command moves on then


@pytest.mark.parametrize("stalls", STALL_KINDS)
@pytest.mark.parametrize("backend", ["pysim", "cocotb"])
def test_other_simulators_agree(backend, stalls):
    """Amaranth's own simulator and cocotb's paced drivers see the same bits in the same cycles."""
    assert_equivalent(
        random_trace(TINY.nme, seed=21, commands=12, bad=0.2),
        TINY.nme,
        stalls=reduce_stalls(stalls, 6),
        backend=backend,
    )


def test_karate_in_amaranths_simulator():
    simulation = Layer(real_graph("karate"), TINY, in_features=34, out_features=16).simulate("reduce", backend="pysim")
    assert simulation.equal, simulation.first_difference


@pytest.mark.parametrize("stream", ReduceStalls.__dataclass_fields__)
def test_one_stream_stalls_alone(stream):
    """Each stream in turn stops and goes while the others run free: a stall lost on one of them shows."""
    stalls = ReduceStalls(**{stream: stall_pattern("stop_and_go", seed=3)})
    trace = random_trace(TINY.nme, seed=31, commands=60, bad=0.1)
    assert_equivalent(trace, TINY.nme, stalls=stalls)


def test_declared_latencies():
    """The stated latencies hold: last beat to first partial sum, and the distance of two edges to one destination."""
    config = TINY.nme
    trace = random_trace(config, seed=2, commands=1, max_edges=1)
    timing = reduce_timing(trace, config)
    simulation = assert_equivalent(trace, config, design=ReduceUnit(config), backend="pysim")
    assert simulation.cycles_rtl == timing.cycles
    assert timing.partials[0] - timing.edges[-1] == config.pipeline_cycles + 2
