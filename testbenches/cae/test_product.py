"""The product unit's RTL equals the golden model in every bit and the timing model in every cycle."""

import itertools

import numpy as np
import pytest

from sim.config import load_config
from sim.golden.numbers import to_bf16
from sim.golden.product import product_streams
from sim.program.commands import MATRIX_STATUS, MatrixCode, result_beat
from sim.program.matrix_trace import product_tiles, product_trace
from sim.timing.product import ProductStalls, product_timing
from sim.timing.stalls import STALL_KINDS, stall_pattern
from testbenches.cae.simulate import product_stalls, simulate_product
from testbenches.cae.traces import joined, minus_zero_trace, random_tiles, tiles_trace
from testbenches.graphs import REAL_GRAPHS, drawn_graphs, real_graph
from testbenches.layer import Layer

TINY = load_config("tiny")
MAX_TILES_WITH_STALLS = 3
"""The sparse-feature graphs need millions of cycles: with stalls their first tiles run, without stalls all of
Cora's."""


def assert_equivalent(trace, config, **options):
    simulation = simulate_product(trace, config, **options)
    assert simulation.equal, simulation.first_difference
    assert simulation.cycles_rtl == simulation.cycles_model
    return simulation


@pytest.mark.parametrize("stalls", STALL_KINDS)
@pytest.mark.parametrize("name", REAL_GRAPHS)
def test_real_graphs(name, stalls):
    graph = real_graph(name)
    layer = Layer(graph, TINY, in_features=graph.n_features or 16, out_features=16)
    trace = layer.product_trace(max_tiles=MAX_TILES_WITH_STALLS if graph.n_features > 1000 else None)
    assert_equivalent(trace, TINY.cae, stalls=product_stalls(stalls, 3))


@pytest.mark.parametrize("stalls", STALL_KINDS)
def test_drawn_graphs(stalls):
    """Layers of 200 graphs; each on its own, since an empty graph has nothing to update."""
    traces = []
    for seed, graph in enumerate(drawn_graphs(200)):
        rng = np.random.default_rng(seed)
        layer = Layer(
            graph, TINY, in_features=int(rng.integers(1, 24)), out_features=int(rng.integers(1, 10)), seed=seed
        )
        traces.append(layer.product_trace())
    kept = [trace for trace in traces if trace is not None]
    assert len(kept) > 150
    assert_equivalent(joined(kept), TINY.cae, stalls=product_stalls(stalls, 1))


@pytest.mark.parametrize(("rows", "columns"), [(4, 4), (8, 8), (4, 8)])
def test_every_remainder(rows, columns):
    """All M and K over two blocks of rows and all N, one tile after the other."""
    config = TINY.cae.replace(rows=rows, columns=columns)
    tiles = list(itertools.product(range(1, 2 * rows + 1), range(1, 2 * rows + 1), range(1, columns + 1)))
    assert_equivalent(tiles_trace(config, tiles, seed=rows), config)


@pytest.mark.parametrize("stalls", STALL_KINDS)
@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"rows": 1, "columns": 1, "accumulator_rows": 1, "mul_latency": 0, "add_latency": 1},
        {"rows": 3, "columns": 5, "accumulator_rows": 9, "mul_latency": 4, "add_latency": 4},
    ],
    ids=["tiny", "least", "odd"],
)
def test_bad_commands_among_good_ones(changes, stalls):
    config = TINY.cae.replace(**changes)
    tiles = random_tiles(config, seed=7, count=80, max_depth=3 * config.rows)
    trace = tiles_trace(config, tiles, seed=8, special=0.1, bad=0.3, kept=0.5)
    codes = MATRIX_STATUS.decode(product_streams(trace, config).status)["code"]
    assert set(codes.tolist()) == set(MatrixCode), "every way to end must occur"
    assert_equivalent(trace, config, stalls=product_stalls(stalls, 5))


def test_special_values():
    """NaN, infinities, signed zeros and subnormals in every place."""
    tiles = random_tiles(TINY.cae, seed=3, count=40, max_depth=9)
    assert_equivalent(tiles_trace(TINY.cae, tiles, seed=4, special=0.5), TINY.cae)


def test_a_sum_of_minus_zero_survives_the_padding_of_k():
    """Rows of the array beyond the depth add -0, the one number that changes no sum."""
    trace = minus_zero_trace(TINY.cae)
    assert_equivalent(trace, TINY.cae)
    sums = result_beat(TINY.cae.columns).decode(product_streams(trace, TINY.cae).results)["data"]
    assert (sums == 0x80000000).all()


@pytest.mark.parametrize("stalls", STALL_KINDS)
@pytest.mark.parametrize("backend", ["pysim", "cocotb"])
def test_other_simulators_agree(backend, stalls):
    """Amaranth's own simulator and cocotb's paced drivers see the same bits in the same cycles."""
    tiles = [(1, 1, 1), (5, 6, 3), (2, 9, 4), (7, 3, 2)]
    trace = tiles_trace(TINY.cae, tiles, seed=1, special=0.1, bad=0.2)
    assert_equivalent(trace, TINY.cae, stalls=product_stalls(stalls, 6), backend=backend)


@pytest.mark.parametrize("stream", ProductStalls.__dataclass_fields__)
def test_one_stream_stalls_alone(stream):
    """Each stream in turn stops and goes while the others run free: a stall lost on one of them shows."""
    stalls = ProductStalls(**{stream: stall_pattern("stop_and_go", seed=3)})
    tiles = random_tiles(TINY.cae, seed=9, count=30, max_depth=14)
    assert_equivalent(tiles_trace(TINY.cae, tiles, seed=9), TINY.cae, stalls=stalls)


@pytest.mark.parametrize(
    ("sizes", "accumulator_rows", "least"),
    [
        # Cora's first layer, with two tiles of columns.
        ((2708, 1433, 16), 1024, 0.99),
        # 2,708 x 1,433 x 256 on 128 x 128, a sixteenth in each direction: as many tiles and blocks. The last block of
        # K is short there and here, which costs a share of its own; without it:
        ((170, 90, 16), 64, 0.95 * 90 / 96),
        ((170, 96, 16), 64, 0.95),
        # A small product alone, first weights and last drain included.
        ((64, 64, 64), 64, 0.95),
    ],
)
def test_share_of_peak(sizes, accumulator_rows, least):
    """An 8 x 8 array is kept busy for at least this share of its multiply-adds."""
    config = TINY.cae.replace(rows=8, columns=8, accumulator_rows=accumulator_rows)
    m, k, n = sizes
    rng = np.random.default_rng(0)
    x = to_bf16(np.where(rng.random((m, k)) < 0.02, 1, 0).astype(np.float32))
    w = to_bf16(rng.standard_normal((k, n)).astype(np.float32))
    simulation = assert_equivalent(product_trace(x, w, product_tiles(m, n, config), config), config)
    share = m * k * n / (config.rows * config.columns * simulation.cycles_rtl)
    assert share >= least


@pytest.mark.parametrize("kept", [0.0, 0.8])
@pytest.mark.parametrize("stalls", STALL_KINDS)
def test_short_tiles_overlap(stalls, kept):
    """Tiles of few rows and blocks of different shapes: one loads, one runs, one drains, and each waits for each."""
    config = TINY.cae.replace(accumulator_rows=5)
    tiles = random_tiles(config, seed=10, count=300, max_depth=9)
    trace = tiles_trace(config, tiles, seed=11, special=0.1, bad=0.1, kept=kept)
    timing = product_timing(trace.commands, config, product_stalls(stalls, 7))
    assert (timing.command[2:] < timing.status[:-2]).any(), "no three tiles are under way at once"
    assert timing.counters["wait_drain"] > 0
    assert_equivalent(trace, config, stalls=product_stalls(stalls, 7))


def test_declared_latency():
    """The stated latency holds: last row of activations to first result."""
    config = TINY.cae
    trace = tiles_trace(config, [(3, 2, 2)], seed=0)
    assert_equivalent(trace, config, backend="pysim")
    timing = product_timing(trace.commands, config)
    assert timing.results[0] - timing.activations[-1] == config.pipeline_cycles + 2
