"""Corners of the product unit that long random traces do not reach, on Amaranth's own simulator: nothing to compile."""

import numpy as np
import pytest

from hdl.cae.product import ProductUnit
from sim.config import load_config
from sim.golden.product import product_streams
from sim.program.commands import MATRIX_COMMAND, MATRIX_STATUS
from sim.program.matrix_trace import MatrixTrace
from sim.timing.product import ProductStalls, product_timing
from testbenches.bench import Bench, Sink, Source, run
from testbenches.cae.simulate import product_stalls, simulate_product
from testbenches.cae.traces import random_tiles, tiles_trace
from testbenches.models.exchange import TAIL_CYCLES
from testbenches.nme.test_reduce_corners import assert_clean_after_resets

SMALL = load_config("tiny").cae.replace(rows=2, columns=2, accumulator_rows=4)


def assert_sound(trace, config, **options):
    simulation = simulate_product(trace, config, backend="pysim", **options)
    assert simulation.equal, simulation.first_difference
    # How long the bench ran on after the last status is known: no cycle went uncounted, none was counted twice.
    last = product_timing(trace.commands, config, options.get("stalls")).status[-1]
    assert simulation.cycles_simulated == last + 1 + TAIL_CYCLES


def with_rubbish(trace, seed):
    """Fill the reserved bits of the commands and their tags."""
    rng = np.random.default_rng(seed)
    commands = trace.commands.copy()
    commands[:, [6, 7, 12, 13, 14, 15]] = rng.integers(0, 256, (len(commands), 6))
    return MatrixTrace(commands=commands, weights=trace.weights, activations=trace.activations)


@pytest.mark.parametrize(
    "changes",
    [
        {"rows": 1, "columns": 3, "mul_latency": 4, "add_latency": 1},
        {"rows": 3, "columns": 1, "mul_latency": 0, "add_latency": 4, "accumulator_rows": 5},
        {"rows": 1, "columns": 1, "mul_latency": 0, "add_latency": 2, "accumulator_rows": 7},
        {"rows": 2, "columns": 2, "mul_latency": 3, "add_latency": 2, "accumulator_rows": 17},
    ],
    ids=str,
)
@pytest.mark.parametrize("stalls", ["none", "random"])
def test_uneven_latencies_and_sizes(changes, stalls):
    config = SMALL.replace(**changes)
    tiles = random_tiles(config, seed=1, count=16, max_depth=4 * config.rows)
    trace = with_rubbish(tiles_trace(config, tiles, seed=2, special=0.1, bad=0.2, kept=0.6), 3)
    assert_sound(trace, config, stalls=product_stalls(stalls, 4))


def test_bounds_of_every_field_one_by_one():
    """The least and greatest values pass, those just outside are refused, with everything else good.

    The greatest tile has two blocks and fewer rows than the array delays sums: all of its rows are under way at once.
    """
    good = {"opcode": 1, "rows": 4, "columns": 2, "depth": 3}
    wrong = {"opcode": (0, 2, 3), "rows": (0, 5, 258), "columns": (0, 3, 258), "depth": (0,)}
    wrong["part"] = (4, 8, 128)
    right = {"rows": (1, 4), "columns": (1, 2), "depth": (1, 2)}
    refused = [good | {name: value} for name, values in wrong.items() for value in values]
    done = [good | {name: value} for name, values in right.items() for value in values]
    commands = [command for pair in zip(refused, done * 3, strict=False) for command in pair]
    taken = [command for command in commands if command in done]
    rng = np.random.default_rng(5)
    n_weights = sum(command["depth"] for command in taken)
    n_rows = sum(command["rows"] * -(-command["depth"] // SMALL.rows) for command in taken)
    trace = MatrixTrace(
        commands=MATRIX_COMMAND.encode(
            len(commands), {name: [command.get(name, 0) for command in commands] for name in wrong} | {"tag": 9}
        ),
        weights=rng.integers(0, 256, (n_weights, 4), np.uint8),
        activations=rng.integers(0, 256, (n_rows, 4), np.uint8),
    )
    codes = MATRIX_STATUS.decode(product_streams(trace, SMALL).status)["code"]
    assert [code != 0 for code in codes] == [command in refused for command in commands]
    assert_sound(trace, SMALL)


def test_a_third_tile_waits_for_the_first_to_drain():
    """Results and statuses are not taken for long: the tiles behind come to rest in every stage, and go on."""
    trace = tiles_trace(SMALL, [(4, 2, 2), (2, 2, 1), (3, 5, 2), (1, 1, 1), (4, 3, 2)], seed=10)
    blocked = np.arange(1 << 10) % 300 < 280
    for name in ("results", "status"):
        stalls = ProductStalls(**{name: blocked})
        assert product_timing(trace.commands, SMALL, stalls).counters["wait_drain"] > 200
        assert_sound(trace, SMALL, stalls=stalls)


def test_valid_does_not_wait_for_ready():
    trace = tiles_trace(SMALL, [(2, 3, 2), (3, 1, 1)], seed=6)
    golden, stalls = product_streams(trace, SMALL), product_stalls("random", 7)
    sources = {"command": trace.commands, "weights": trace.weights, "activations": trace.activations}
    counts = {"results": len(golden.results), "status": len(golden.status)}
    bench = Bench(
        sources={name: Source(payloads=beats) for name, beats in sources.items()},
        sinks={
            name: Sink(count=n, stalled=getattr(stalls, name), ready_after_valid=True) for name, n in counts.items()
        },
        max_quiet_cycles=200,
    )
    assert (run(ProductUnit(SMALL), bench, backend="pysim").payloads["results"] == golden.results).all()


def test_depth_uses_all_32_bits():
    """A tile of depth 2**31 + 3 takes weights and activations for more than the two blocks that 3 would need."""
    command = {"opcode": 1, "rows": 2, "columns": 2, "depth": (1 << 31) + 3}
    bench = Bench(
        sources={
            "command": Source(payloads=MATRIX_COMMAND.encode(1, command)),
            "weights": Source(payloads=np.zeros((8, 4), np.uint8)),
            "activations": Source(payloads=np.zeros((8, 4), np.uint8)),
        },
        sinks={"results": Sink(count=0), "status": Sink(count=0)},
        max_quiet_cycles=200,
    )
    run(ProductUnit(SMALL), bench, backend="pysim")


def test_reset_in_the_middle_of_a_run():
    trace, stalls = tiles_trace(SMALL, [(3, 5, 2), (1, 3, 1)], seed=8), product_stalls("random", 9)
    golden = product_streams(trace, SMALL)
    assert_clean_after_resets(
        ProductUnit(SMALL),
        {"command": trace.commands, "weights": trace.weights, "activations": trace.activations},
        {"results": golden.results, "status": golden.status},
        product_timing(trace.commands, SMALL, stalls),
        stalls,
    )
