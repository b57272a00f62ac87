"""Table of what the units of a Centralized Acceleration Engine did, for the terminal."""

from collections.abc import Mapping

from rich.table import Table

from sim.program.counters import CAE_COUNTERS


def cae_table(title: str, counters: Mapping[str, int]) -> Table:
    """Lay out the cycles of each unit.

    Parameters
    ----------
    title : str
        Title.
    counters : mapping of str to int
        By ``<unit>_cycles_<name>``; those of a unit add up to the same cycles.

    Returns
    -------
    Table
        A row for each counter that is not 0.
    """
    table = Table(title=title, title_justify="left")
    table.add_column("unit")
    table.add_column("counter")
    table.add_column("cycles", justify="right")
    table.add_column("share", justify="right")
    table.add_column("meaning")
    units = by_unit(counters)
    for unit, cycles in units.items():
        meanings, total = CAE_COUNTERS[unit.rstrip("0123456789").rstrip("_")], sum(cycles.values())
        label = unit
        for name, counted in cycles.items():
            if counted:
                table.add_row(label, name, f"{counted:,}", f"{counted / total:.1%}", meanings[name])
                label = ""
        table.add_section()
    return table


def by_unit(counters: Mapping[str, int]) -> dict[str, dict[str, int]]:
    """Sort counters by unit.

    Parameters
    ----------
    counters : mapping of str to int
        By ``<unit>_cycles_<name>``.

    Returns
    -------
    dict of str to dict of str to int
        By unit, then by name.
    """
    units: dict[str, dict[str, int]] = {}
    for full, cycles in counters.items():
        unit, _, name = full.partition("_cycles_")
        units.setdefault(unit, {})[name] = cycles
    return units
