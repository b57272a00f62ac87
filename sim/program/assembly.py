"""Text of the Centralized Acceleration Engine's programs: assembler and disassembler.

One instruction a line: a mnemonic, then fields as ``name=value`` in any order; ``#`` begins a comment. A place in a
bank is ``b<bank>[<address>:<pitch>]``, with ``.<part>`` behind it where a row begins inside a beat; one in the memory
``m[<address>:<pitch>]``; pitch 1 may be left out. Fields that are not given are 0. A line that the mnemonics cannot
express is written ``raw`` with all its fields by number, so that every program can be written and read back.
"""

import difflib
import re
from collections.abc import Callable, Mapping
from enum import IntEnum
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sim.program.cae_program import fp32_bits
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
from sim.program.layout import LayoutError

_FIELDS = tuple(field.name for field in CAE_INSTRUCTION.fields if field.name)
_BANK_PLACE = re.compile(r"b(\d+)\[(\w+)(?::(\w+))?\](?:\.(\d+))?")
_MEMORY_PLACE = re.compile(r"m\[(\w+)(?::(\w+))?\]")


class AssemblyError(ValueError):
    """A line of a program is wrong; the message says which, why, and what is allowed."""


class _Operand(NamedTuple):
    """How a value is read into fields of the instruction, and written from them."""

    read: Callable[[str], dict[str, int]]
    write: Callable[[Mapping[str, int]], str]


def _number(text: str) -> int:
    try:
        value = int(text, 0)
    except ValueError:
        raise AssemblyError(f"{text!r} is not a whole number") from None
    if value < 0:
        raise AssemblyError(f"{text} is below 0")
    return value


def _numbered(name: str) -> _Operand:
    return _Operand(lambda text: {name: _number(text)}, lambda fields: str(fields[name]))


def _named(field: str, names: type[IntEnum]) -> _Operand:
    """Read and write a field by the names of its values, in small letters."""

    def read(text: str) -> dict[str, int]:
        if text.upper() not in names.__members__:
            raise AssemblyError(f"{text!r} is none of {', '.join(name.lower() for name in names.__members__)}")
        return {field: int(names[text.upper()])}

    def write(fields: Mapping[str, int]) -> str:
        return names(fields[field]).name.lower()

    return _Operand(read, write)


def _float(field: str) -> _Operand:
    def read(text: str) -> dict[str, int]:
        try:
            return {field: fp32_bits(float(text))}
        except ValueError:
            raise AssemblyError(f"{text!r} is not a number") from None

    def write(fields: Mapping[str, int]) -> str:
        return str(np.uint32(fields[field]).view(np.float32))

    return _Operand(read, write)


def _in_bank(operand: str) -> _Operand:
    def read(text: str) -> dict[str, int]:
        match = _BANK_PLACE.fullmatch(text)
        if not match:
            raise AssemblyError(f"{text!r} is not a place in a bank such as b0[16:4] or b0[16:4].1")
        bank, address, pitch, part = match.groups()
        values = {"bank": bank, "address": address, "pitch": pitch or "1", "part": part or "0"}
        return {f"{operand}_{name}": _number(value) for name, value in values.items()}

    def write(fields: Mapping[str, int]) -> str:
        bank, address, pitch, part = (fields[f"{operand}_{name}"] for name in ("bank", "address", "pitch", "part"))
        return f"b{bank}[{address}:{pitch}]" + (f".{part}" if part else "")

    return _Operand(read, write)


def _read_memory(text: str) -> dict[str, int]:
    match = _MEMORY_PLACE.fullmatch(text)
    if not match:
        raise AssemblyError(f"{text!r} is not a place in the memory such as m[256:4]")
    return {"memory_address": _number(match[1]), "memory_pitch": _number(match[2] or "1")}


def _read_sources(text: str) -> dict[str, int]:
    return {"depth": sum(1 << _number(source) for source in set(text.split(",")))}


_SIZE = {"rows": _numbered("rows"), "columns": _numbered("columns"), "tag": _numbered("tag")}
_RESULT = {"result": _in_bank("result")}
_MEMORY = {"memory": _Operand(_read_memory, lambda fields: f"m[{fields['memory_address']}:{fields['memory_pitch']}]")}
_SOURCES = {
    "sources": _Operand(
        _read_sources,
        lambda fields: ",".join(str(bit) for bit in range(32) if fields["depth"] >> bit & 1),
    )
}
_ARITHMETIC = {
    "left": _in_bank("left"),
    "right": _in_bank("right"),
    "mode": _named("right_operand", RightOperand),
    "alpha": _float("alpha"),
    "beta": _float("beta"),
    "function": _named("function", VectorFunction),
    "reduction": _named("reduction", VectorReduction),
    "unit": _numbered("unit"),
}
_DROPOUT = {
    "left": _in_bank("left"),
    "alpha": _float("alpha"),
    "draws_below": _numbered("beta"),
    "key": _numbered("key"),
    "first_row": _numbered("depth"),
    "function": _named("function", VectorFunction),
    "reduction": _named("reduction", VectorReduction),
    "unit": _numbered("unit"),
}


class _Form(NamedTuple):
    """A mnemonic: the fields that it fixes, and the operands that it takes."""

    fixed: dict[str, int]
    operands: dict[str, _Operand]


def _forms() -> dict[str, _Form]:
    forms = {}
    for element in ElementType:
        kind = element.name.lower()
        transfer = {"operation": int(element)}
        forms[f"load.{kind}"] = _Form({"opcode": CaeOpcode.LOAD, **transfer}, {**_MEMORY, **_RESULT, **_SIZE})
        forms[f"store.{kind}"] = _Form(
            {"opcode": CaeOpcode.STORE, **transfer}, {"left": _in_bank("left"), **_MEMORY, **_SIZE}
        )
    operands = {name: _in_bank(name) for name in ("left", "right", "result")}
    for product in ProductKind:
        forms[f"product.{product.name.lower()}"] = _Form(
            {"opcode": CaeOpcode.PRODUCT, "operation": int(product)},
            {**operands, **_SIZE, "depth": _numbered("depth"), "part": _named("function", ProductPart)},
        )
    forms["merge"] = _Form({"opcode": CaeOpcode.MERGE}, {**_SOURCES, **_RESULT, **_SIZE})
    for operation in VectorOperation:
        forms[f"vector.{operation.name.lower()}"] = _Form(
            {"opcode": CaeOpcode.VECTOR, "operation": int(operation)},
            {**(_DROPOUT if operation == VectorOperation.DROPOUT else _ARITHMETIC), **_RESULT, **_SIZE},
        )
    forms["synchronise"] = _Form({"opcode": CaeOpcode.SYNCHRONISE}, {"tag": _numbered("tag")})
    forms["raw"] = _Form({}, {name: _numbered(name) for name in _FIELDS})
    return forms


FORMS = _forms()
"""All mnemonics."""


def assemble(text: str) -> NDArray[np.uint8]:
    """Turn text into instructions.

    Parameters
    ----------
    text : str
        The program.

    Returns
    -------
    ndarray of uint8, shape [n_instructions, CAE_INSTRUCTION.bytes]
        The instructions; one without a tag is tagged with its number, modulo 65,536.

    Raises
    ------
    AssemblyError
        A line is wrong.
    """
    instructions: list[NDArray[np.uint8]] = [CAE_INSTRUCTION.encode(0, {})]
    for number, line in enumerate(text.splitlines(), 1):
        words = line.partition("#")[0].split()
        if not words:
            continue
        try:
            fields = {"tag": (len(instructions) - 1) % 65536, **_read_line(words)}
            instructions.append(CAE_INSTRUCTION.encode(1, fields))
        except (AssemblyError, LayoutError, OverflowError) as error:
            raise AssemblyError(f"line {number}: {error}") from None
    return np.concatenate(instructions)


def _read_line(words: list[str]) -> dict[str, int]:
    mnemonic, *operands = words
    form = FORMS.get(mnemonic.lower())
    if form is None:
        raise AssemblyError(f"no instruction {mnemonic!r}{_nearest(mnemonic, FORMS)}; there are {', '.join(FORMS)}")
    fields, seen = dict(form.fixed), set()
    for word in operands:
        name, equals, value = word.partition("=")
        if not equals:
            raise AssemblyError(f"{word!r} is not of the form name=value")
        if name not in form.operands:
            raise AssemblyError(
                f"{mnemonic} has no {name!r}{_nearest(name, form.operands)}; it takes {', '.join(form.operands)}"
            )
        if name in seen:
            raise AssemblyError(f"{name} is given twice")
        seen.add(name)
        try:
            fields |= form.operands[name].read(value)
        except AssemblyError as error:
            raise AssemblyError(f"{name}: {error}") from None
    return fields


def _nearest(word: str, known: Mapping[str, object]) -> str:
    near = difflib.get_close_matches(word.lower(), known, 1)
    return f" (did you mean {near[0]!r}?)" if near else ""


def disassemble(instructions: NDArray[np.uint8]) -> str:
    """Turn instructions into text that assembles to the same bytes.

    Parameters
    ----------
    instructions : ndarray of uint8, shape [n_instructions, CAE_INSTRUCTION.bytes]
        The instructions.

    Returns
    -------
    str
        A line for each.
    """
    decoded = {name: values.tolist() for name, values in CAE_INSTRUCTION.decode(instructions).items()}
    lines = []
    for number in range(len(instructions)):
        fields = {name: values[number] for name, values in decoded.items()}
        lines.append(_write_line(fields, number % 65536))
    return "".join(f"{line}\n" for line in lines)


def _write_line(fields: Mapping[str, int], own_tag: int) -> str:
    for mnemonic, form in FORMS.items():
        if not form.fixed or any(fields[name] != value for name, value in form.fixed.items()):
            continue
        words = [mnemonic]
        try:
            for name, operand in form.operands.items():
                text = operand.write(fields)
                if text not in ("0", "", "0.0", "none", "whole", "b0[0:0]") and (name, text) != ("tag", str(own_tag)):
                    words.append(f"{name}={text}")
            if {**dict.fromkeys(_FIELDS, 0), "tag": own_tag, **_read_line(words)} == fields:
                return " ".join(words)
        except ValueError:  # a number without a name
            pass
    return " ".join(["raw", *(f"{name}={value}" for name, value in fields.items() if value or name == "tag")])
