"""Table of what the Near-Memory Engines of a channel did, for the terminal."""

from collections.abc import Callable, Iterator, Sequence

from rich.table import Table

from sim.program.counters import ENGINE_COUNTERS, REDUCE_COUNTERS
from sim.report.tables import with_unit
from sim.system.channel import BOUNDS, EngineFigures, together

MANY = 6
"""Engines from which on the table leaves the meanings out, to have room for them."""

_COMMANDS = {
    "read": ("reads", "of one line from all ranks of the DIMM"),
    "write": ("writes", "the same"),
    "activate": ("activates", "rows opened"),
    "precharge": ("precharges", "rows closed for another"),
    "precharge_all": ("precharges of all banks", "before a refresh"),
    "refresh": ("refreshes", ""),
}
_SHARES = {
    "memory": "transfer + refresh + row, of the run",
    "compute": "busy + wait_hazard, of the compute cycles",
    "drain": "wait_drain + flush + drain + wait_partials + wait_status, of the compute cycles",
    "window": "window, of the run",
}

_Row = tuple[str, Callable[[EngineFigures], str], str]


def channel_table(title: str, figures: Sequence[EngineFigures]) -> Table:
    """Lay out what each engine did, and all of them.

    Parameters
    ----------
    title : str
        Title.
    figures : sequence of EngineFigures
        Of each engine, at least one.

    Returns
    -------
    Table
        A row for each figure, a column for each engine.
    """
    every = together(figures)
    table = Table(title=title, title_justify="left")
    table.add_column("figure")
    for index in range(len(figures)):
        table.add_column(f"DIMM {index}", justify="right", no_wrap=True)
    table.add_column("all", justify="right", no_wrap=True)
    with_meaning = len(figures) < MANY
    if with_meaning:
        table.add_column("meaning")
    for section in (_cycles(), _compute(), _memory(), _work(), _verdict()):
        for name, text, meaning in section:
            cells = [name, *(text(one) for one in figures), text(every)]
            table.add_row(*cells, *([meaning] if with_meaning else []))
        table.add_section()
    return table


def _count(name: str, key: str) -> Callable[[EngineFigures], str]:
    return lambda one: f"{getattr(one, name)[key]:,}"


def _share(name: str) -> Callable[[EngineFigures], str]:
    return lambda one: f"{one.busy_shares[name]:.1%}"


def _cycles() -> Iterator[_Row]:
    yield "cycles, own", lambda one: f"{one.cycles:,}", "from its first command to its last status; of all, the most"
    for name, meaning in ENGINE_COUNTERS.items():
        yield name, _count("counters", name), meaning
    yield "cycles of the run", lambda one: f"{one.run_cycles:,}", "of the memory's clock: what the above add up to"


def _compute() -> Iterator[_Row]:
    for name, meaning in REDUCE_COUNTERS.items():
        yield f"reduce: {name}", _count("reduce_counters", name), meaning
    yield "compute cycles", lambda one: f"{one.compute_cycles:,}", "of the reduce unit's clock: what these add up to"


def _memory() -> Iterator[_Row]:
    for name, (title, meaning) in _COMMANDS.items():
        yield title, _count("commands", name), meaning
    yield "row hits", lambda one: f"{one.row_hits:,}", "reads - activates"


def _work() -> Iterator[_Row]:
    yield "edges", lambda one: f"{one.edges:,}", "accumulated"
    yield "vectors", lambda one: f"{one.vectors:,}", "of sources, gathered: once for each shard that needs them"
    yield "partial sums", lambda one: f"{one.partial_sums:,}", "destinations touched, shard by shard"


def _verdict() -> Iterator[_Row]:
    yield "bandwidth", lambda one: f"{one.bandwidth_bytes_per_s / 1e9:.2f} GB/s", "bytes moved over time of the run"
    yield "of the peak", lambda one: f"{one.bandwidth_share:.1%}", "which is a burst in every slot of the data bus"
    yield "lanes busy", lambda one: f"{one.utilization:.1%}", "busy compute cycles over all compute cycles"
    for name in BOUNDS:
        yield f"{name} busy", _share(name), _SHARES[name]
    yield "bound by", lambda one: one.bound, "the greatest of these four shares"
    yield (
        "DRAM energy",
        lambda one: with_unit(sum(one.energy_joules.values()), "J"),
        "counted commands, and standby with and without an open row",
    )
