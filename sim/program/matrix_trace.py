"""The streams that the systolic array is fed with: commands, rows of weights and rows of activations, as bytes."""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from sim.config import CaeConfig
from sim.program.commands import MATRIX_COMMAND, MatrixOpcode


@dataclass(frozen=True, kw_only=True)
class MatrixTrace:
    """Streams of a product unit.

    Attributes
    ----------
    commands : ndarray of uint8, shape [n_commands, MATRIX_COMMAND.bytes]
        Commands in order.
    weights : ndarray of uint8, shape [n_rows, columns * 2]
        Rows of bf16 weights of all commands in order.
    activations : ndarray of uint8, shape [n_rows, rows * 2]
        Rows of bf16 activations of all commands in order.
    """

    commands: NDArray[np.uint8]
    weights: NDArray[np.uint8]
    activations: NDArray[np.uint8]


@dataclass(frozen=True, kw_only=True)
class Tile:
    """A piece of a product's result: all of K for some rows and columns."""

    rows: slice
    columns: slice


def product_tiles(n_rows: int, n_columns: int, config: CaeConfig) -> list[Tile]:
    """Cut a product's result into tiles that the array can do.

    Parameters
    ----------
    n_rows, n_columns : int
        M and N of the product.
    config : CaeConfig
        The engine.

    Returns
    -------
    list of Tile
        By columns, then by rows. The rows are shared out evenly, so that no tile is left with only a few.
    """
    n_pieces = -(-n_rows // config.accumulator_rows)
    bounds = [n_rows * piece // max(1, n_pieces) for piece in range(n_pieces + 1)]
    return [
        Tile(rows=slice(low, high), columns=slice(column, min(column + config.columns, n_columns)))
        for column in range(0, n_columns, config.columns)
        for low, high in pairwise(bounds)
    ]


def product_trace(x: NDArray[np.uint16], w: NDArray[np.uint16], tiles: list[Tile], config: CaeConfig) -> MatrixTrace:
    """Make the streams of a product, tile by tile.

    Parameters
    ----------
    x : ndarray of uint16, shape [M, K]
        bf16 bits of the activations.
    w : ndarray of uint16, shape [K, N]
        bf16 bits of the weights.
    tiles : list of Tile
        The tiles to do, in order; the tag of each is its position here, modulo 65,536.
    config : CaeConfig
        The engine.

    Returns
    -------
    MatrixTrace
        The streams.

    Raises
    ------
    ValueError
        The shapes do not fit each other, a size is zero, or the elements are not uint16.
    """
    if x.dtype != np.uint16 or w.dtype != np.uint16:
        raise ValueError(f"a product takes bf16 bits (uint16), not {x.dtype} and {w.dtype}")
    depth = x.shape[1]
    if w.shape[0] != depth or 0 in x.shape or 0 in w.shape:
        raise ValueError(f"a product of {x.shape} and {w.shape}: the inner sizes must agree, and none may be zero")
    n_blocks = -(-depth // config.rows)
    padded_x = np.zeros((len(x), n_blocks * config.rows), np.dtype("<u2"))
    padded_x[:, :depth] = x
    blocks = padded_x.reshape(len(x), n_blocks, config.rows).transpose(1, 0, 2)
    weights, activations = [], []
    for tile in tiles:
        padded_w = np.zeros((depth, config.columns), np.dtype("<u2"))
        part = w[:, tile.columns]
        padded_w[:, : part.shape[1]] = part
        weights.append(padded_w)
        activations.append(blocks[:, tile.rows].reshape(-1, config.rows))
    commands = MATRIX_COMMAND.encode(
        len(tiles),
        {
            "opcode": MatrixOpcode.PRODUCT,
            "rows": [tile.rows.stop - tile.rows.start for tile in tiles],
            "columns": [tile.columns.stop - tile.columns.start for tile in tiles],
            "tag": np.arange(len(tiles)) % 65536,
            "depth": depth,
        },
    )
    return MatrixTrace(
        commands=commands,
        weights=np.concatenate(weights).view(np.uint8),
        activations=np.concatenate(activations).view(np.uint8),
    )
