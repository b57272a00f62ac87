"""Configurations of the sampling engine for the benches: small, so that its corners are met often."""

from sim.config import FlashConfig, SsdConfig

SMALL = SsdConfig(
    clock_hz=100_000_000,
    flash=FlashConfig(
        channels=2,
        ways=2,
        dies_per_way=2,
        planes_per_die=1,
        blocks_per_plane=64,
        pages_per_block=64,
        page_bytes=512,
        sector_bytes=512,
        read_ns=600.0,
        command_ns=50.0,
        column_ns=30.0,
        channel_bytes_per_s=400_000_000,
        concurrent_dies=True,
        commands_first=True,
    ),
    window_samples=64,
    page_slots=16,
    table_entries=8,
    targets_in_flight=16,
    frontier_entries=128,
    max_fanout=64,
    commands_in_flight=4,
    dram_reads_in_flight=8,
    host_lines_in_flight=4,
    hot_pages=64,
    draw_latency=10,
)
"""Two channels of four dies, pages of 512 bytes; a window that is often full."""

SECTORS = SMALL.replace(
    **{
        "flash.channels": 4,
        "flash.concurrent_dies": False,
        "flash.commands_first": False,
        "flash.page_bytes": 2048,
        "flash.channel_bytes_per_s": 800_000_000,
        "window_samples": 256,
        "page_slots": 33,
        "table_entries": 32,
    }
)
"""Four channels whose chips read one page at a time and move only the sectors that are needed, pages first."""
