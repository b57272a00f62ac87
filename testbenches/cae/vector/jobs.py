"""Jobs of a vector unit, and what the banks hold before."""

from collections.abc import Sequence
from itertools import product

import numpy as np
from numpy.typing import NDArray

from sim.config import CaeConfig, load_config
from sim.golden.threefry import dropout_draws
from sim.program.instructions import (
    NEEDS_RIGHT,
    CaeOpcode,
    RightOperand,
    VectorFunction,
    VectorOperation,
    VectorReduction,
)
from testbenches.arith.cases import SPECIALS

LONG_BEATS = 8192
"""What the longest row takes in beats of 8 elements."""

FILLED_BEATS = 160
"""Of a bank; what lies beyond is used by none of `shaped`."""

TINY = load_config("tiny").cae.replace(
    operand_banks=2, vector_banks=4, operand_bank_beats=128, vector_bank_beats=FILLED_BEATS, window_instructions=5
)
CONFIGS = {
    "4-lanes": TINY,
    "8-lanes": TINY.replace(columns=8, vector_mul_latency=0, add_latency=1, vector_bank_beats=LONG_BEATS),
    "2-parts": TINY.replace(rows=8, vector_mul_latency=4, add_latency=4),
    "6-lanes": TINY.replace(rows=2, columns=3, vector_mul_latency=1, add_latency=2),
    "3-lanes": TINY.replace(rows=1, columns=3, vector_mul_latency=3, add_latency=3),
    "1-lane": TINY.replace(rows=1, columns=1, vector_mul_latency=0, add_latency=2),
}

COMBINATIONS = [
    {"operation": operation, "right_operand": right, "function": function, "reduction": reduction}
    for operation, right, function, reduction in product(VectorOperation, RightOperand, VectorFunction, VectorReduction)
    if (operation in NEEDS_RIGHT) == (right != RightOperand.NONE)
]
"""Every one that is good."""


def numbers(rng: np.random.Generator, kind: str, shape: tuple[int, ...]) -> NDArray[np.uint32]:
    """Draw fp32 numbers: of size 1 with a few special ones, mostly special ones, or any bits."""
    plain = rng.standard_normal(shape).astype(np.float32).view(np.uint32)
    special = rng.choice(SPECIALS, shape)
    if kind == "anything":
        return rng.integers(0, 1 << 32, shape, np.uint32)
    return np.where(rng.random(shape) < (0.7 if kind == "special" else 0.01), special, plain)


def contents(config: CaeConfig, seed: int, kind: str = "plain") -> dict[int, NDArray[np.uint32]]:
    """Fill all banks, but not beyond `FILLED_BEATS`."""
    rng = np.random.default_rng(seed)
    return {bank: numbers(rng, kind, (_filled(config, bank), config.lanes)) for bank in range(config.banks)}


def _filled(config: CaeConfig, bank: int) -> int:
    return min(FILLED_BEATS, config.bank_beats(bank))


def shaped(
    config: CaeConfig,
    combinations: Sequence[dict[str, int]],
    seed: int,
    *,
    kind: str = "plain",
    max_rows: int = 13,
    max_beats: int = 4,
) -> list[dict[str, int]]:
    """Give each combination a shape, unless it has one, places in the banks and numbers of its own.

    Results go to the last two banks, so that the others keep what they hold; or to any other bank; or, in one of five
    jobs without a reduction, to where one of the operands stands. Beats that belong to no row lie between the rows.
    """
    rng = np.random.default_rng(seed)
    jobs = []
    for combination in combinations:
        job = {
            "rows": int(rng.integers(1, max_rows + 1)),
            "columns": int(rng.integers(1, max_beats * config.lanes + 1)),
            "tag": len(jobs),
            "opcode": CaeOpcode.VECTOR,
            "depth": int(rng.choice([0, (1 << 32) - 3, int(rng.integers(1 << 32))])),
            "key": int(rng.integers(1 << 64, dtype=np.uint64)),
            **{name: int(numbers(rng, kind, (1,))[0]) for name in ("alpha", "beta")},
            **combination,
        }
        if job["operation"] == VectorOperation.DROPOUT:
            # Of one element the draw itself: it is just not kept.
            drawn = dropout_draws(job["key"], first_row=job["depth"], rows=1, columns=job["columns"])[0, -1]
            limits = [0, 1, 1 << 31, 3 << 30, (1 << 32) - 1, int(rng.integers(1 << 32)), *[int(drawn)] * 4]
            job["beta"] = int(rng.choice(limits))
        jobs.append(job | _places(config, job, rng))
    return jobs


def _places(config: CaeConfig, job: dict[str, int], rng: np.random.Generator) -> dict[str, int]:
    """Choose banks, pitches and addresses; often an operand goes up to its bank's end."""
    rows, beats = job["rows"], -(-job["columns"] // config.lanes)
    right = {RightOperand.BY_ROW: (rows, 1), RightOperand.BY_COLUMN: (1, beats)}
    reduced = {
        VectorReduction.ROW_SUM: (rows, 1),
        VectorReduction.ROW_MAXIMUM: (rows, 1),
        VectorReduction.COLUMN_SUM: (1, beats),
    }
    shapes = {
        "left": (rows, beats),
        "right": right.get(RightOperand(job["right_operand"]), (rows, beats)),
        "result": reduced.get(VectorReduction(job["reduction"]), (rows, beats)),
    }
    pick = rng.permutation(4).tolist()
    banks = {"left": pick[0], "right": pick[1], "result": int(rng.choice([4, 5, 4, 5, pick[2]]))}
    places = {}
    for name, (n_rows, n_beats) in shapes.items():
        pitch = n_beats + int(rng.integers(0, 3))
        free = _filled(config, banks[name]) - ((n_rows - 1) * pitch + n_beats)
        address = free if rng.random() < 0.2 else int(rng.integers(free + 1))
        if n_rows == 1:
            pitch = int(rng.integers(1 << 16))  # of no consequence
        places |= {f"{name}_bank": banks[name], f"{name}_pitch": pitch, f"{name}_address": address}
    if job["reduction"] == VectorReduction.NONE and rng.random() < 0.2:
        full = job["right_operand"] == RightOperand.FULL
        over = "right" if full and rng.random() < 0.5 else "left"
        places |= {f"result_{part}": places[f"{over}_{part}"] for part in ("bank", "pitch", "address")}
    return places
