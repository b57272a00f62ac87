"""The product engine's timing model: runs counted by hand, the bars, SCALE-Sim; the RTL's benches prove equality."""

import numpy as np
import pytest

from sim.config import load_config
from sim.program.commands import MATRIX_COMMAND
from sim.program.counters import PRODUCT_COUNTERS
from sim.program.instructions import ProductKind, ProductPart
from sim.timing.cae.product import ProductTiming
from sim.timing.product import product_timing
from testbenches.cae import systolic_oracles
from testbenches.cae.product_jobs import random_jobs, tiled_product, timed

TINY = load_config("tiny").cae
ARRAY = TINY.replace(rows=3, columns=2, accumulator_rows=20)


def instruction(m, k, n, kind=ProductKind.XW, part=ProductPart.WHOLE):
    return {"operation": int(kind), "function": int(part), "rows": m, "columns": n, "depth": k}


def array_cycles(config, m, depths):
    """Count from the first shift of weights to the write of the last sum, tiles of one array after another."""
    commands = MATRIX_COMMAND.encode(len(depths), {"opcode": 1, "rows": m, "columns": 1, "depth": depths})
    timing = product_timing(commands, config)
    return int(timing.activations[-1] - timing.weights[0]) + config.pipeline_cycles + 1


def test_one_row_by_hand():
    # Taken in 5, weight read in 6, its row in the slot in 8, read from it in 9, shifted in with two more from 10 on.
    # The row of activations, read in 7, stands ready from 11 on and enters in 13. The sum is written in 25, read in 26,
    # written to the bank in 27.
    timing = ProductTiming(ARRAY)
    assert ARRAY.pipeline_cycles == 12
    assert timing.start(5, instruction(1, 1, 1)) == (5, 7, 28)
    assert {name: cycles for name, cycles in timing.counters(100).items() if cycles} == {
        "busy": 1, "wait_weights": 6, "flush": 12, "drain": 2, "wait_status": 1, "idle": 78,
    }  # fmt: skip


@pytest.mark.parametrize(("kind", "later"), [(ProductKind.XW, 0), (ProductKind.DYWT, 1), (ProductKind.XTDY, 0)])
def test_what_is_turned_waits_for_its_last_row(kind, later):
    timing = ProductTiming(ARRAY)
    assert timing.start(0, instruction(3, 3, 2, kind)).done == 5 + 3 + 3 + 12 + 3 + 1 + later


def test_a_part_that_is_kept_is_done_when_it_has_run():
    timing = ProductTiming(ARRAY)
    first = timing.start(0, instruction(20, 3, 2, part=ProductPart.FIRST))
    assert first.done == 5 + 3 + 20 + 0
    last = timing.start(0, instruction(20, 3, 2, part=ProductPart.LAST))
    assert last.done == first.done + 20 + ARRAY.pipeline_cycles + 20 + 1


@pytest.mark.parametrize("seed", range(5))
def test_invariants(seed):
    rng = np.random.default_rng(seed)
    jobs = random_jobs(TINY, seed=seed, count=60, max_depth=30, kept=0.4)
    timing, offered, told = ProductTiming(TINY), 0, []
    for fields in jobs:
        told.append(timing.start(offered, fields))
        assert told[-1].started >= offered
        assert told[-1].started < told[-1].read < told[-1].done
        offered = told[-1].started + int(rng.integers(1, 100))
    for name in ("started", "read", "done"):
        assert (np.diff([getattr(cycles, name) for cycles in told]) > 0).all()
    end = told[-1].done + 1
    counters = timing.counters(end)
    assert counters.keys() == PRODUCT_COUNTERS.keys()
    assert min(counters.values()) >= 0
    assert sum(counters.values()) == end
    assert counters["busy"] == sum(fields["rows"] * -(-fields["depth"] // TINY.rows) for fields in jobs)
    # Asked again, or for later, it says the same.
    assert timing.counters(end + 7) == counters | {"idle": counters["idle"] + 7}
    with pytest.raises(ValueError, match="is done in cycle"):
        timing.counters(end - 1)


@pytest.mark.parametrize("kind", ProductKind)
@pytest.mark.parametrize(
    ("sizes", "least"), [((176, 96, 16), 0.95), ((64, 64, 64), 0.9), ((170, 90, 16), 0.95 * 90 / 96 * 170 / 176)]
)
def test_share_of_peak(kind, sizes, least):
    config = load_config("gnnear").cae.replace(rows=8, columns=8, accumulator_rows=64)
    m, k, n = sizes
    assert m * k * n / (64 * (timed(config, tiled_product(config, kind, sizes))[-1].done + 1)) >= least


@pytest.mark.parametrize("kind", ProductKind)
def test_no_cycle_is_lost_between_equal_jobs(kind):
    config = TINY.replace(rows=8, columns=8)
    cycles = timed(config, [instruction(64, 24, 8, kind)] * 20)
    assert set(np.diff([job.done for job in cycles])) == {3 * 64}


def test_scalesim():
    """A fold by itself takes two cycles more than SCALE-Sim's; all folds together two more at most, mostly far less.

    The two: between the last shift and the first row, and before the last sum can be read.
    """
    runs = systolic_oracles.weight_stationary_runs()
    assert len(runs) == 35
    for rows, columns, m, k, n, cycles in runs:
        config = systolic_oracles.array(rows, columns, m)
        form = systolic_oracles.closed_form(rows, columns, m, k, n)
        assert cycles + 1 == form
        folds = [min(rows, k - first) for _ in range(0, n, columns) for first in range(0, k, rows)]
        assert sum(array_cycles(config, m, [depth]) for depth in folds) == form + 2 * len(folds)
        together = array_cycles(config, m, [k] * -(-n // columns))
        period = max(m, 2 * rows + columns - 1)
        assert together == 2 * rows + columns + m + (len(folds) - 1) * period
        assert together <= form + 2


@pytest.mark.parametrize(("side", "scale"), [(128, 1), (8, 16)])
def test_layers_of_a_recommender(side, scale):
    """With its reads and writes the engine takes M + 7 cycles more than its array, and N - 1 to turn the first weights.

    But where M leaves a group of rows of X^T that is not full: the reads of one take as long as those of a full one.
    """
    for kind, (m, k, n) in systolic_oracles.layers(scale):
        config = systolic_oracles.array(side, side, m)
        widths = [min(side, n - first) for first in range(0, n, side)]
        together = array_cycles(config, m, [k] * len(widths))
        assert together <= systolic_oracles.closed_form(side, side, m, k, n) + 2
        engine = timed(config, [instruction(m, k, width, kind) for width in widths])[-1].done + 1
        more = engine - together - m - 7
        if kind == ProductKind.XTDY:
            assert 0 <= more <= (side - 1) * len(widths) * (m % side > 0)
        else:
            assert more == (widths[0] - 1 if kind == ProductKind.DYWT else 0)
