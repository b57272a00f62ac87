"""Which instructions the Centralized Acceleration Engine refuses, and which banks those that it runs use."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sim.config import CaeConfig
from sim.program.instructions import (
    NEEDS_RIGHT,
    CaeCode,
    CaeOpcode,
    ElementType,
    ProductKind,
    ProductPart,
    RightOperand,
    VectorFunction,
    VectorOperation,
    VectorReduction,
)

Instruction = Mapping[str, int]

MAX_DEPTH = 65535
"""Greatest K of a PRODUCT: what 16 bits hold, as with rows and columns."""

STARTS_FROM_KEPT = (ProductPart.LAST, ProductPart.MIDDLE)
KEEPS = (ProductPart.FIRST, ProductPart.MIDDLE)
READ_RIGHT = (RightOperand.FULL, RightOperand.BY_ROW, RightOperand.BY_COLUMN)
"""Right operands of a VECTOR that are read from a bank."""


@dataclass(frozen=True, kw_only=True)
class Operand:
    """Where the beats of an operand or a result lie.

    Attributes
    ----------
    bank, address, pitch : int
        As in the instruction.
    rows : int
        Rows.
    elements : int
        Elements of a row, from the beginning of its first beat on.
    part_ends : int
        The element behind the part of a beat in which a row begins; 0 where parts do not count.
    """

    bank: int
    address: int
    pitch: int
    rows: int
    elements: int
    part_ends: int = 0

    def fits(self, lanes: int, beats: int) -> bool:
        """Return whether it lies in a bank of so many beats."""
        end = self.address + (self.rows - 1) * self.pitch + -(-self.elements // lanes)
        return self.part_ends <= lanes and end <= beats


class Kept(NamedTuple):
    """Shape of the sums that stay in the accumulator memory from one PRODUCT to the next; 0 if there are none.

    Attributes
    ----------
    rows, columns : int
        As in the instruction that keeps them.
    """

    rows: int = 0
    columns: int = 0


@dataclass(frozen=True, kw_only=True)
class BankUse:
    """The banks that an instruction needs; None where it has no such operand.

    Attributes
    ----------
    left, right, result : int or None
        Banks by operand.
    """

    left: int | None = None
    right: int | None = None
    result: int | None = None


def bank_use(instruction: Instruction) -> BankUse:
    """Return which banks an instruction uses.

    Parameters
    ----------
    instruction : mapping of str to int
        Fields of `CAE_INSTRUCTION`; not refused.

    Returns
    -------
    BankUse
        The banks.
    """
    left, right, result = (instruction[f"{name}_bank"] for name in ("left", "right", "result"))
    match instruction["opcode"]:
        case CaeOpcode.LOAD | CaeOpcode.MERGE:
            return BankUse(result=result)
        case CaeOpcode.STORE:
            return BankUse(left=left)
        case CaeOpcode.PRODUCT:
            return BankUse(left=left, right=right, result=result)
        case CaeOpcode.VECTOR:
            reads_right = instruction["right_operand"] in READ_RIGHT
            return BankUse(left=left, right=right if reads_right else None, result=result)
    return BankUse()


def operands(instruction: Instruction, config: CaeConfig) -> dict[str, Operand]:
    """Return where the operands and the result of an instruction lie.

    Parameters
    ----------
    instruction : mapping of str to int
        Fields of `CAE_INSTRUCTION`, of a known opcode.
    config : CaeConfig
        The engine.

    Returns
    -------
    dict of str to Operand
        By ``left``, ``right`` and ``result``; those that the instruction has.
    """
    get = instruction.__getitem__
    rows, columns, depth = get("rows"), get("columns"), get("depth")
    use = bank_use(instruction)

    def operand(name: str, rows: int, elements: int, part: int = 0) -> Operand:
        skipped = get(f"{name}_part") * part
        return Operand(
            bank=get(f"{name}_bank"),
            address=get(f"{name}_address"),
            pitch=get(f"{name}_pitch"),
            rows=rows,
            elements=skipped + elements,
            part_ends=skipped + part,
        )

    if get("opcode") == CaeOpcode.PRODUCT:
        kind, high, wide = get("operation"), config.rows, config.columns
        return {
            "left": operand("left", depth, rows, high)
            if kind == ProductKind.XTDY
            else operand("left", rows, depth, high),
            "right": operand("right", columns, depth, high)
            if kind == ProductKind.DYWT
            else operand("right", depth, columns, wide),
            "result": operand("result", rows, columns, wide),
        }
    found = {}
    if use.left is not None:
        found["left"] = operand("left", rows, columns)
    if use.right is not None:
        shape = {RightOperand.BY_ROW: (rows, 1), RightOperand.BY_COLUMN: (1, columns)}
        found["right"] = operand("right", *shape.get(RightOperand(get("right_operand")), (rows, columns)))
    if use.result is not None:
        shape_of_result = (rows, columns)
        if get("opcode") == CaeOpcode.VECTOR:
            shape_of_result = {
                VectorReduction.ROW_SUM: (rows, 1),
                VectorReduction.ROW_MAXIMUM: (rows, 1),
                VectorReduction.COLUMN_SUM: (1, columns),
            }.get(VectorReduction(get("reduction")), shape_of_result)
        found["result"] = operand("result", *shape_of_result)
    return found


def knows_vector(instruction: Instruction) -> bool:
    """Tell whether a vector unit knows what it is asked for.

    Parameters
    ----------
    instruction : mapping of str to int
        Fields ``operation``, ``function``, ``reduction`` and ``right_operand``.

    Returns
    -------
    bool
        False if one of the four has no meaning, an operation that needs a right operand has none, or one that takes
        none has one.
    """
    get = instruction.__getitem__
    return (
        get("operation") in list(VectorOperation)
        and get("function") in list(VectorFunction)
        and get("reduction") in list(VectorReduction)
        and get("right_operand") in list(RightOperand)
        and (get("operation") in NEEDS_RIGHT) == (get("right_operand") != RightOperand.NONE)
    )


def _known(instruction: Instruction, config: CaeConfig) -> bool:
    get = instruction.__getitem__
    match get("opcode"):
        case CaeOpcode.LOAD | CaeOpcode.STORE:
            return get("operation") in list(ElementType)
        case CaeOpcode.PRODUCT:
            return get("operation") in list(ProductKind) and get("function") in list(ProductPart)
        case CaeOpcode.VECTOR:
            return knows_vector(instruction) and get("unit") < config.vector_units
    return True


def _banks_are_good(instruction: Instruction, config: CaeConfig) -> bool:
    get, use = instruction.__getitem__, bank_use(instruction)
    named = [bank for bank in (use.left, use.right, use.result) if bank is not None]
    if any(bank >= config.banks for bank in named):
        return False
    if use.left is None or len(named) == 1:
        return True
    if get("opcode") == CaeOpcode.PRODUCT:
        return max(get("left_bank"), get("right_bank")) < config.operand_banks and len(set(named)) == 3
    if use.left == use.right:
        return False

    def in_place(name: str) -> bool:
        same = all(get(f"result_{field}") == get(f"{name}_{field}") for field in ("address", "pitch"))
        # Rows that lie on each other would be read partly before, partly after they are written.
        apart = get("rows") == 1 or get("result_pitch") >= -(-get("columns") // config.lanes)
        return same and apart and get("reduction") == VectorReduction.NONE

    if use.result == use.left:
        return in_place("left")
    return use.result != use.right or (in_place("right") and get("right_operand") == RightOperand.FULL)


def _continues(instruction: Instruction) -> bool:
    return instruction["opcode"] == CaeOpcode.PRODUCT and instruction["function"] in STARTS_FROM_KEPT


def _rows_are_good(instruction: Instruction, config: CaeConfig, kept: Kept) -> bool:
    rows = instruction["rows"]
    most = config.accumulator_rows if instruction["opcode"] == CaeOpcode.PRODUCT else rows
    return 1 <= rows <= most and (not _continues(instruction) or rows == kept.rows)


def _columns_are_good(instruction: Instruction, config: CaeConfig, kept: Kept) -> bool:
    columns = instruction["columns"]
    most = config.columns if instruction["opcode"] == CaeOpcode.PRODUCT else columns
    return 1 <= columns <= most and (not _continues(instruction) or columns == kept.columns)


def _depth_is_good(instruction: Instruction, config: CaeConfig) -> bool:
    most = {CaeOpcode.PRODUCT: MAX_DEPTH, CaeOpcode.MERGE: (1 << config.merge_sources) - 1}
    opcode = CaeOpcode(instruction["opcode"])
    return opcode not in most or 1 <= instruction["depth"] <= most[opcode]


def _lies_in_banks(instruction: Instruction, config: CaeConfig) -> bool:
    return all(o.fits(config.lanes, config.bank_beats(o.bank)) for o in operands(instruction, config).values())


def _lies_in_memory(instruction: Instruction, config: CaeConfig) -> bool:
    get = instruction.__getitem__
    if get("opcode") not in (CaeOpcode.LOAD, CaeOpcode.STORE):
        return True
    beats = -(-get("columns") // config.lanes) * (2 if get("operation") == ElementType.FP32 else 1)
    return get("memory_address") + (get("rows") - 1) * get("memory_pitch") + beats <= config.memory_beats


def check_instruction(instruction: Instruction, config: CaeConfig, kept: Kept) -> CaeCode:
    """Judge an instruction.

    Parameters
    ----------
    instruction : mapping of str to int
        Fields of `CAE_INSTRUCTION`.
    config : CaeConfig
        The engine.
    kept : Kept
        Shape of the sums that the PRODUCTs before keep.

    Returns
    -------
    CaeCode
        The first reason to refuse it, or OK.
    """
    get = instruction.__getitem__
    if get("opcode") not in list(CaeOpcode):
        return CaeCode.BAD_OPCODE
    if get("opcode") == CaeOpcode.SYNCHRONISE:
        return CaeCode.OK
    checks = (
        (CaeCode.BAD_OPERATION, _known),
        (CaeCode.BAD_ROWS, lambda *_: _rows_are_good(instruction, config, kept)),
        (CaeCode.BAD_COLUMNS, lambda *_: _columns_are_good(instruction, config, kept)),
        (CaeCode.BAD_DEPTH, _depth_is_good),
        (CaeCode.BAD_BANK, _banks_are_good),
        (CaeCode.BAD_ADDRESS, _lies_in_banks),
        (CaeCode.BAD_MEMORY, _lies_in_memory),
    )
    return next((code for code, is_good in checks if not is_good(instruction, config)), CaeCode.OK)


def kept_after(instruction: Instruction, code: int, kept: Kept) -> Kept:
    """Return which sums are kept after an instruction.

    Parameters
    ----------
    instruction : mapping of str to int
        Fields of `CAE_INSTRUCTION`.
    code : int
        What `check_instruction` said of it.
    kept : Kept
        Those kept before it.

    Returns
    -------
    Kept
        Their shape.
    """
    if code != CaeCode.OK or instruction["opcode"] != CaeOpcode.PRODUCT:
        return kept
    return Kept(instruction["rows"], instruction["columns"]) if instruction["function"] in KEEPS else Kept()


def rows_of(decoded: Mapping[str, NDArray[np.unsignedinteger]]) -> list[dict[str, int]]:
    """Take decoded instructions apart.

    Parameters
    ----------
    decoded : mapping of str to ndarray
        What `CAE_INSTRUCTION.decode` gives.

    Returns
    -------
    list of dict of str to int
        The fields of each instruction.
    """
    columns = {name: values.tolist() for name, values in decoded.items()}
    return [dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)]


def check_instructions(instructions: Iterable[Instruction], config: CaeConfig) -> NDArray[np.uint8]:
    """Judge a program.

    Parameters
    ----------
    instructions : iterable of mapping of str to int
        Fields of each instruction, as `rows_of` gives them.
    config : CaeConfig
        The engine.

    Returns
    -------
    ndarray of uint8, shape [instructions]
        A `CaeCode` for each: why it is refused, or OK.
    """
    codes, kept = [], Kept()
    for instruction in instructions:
        code = check_instruction(instruction, config, kept)
        kept = kept_after(instruction, code, kept)
        codes.append(code)
    return np.array(codes, np.uint8)
