"""Tiles and streams of the systolic array."""

import struct

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sim.config import load_config
from sim.program.matrix_trace import product_tiles, product_trace
from testbenches.sim.program.strategies import relaxed

ARRAY = load_config("tiny").cae.model_copy(update={"rows": 3, "columns": 2, "accumulator_rows": 4})


@given(st.integers(0, 40), st.integers(0, 9), st.integers(1, 8), st.integers(1, 4))
@relaxed
def test_tiles_cover_each_result_once(n_rows, n_columns, accumulator_rows, columns):
    config = ARRAY.model_copy(update={"accumulator_rows": accumulator_rows, "columns": columns})
    covered = np.zeros((n_rows, n_columns), np.int64)
    heights = []
    for tile in product_tiles(n_rows, n_columns, config):
        covered[tile.rows, tile.columns] += 1
        height, width = tile.rows.stop - tile.rows.start, tile.columns.stop - tile.columns.start
        assert 0 < height <= accumulator_rows
        assert 0 < width <= columns
        heights.append(height)
    assert (covered == 1).all()
    assert max(heights, default=0) - min(heights, default=0) <= 1
    assert len(heights) == -(-n_rows // accumulator_rows) * -(-n_columns // columns)


@pytest.mark.parametrize(("m", "k", "n"), [(1, 1, 1), (5, 7, 3), (4, 3, 2), (9, 2, 5), (8, 6, 4)])
def test_streams(m, k, n):
    rng = np.random.default_rng(m * 100 + k * 10 + n)
    x, w = (rng.integers(0, 65536, shape, np.uint16) for shape in ((m, k), (k, n)))
    tiles = product_tiles(m, n, ARRAY)
    trace = product_trace(x, w, tiles, ARRAY)
    commands, weights, activations = [], [], []
    for tag, tile in enumerate(tiles):
        height, width = tile.rows.stop - tile.rows.start, tile.columns.stop - tile.columns.start
        commands.append(struct.pack("<BxHHHI4x", 1, height, width, tag, k))
        for row in w.tolist():
            weights.append(struct.pack("<2H", *[*row[tile.columns], 0, 0][:2]))
        for block in range(0, k, 3):
            for row in x[tile.rows].tolist():
                activations.append(struct.pack("<3H", *[*row[block : block + 3], 0, 0][:3]))
    assert [record.tobytes() for record in trace.commands] == commands
    assert [record.tobytes() for record in trace.weights] == weights
    assert [record.tobytes() for record in trace.activations] == activations


@pytest.mark.parametrize(
    ("x", "w", "match"),
    [
        (np.zeros((2, 3), np.uint16), np.zeros((2, 3), np.uint16), r"product of \(2, 3\) and \(2, 3\)"),
        (np.zeros((0, 3), np.uint16), np.zeros((3, 2), np.uint16), "none may be zero"),
        (np.zeros((2, 0), np.uint16), np.zeros((0, 2), np.uint16), "none may be zero"),
        (np.zeros((2, 3), np.uint16), np.zeros((3, 0), np.uint16), "none may be zero"),
        (np.zeros((2, 3), np.uint32), np.zeros((3, 2), np.uint16), "takes bf16 bits .*not uint32 and uint16"),
        (np.zeros((2, 3), np.uint16), np.zeros((3, 2), np.float32), "takes bf16 bits .*not uint16 and float32"),
    ],
)
def test_refusals(x, w, match):
    with pytest.raises(ValueError, match=match):
        product_trace(x, w, product_tiles(len(x), w.shape[1], ARRAY), ARRAY)
