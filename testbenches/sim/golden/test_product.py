"""The golden product unit against chains of additions in plain Python, bit for bit."""

import dataclasses

import numpy as np
import pytest

from sim.config import load_config
from sim.golden.product import product, product_streams
from sim.program.commands import MATRIX_COMMAND, MATRIX_STATUS, MatrixCode, result_beat
from sim.program.matrix_trace import MatrixTrace, product_tiles, product_trace
from testbenches.cae.traces import tiles_trace
from testbenches.sim.golden import reference

ARRAY = load_config("tiny").cae.model_copy(update={"rows": 3, "columns": 2, "accumulator_rows": 5})
SHAPES = [(1, 1, 1), (4, 7, 3), (6, 3, 2), (3, 9, 5), (11, 4, 1)]


def operands(m, k, n, special_share=0.0):
    rng = np.random.default_rng(1000 * m + 100 * k + n)
    x, w = (reference.random_bits(rng, shape, "bf16", special_share) for shape in ((m, k), (k, n)))
    return x, w


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("special_share", [0.0, 0.1])
def test_product(shape, special_share):
    x, w = operands(*shape, special_share)
    assert np.array_equal(product(x, w), reference.product(x, w))


def test_every_special_value_with_every_other():
    x = reference.SPECIAL_BF16.reshape(-1, 1)
    assert np.array_equal(product(x, x.T), reference.product(x, x.T))
    # And on top of a sum that is not zero.
    ones = np.full_like(x, 0x3F80)
    x2, w2 = np.hstack([ones, x]), np.vstack([ones.T, x.T])
    assert np.array_equal(product(x2, w2), reference.product(x2, w2))


def test_k_runs_from_low_to_high():
    bf16 = {"1": 0x3F80, "2**24": 0x4B80, "-2**24": 0xCB80}
    ones = np.full((3, 1), bf16["1"], np.uint16)
    low_first = np.array([[bf16["2**24"], bf16["1"], bf16["-2**24"]]], np.uint16)
    assert product(low_first, ones).tolist() == [[0]]
    assert product(low_first[:, [0, 2, 1]], ones).tolist() == [[0x3F800000]]


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_streams_give_the_product_tile_by_tile(shape):
    x, w = operands(*shape, 0.05)
    tiles = product_tiles(shape[0], shape[2], ARRAY)
    result = product_streams(product_trace(x, w, tiles, ARRAY), ARRAY)
    beats = result_beat(ARRAY.columns).decode(result.results)
    assert beats["first"].all()
    assert beats["last"].all()
    rows = iter(zip(beats["index"].tolist(), beats["data"], strict=True))
    got = np.full((shape[0], shape[2]), 0xDEAD, np.uint32)
    for tile in tiles:
        width = tile.columns.stop - tile.columns.start
        for row in range(tile.rows.stop - tile.rows.start):
            index, data = next(rows)
            assert index == row
            got[tile.rows.start + row, tile.columns] = data[:width]
            assert not data[width:].any()
    assert next(rows, None) is None
    assert np.array_equal(got, reference.product(x, w))
    status = MATRIX_STATUS.decode(result.status)
    assert status["tag"].tolist() == list(range(len(tiles)))
    assert not status["code"].any()


def command(**fields):
    return {"opcode": 1, "rows": 2, "columns": 2, "tag": 9, "depth": 4} | fields


def test_what_lies_beyond_depth_and_columns_is_ignored():
    # Infinity and NaN in the padding must not reach any sum.
    one, nan = 0x3F80, 0x7FC0
    fields = command(rows=1, columns=1, depth=1)
    trace = MatrixTrace(
        commands=MATRIX_COMMAND.encode(1, fields),
        weights=np.array([[one, nan]], "<u2").view(np.uint8),
        activations=np.array([[one, nan, nan]], "<u2").view(np.uint8),
    )
    beats = result_beat(2).decode(product_streams(trace, ARRAY).results)
    assert beats["data"].tolist() == [[0x3F800000, 0]]


def test_refused_commands_take_nothing_from_the_streams():
    faults = [
        ({"opcode": 0}, MatrixCode.BAD_OPCODE), ({"opcode": 2}, MatrixCode.BAD_OPCODE),
        ({"rows": 0}, MatrixCode.BAD_ROWS), ({"rows": 6}, MatrixCode.BAD_ROWS),
        ({"columns": 0}, MatrixCode.BAD_COLUMNS), ({"columns": 3}, MatrixCode.BAD_COLUMNS),
        ({"depth": 0}, MatrixCode.BAD_DEPTH),
    ]  # fmt: skip
    rows = [(command(**fault), code) for fault, code in faults]
    rows += [(command(**(fault | other)), min(a, b)) for fault, a in faults for other, b in faults]
    rows.append((command(tag=77), MatrixCode.OK))
    commands = MATRIX_COMMAND.encode(len(rows), {key: [fields[key] for fields, _ in rows] for key in command()})
    x, w = operands(2, 4, 2)
    one = product_trace(x, w, product_tiles(2, 2, ARRAY), ARRAY)
    result = product_streams(MatrixTrace(commands=commands, weights=one.weights, activations=one.activations), ARRAY)
    status = MATRIX_STATUS.decode(result.status)
    assert status["code"].tolist() == [code for _, code in rows]
    assert status["tag"].tolist() == [fields["tag"] for fields, _ in rows]
    assert np.array_equal(result_beat(2).decode(result.results)["data"], reference.product(x, w))


def test_no_commands():
    empty = MatrixTrace(
        commands=np.zeros((0, 16), np.uint8), weights=np.zeros((0, 4), np.uint8), activations=np.zeros((0, 6), np.uint8)
    )
    result = product_streams(empty, ARRAY)
    assert (result.results.shape, result.status.shape) == ((0, result_beat(2).bytes), (0, 4))


@pytest.mark.parametrize("stream", ["weights", "activations"])
def test_streams_that_do_not_fit_the_commands_are_refused(stream):
    config = load_config("tiny").cae
    trace = tiles_trace(config, [(3, 5, 2), (2, 3, 4)], seed=1)
    wrong = dataclasses.replace(trace, **{stream: getattr(trace, stream)[:-2]})
    with pytest.raises(ValueError, match=f"{stream}: the commands take .* beats, but the trace holds"):
        product_streams(wrong, config)
