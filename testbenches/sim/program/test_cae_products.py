"""Products compiled for the Centralized Acceleration Engine: the right numbers, and tilings that cannot be."""

import numpy as np
import pytest

from sim.config import load_config
from sim.golden.cae import run_instructions
from sim.golden.product import product
from sim.program.cae_products import ProductShape, ProductTiling, check_tiling, compile_product, default_tiling
from sim.program.instructions import CAE_INSTRUCTION, CAE_STATUS, CaeOpcode, ElementType, ProductKind
from testbenches.cae.workload import product_memory, random_operands

CONFIG = load_config("tiny").cae.replace(operand_banks=4, operand_bank_beats=2048, memory_beats=65536)


@pytest.mark.parametrize(("rows", "columns"), [(4, 4), (4, 8), (8, 4), (3, 2)])
@pytest.mark.parametrize("kind", ProductKind)
@pytest.mark.parametrize(
    ("size", "tiling"),
    [
        ((17, 21, 9), (24, 24, 2)),
        ((5, 3, 2), (64, 24, 1)),
        ((64, 64, 64), (48, 72, 2)),
        ((33, 40, 17), (24, 24, 3)),
        ((1, 1, 1), (64, 24, 3)),
    ],
)
def test_any_tiling_gives_the_product(rows, columns, kind, size, tiling):
    config = CONFIG.replace(rows=rows, columns=columns)
    m, k, n = size
    element = ElementType.FP32
    shape = ProductShape(kind=kind, rows=m, depth=k, columns=n, lanes=config.lanes, result_element=element)
    tile_rows, chunk_depth, left_banks = tiling
    program = compile_product(
        shape, ProductTiling(tile_rows=tile_rows, chunk_depth=chunk_depth, left_banks=left_banks), config
    )
    left, right = random_operands(shape, seed=m)
    result = run_instructions(program.encode(), config, product_memory(shape, left, right))
    assert not CAE_STATUS.decode(result.status)["code"].any()
    x, w = (left.T if kind == ProductKind.XTDY else left), (right.T if kind == ProductKind.DYWT else right)
    expected = product(np.ascontiguousarray(x), np.ascontiguousarray(w))
    np.testing.assert_array_equal(shape.memory_map().read(result.memory, "result"), expected)


def test_a_chunk_that_is_still_there_is_not_loaded_again():
    shape = ProductShape(kind=ProductKind.XW, rows=8, depth=8, columns=16, lanes=4)
    program = compile_product(shape, ProductTiling(tile_rows=8, chunk_depth=8, left_banks=2), CONFIG).encode()
    loads = CAE_INSTRUCTION.decode(program)["opcode"] == CaeOpcode.LOAD
    assert loads.sum() == 1 + 4  # one tile of the left operand, four columns of tiles


@pytest.mark.parametrize(
    ("changes", "tiling", "message"),
    [
        ({"rows": 0}, (8, 8, 2), "rows is 0; a product needs 1 to 65535"),
        ({}, (8, 8, 4), "left_banks is 4; of 4 operand banks each side needs one"),
        ({}, (65, 8, 2), "tile_rows is 65; the accumulator memory has 1 to 64"),
        ({}, (8, 6, 2), "chunk_depth is 6; it must be whole beats of 4"),
        ({"kind": ProductKind.XTDY, "rows": 9}, (6, 8, 2), "tile_rows is 6; XTDY needs whole beats of 4"),
        ({"rows": 64, "depth": 1000}, (64, 1000, 2), "a left chunk takes 16000 beats, a bank has 2048: use a smaller"),
        ({"rows": 60000, "depth": 60000}, (8, 8, 2), "beats of memory; there are 65536"),
    ],
)
def test_what_does_not_fit_is_refused(changes, tiling, message):
    fields = {"kind": ProductKind.XW, "rows": 8, "depth": 8, "columns": 8, "lanes": 4} | changes
    tile_rows, chunk_depth, left_banks = tiling
    with pytest.raises(ValueError, match=message):
        compile_product(
            ProductShape(**fields),
            ProductTiling(tile_rows=tile_rows, chunk_depth=chunk_depth, left_banks=left_banks),
            CONFIG,
        )


@pytest.mark.parametrize("kind", ProductKind)
@pytest.mark.parametrize("beats", [4, 32, 100])
def test_the_default_tiling_fits_small_banks(kind, beats):
    config = CONFIG.replace(operand_bank_beats=beats, vector_bank_beats=beats)
    for size in ((100, 40, 16), (1, 1, 1), (65, 200, 33)):
        m, k, n = size
        shape = ProductShape(kind=kind, rows=m, depth=k, columns=n, lanes=config.lanes)
        check_tiling(shape, default_tiling(shape, config), config)
