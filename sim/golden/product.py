"""Golden model of the product unit: what leaves it, bit for bit, for any streams that enter."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sim.config import CaeConfig
from sim.golden.numbers import add32, bf16_to_fp32, canonical, mul32
from sim.jit import njit
from sim.program.commands import MATRIX_COMMAND, MATRIX_STATUS, MatrixCode, MatrixOpcode, result_beat, vector_beat
from sim.program.instructions import ProductPart
from sim.program.layout import check_length
from sim.program.matrix_trace import MatrixTrace


@dataclass(frozen=True, kw_only=True)
class ProductResult:
    """What leaves a product unit.

    Attributes
    ----------
    results : ndarray of uint8, shape [n_rows, result_beat(columns).bytes]
        Rows of results of all commands.
    status : ndarray of uint8, shape [n_commands, MATRIX_STATUS.bytes]
        One status for each command.
    """

    results: NDArray[np.uint8]
    status: NDArray[np.uint8]


def product(x: NDArray[np.uint16], w: NDArray[np.uint16], kept: NDArray[np.uint32] | None = None) -> NDArray[np.uint32]:
    """Multiply bf16 matrices as the array does: each result is one chain of fp32 additions through rising K.

    Parameters
    ----------
    x : ndarray of uint16, shape [M, K]
        bf16 bits.
    w : ndarray of uint16, shape [K, N]
        bf16 bits.
    kept : ndarray of uint32, shape [M, N], optional
        fp32 bits of the sums to go on from; +0 without them.

    Returns
    -------
    ndarray of uint32, shape [M, N]
        fp32 bits.
    """
    shape = (x.shape[0], w.shape[1])
    sums = np.zeros(shape, np.float32) if kept is None else kept.astype(np.uint32).view(np.float32)
    _accumulate(bf16_to_fp32(x).view(np.float32), bf16_to_fp32(w).view(np.float32), sums)
    return canonical(sums.view(np.uint32))


@njit
def _accumulate(x: NDArray[np.float32], w: NDArray[np.float32], sums: NDArray[np.float32]) -> None:
    for m in range(x.shape[0]):
        for k in range(x.shape[1]):
            a = x[m, k]
            for n in range(w.shape[1]):
                sums[m, n] = add32(sums[m, n], mul32(a, w[k, n]))


def check_commands(commands: dict[str, NDArray[np.unsignedinteger]], config: CaeConfig) -> NDArray[np.int64]:
    """Return how each command is received: the first reason to refuse it, or OK.

    Parameters
    ----------
    commands : dict of str to ndarray
        Decoded `MATRIX_COMMAND` records.
    config : CaeConfig
        The engine.

    Returns
    -------
    ndarray of int64
        `MatrixCode` of each.
    """
    rows, columns, part = (commands[name].astype(np.int64) for name in ("rows", "columns", "part"))
    reasons = {
        MatrixCode.BAD_OPCODE: commands["opcode"] != MatrixOpcode.PRODUCT,
        MatrixCode.BAD_ROWS: (rows == 0) | (rows > config.accumulator_rows),
        MatrixCode.BAD_COLUMNS: (columns == 0) | (columns > config.columns),
        MatrixCode.BAD_DEPTH: commands["depth"] == 0,
        MatrixCode.BAD_PART: part > max(ProductPart),
    }
    code = np.select(list(reasons.values()), list(reasons), MatrixCode.OK).astype(np.int64)
    kept = 0
    for c in np.flatnonzero((part != ProductPart.WHOLE) | (code == MatrixCode.OK)) if part.any() else ():
        if goes_on(part[c]) and rows[c] != kept and code[c] != MatrixCode.BAD_OPCODE:
            code[c] = MatrixCode.BAD_ROWS
        if code[c] == MatrixCode.OK:
            kept = int(rows[c]) if keeps(part[c]) else 0
    return code


def keeps(part: Any) -> Any:
    """Return whether the sums of a part of K stay in the accumulator memory.

    Parameters
    ----------
    part : int or ndarray
        `ProductPart`.

    Returns
    -------
    bool or ndarray of bool
        They stay; there is no result.
    """
    return (part == ProductPart.FIRST) | (part == ProductPart.MIDDLE)


def goes_on(part: Any) -> Any:
    """Return whether the sums of a part of K start from what was kept.

    Parameters
    ----------
    part : int or ndarray
        `ProductPart`.

    Returns
    -------
    bool or ndarray of bool
        They do; otherwise they start from +0.
    """
    return (part == ProductPart.LAST) | (part == ProductPart.MIDDLE)


def product_streams(trace: MatrixTrace, config: CaeConfig) -> ProductResult:
    """Run the golden model over the streams of one product unit.

    Parameters
    ----------
    trace : MatrixTrace
        Streams in.
    config : CaeConfig
        The engine.

    Returns
    -------
    ProductResult
        Streams out.

    Raises
    ------
    ValueError
        The other streams are shorter or longer than the commands ask for.
    """
    commands = MATRIX_COMMAND.decode(trace.commands)
    code = check_commands(commands, config)
    taken = code == MatrixCode.OK
    rows, depth = (commands[name][taken].astype(np.int64) for name in ("rows", "depth"))
    check_length("weights", int(depth.sum()), len(trace.weights))
    check_length("activations", int((-(-depth // config.rows) * rows).sum()), len(trace.activations))
    w = vector_beat(config.columns, 16).decode(trace.weights)["data"].astype(np.uint16)
    x = vector_beat(config.rows, 16).decode(trace.activations)["data"].astype(np.uint16)
    layout = result_beat(config.columns)
    results = [np.zeros((0, layout.bytes), np.uint8)]
    next_w, next_x = 0, 0
    sums = np.zeros((0, config.columns), np.uint32)
    for command in np.flatnonzero(taken):
        n_rows, n_columns, depth = (int(commands[name][command]) for name in ("rows", "columns", "depth"))
        n_blocks = -(-depth // config.rows)
        block = x[next_x : next_x + n_blocks * n_rows].reshape(n_blocks, n_rows, config.rows)
        left = block.transpose(1, 0, 2).reshape(n_rows, -1)[:, :depth]
        right, part = w[next_w : next_w + depth], commands["part"][command]
        # Every column has its sum, also those beyond N: the next part may have more columns.
        sums = product(np.ascontiguousarray(left), right, sums if goes_on(part) else None)
        if not keeps(part):
            data = np.where(np.arange(config.columns) < n_columns, sums, 0)
            results.append(layout.encode(n_rows, {"index": np.arange(n_rows), "first": 1, "last": 1, "data": data}))
        next_w += depth
        next_x += n_blocks * n_rows
    status = MATRIX_STATUS.encode(len(code), {"tag": commands["tag"], "code": code})
    return ProductResult(results=np.concatenate(results), status=status)
