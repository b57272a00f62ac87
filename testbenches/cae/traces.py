"""Random streams for a product unit, good and bad commands mixed, with rubbish where the unit must not look."""

import numpy as np
from numpy.typing import NDArray

from sim.config import CaeConfig
from sim.golden.product import check_commands, goes_on, keeps
from sim.program.commands import MATRIX_COMMAND, MatrixOpcode
from sim.program.instructions import ProductPart
from sim.program.matrix_trace import MatrixTrace
from testbenches.nme.traces import random_bits

Tile = tuple[int, int, int]
"""M, K and N."""


def tiles_trace(
    config: CaeConfig, tiles: list[Tile], *, seed: int, special: float = 0.0, bad: float = 0.0, kept: float = 0.0
) -> MatrixTrace:
    """Make the streams of tiles; activations beyond K and weights beyond N are any bits, NaN and infinity too.

    A share of about `kept` of them are parts of K, which have the rows of the part before; now and then a chain breaks
    off.
    """
    rng = np.random.default_rng(seed)
    commands = _commands(config, tiles, rng, bad, kept)
    good = check_commands(MATRIX_COMMAND.decode(commands), config) == 0
    fields = MATRIX_COMMAND.decode(commands[good])
    weights = [np.zeros((0, 2 * config.columns), np.uint8)]
    activations = [np.zeros((0, 2 * config.rows), np.uint8)]
    for m, k, n in zip(*(fields[name].tolist() for name in ("rows", "depth", "columns")), strict=True):
        blocks = -(-k // config.rows)
        w = random_bits(rng, (k, config.columns), "bf16", special)
        x = random_bits(rng, (blocks, m, config.rows), "bf16", special)
        w[:, n:] = rng.choice([0x7FC0, 0x7F80, 0x8000, 0xFFFF], (k, config.columns - n))
        beyond = blocks * config.rows - k
        if beyond:
            x[-1, :, -beyond:] = rng.choice([0x7FC0, 0x7F80, 0x8000, 0xFFFF], (m, beyond))
        weights.append(np.ascontiguousarray(w).view(np.uint8))
        activations.append(x.reshape(-1, config.rows).view(np.uint8))
    return MatrixTrace(commands=commands, weights=np.concatenate(weights), activations=np.concatenate(activations))


def _commands(
    config: CaeConfig, tiles: list[Tile], rng: np.random.Generator, bad: float, kept: float
) -> NDArray[np.uint8]:
    """Make the commands; a bad one has one or two wrong fields."""
    wrong = {
        "opcode": [0, 2, 255],
        "rows": [0, config.accumulator_rows + 1, 65535],
        "columns": [0, config.columns + 1, 65535],
        "depth": [0],
        "part": [4, 255],
    }
    fields = {name: [] for name in ("opcode", "part", "rows", "columns", "tag", "depth")}
    under_way = 0
    for tag, (m, k, n) in enumerate(tiles):
        part = ProductPart.WHOLE
        if rng.random() < kept:
            middle_or_last = [ProductPart.MIDDLE, ProductPart.LAST]
            part = ProductPart(rng.choice(middle_or_last)) if under_way and rng.random() < 0.9 else ProductPart.FIRST
        rows = under_way if goes_on(part) else m
        command = {"opcode": MatrixOpcode.PRODUCT, "part": part, "rows": rows, "columns": n, "tag": tag % 65536}
        command["depth"] = k
        if rng.random() < bad:
            for name in rng.choice(list(wrong), int(rng.integers(1, 3)), replace=False):
                command[name] = int(rng.choice(wrong[name]))
            if kept and rng.random() < 0.3:  # goes on, but not with the rows that were kept
                command |= {"part": ProductPart.LAST, "rows": under_way % config.accumulator_rows + 1}
        else:
            under_way = rows if keeps(part) else 0
        for name, value in command.items():
            fields[name].append(int(value))
    return MATRIX_COMMAND.encode(len(tiles), fields)


def random_tiles(config: CaeConfig, *, seed: int, count: int, max_depth: int) -> list[Tile]:
    """Draw sizes of tiles."""
    rng = np.random.default_rng(seed)
    return [
        (
            int(rng.integers(1, config.accumulator_rows + 1)),
            int(rng.integers(1, max_depth + 1)),
            int(rng.integers(1, config.columns + 1)),
        )
        for _ in range(count)
    ]


def minus_zero_trace(config: CaeConfig) -> MatrixTrace:
    """Make one tile of depth 3 whose sums are -0: the last addition underflows. Padding rows must leave it so."""
    least, little_more, one = 0x0080, 0x8081, 0x3F80  # 2**-126, -(1 + 2**-7) * 2**-126, 1
    blocks = -(-3 // config.rows)
    x = np.zeros((1, blocks * config.rows), np.uint16)
    x[0, :3] = 0, least, little_more
    return MatrixTrace(
        commands=MATRIX_COMMAND.encode(1, {"opcode": 1, "rows": 1, "columns": config.columns, "depth": 3}),
        weights=np.full((3, config.columns), one, np.uint16).view(np.uint8),
        activations=x.reshape(blocks, config.rows).view(np.uint8),
    )


def joined(traces: list[MatrixTrace]) -> MatrixTrace:
    """Put traces one after the other."""
    return MatrixTrace(
        commands=np.concatenate([trace.commands for trace in traces]),
        weights=np.concatenate([trace.weights for trace in traces]),
        activations=np.concatenate([trace.activations for trace in traces]),
    )
