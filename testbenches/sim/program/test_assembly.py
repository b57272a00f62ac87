"""Text and instructions are the same program."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sim.program.assembly import FORMS, AssemblyError, assemble, disassemble
from sim.program.cae_program import CaeProgram, MemoryRows, Rows
from sim.program.instructions import (
    CAE_INSTRUCTION,
    CaeOpcode,
    ElementType,
    ProductKind,
    ProductPart,
    RightOperand,
    VectorFunction,
    VectorOperation,
    VectorReduction,
)

FIELDS = {field.name: field.bits for field in CAE_INSTRUCTION.fields if field.name}


def every_form():
    program = CaeProgram()
    for element in ElementType:
        program.load(element, MemoryRows(3, 7), Rows(1, 5, 2), rows=4, columns=9)
        program.store(element, Rows(1, 5, 2), MemoryRows(3, 7), rows=4, columns=9)
    for kind in ProductKind:
        for part in ProductPart:
            places = Rows(0, 1, 2, 3), Rows(1, 4), Rows(5, 6, 0)
            program.product(kind, *places, rows=3, depth=70000, columns=2, part=part)
    program.merge([0, 3], Rows(5), rows=16, columns=17)
    for operation in set(VectorOperation) - {VectorOperation.DROPOUT}:
        program.vector(
            operation,
            Rows(4),
            Rows(5),
            (2, 5),
            right=Rows(6, 1),
            mode=RightOperand.BY_ROW,
            alpha=-0.1,
            beta=float("inf"),
            function=VectorFunction.EXP,
            reduction=VectorReduction.ROW_SUM,
            unit=1,
        )
    program.dropout(Rows(4), Rows(5), (2, 5), keep=0.5, key=2**63 + 1, first_row=12)
    program.synchronise()
    return program.encode()


def test_every_form_is_written_by_its_mnemonic():
    text = disassemble(every_form())
    assert {line.split()[0] for line in text.splitlines()} == set(FORMS) - {"raw"}
    np.testing.assert_array_equal(assemble(text), every_form())


@given(st.lists(st.fixed_dictionaries({}, optional={n: st.integers(0, 2**b - 1) for n, b in FIELDS.items()})))
def test_any_bits_come_back(instructions):
    values = {name: np.array([one.get(name, 0) for one in instructions], np.uint64) for name in FIELDS}
    program = CAE_INSTRUCTION.encode(len(instructions), values)
    np.testing.assert_array_equal(assemble(disassemble(program)), program)


def test_fields_of_a_line():
    lines = """
    # a comment, and an empty line

    PRODUCT.dywt left=b0[0x10:4].1 right=b1[2] result=b4[0] rows=3 columns=4 depth=5 part=last  # K goes on
    merge sources=2,0 result=b5[0:3] rows=7 columns=9 tag=77
    """
    first, second = (
        {name: int(values[i]) for name, values in CAE_INSTRUCTION.decode(assemble(lines)).items()} for i in range(2)
    )
    assert first == dict.fromkeys(FIELDS, 0) | {
        "opcode": CaeOpcode.PRODUCT,
        "operation": ProductKind.DYWT,
        "function": ProductPart.LAST,
        "rows": 3,
        "columns": 4,
        "depth": 5,
        "left_address": 16,
        "left_pitch": 4,
        "left_part": 1,
        "right_bank": 1,
        "right_address": 2,
        "right_pitch": 1,
        "result_bank": 4,
        "result_pitch": 1,
    }
    assert (second["depth"], second["tag"], second["result_pitch"]) == (0b101, 77, 3)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("lode.bf16", "line 2: no instruction 'lode.bf16' (did you mean 'load.bf16'?)"),
        ("merge rows=1 rows=2", "line 2: rows is given twice"),
        (
            "merge row=1",
            "line 2: merge has no 'row' (did you mean 'rows'?); it takes sources, result, rows, columns, tag",
        ),
        ("merge rows", "line 2: 'rows' is not of the form name=value"),
        ("merge rows=-1", "line 2: rows: -1 is below 0"),
        ("merge rows=1.5", "line 2: rows: '1.5' is not a whole number"),
        ("merge rows=65536", "line 2: CaeInstruction.rows is 65536 in record 0; 16 bits hold 0 to 65535"),
        ("merge result=5", "line 2: result: '5' is not a place in a bank such as b0[16:4] or b0[16:4].1"),
        ("load.fp32 memory=b0[1]", "line 2: memory: 'b0[1]' is not a place in the memory such as m[256:4]"),
        ("vector.combine function=tanh", "line 2: function: 'tanh' is none of none, relu, exp, log, reciprocal,"),
        ("vector.combine alpha=one", "line 2: alpha: 'one' is not a number"),
        (f"raw rows={10**30}", "line 2: "),
    ],
)
def test_errors_name_line_and_remedy(line, message):
    with pytest.raises(AssemblyError) as caught:
        assemble(f"synchronise\n{line}\n")
    assert str(caught.value).startswith(message)
