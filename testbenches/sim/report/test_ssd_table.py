"""The table of a sampling run."""

import io

from rich.console import Console

from sim.program.ssd_counters import CHANNEL_COUNTERS
from sim.report.ssd_table import sampling_table
from sim.system.sampling import SamplingFigures


def test_every_figure_stands_in_the_table():
    cycles = dict.fromkeys(CHANNEL_COUNTERS, 0)
    figures = SamplingFigures(
        targets=[1024, 2000], samples=[2000, 9000], distinct_nodes=777, failed_targets=3, cycles=50_000,
        pages=[40, 60], distinct_pages=90, hot_samples=1000,
        channel_cycles=[cycles | {"transfer": 40_000, "idle": 10_000}, cycles | {"transfer": 20_000, "idle": 30_000}],
        bound_cycles=40_000, clock_hz=100_000_000,
    )  # fmt: skip
    console = Console(width=140, record=True, file=io.StringIO())
    console.print(sampling_table("a title", figures))
    rows = {line.split("│")[1].strip(): line.split("│")[2].strip() for line in console.export_text().splitlines()
            if line.count("│") >= 4}  # fmt: skip
    expected = {
        "hop 0: targets": "1,024", "hop 1: samples": "9,000", "distinct nodes": "777", "failed targets": "3",
        "pages read": "100", "distinct pages": "90", "samples a page": "100.00", "samples from the DRAM": "1,000",
        "channels: transfer": "60.0%", "channels: idle": "40.0%", "cycles": "50,000", "time": "500 µs",
        "samples a second": "22.00 M", "flash's bound": "40,000", "over the bound": "1.250",
    }  # fmt: skip
    assert {name: rows.get(name) for name in expected} == expected
    assert {f"channels: {name}" for name in CHANNEL_COUNTERS} <= rows.keys()
