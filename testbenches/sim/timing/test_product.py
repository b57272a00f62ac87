"""Rules that any timing of the product unit must keep, and runs counted by hand; the RTL's benches prove equality."""

from dataclasses import fields

import numpy as np
import pytest

from sim.config import load_config
from sim.program.commands import MATRIX_COMMAND, MATRIX_REPORTS
from sim.program.counters import MATRIX_COUNTERS
from sim.timing.product import ProductStalls, product_timing, tiles_cycles
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
    # One loads, one runs, and so many may still have to report.
    most = 2 + MATRIX_REPORTS
    assert (timing.command[most:] > timing.status[:-most]).all()
    rows = [m if 0 < m <= 20 and k > 0 and 0 < n <= 2 else 0 for m, k, n in tiles]
    issued, handed = 0, 0
    for c, (m, (_, k, _)) in enumerate(zip(rows, tiles, strict=True)):
        if m:
            issued += m * -(-k // 3)
            first, last = timing.results[handed], timing.results[handed + m - 1]
            handed += m
            assert first >= timing.activations[issued - 1] + ARRAY.pipeline_cycles + 2
            assert first > (timing.status[c - 1] if c else -1)
            assert timing.status[c] > last


def test_one_row_by_hand():
    timing = product_timing(commands_of((1, 1, 1)), ARRAY)
    # Command in 0; three shifts in 1 to 3, of which only the first needs a weight; the tile runs from 2 on, and its row
    # enters in 4. Its sum in the last column is written in 16, after read, multiply (1), 3 rows of 3, and 1 column of
    # skew; it is read in 17.
    assert ARRAY.pipeline_cycles == 12
    assert (timing.command[0], timing.weights.tolist(), timing.activations.tolist()) == (0, [1], [4])
    assert timing.results.tolist() == [4 + ARRAY.pipeline_cycles + 2] == [18]
    assert timing.status.tolist() == [19]
    assert {name: cycles for name, cycles in timing.counters.items() if cycles} == {
        "idle": 2, "wait_weights": 2, "busy": 1, "flush": 12, "drain": 2, "wait_status": 1,
    }  # fmt: skip


def test_weights_load_behind_the_rows():
    # 20 rows hide the 3 shifts of the next block and the swap: one row a cycle from the first to the last.
    timing = product_timing(commands_of((20, 30, 2)), ARRAY)
    assert np.array_equal(np.diff(timing.activations), np.ones(199))
    assert timing.counters["wait_weights"] == 2
    assert timing.counters["wait_accumulator"] == 0


def test_no_cycle_is_lost_between_tiles():
    # The same over tiles: weights, flush and drain of 12 + 20 + 3 cycles stand beside 100 rows each.
    timing = product_timing(commands_of(*[(20, 15, 2)] * 7), ARRAY)
    assert np.array_equal(np.diff(timing.activations), np.ones(699))
    assert timing.counters["wait_drain"] == 0
    assert timing.counters["flush"] == ARRAY.pipeline_cycles
    assert timing.cycles == 4 + 700 + ARRAY.pipeline_cycles + 20 + 2


def test_a_third_tile_waits_for_the_first_to_drain():
    # No result is taken before cycle 999. The second tile runs to its end and waits; the third loads its weights only.
    blocked = np.arange(1 << 16) < 999
    timing = product_timing(commands_of(*[(4, 3, 2)] * 3), ARRAY, ProductStalls(results=blocked))
    assert timing.results[:4].tolist() == [999, 1000, 1001, 1002]
    assert timing.status[0] == 1003
    assert timing.activations[7] < 999
    assert timing.weights[8] < 999
    # It moves in when the second leaves, in the cycle of the first one's status.
    assert timing.activations[8] == 1004
    assert timing.counters["wait_drain"] == (1003 - timing.activations[7]) + (timing.status[1] - timing.activations[11])


@pytest.mark.parametrize(("rows", "columns"), [(3, 2), (1, 1), (1, 4), (4, 4)])
@pytest.mark.parametrize("seed", range(10))
def test_cycles_of_tiles_in_a_row(rows, columns, seed):
    config = ARRAY.model_copy(update={"rows": rows, "columns": columns})
    rng = np.random.default_rng(seed)
    m, k = rng.integers(1, 21, 30), rng.integers(1, (5, 30)[seed % 2], 30)
    commands = MATRIX_COMMAND.encode(30, {"opcode": 1, "rows": m, "columns": 1, "depth": k})
    for n in range(1, 31):
        assert tiles_cycles(m[:n], k[:n], config) == product_timing(commands[:n], config).cycles
    # The same as parts of K, several in a row kept.
    part = np.array([1, 3, 2, 1, 3, 3, 3, 3, 2, 0] * 3)
    for c in range(1, 30):
        m[c] = m[c - 1] if part[c] in (2, 3) else m[c]
    commands = MATRIX_COMMAND.encode(30, {"opcode": 1, "part": part, "rows": m, "columns": 1, "depth": k})
    for n in range(1, 31):
        assert tiles_cycles(m[:n], k[:n], config, part[:n]) == product_timing(commands[:n], config).cycles


def test_no_tiles():
    assert tiles_cycles(np.zeros(0, np.int64), np.zeros(0, np.int64), ARRAY) == 0


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
    # Each goes through all stages: loads in 1, runs in 2, reports in 3.
    assert timing.status.tolist() == [3, 5, 7]


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
