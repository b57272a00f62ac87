"""Table of what the sampling engine did, for the terminal."""

from rich.table import Table

from sim.program.ssd_counters import CHANNEL_COUNTERS
from sim.report.tables import with_unit
from sim.system.sampling import SamplingFigures


def sampling_table(title: str, figures: SamplingFigures) -> Table:
    """Lay out a run's samples, pages and times.

    Parameters
    ----------
    title : str
        Title.
    figures : SamplingFigures
        The figures.

    Returns
    -------
    Table
        A row for each figure, with what it means.
    """
    table = Table(title=title, title_justify="left")
    table.add_column("figure")
    table.add_column("value", justify="right", no_wrap=True)
    table.add_column("meaning")
    for hop, (targets, samples) in enumerate(zip(figures.targets, figures.samples, strict=True)):
        table.add_row(f"hop {hop}: targets", f"{targets:,}", "")
        table.add_row(f"hop {hop}: samples", f"{samples:,}", f"{samples / max(1, targets):.2f} a target")
    table.add_row("distinct nodes", f"{figures.distinct_nodes:,}", "among all targets and samples")
    table.add_row("failed targets", f"{figures.failed_targets:,}", "out of range, or on a page that cannot be read")
    table.add_section()
    pages = sum(figures.pages)
    table.add_row("pages read", f"{pages:,}", f"busiest channel {max(figures.pages):,}, idlest {min(figures.pages):,}")
    table.add_row("distinct pages", f"{figures.distinct_pages:,}", "those that a hop of a command needs, once each")
    table.add_row("samples a page", f"{figures.samples_per_page:.2f}", "what sharing pages among samples gains")
    table.add_row("samples from the DRAM", f"{figures.hot_samples:,}", "on pages of which it holds a copy")
    table.add_section()
    for name, meaning in CHANNEL_COUNTERS.items():
        cycles = [counters[name] for counters in figures.channel_cycles]
        share = sum(cycles) / max(1, figures.cycles * len(cycles))
        table.add_row(f"channels: {name}", f"{share:.1%}", meaning)
    table.add_section()
    table.add_row("cycles", f"{figures.cycles:,}", "from the first doorbell to the last completion")
    table.add_row("time", with_unit(figures.seconds, "s"), f"at {figures.clock_hz / 1e6:g} MHz")
    table.add_row("samples a second", f"{figures.samples_per_second / 1e6:.2f} M", "")
    table.add_row("flash's bound", f"{figures.bound_cycles:,}", "the busiest channel's beats, without a pause")
    over = "no page read" if figures.over_bound is None else f"{figures.over_bound:.3f}"
    table.add_row("over the bound", over, "cycles / bound")
    return table
