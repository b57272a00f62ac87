"""Requests for a DRAM channel: random ones, and the traces of other simulators."""

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from sim.config import DramConfig, load_config
from sim.program.memory import DRAM_REQUEST


def random_requests(
    config: DramConfig,
    *,
    seed: int,
    count: int,
    bursts: tuple[int, int] = (1, 6),
    rows: int | None = None,
    writes: float = 0.0,
    banks: int | None = None,
) -> NDArray[np.uint8]:
    """Make random requests; few `rows` make row hits, few `banks` make conflicts."""
    rng = np.random.default_rng(seed)
    length = rng.integers(bursts[0], bursts[1], count)
    row_bursts = config.columns // config.burst_length
    bank = rng.integers(0, banks or config.bank_groups * config.banks_per_group, count)
    return DRAM_REQUEST.encode(
        count,
        {
            "write": rng.random(count) < writes,
            "rank": rng.integers(0, config.ranks_per_dimm, count),
            "bank_group": bank % config.bank_groups,
            "bank": bank // config.bank_groups,
            "row": rng.integers(0, rows or config.rows, count),
            "column": rng.integers(0, row_bursts - length + 1),
            "bursts": length,
            "tag": np.arange(count) % 65536,
        },
    )


def sequential_requests(config: DramConfig, count: int) -> NDArray[np.uint8]:
    """Read successive bursts, as the mapping ``bursts_over_groups`` lays them: bank group, column, bank, row."""
    burst = np.arange(count)
    column, row_of_banks = burst // config.bank_groups, config.columns // config.burst_length
    return DRAM_REQUEST.encode(
        count,
        {
            "bank_group": burst % config.bank_groups,
            "column": column % row_of_banks,
            "bank": column // row_of_banks % config.banks_per_group,
            "row": column // row_of_banks // config.banks_per_group,
            "bursts": 1,
            "tag": burst % 65536,
        },
    )


def oracle_requests(trace: Path) -> NDArray[np.uint8]:
    """Read a trace of 64-byte reads, mapped as in DRAMsim3: column, bank group, bank, rank, row, from the low end."""
    burst = np.array([int(line.split()[0], 16) for line in trace.read_text().splitlines()]) >> 6
    fields = {
        "column": burst & 127,
        "bank_group": burst >> 7 & 3,
        "bank": burst >> 9 & 3,
        "rank": burst >> 11 & 1,
        "row": burst >> 12 & 0xFFFF,
    }
    return DRAM_REQUEST.encode(len(burst), {"bursts": 1, "tag": np.arange(len(burst)) % 65536, **fields})


def oracle_config() -> DramConfig:
    """Return the channel of those traces: DDR4-2400 17-17-17, two ranks; 32 requests in sight, as in DRAMsim3."""
    base = load_config("gnnear").dram
    timing = base.timing.replace(cl=17, trcd=17, trp=17)
    return base.replace(timing=timing.model_dump(), window_requests=32, postponed_refreshes=0)
