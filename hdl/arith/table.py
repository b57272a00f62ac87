"""Quadratic polynomials over the parts of an interval: what the elementary functions have in common."""

from collections.abc import Sequence
from types import SimpleNamespace

from amaranth.hdl import Cat, Module, Shape, Value, signed, unsigned
from amaranth.lib import memory

from hdl.arith.pipeline import Cuts, share
from sim.program.functions import RESULT_BITS, SLOPE_BITS, Coefficients


def _shape(column: Sequence[int]) -> Shape:
    """Give the least shape that holds all numbers of a column."""
    bits = max(max(column).bit_length(), (-1 - min(column)).bit_length())
    return unsigned(bits) if min(column) >= 0 else signed(bits + 1)


def coefficients(m: Module, table: Sequence[Coefficients], part: Value) -> Coefficients:
    """Read the polynomial of a part from a read-only memory without a register.

    Parameters
    ----------
    m : Module
        Where it is built.
    table : sequence of Coefficients
        As many as `part` has values.
    part : Value
        Which of them.

    Returns
    -------
    Coefficients
        `c0`, `c1`, `c2` as values, each as wide as the greatest of its column.
    """
    shapes = [_shape(column) for column in zip(*table, strict=True)]
    rows = []
    for polynomial in table:
        row, place = 0, 0
        for number, shape in zip(polynomial, shapes, strict=True):
            row |= (number % (1 << shape.width)) << place
            place += shape.width
        rows.append(row)
    m.submodules.table = held = memory.Memory(shape=unsigned(place), depth=len(rows), init=rows)
    port = held.read_port(domain="comb")
    m.d.comb += port.addr.eq(part)
    columns, place = [], 0
    for shape in shapes:
        column = port.data[place : place + shape.width]
        columns.append(column.as_signed() if shape.signed else column)
        place += shape.width
    return Coefficients(*columns)


def fitted(
    m: Module, cut: Cuts, table: Sequence[Coefficients], *, part: Value, rest: Value, **others: Value
) -> SimpleNamespace:
    """Evaluate the polynomial of a part at a place in it; passes three cut points: read, slope, value.

    Parameters
    ----------
    m : Module
        Where it is built.
    cut : Cuts
        Cut points of the block.
    table : sequence of Coefficients
        One for each value of `part`.
    part, rest : Value
        The part, and the place in it as bits below those of `part`.
    **others : Value
        What else later steps need.

    Returns
    -------
    SimpleNamespace
        `value`, 1 + `RESULT_BITS` bits with `RESULT_BITS` of them after the point, and the others.
    """
    c = coefficients(m, table, part)
    # From the middle of the part: that saves a bit of each factor.
    x = cut(c0=c.c0, c1=c.c1, c2=c.c2, t=Cat(rest[:-1], ~rest[-1]).as_signed(), **others)
    places = len(rest) - 1
    bend = share(m, "bend", x.c2 * x.t)
    x = cut(
        slope=(x.c1 << SLOPE_BITS) + bend[places - SLOPE_BITS :].as_signed(),
        c0=x.c0,
        t=x.t,
        **{name: getattr(x, name) for name in others},
    )
    rise = share(m, "rise", x.slope * x.t)
    value = (x.c0 + rise[places + SLOPE_BITS :].as_signed())[: RESULT_BITS + 1]
    return cut(value=value, **{name: getattr(x, name) for name in others})
