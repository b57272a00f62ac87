"""Rules that any timing of the product unit must keep, and runs counted by hand; the RTL's benches prove equality."""

from dataclasses import fields

import numpy as np
import pytest

from sim.config import load_config
from sim.program.commands import MATRIX_COMMAND
from sim.program.counters import MATRIX_COUNTERS
from sim.timing.product import ProductStalls, product_timing
from sim.timing.stalls import STALL_KINDS, paced_pattern, stall_pattern

ARRAY = load_config("tiny").cae.model_copy(update={"rows": 3, "columns": 2, "accumulator_rows": 20})


def commands_of(*tiles):
    """Encode tiles of (rows, depth, columns); a tile of zeros is refused."""
    rows, depth, columns = (np.array(column) for column in zip(*tiles, strict=True))
    return MATRIX_COMMAND.encode(len(tiles), {"opcode": 1, "rows": rows, "columns": columns, "depth": depth})


def stalls_of(kind, seed):
    return ProductStalls(
        **{part.name: stall_pattern(kind, seed=8 * seed + i) for i, part in enumerate(fields(ProductStalls))}
    )


@pytest.mark.parametrize("kind", STALL_KINDS)
@pytest.mark.parametrize("seed", range(6))
def test_invariants(kind, seed):
    rng = np.random.default_rng(seed)
    tiles = [tuple(rng.integers(0, high)) for high in [(22, 15, 4)] * 12]
    stalls = stalls_of(kind, seed)
    timing = product_timing(commands_of(*tiles), ARRAY, stalls)
    good = [(m, k) for m, k, n in tiles if 0 < m <= 20 and k > 0 and 0 < n <= 2]
    assert 0 < len(good) < 12

    assert timing.counters.keys() == MATRIX_COUNTERS.keys()
    assert min(timing.counters.values()) >= 0
    assert sum(timing.counters.values()) == timing.status[-1] + 1
    assert timing.counters["busy"] == sum(m * -(-k // 3) for m, k in good)
    assert timing.cycles == timing.status[-1] - timing.command[0] + 1
    sizes = {"command": 12, "weights": sum(k for _, k in good), "activations": timing.counters["busy"],
             "results": sum(m for m, _ in good), "status": 12}  # fmt: skip
    for name, size in sizes.items():
        cycles = getattr(timing, name)
        assert len(cycles) == size, name
        assert (np.diff(cycles) > 0).all(), name
    for name in ("results", "status"):
        pattern, cycles = getattr(stalls, name), getattr(timing, name)
        assert not pattern[cycles % len(pattern)].any()
    assert (timing.status > timing.command).all()
    assert (timing.command[1:] > timing.status[:-1]).all()


def test_one_row_by_hand():
    timing = product_timing(commands_of((1, 1, 1)), ARRAY)
    # Command in 0; three shifts in 1 to 3, of which only the first needs a weight; the row in 4. Its sum in the last
    # column is written in 16, after read, multiply (1), 3 rows of 3, and 1 column of skew; it is read in 17.
    assert ARRAY.pipeline_cycles == 12
    assert (timing.command[0], timing.weights.tolist(), timing.activations.tolist()) == (0, [1], [4])
    assert timing.results.tolist() == [4 + ARRAY.pipeline_cycles + 2] == [18]
    assert timing.status.tolist() == [19]
    assert timing.counters["busy"] == 1
    assert timing.counters["wait_weights"] == 3


def test_weights_load_behind_the_rows():
    # 20 rows hide the 3 shifts of the next block and the swap: one row a cycle from the first to the last.
    timing = product_timing(commands_of((20, 30, 2)), ARRAY)
    assert np.array_equal(np.diff(timing.activations), np.ones(199))
    assert timing.counters["wait_weights"] == 3
    assert timing.counters["wait_accumulator"] == 0


@pytest.mark.parametrize("rows", range(1, 20))
def test_a_row_waits_for_its_own_sum(rows):
    timing = product_timing(commands_of((rows, 6, 2)), ARRAY)
    # Next block: not before the sum of the block before was written and can be read, nor before the weights are there.
    gap = timing.activations[rows] - timing.activations[0]
    weights_ready = ARRAY.swap_cycles + 3
    assert gap == max(rows, ARRAY.reuse_cycles, weights_ready)


def test_refused_commands_cost_two_cycles_each():
    timing = product_timing(commands_of((0, 1, 1), (1, 0, 1), (1, 1, 0)), ARRAY)
    assert timing.command.tolist() == [0, 2, 4]
    assert timing.status.tolist() == [1, 3, 5]


def test_no_commands():
    timing = product_timing(np.zeros((0, 16), np.uint8), ARRAY)
    assert timing.cycles == 0
    assert set(timing.counters.values()) == {0}


@pytest.mark.parametrize("stream", ["weights", "activations", "results", "command", "status"])
def test_slower_streams_never_shorten(stream):
    commands = commands_of((5, 7, 2), (20, 3, 1), (1, 10, 2))
    cycles = [product_timing(commands, ARRAY, ProductStalls(**{stream: paced_pattern(1 << power)})).cycles
              for power in range(7)]  # fmt: skip
    assert cycles == sorted(cycles)
    assert cycles[-1] > cycles[0]


def test_latencies_count():
    commands = commands_of((3, 7, 2))
    base = product_timing(commands, ARRAY).cycles
    for name in ("add_latency", "mul_latency", "columns"):
        slower = ARRAY.model_copy(update={name: getattr(ARRAY, name) + 1})
        assert product_timing(commands, slower).cycles > base
