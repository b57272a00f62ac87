"""Programs instruction by instruction; the text of every instruction is in test_assembly.py."""

import numpy as np
import pytest

from sim.program.cae_program import CaeProgram, MemoryRows, Rows, fp32_bits
from sim.program.instructions import CAE_INSTRUCTION, ElementType, RightOperand, VectorOperation


@pytest.mark.parametrize(
    ("number", "bits"),
    [(0.0, 0), (-0.0, 0x80000000), (1.0, 0x3F800000), (0.1, 0x3DCCCCCD), (1e300, 0x7F800000), (-1e300, 0xFF800000)],
)
def test_fp32_bits(number, bits):
    assert fp32_bits(number) == bits


def test_tags_are_numbers_and_unused_fields_zero():
    program = CaeProgram()
    program.load(ElementType.BF16, MemoryRows(9, 8), Rows(7, 6, 5), rows=4, columns=3)
    for _ in range(65536):
        program.synchronise()
    fields = CAE_INSTRUCTION.decode(program.encode())
    np.testing.assert_array_equal(fields["tag"], np.arange(65537) % 65536)
    first = {name: int(values[0]) for name, values in fields.items() if values[0]}
    assert first == {
        "opcode": 1, "operation": 1, "rows": 4, "columns": 3, "result_bank": 7, "result_address": 6, "result_pitch": 5,
        "memory_address": 9, "memory_pitch": 8,
    }  # fmt: skip


def test_a_right_operand_is_read_whole_if_nothing_is_said():
    program = CaeProgram()
    program.vector(VectorOperation.MULTIPLY, Rows(0), Rows(1), (2, 3), right=Rows(2))
    program.vector(VectorOperation.AFFINE, Rows(0), Rows(1), (2, 3))
    assert [one["right_operand"] for one in program.instructions] == [RightOperand.FULL, RightOperand.NONE]


def test_keep_must_be_a_probability():
    for keep in (0.0, -1.0, 1.5):
        with pytest.raises(ValueError, match="it is a probability above 0 and up to 1"):
            CaeProgram().dropout(Rows(0), Rows(1), (1, 1), keep=keep, key=0)


def test_all_is_kept_but_for_one_draw_in_two_to_the_32():
    program = CaeProgram()
    program.dropout(Rows(0), Rows(1), (1, 1), keep=1.0, key=0)
    assert program.instructions[0]["beta"] == 2**32 - 1
