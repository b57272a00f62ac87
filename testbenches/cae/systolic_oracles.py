"""What SCALE-Sim says of a weight-stationary array, and the layers of a recommender that come with it."""

import csv
import os
from pathlib import Path

import pytest

from sim.config import CaeConfig, load_config
from sim.program.instructions import ProductKind

LAYERS = {"fwd": ProductKind.XW, "inp_grad": ProductKind.DYWT, "weight_grad": ProductKind.XTDY}
"""Files of the recommender's layers, by the product that each pass over them makes."""


def oracle(name: str) -> list[list[str]]:
    """Read a table without its heading."""
    folder = os.environ.get("NEARSAGE_ORACLES")
    if not folder:
        pytest.skip("set NEARSAGE_ORACLES to the folder with systolic/ to run this test")
    lines = (Path(folder) / "systolic" / name).read_text(encoding="utf-8-sig").splitlines()
    return [line for line in csv.reader(lines[1:]) if line and line[0]]


def weight_stationary_runs() -> list[tuple[int, int, int, int, int, int]]:
    """List rows, columns, M, K, N and the cycles that SCALE-Sim prints."""
    found = [line for line in oracle("scalesim_gemm_cycles.csv") if line[2] == "ws"]
    return [(int(a), int(b), int(m), int(k), int(n), int(cycles)) for a, b, _, m, k, n, cycles, _ in found]


def layers(scale: int = 1) -> list[tuple[ProductKind, tuple[int, int, int]]]:
    """List the layers' products as (kind, (M, K, N)), each size divided by `scale` and rounded up."""
    return [
        (kind, tuple(-(-int(line[place]) // scale) for place in (1, 2, 6)))
        for name, kind in LAYERS.items()
        for line in oracle(f"dlrm_{name}.csv")
    ]


def array(rows: int, columns: int, m: int) -> CaeConfig:
    """Return an array as SCALE-Sim has it: multiply and add in one cycle, and room for all rows of a product."""
    config = load_config("tiny").cae
    return config.replace(rows=rows, columns=columns, accumulator_rows=m, mul_latency=0, add_latency=1)


def closed_form(rows: int, columns: int, m: int, k: int, n: int) -> int:
    """Return SCALE-Sim's cycles: each fold loads its weights, then M rows pass the array's diagonal, one after another.

    It prints one less: the number of its last cycle.
    """
    folds = -(-k // rows) * -(-n // columns)
    return folds * (2 * rows + columns + m - 2)
