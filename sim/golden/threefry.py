"""Threefry-2x32-20 in numpy: random words from a key and a counter, the same in whatever order they are drawn."""

import numpy as np
import numpy.typing as npt

from sim.golden.numbers import U32
from sim.jit import njit
from sim.program.threefry import INJECTION_ROUNDS, PARITY, ROTATIONS, ROUNDS

_ROTATIONS = np.array([ROTATIONS[done % len(ROTATIONS)] for done in range(ROUNDS)], np.uint64)
_PARITY = np.uint64(PARITY)
_WORD = np.uint64(0xFFFFFFFF)


def threefry_2x32(key: U32, counter: U32) -> U32:
    """Draw two words for each counter.

    Parameters
    ----------
    key, counter : ndarray of uint32, shape [..., 2]
        First and second word of each; broadcast against each other.

    Returns
    -------
    ndarray of uint32, shape [..., 2]
        First and second random word.
    """
    keys, counters = np.broadcast_arrays(np.asarray(key, np.uint32), np.asarray(counter, np.uint32))
    draws = np.empty((counters.size // 2, 2), np.uint32)
    _draw(np.ascontiguousarray(keys).reshape(-1, 2), np.ascontiguousarray(counters).reshape(-1, 2), draws)
    return draws.reshape(counters.shape)


@njit
def _draw(keys: U32, counters: U32, draws: U32) -> None:
    for i in range(len(draws)):
        both = draw64(
            np.uint64(keys[i, 0]), np.uint64(keys[i, 1]), np.uint64(counters[i, 0]), np.uint64(counters[i, 1])
        )
        draws[i, 0] = both & _WORD
        draws[i, 1] = both >> np.uint64(32)


@njit
def draw64(key_0: np.uint64, key_1: np.uint64, counter_0: np.uint64, counter_1: np.uint64) -> np.uint64:
    """Draw two words, in compiled kernels.

    Parameters
    ----------
    key_0, key_1, counter_0, counter_1 : uint64
        Words of key and counter, below 2**32.

    Returns
    -------
    uint64
        The first random word, and the second one above it.
    """
    key_2 = key_0 ^ key_1 ^ _PARITY
    first, second = (counter_0 + key_0) & _WORD, (counter_1 + key_1) & _WORD
    for done in range(ROUNDS):
        first = (first + second) & _WORD
        turn = _ROTATIONS[done]
        second = (((second << turn) | (second >> (np.uint64(32) - turn))) & _WORD) ^ first
        if (done + 1) % INJECTION_ROUNDS == 0:
            key_0, key_1, key_2 = key_1, key_2, key_0
            first = (first + key_0) & _WORD
            second = (second + key_1 + np.uint64((done + 1) // INJECTION_ROUNDS)) & _WORD
    result: np.uint64 = first | (second << np.uint64(32))
    return result


def dropout_draws(key: int, *, first_row: int, rows: int, columns: int) -> npt.NDArray[np.uint32]:
    """Draw a word for each element of a matrix, as the vector unit's DROPOUT does.

    Parameters
    ----------
    key : int
        64 bits; the low ones are the first word.
    first_row : int
        Number of the first row.
    rows, columns : int
        Shape.

    Returns
    -------
    ndarray of uint32, shape [rows, columns]
        Counter (row, column // 2); its first word for even columns, its second for odd ones.
    """
    words = np.array([key & 0xFFFFFFFF, key >> 32], np.uint32)
    counter = np.empty((rows, -(-columns // 2), 2), np.uint32)
    counter[..., 0] = ((first_row + np.arange(rows)) & 0xFFFFFFFF)[:, None]
    counter[..., 1] = np.arange(counter.shape[1])
    return np.ascontiguousarray(threefry_2x32(words, counter).reshape(rows, -1)[:, :columns])
