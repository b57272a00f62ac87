"""The golden judge against its rules, written out by hand at their edges."""

import pytest

from sim.config import load_config
from sim.program.cae_check import BankUse, Kept, bank_use, check_instruction, check_instructions, kept_after
from sim.program.instructions import (
    CaeCode,
    CaeOpcode,
    ElementType,
    ProductKind,
    ProductPart,
    RightOperand,
    VectorOperation,
    VectorReduction,
)
from testbenches.cae.programs import FIELDS

CONFIG = load_config("tiny").cae.replace(
    operand_banks=4,
    vector_banks=4,
    operand_bank_beats=16,
    vector_bank_beats=12,
    memory_beats=100,
    merge_sources=3,
    accumulator_rows=8,
    vector_units=2,
)
WIDE = CONFIG.replace(rows=4, columns=8)  # beats of two parts of four
NONE = dict.fromkeys(FIELDS, 0)
LOAD = NONE | {
    "opcode": CaeOpcode.LOAD, "operation": ElementType.BF16, "rows": 3, "columns": 5, "result_bank": 4,
    "result_pitch": 4, "memory_pitch": 10,
}  # fmt: skip
STORE = NONE | {
    "opcode": CaeOpcode.STORE, "operation": ElementType.FP32, "rows": 3, "columns": 5, "left_bank": 4, "left_pitch": 4,
    "memory_pitch": 10,
}  # fmt: skip
PRODUCT = NONE | {
    "opcode": CaeOpcode.PRODUCT, "operation": ProductKind.XW, "rows": 8, "columns": 4, "depth": 5, "left_pitch": 2,
    "right_bank": 1, "right_pitch": 1, "result_bank": 2, "result_pitch": 1,
}  # fmt: skip
MERGE = NONE | {"opcode": CaeOpcode.MERGE, "rows": 3, "columns": 5, "depth": 7, "result_bank": 4, "result_pitch": 2}
VECTOR = NONE | {
    "opcode": CaeOpcode.VECTOR, "operation": VectorOperation.COMBINE, "right_operand": RightOperand.FULL, "unit": 1,
    "rows": 3, "columns": 5, "left_bank": 4, "left_pitch": 2, "right_bank": 5, "right_pitch": 2, "result_bank": 6,
    "result_pitch": 2,
}  # fmt: skip
GOOD = (LOAD, STORE, PRODUCT, MERGE, VECTOR, NONE | {"opcode": CaeOpcode.SYNCHRONISE, "rows": 0})
KEPT = Kept(8, 4)


def code(instruction, kept=KEPT, config=CONFIG, **changes):
    return check_instruction(instruction | changes, config, kept)


def test_good_ones_are_good():
    assert check_instructions(GOOD, CONFIG).tolist() == [CaeCode.OK] * len(GOOD)


@pytest.mark.parametrize(
    ("instruction", "reason", "good", "bad"),
    [
        (LOAD, CaeCode.BAD_OPCODE, {}, {"opcode": 0}),
        (LOAD, CaeCode.BAD_OPCODE, {}, {"opcode": 7}),
        (LOAD, CaeCode.BAD_OPERATION, {"operation": 2}, {"operation": 3}),
        (PRODUCT, CaeCode.BAD_OPERATION, {"function": 3}, {"function": 4}),
        (PRODUCT, CaeCode.BAD_OPERATION, {}, {"operation": 0}),
        (VECTOR, CaeCode.BAD_OPERATION, {"unit": 0}, {"unit": 2}),
        (VECTOR, CaeCode.BAD_OPERATION, {"right_operand": 1}, {"right_operand": 0}),
        (VECTOR, CaeCode.BAD_OPERATION, {"operation": 3, "right_operand": 0}, {"operation": 3, "right_operand": 1}),
        (VECTOR, CaeCode.BAD_OPERATION, {"function": 5}, {"function": 6}),
        (VECTOR, CaeCode.BAD_OPERATION, {"reduction": 3}, {"reduction": 4}),
        (MERGE, CaeCode.BAD_ROWS, {"rows": 1}, {"rows": 0}),
        (PRODUCT, CaeCode.BAD_ROWS, {"rows": 8}, {"rows": 9}),
        (PRODUCT, CaeCode.BAD_ROWS, {"function": 2}, {"function": 2, "rows": 7}),
        (PRODUCT, CaeCode.BAD_COLUMNS, {"function": 3}, {"function": 3, "columns": 3}),
        (PRODUCT, CaeCode.BAD_COLUMNS, {"columns": 1}, {"columns": 5}),
        (STORE, CaeCode.BAD_COLUMNS, {"columns": 8}, {"columns": 0}),
        (PRODUCT, CaeCode.BAD_DEPTH, {"depth": 1}, {"depth": 0}),
        (PRODUCT, CaeCode.BAD_DEPTH, {"depth": 8}, {"depth": 65536}),
        (MERGE, CaeCode.BAD_DEPTH, {"depth": 4}, {"depth": 8}),
        (MERGE, CaeCode.BAD_DEPTH, {"depth": 1}, {"depth": 0}),
        (LOAD, CaeCode.BAD_BANK, {"result_bank": 7}, {"result_bank": 8}),
        (PRODUCT, CaeCode.BAD_BANK, {"left_bank": 3}, {"left_bank": 4}),
        (PRODUCT, CaeCode.BAD_BANK, {"result_bank": 7}, {"result_bank": 1}),
        (PRODUCT, CaeCode.BAD_BANK, {}, {"right_bank": 0}),
        (VECTOR, CaeCode.BAD_BANK, {"right_operand": 1, "right_bank": 4}, {"right_bank": 4}),
        (VECTOR, CaeCode.BAD_BANK, {"result_bank": 4}, {"result_bank": 4, "result_address": 1}),
        (VECTOR, CaeCode.BAD_BANK, {"result_bank": 5}, {"result_bank": 5, "right_operand": RightOperand.BY_ROW}),
        (VECTOR, CaeCode.BAD_BANK, {"result_bank": 4}, {"result_bank": 4, "left_pitch": 1, "result_pitch": 1}),
        (VECTOR, CaeCode.BAD_BANK, {}, {"result_bank": 4, "reduction": VectorReduction.ROW_SUM}),
        (LOAD, CaeCode.BAD_ADDRESS, {"result_address": 2}, {"result_address": 3}),
        (LOAD, CaeCode.BAD_ADDRESS, {"result_bank": 0, "result_address": 6}, {"result_bank": 0, "result_address": 7}),
        (STORE, CaeCode.BAD_ADDRESS, {"left_pitch": 5}, {"left_pitch": 6}),
        (VECTOR, CaeCode.BAD_ADDRESS, {"right_address": 6}, {"right_address": 7}),
        (LOAD, CaeCode.BAD_MEMORY, {"memory_address": 78}, {"memory_address": 79}),
        (STORE, CaeCode.BAD_MEMORY, {"memory_address": 76}, {"memory_address": 77}),
        (STORE, CaeCode.BAD_MEMORY, {"memory_pitch": 48}, {"memory_pitch": 49}),
    ],
)  # fmt: skip
def test_each_rule_at_its_edge(instruction, reason, good, bad):
    assert code(instruction, **good) == CaeCode.OK
    assert code(instruction, **bad) == reason


@pytest.mark.parametrize(
    ("name", "value", "reduction", "right"),
    [
        ("right_address", 9, 0, RightOperand.BY_ROW),
        ("right_address", 10, 0, RightOperand.BY_COLUMN),
        ("result_address", 9, VectorReduction.ROW_SUM, RightOperand.FULL),
        ("result_address", 10, VectorReduction.COLUMN_SUM, RightOperand.FULL),
    ],
)
def test_shapes_of_a_vector(name, value, reduction, right):
    """Three rows of a beat, or one row of two beats, at the end of 12 beats."""
    fields = {"reduction": reduction, "right_operand": right, name.replace("address", "pitch"): 1}
    assert code(VECTOR, **fields, **{name: value}) == CaeCode.OK
    assert code(VECTOR, **fields, **{name: value + 1}) == CaeCode.BAD_ADDRESS


@pytest.mark.parametrize(
    ("kind", "changes", "name", "value"),
    [
        # 4 rows of a beat or two, by where they begin in it; 16 beats.
        (ProductKind.XW, {"rows": 4, "depth": 4, "left_part": 1, "left_pitch": 1}, "left_address", 12),
        (ProductKind.XW, {"rows": 4, "depth": 5, "left_part": 1, "left_pitch": 1}, "left_address", 11),
        (ProductKind.XTDY, {"rows": 8, "depth": 4, "left_part": 1, "left_pitch": 1}, "left_address", 11),
        (ProductKind.DYWT, {"columns": 4, "depth": 5, "right_part": 1, "right_pitch": 1}, "right_address", 11),
        (ProductKind.XTDY, {"depth": 4, "right_pitch": 1}, "right_address", 12),
    ],
)
def test_parts_of_a_product(kind, changes, name, value):
    fields = {"operation": kind, "left_pitch": 1} | changes
    assert code(PRODUCT, config=WIDE, **fields, **{name: value}) == CaeCode.OK
    assert code(PRODUCT, config=WIDE, **fields, **{name: value + 1}) == CaeCode.BAD_ADDRESS
    for operand, parts in (("left", 2), ("right", 2 if kind == ProductKind.DYWT else 1), ("result", 1)):
        assert code(PRODUCT, config=WIDE, **{**fields, f"{operand}_part": parts}) == CaeCode.BAD_ADDRESS


def test_sums_are_kept_until_a_product_takes_them():
    first = PRODUCT | {"function": ProductPart.FIRST}
    last = PRODUCT | {"function": ProductPart.LAST}
    refused = first | {"depth": 0, "rows": 2}
    program = [last, first, LOAD, refused, last, last, first, PRODUCT, last]
    bad = CaeCode.BAD_ROWS
    assert check_instructions(program, CONFIG).tolist() == [bad, 0, 0, CaeCode.BAD_DEPTH, 0, bad, 0, 0, bad]
    assert kept_after(first, CaeCode.OK, Kept()) == KEPT
    assert kept_after(last, CaeCode.OK, KEPT) == Kept()
    assert kept_after(last, CaeCode.BAD_ROWS, KEPT) == KEPT


def test_banks_used():
    assert [bank_use(one) for one in GOOD] == [
        BankUse(result=4),
        BankUse(left=4),
        BankUse(left=0, right=1, result=2),
        BankUse(result=4),
        BankUse(left=4, right=5, result=6),
        BankUse(),
    ]
    assert bank_use(VECTOR | {"right_operand": RightOperand.SAME}).right is None
