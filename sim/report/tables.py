"""Tables for the terminal."""

from collections.abc import Mapping

from rich.table import Table

from sim.graph import GraphStatistics
from sim.system.estimate import UNITS, Estimate

WIDE = 104
"""Characters a line from which on the table of an estimate has room for the busy times of all units."""

_PREFIXES = ((1.0, ""), (1e-3, "m"), (1e-6, "µ"), (1e-9, "n"), (1e-12, "p"))


def with_unit(value: float, unit: str) -> str:
    """Write a quantity with a decimal prefix.

    Parameters
    ----------
    value : float
        The quantity in the plain unit.
    unit : str
        Its symbol.

    Returns
    -------
    str
        Three digits, such as ``1.25 ms``; large quantities stay in the plain unit: ``86,400 s``.
    """
    value = float(f"{value:.3g}")  # first to three digits, so that 0.9996 is 1 and not 1000 m
    for factor, prefix in _PREFIXES:
        if abs(value) >= factor:
            scaled = float(f"{value / factor:.3g}")
            return f"{scaled:,.0f} {prefix}{unit}" if abs(scaled) >= 100 else f"{scaled:.3g} {prefix}{unit}"
    return f"{value:.3g} {unit}"


def graph_table(name: str, statistics: GraphStatistics) -> Table:
    """Lay out the statistics of a graph.

    Parameters
    ----------
    name : str
        The graph.
    statistics : GraphStatistics
        Its numbers.

    Returns
    -------
    Table
        One row for each.
    """
    table = Table(title=f"graph {name}", title_justify="left")
    table.add_column("quantity")
    table.add_column("value", justify="right")
    for field in statistics.__dataclass_fields__:
        value = getattr(statistics, field)
        if isinstance(value, dict):
            text = ", ".join(f"{float(key):.0%}: {number:,}" for key, number in value.items())
        elif isinstance(value, bool):
            text = "yes" if value else "no"
        else:
            text = f"{value:,}" if isinstance(value, int) else f"{value:.4g}"
        table.add_row(field.replace("_", " "), text)
    return table


def counter_table(title: str, counters: Mapping[str, int], meanings: Mapping[str, str]) -> Table:
    """Lay out the cycle counters of an engine.

    Parameters
    ----------
    title : str
        Title.
    counters : mapping of str to int
        Cycles by name.
    meanings : mapping of str to str
        What a cycle counted under each name was.

    Returns
    -------
    Table
        One row for each counter, with its share.
    """
    total = sum(counters.values())
    table = Table(title=title, title_justify="left", show_footer=True)
    table.add_column("cycles spent on", "all")
    table.add_column("cycles", f"{total:,}", justify="right")
    table.add_column("share", "100.0%" if total else "", justify="right")
    table.add_column("meaning")
    for name, cycles in counters.items():
        table.add_row(name, f"{cycles:,}", f"{cycles / total:.1%}" if total else "", meanings[name])
    return table


def estimate_table(title: str, estimate: Estimate, *, width: int = WIDE) -> Table:
    """Lay out an estimate, phase by phase.

    Parameters
    ----------
    title : str
        Title.
    estimate : Estimate
        The estimate.
    width : int
        Characters a line; below `WIDE` the busy times are left out.

    Returns
    -------
    Table
        Time, binding unit, busy time of each unit, and energy.
    """
    units = tuple(UNITS) if width >= WIDE else ()
    table = Table(title=title, title_justify="left", show_footer=True)
    if not units:
        table.caption = f"busy times of the units: in a window of {WIDE} columns, or with --json"
    table.add_column("phase", "epoch", overflow="fold")
    table.add_column("time", with_unit(estimate.epoch_seconds, "s"), justify="right", no_wrap=True)
    binding = UNITS[estimate.bottleneck][0] if estimate.bottleneck in UNITS else estimate.bottleneck
    table.add_column("bound by", binding)
    for unit in units:
        busy = sum(phase.unit_seconds[unit] for phase in estimate.phases)
        table.add_column(unit, with_unit(busy, "s"), justify="right", no_wrap=True)
    table.add_column("energy", with_unit(estimate.energy_joules, "J"), justify="right", no_wrap=True)
    table.add_column("kind", f"{estimate.modelled_share:.0%} modelled")
    for phase in estimate.phases:
        table.add_row(
            phase.name,
            with_unit(phase.seconds, "s"),
            UNITS[phase.unit][0],
            *(with_unit(phase.unit_seconds[unit], "s") for unit in units),
            with_unit(phase.energy_joules, "J"),
            phase.kind,
        )
    return table
