"""Whole products and programs on the RTL, from memory to memory: equal to the models, and how busy the array is."""

import pytest

from sim.config import load_config
from sim.program.assembly import AssemblyError
from sim.program.cae_products import ProductShape, default_tiling
from sim.program.instructions import CaeCode, ProductKind
from testbenches.cae.workload import product_workload, program_workload

TINY = load_config("tiny").cae
SMALL = load_config("gnnear").cae.replace(
    rows=8,
    columns=8,
    accumulator_rows=64,
    operand_bank_beats=512,
    vector_bank_beats=256,
    vector_units=1,
    merge_sources=2,
    memory_beats=65536,
)
"""GNNear's latencies on 8 x 8."""


@pytest.mark.parametrize("kind", ProductKind)
@pytest.mark.parametrize(
    ("size", "alone", "among_others"),
    [((176, 96, 16), 0.88, 0.95), ((64, 64, 64), 0.88, 0.95)],
    ids=["tiles of 2708 x 1433 x 256", "64 x 64 x 64"],
)
def test_share_of_peak_with_transfers(kind, size, alone, among_others):
    cycles = []
    for times in (1, 2, 3):
        result = product_workload(kind, size, SMALL, times=times).simulate()
        assert result.equal, result.first_difference
        cycles.append(result.cycles_rtl)
    least = size[0] * size[1] * size[2] / 64
    assert least / cycles[0] >= alone
    assert least / (cycles[2] - cycles[1]) >= among_others


@pytest.mark.parametrize("kind", ProductKind)
def test_ragged_products_with_stalls(kind):
    for number, size in enumerate([(1, 1, 1), (5, 7, 3), (34, 16, 9), (65, 33, 18)]):
        result = product_workload(kind, size, TINY, seed=number).simulate(stalls="random", seed=number)
        assert result.equal, result.first_difference


def test_slow_memory_binds():
    fast, slow = (
        product_workload(ProductKind.XW, (64, 64, 16), TINY).simulate(memory_beats_per_cycle=rate) for rate in (1, 0.43)
    )
    assert fast.equal
    assert slow.equal
    assert slow.cycles_rtl > len(slow.golden.requests) / 0.43
    assert slow.cycles_rtl > 1.3 * fast.cycles_rtl


def test_too_few_banks_cannot_hide_the_loads():
    one_each = SMALL.replace(operand_banks=2, operand_bank_beats=2048)
    workloads = [product_workload(ProductKind.XW, (176, 96, 16), config) for config in (SMALL, one_each)]
    hidden, bare = (workload.simulate() for workload in workloads)
    assert hidden.equal
    assert bare.equal
    assert bare.cycles_rtl > 1.4 * hidden.cycles_rtl
    shape = ProductShape(kind=ProductKind.XW, rows=176, depth=96, columns=16, lanes=8)
    assert default_tiling(shape, one_each).left_banks == 1


def test_program_of_every_kind_of_instruction():
    text = """
    load.bf16 memory=m[0:4] result=b0[0:4] rows=16 columns=16
    load.bf16 memory=m[64:1] result=b1[0:1] rows=16 columns=4
    merge rows=4 columns=8 sources=0,2 result=b9[64:2]
    merge rows=0 columns=8 sources=0,2 result=b9[64:2]
    product.xw left=b0[0:4] right=b1[0:1] result=b8[0:1] rows=16 depth=16 columns=4
    synchronise
    vector.affine left=b8[0:1] result=b9[0:1] rows=16 columns=4 alpha=1 beta=-0.0 function=exp reduction=row_sum
    store.fp32 left=b9[0:1] memory=m[80:2] rows=16 columns=4
    """
    workload = program_workload(text, "test", TINY)
    assert workload.multiply_adds == 16 * 16 * 4
    result = workload.simulate(stalls="bursty")
    assert result.equal, result.first_difference
    assert result.codes == [0, 0, 0, CaeCode.BAD_ROWS, 0, 0, 0, 0]


def test_a_program_may_use_the_end_of_the_memory():
    far = TINY.memory_beats - 4
    text = f"load.fp32 memory=m[{far}:2] result=b8[0] rows=2 columns=4"
    assert program_workload(text, "test", TINY).memory[far:].all()
    assert not program_workload(text, "test", TINY).memory[:far].any()


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("# nothing", "no instruction"),
        ("store.bf16 left=b0[0] memory=m[999999999] rows=1 columns=1", "lower addresses"),
    ],
)
def test_programs_that_cannot_be_run_are_refused(text, told):
    with pytest.raises(AssemblyError, match=told):
        program_workload(text, "test", load_config("gnnear").cae)


def test_faulty_text_is_refused():
    with pytest.raises(AssemblyError, match="line 1: no instruction 'lod'"):
        program_workload("lod", "test", TINY)
