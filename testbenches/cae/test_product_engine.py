"""The product engine's RTL equals the golden model in every bit and the timing model in every cycle."""

import itertools

import numpy as np
import pytest

from hdl.cae.product_engine import ProductEngine
from sim.config import load_config
from sim.golden.product import keeps
from sim.program.instructions import ProductKind, ProductPart
from sim.timing.stalls import STALL_KINDS
from testbenches.cae import product_jobs, systolic_oracles
from testbenches.cae.product_jobs import bank_contents, difference, expected_writes, job, random_jobs, tiled_product

TINY = load_config("tiny").cae.replace(operand_bank_beats=64, vector_bank_beats=64)
SMALL = TINY.replace(rows=2, columns=3, accumulator_rows=9, window_instructions=5)


@pytest.mark.parametrize(("rows", "columns"), [(4, 4), (4, 8), (8, 4), (8, 8)])
def test_every_remainder(rows, columns):
    """All M and K over two blocks of rows and all N, in all three products, one job after the other."""
    config = TINY.replace(rows=rows, columns=columns)
    rng = np.random.default_rng(rows)
    sizes = itertools.product(range(1, 2 * rows + 1), range(1, 2 * rows + 1), range(1, columns + 1))
    jobs = [job(config, rng, kind, size) for size in sizes for kind in ProductKind]
    assert difference(config, jobs, bank_contents(config, seed=rows, special=0.02)) is None


@pytest.mark.parametrize("stalls", STALL_KINDS)
@pytest.mark.parametrize(("rows", "columns"), [(4, 8), (8, 4)])
def test_random_jobs(rows, columns, stalls):
    """Whole products and parts of them, at any place, of any sizes; jobs come at once, or now and then."""
    config = TINY.replace(rows=rows, columns=columns)
    jobs = random_jobs(config, seed=rows, count=300, max_depth=5 * rows, kept=0.5)
    assert difference(config, jobs, bank_contents(config, seed=1, special=0.1), stalls=stalls) is None


def test_full_rows_of_16():
    config = TINY.replace(rows=16, columns=16, accumulator_rows=40)
    jobs = random_jobs(config, seed=16, count=60, max_depth=40)
    assert difference(config, jobs, bank_contents(config, seed=16, special=0.05)) is None


@pytest.mark.parametrize(
    "changes",
    [
        {"rows": 1, "columns": 1, "accumulator_rows": 1, "mul_latency": 0, "add_latency": 1},
        {"rows": 1, "columns": 3, "mul_latency": 4, "add_latency": 1},
        {"rows": 3, "columns": 1, "mul_latency": 0, "add_latency": 4, "accumulator_rows": 5},
        {"rows": 3, "columns": 2, "mul_latency": 3, "add_latency": 2, "accumulator_rows": 17},
        {"rows": 2, "columns": 5, "accumulator_rows": 4},
    ],
    ids=str,
)
@pytest.mark.parametrize("stalls", ["none", "random"])
def test_uneven_sizes_and_latencies(changes, stalls):
    config = SMALL.replace(**changes)
    jobs = random_jobs(config, seed=2, count=30, max_depth=4 * config.rows, kept=0.4)
    contents = bank_contents(config, seed=3, special=0.1)
    unit = product_jobs.bare_design(config, ProductEngine(config))
    assert difference(config, jobs, contents, stalls=stalls, backend="pysim", unit=unit) is None


def test_short_parts_of_k_overlap_with_the_drain():
    """Parts of one block each: they go on while results of the job before are written, until too many are to report."""
    rng = np.random.default_rng(4)
    parts = [ProductPart.WHOLE, ProductPart.FIRST, *[ProductPart.MIDDLE] * 5, ProductPart.LAST] * 3
    config = TINY.replace(rows=4, columns=8)
    jobs = [job(config, rng, ProductKind.XW, (20, 4, 8), part) for part in parts]
    assert difference(config, jobs, bank_contents(config, seed=4)) is None


@pytest.mark.parametrize("kind", ProductKind)
def test_parts_give_the_bits_of_the_whole(kind):
    """One job of K = 11, and the same in three parts."""
    rng, contents = np.random.default_rng(5), bank_contents(SMALL, seed=5)
    whole = job(SMALL, rng, kind, (5, 11, 3)) | {"left_part": 0, "right_part": 0}
    whole |= {"left_pitch": 4, "right_pitch": 3, "left_address": 0, "right_address": 0}
    parts, done = [], 0
    for part, depth in ((ProductPart.FIRST, 6), (ProductPart.MIDDLE, 4), (ProductPart.LAST, 1)):
        # 2 elements to a part of the left operand, 3 of them to a beat: parts of K begin on one.
        piece = whole | {"function": int(part), "depth": depth}
        if kind == ProductKind.XTDY:
            piece["left_address"] += done * whole["left_pitch"]
        else:
            piece |= {"left_address": done // 6, "left_part": done % 6 // 2}
        if kind == ProductKind.DYWT:
            piece |= {"right_address": done // 6, "right_part": done % 6 // 2}
        else:
            piece["right_address"] += done * whole["right_pitch"]
        parts.append(piece)
        done += depth
    both = [expected_writes(SMALL, jobs, contents)["data"] for jobs in ([whole], parts)]
    assert np.array_equal(*both)
    unit = product_jobs.bare_design(SMALL, ProductEngine(SMALL))
    assert difference(SMALL, [*parts, whole], contents, backend="pysim", unit=unit) is None
    assert [keeps(piece["function"]) for piece in parts] == [True, True, False]


def test_layers_of_a_recommender():
    """Forward, gradient of the input and of the weights, each size a sixteenth, on an array as SCALE-Sim has it."""
    layers = systolic_oracles.layers(scale=16)
    config = systolic_oracles.array(8, 8, max(m for _, (m, _, _) in layers)).replace(operand_bank_beats=1024)
    jobs = [fields for kind, sizes in layers for fields in tiled_product(config, kind, sizes)]
    assert difference(config, jobs, bank_contents(config, seed=7)) is None


@pytest.mark.parametrize("kind", ProductKind)
@pytest.mark.parametrize(
    ("sizes", "least"),
    [
        # 2,708 x 1,433 x 256 on 128 x 128 a sixteenth in each direction, with whole blocks of K: as many tiles.
        ((176, 96, 16), 0.95),
        # The same, not rounded up: M and K leave blocks that are not full.
        ((170, 90, 16), 0.95 * (90 / 96) * (170 / 176)),
        ((64, 64, 64), 0.9),
    ],
    ids=str,
)
def test_share_of_peak(kind, sizes, least):
    """An 8 x 8 array is kept busy for at least this share of multiply-adds, first reads and last writes included."""
    config = load_config("tiny").cae.replace(rows=8, columns=8, operand_bank_beats=4096, accumulator_rows=64)
    jobs = tiled_product(config, kind, sizes)
    assert difference(config, jobs, bank_contents(config, seed=6)) is None
    m, k, n = sizes
    assert m * k * n / (64 * product_jobs.timed(config, jobs)[-1].done) >= least
