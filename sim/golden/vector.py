"""Golden model of the vector unit: element by element, then a reduction if wanted."""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from sim.golden.functions import exp32, log32, reciprocal32, reciprocal_sqrt32
from sim.golden.numbers import F32, U32, add32, canonical, flush, max32, mul32
from sim.golden.threefry import draw64
from sim.jit import njit
from sim.program.instructions import (
    RightOperand,
    VectorReduction,
)

CHAINS = 4
"""Chains that a column is added up in, row r in chain r mod 4, whatever the latency of an adder."""

_COMBINE, _MULTIPLY, _AFFINE, _MAXIMUM, _LEAKY_RELU, _RELU_GRADIENT, _LEAKY_RELU_GRADIENT, _ELU_GRADIENT = range(1, 9)
_SELECT_POSITIVE, _ROOT, _DROPOUT = range(9, 12)
_RELU, _EXP, _LOG, _RECIPROCAL, _RECIPROCAL_SQRT = range(1, 6)
_ZERO, _MINUS_ZERO, _INFINITY = np.float32(0), np.float32(-0.0), np.float32(np.inf)


class Draws(NamedTuple):
    """What decides on the elements that DROPOUT keeps, for the kernel."""

    key_0: np.uint64
    key_1: np.uint64
    first_row: np.uint64
    keep_below: np.uint64


def vector_operation(instruction: Mapping[str, int], left: U32, right: U32 | None, lanes: int) -> U32:
    """Do what one VECTOR instruction asks for.

    The order of additions: ROW_SUM adds neighbouring lanes of a beat, then neighbouring sums, and so on, as if lanes of
    -0 filled it up to a power of two; the sums of the beats are one chain by rising beat. COLUMN_SUM has four chains,
    row r in chain r mod 4; then (c0 + c1) + (c2 + c3), where a chain without a row counts as -0. Every chain starts
    with its first term. Lanes beyond the columns do not count.

    Parameters
    ----------
    instruction : mapping of str to int
        Decoded fields of `sim.program.instructions.CAE_INSTRUCTION`, good by `sim.program.cae_check.knows_vector`.
        Banks, addresses and pitches are not looked at.
    left : ndarray of uint32, shape [rows, beats * lanes]
        fp32 bits of a; beats = ceil(columns / lanes). Lanes beyond the columns may hold anything.
    right : ndarray of uint32 or None
        fp32 bits of b, of shape [rows, beats * lanes] (FULL), [rows, lanes] (BY_ROW), [1, beats * lanes] (BY_COLUMN);
        not looked at for NONE and SAME.
    lanes : int
        Elements of a beat.

    Returns
    -------
    ndarray of uint32
        fp32 bits, of shape [rows, beats * lanes], [rows, lanes] (ROW_SUM, ROW_MAXIMUM: one value in all lanes of a row)
        or [1, beats * lanes] (COLUMN_SUM). All other lanes beyond the columns are +0.

    Raises
    ------
    ValueError
        An operand has another shape.
    """
    rows, columns = instruction["rows"], instruction["columns"]
    width = -(-columns // lanes) * lanes
    mode, reduction = instruction["right_operand"], instruction["reduction"]
    _check_shape("left", left, (rows, width))
    a = _floats(left)
    if mode in (RightOperand.NONE, RightOperand.SAME):
        b = a
    else:
        shapes = {
            RightOperand.FULL: (rows, width),
            RightOperand.BY_ROW: (rows, lanes),
            RightOperand.BY_COLUMN: (1, width),
        }
        _check_shape("right", right, shapes[RightOperand(mode)])
        assert right is not None
        b = _floats(right)
    by_row, by_column = (int(mode == kind) for kind in (RightOperand.BY_ROW, RightOperand.BY_COLUMN))
    factors = _floats(np.array([instruction["alpha"], instruction["beta"]], np.uint32))
    draws = Draws(
        np.uint64(instruction["key"] & 0xFFFFFFFF),
        np.uint64(instruction["key"] >> 32),
        np.uint64(instruction["depth"]),
        np.uint64(instruction["beta"]),
    )
    sizes = (int(columns), lanes)
    out = np.zeros((rows, width), np.float32)
    kinds = (int(instruction["operation"]), int(instruction["function"]))
    _elements(kinds, a, b, by_row, by_column, factors, draws, sizes, out)
    if reduction in (VectorReduction.ROW_SUM, VectorReduction.ROW_MAXIMUM):
        maximum = int(reduction == VectorReduction.ROW_MAXIMUM)
        beat, reduced = np.empty(1 << (lanes - 1).bit_length(), np.float32), np.empty((rows, lanes), np.float32)
        _reduce_rows(maximum, out, sizes, beat, reduced)
        out = reduced
    elif reduction == VectorReduction.COLUMN_SUM:
        chains, reduced = np.full((CHAINS, width), _MINUS_ZERO), np.zeros((1, width), np.float32)
        _sum_columns(out, int(columns), chains, reduced)
        out = reduced
    return canonical(out.view(np.uint32))


def _check_shape(name: str, operand: U32 | None, shape: tuple[int, int]) -> None:
    if operand is None or operand.shape != shape:
        raise ValueError(f"the {name} operand must have the shape {shape}, not {getattr(operand, 'shape', None)}")


def _floats(bits: U32) -> F32:
    return flush(np.ascontiguousarray(bits)).view(np.float32)


@njit
def _operate(operation: int, a: np.float32, b: np.float32, alpha: np.float32, beta: np.float32) -> np.float32:
    if operation == _COMBINE:
        result = add32(mul32(alpha, a), mul32(beta, b))
    elif operation == _MULTIPLY:
        result = mul32(a, b)
    elif operation == _AFFINE:
        result = add32(mul32(alpha, a), beta)
    elif operation == _MAXIMUM:
        result = max32(a, b)
    elif operation == _LEAKY_RELU:
        result = a if a > _ZERO else mul32(alpha, a)
    elif operation == _RELU_GRADIENT:
        result = a if b > _ZERO else _ZERO
    elif operation == _LEAKY_RELU_GRADIENT:
        result = a if b > _ZERO else mul32(alpha, a)
    elif operation == _ELU_GRADIENT:
        result = a if b > _ZERO else add32(mul32(a, b), mul32(alpha, a))
    elif operation == _SELECT_POSITIVE:
        result = b if b > _ZERO else add32(mul32(alpha, a), beta)
    elif operation == _ROOT:
        result = a if a in (_ZERO, _INFINITY) else mul32(a, b)
    else:
        result = mul32(alpha, a)
    return result


@njit
def _apply(function: int, value: np.float32) -> np.float32:
    if function == _RELU:
        return _ZERO if value <= _ZERO else value
    if function == _EXP:
        return exp32(value)
    if function == _LOG:
        return log32(value)
    if function == _RECIPROCAL:
        return reciprocal32(value)
    if function == _RECIPROCAL_SQRT:
        return reciprocal_sqrt32(value)
    return value


@njit
def _elements(
    kinds: tuple[int, int],
    left: F32,
    right: F32,
    by_row: int,
    by_column: int,
    factors: F32,
    draws: Draws,
    sizes: tuple[int, int],
    out: F32,
) -> None:
    operation, function = kinds
    columns, lanes = sizes
    alpha, beta = factors[0], factors[1]
    for row in range(left.shape[0]):
        of_right = right[0 if by_column else row]
        if operation == _DROPOUT:
            number = (draws.first_row + np.uint64(row)) & np.uint64(0xFFFFFFFF)
            for pair in range((columns + 1) // 2):
                both = draw64(draws.key_0, draws.key_1, number, np.uint64(pair))
                for odd in range(2):
                    word = (both >> np.uint64(32 * odd)) & np.uint64(0xFFFFFFFF)
                    if 2 * pair + odd < columns:
                        value = mul32(alpha, left[row, 2 * pair + odd]) if word < draws.keep_below else _ZERO
                        out[row, 2 * pair + odd] = _apply(function, value)
        elif by_row:
            for column in range(columns):
                value = _operate(operation, left[row, column], of_right[column % lanes], alpha, beta)
                out[row, column] = _apply(function, value)
        else:
            for column in range(columns):
                value = _operate(operation, left[row, column], of_right[column], alpha, beta)
                out[row, column] = _apply(function, value)


@njit
def _reduce_rows(maximum: int, elements: F32, sizes: tuple[int, int], beat: F32, out: F32) -> None:
    columns, lanes = sizes
    neutral = -_INFINITY if maximum else _MINUS_ZERO
    for row in range(elements.shape[0]):
        total = neutral
        for first in range(0, columns, lanes):
            present = min(lanes, columns - first)
            for lane in range(len(beat)):
                beat[lane] = elements[row, first + lane] if lane < present else neutral
            width = len(beat) // 2
            while width:
                for pair in range(width):
                    a, b = beat[2 * pair], beat[2 * pair + 1]
                    beat[pair] = max32(a, b) if maximum else add32(a, b)
                width //= 2
            total = max32(total, beat[0]) if maximum else add32(total, beat[0])
        out[row] = total


@njit
def _sum_columns(elements: F32, columns: int, chains: F32, out: F32) -> None:
    for row in range(elements.shape[0]):
        chain = chains[row % CHAINS]
        for column in range(columns):
            # -0 leaves what it is added to as it is.
            chain[column] = add32(chain[column], elements[row, column])
    for column in range(columns):
        low, high = add32(chains[0, column], chains[1, column]), add32(chains[2, column], chains[3, column])
        out[0, column] = add32(low, high)
