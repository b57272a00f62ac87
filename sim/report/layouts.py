"""The page of binary layouts, made from the field tables and codes of `sim.program` and what is said of each there.

Write the page with ``python -m sim.report.layouts > docs/layouts.md``.
"""

import ast
import inspect
import re
import sys
import textwrap
from collections.abc import Iterator, Sequence
from enum import IntEnum
from itertools import pairwise

from sim.program import commands, engine_commands, instructions, memory, ssd, ssd_image
from sim.program.commands import result_beat, vector_beat
from sim.program.engine_commands import update_beat
from sim.program.instructions import memory_request, partial_beat
from sim.program.layout import Field, Layout

_HEAD = """\
# Binary layouts

Made by `python -m sim.report.layouts > docs/layouts.md` from the field tables of
`sim/program`; not to be edited. The RTL's structs (`hdl/layout.py`) and numpy's encoder and decoder
(`sim/program/layout.py`) come from the same field tables.

Fields are packed from bit 0 up, little-endian, and a record is padded to whole bytes. Bit 0 of a record is bit 0 of the
stream's `payload` port. Reserved bits are written as zero and ignored when read. Which stream carries which record is
said in [nme.md](nme.md), [reduce.md](reduce.md), [cae.md](cae.md), [product.md](product.md),
[dram.md](dram.md) and [ssd.md](ssd.md).
"""

_CODES = r"\w+(?:Opcode|Code|Status)|ElementType|RightOperand|Product(?:Kind|Part)|Vector\w+"
"""Names of codes that a field's meaning may point to."""

_BEATS = (
    ("Beats of elements", (vector_beat(2, 16), vector_beat(2, 32)), "bf16 has 16 bits an element, fp32 32."),
    (
        "Beats of updates",
        (update_beat(2, 16), update_beat(2, 32)),
        "What a command STORE takes; as for elements, bf16 has 16 bits and fp32 32.",
    ),
    ("Beats of partial sums", (partial_beat(2),), "What a source of MERGE sends: its vectors, then one with `end`."),
    ("Requests to the memory", (memory_request(2),), "Of the Centralized Acceleration Engine, a beat each."),
    ("Beats of results", (result_beat(2),), "The place comes first, so that its offset does not depend on the lanes."),
)
"""Title, the layouts that a configuration can make of it but for the number of lanes, and a remark."""


def layouts_markdown() -> str:
    """Write the page.

    Returns
    -------
    str
        Markdown, in the order of the modules, with a line feed at its end.
    """
    codes, records = [], []
    for module in (commands, engine_commands, instructions, memory, ssd, ssd_image):
        for name, text in _described(ast.parse(inspect.getsource(module)).body):
            value = getattr(module, name)
            if isinstance(value, Layout):
                described = _filled(f"`{name}`, {value.bits} bits, {value.bytes} bytes. {text}")
                records.append(f"## {value.name}\n\n{described}\n\n{_field_table([value])}\n")
            elif isinstance(value, type) and issubclass(value, IntEnum):
                codes.append(f"## {name}\n\n{_filled(text)}\n\n{_code_list(value)}\n")
    beats = [f"## {title}\n\n{remark}\n\n{_field_table(layouts)}\n" for title, layouts, remark in _BEATS]
    return "\n".join([_HEAD, *records, *beats, *codes])


def _filled(text: str, indent: str = "") -> str:
    return textwrap.fill(text, 118, subsequent_indent=indent, break_on_hyphens=False)


def _described(body: Sequence[ast.stmt]) -> Iterator[tuple[str, str]]:
    """List the names of a module or class with the text below each; Python keeps only that of classes."""
    for statement, following in pairwise([*body, ast.Pass()]):
        match statement, following:
            case ast.ClassDef(name=name), _:
                yield name, " ".join((ast.get_docstring(statement) or "").split())
            case ast.Assign(targets=[ast.Name(id=name)]), ast.Expr(value=ast.Constant(value=str(text))):
                yield name, " ".join(text.split())


def _code_list(codes: type[IntEnum]) -> str:
    (definition,) = ast.parse(inspect.getsource(codes)).body
    assert isinstance(definition, ast.ClassDef)
    meanings = dict(_described(definition.body))
    return "\n".join(_filled(f"- {code.value} `{code.name}`: {meanings[code.name]}", "  ") for code in codes)


def _field_table(variants: Sequence[Layout]) -> str:
    lines = ["| bits | width | field | meaning |", "|---|---|---|---|"]
    for place, (field, offset) in enumerate(variants[0].placed()):
        widths = " or ".join(dict.fromkeys(str(layout.fields[place].bits) for layout in variants))
        bits, width = _extent(field, offset, widths)
        name = f"`{field.name}`" if field.name else "reserved"
        meaning = re.sub(rf"`({_CODES})`", lambda code: f"[{code[1]}](#{code[1].lower()})", field.meaning)
        lines.append(f"| {bits} | {width} | {name} | {meaning} |")
    return "\n".join(lines)


def _extent(field: Field, offset: int, widths: str) -> tuple[str, str]:
    if field.count is not None:
        return f"from {offset}", f"{widths} for each lane"
    return (f"{offset + field.bits - 1}..{offset}" if field.bits > 1 else str(offset)), widths


if __name__ == "__main__":
    sys.stdout.write(layouts_markdown())
