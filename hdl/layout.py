"""From the field tables of `sim.program` to Amaranth structs: the RTL has no layout of its own."""

from amaranth.hdl import unsigned
from amaranth.lib import data

from sim.program.layout import Layout


def struct_layout(layout: Layout) -> data.StructLayout:
    """Return the Amaranth struct of a field table.

    Parameters
    ----------
    layout : Layout
        A record of `sim.program`.

    Returns
    -------
    data.StructLayout
        The same fields at the same offsets; reserved bits are named ``reserved_<offset>``.
    """
    members = {}
    for field, offset in layout.placed():
        shape = unsigned(field.bits) if field.count is None else data.ArrayLayout(field.bits, field.count)
        members[field.name or f"reserved_{offset}"] = shape
    return data.StructLayout(members)
