"""Golden model of the draws: which edges of a target's list are taken, the same wherever the target stands."""

import os
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from numpy.typing import NDArray

from sim.golden.threefry import threefry_2x32
from sim.jit import njit
from sim.program.threefry import PARITY, ROTATIONS

MOST_DRAWS = 64
"""Draws of a target at most."""

_WORD = 0xFFFFFFFF
_PART = 1 << 16  # samples that are worth a worker
_A, _B, _C, _D, _E, _F, _G, _H = (np.uint32(turn) for turn in ROTATIONS)
_PARITY = np.uint32(PARITY)
_ALL = np.uint32(32)


def hop_key(seed: int, batch: int, hop: int) -> tuple[int, int]:
    """Return the key of a hop's draws.

    Parameters
    ----------
    seed : int
        64 bits; the low ones are the first word of the key that this key is drawn with.
    batch : int
        32 bits.
    hop : int
        0 for the first.

    Returns
    -------
    tuple of int
        First and second word.
    """
    key = np.array([seed & _WORD, seed >> 32], np.uint32)
    first, second = threefry_2x32(key, np.array([batch, hop], np.uint32)).tolist()
    return first, second


def draw_edges(
    node: NDArray[np.uint64],
    degree: NDArray[np.int64],
    count: NDArray[np.int64],
    *,
    seed: int,
    batch: int,
    hop: int,
    replace: bool,
) -> tuple[NDArray[np.int64], NDArray[np.uint8], NDArray[np.bool_]]:
    """Draw the samples of a hop's targets.

    A target whose count is its degree gives all its edges in order, without draws. Each other draw is the high half of
    the product of a random word and the size of the range; the word is rejected, and another drawn, if the low half
    shows that it would favour a number (D. Lemire, "Fast random integer generation in an interval", 2019). Without
    replacement draw i is from the first ``degree - count + i + 1`` edges, and the last of these stands in for one that
    was taken before (R. W. Floyd, "A sample of brilliance", 1987).

    Parameters
    ----------
    node : ndarray of uint64, shape [targets]
        Numbers of the targets; the low 48 bits count.
    degree : ndarray of int64, shape [targets]
        Edges of each list, below 2^31.
    count : ndarray of int64, shape [targets]
        Samples of each, at most its degree, and `MOST_DRAWS` where less.
    seed, batch, hop : int
        As for `hop_key`.
    replace : bool
        Draw with replacement.

    Returns
    -------
    draws : ndarray of int64, shape [samples]
        Places in the lists, target after target.
    rejected : ndarray of uint8, shape [samples]
        Words that were rejected before each.
    divided : ndarray of bool, shape [samples]
        Whether the word that was taken could be judged only with the remainder of a division.

    Raises
    ------
    ValueError
        A count or a degree is out of its range.
    """
    # With replacement too a count is at most the degree: more samples than that are all neighbours.
    wrong = (count < 0) | (count > degree) | (degree >= 1 << 31) | ((count > MOST_DRAWS) & (count < degree))
    if wrong.any():
        target = int(np.argmax(wrong))
        raise ValueError(f"target {target}: {count[target]} samples of {degree[target]} edges cannot be drawn")
    first, second = hop_key(seed, batch, hop)
    ends = np.cumsum(count, dtype=np.int64)
    samples = int(ends[-1]) if len(ends) else 0
    draws, rejected = np.empty(samples, np.int64), np.zeros(samples, np.uint8)
    divided = np.zeros(samples, np.bool_)
    nodes = np.ascontiguousarray(node, np.uint64)

    def part(begin: int, end: int) -> None:
        start = int(ends[begin - 1]) if begin else 0
        _draw_targets(
            nodes[begin:end],
            degree[begin:end],
            count[begin:end],
            np.uint32(first),
            np.uint32(second),
            replace,
            draws[start:],
            rejected[start:],
            divided[start:],
        )

    # Parts of as many samples each.
    workers = min(len(os.sched_getaffinity(0)), samples // _PART)
    if workers <= 1:
        part(0, len(nodes))
    else:
        cuts = np.searchsorted(ends, np.arange(1, workers) * samples // workers).tolist()
        with ThreadPoolExecutor(workers) as pool:
            list(pool.map(part, [0, *cuts], [*cuts, len(nodes)]))
    return draws, rejected, divided


@njit
def _four(
    first: np.uint32, second: np.uint32, a: np.uint32, b: np.uint32, c: np.uint32, d: np.uint32
) -> tuple[np.uint32, np.uint32]:
    first = np.uint32(first + second)
    second = np.uint32((second << a) | (second >> np.uint32(_ALL - a))) ^ first
    first = np.uint32(first + second)
    second = np.uint32((second << b) | (second >> np.uint32(_ALL - b))) ^ first
    first = np.uint32(first + second)
    second = np.uint32((second << c) | (second >> np.uint32(_ALL - c))) ^ first
    first = np.uint32(first + second)
    second = np.uint32((second << d) | (second >> np.uint32(_ALL - d))) ^ first
    return first, second


@njit
def _word(key_0: np.uint32, key_1: np.uint32, counter_0: np.uint32, counter_1: np.uint32) -> np.uint32:
    # The first word of `threefry_2x32`, in 32 bits and without a loop, so that many are drawn in one instruction.
    key_2 = np.uint32(key_0 ^ key_1 ^ _PARITY)
    first, second = np.uint32(counter_0 + key_0), np.uint32(counter_1 + key_1)
    first, second = _four(first, second, _A, _B, _C, _D)
    first, second = np.uint32(first + key_1), np.uint32(second + key_2 + np.uint32(1))
    first, second = _four(first, second, _E, _F, _G, _H)
    first, second = np.uint32(first + key_2), np.uint32(second + key_0 + np.uint32(2))
    first, second = _four(first, second, _A, _B, _C, _D)
    first, second = np.uint32(first + key_0), np.uint32(second + key_1 + np.uint32(3))
    first, second = _four(first, second, _E, _F, _G, _H)
    first, second = np.uint32(first + key_1), np.uint32(second + key_2 + np.uint32(4))
    first, second = _four(first, second, _A, _B, _C, _D)
    return np.uint32(first + key_2)


@njit
def _draw_targets(
    node: NDArray[np.uint64],
    degree: NDArray[np.int64],
    count: NDArray[np.int64],
    key_0: np.uint32,
    key_1: np.uint32,
    replace: bool,
    draws: NDArray[np.int64],
    rejected: NDArray[np.uint8],
    divided: NDArray[np.bool_],
) -> None:
    words = np.empty(MOST_DRAWS, np.uint32)
    chosen = np.empty(MOST_DRAWS, np.uint32)
    at = 0
    for target in range(len(node)):
        n, d = count[target], degree[target]
        if n == d:
            for i in range(n):
                draws[at + i] = i
            at += n
            continue
        counter_0 = np.uint32(node[target])
        high = np.uint32((node[target] >> np.uint64(32)) & np.uint64(0xFFFF))
        for i in range(n):
            words[i] = _word(key_0, key_1, counter_0, np.uint32(high | (np.uint32(i) << np.uint32(16))))
        for i in range(n):
            last = d - n + i
            size = np.uint64(d if replace else last + 1)
            product = np.uint64(words[i]) * size
            attempt = 0
            while product & np.uint64(_WORD) < size:
                uneven = np.uint64(1 << 32) % size
                divided[at + i] = True
                if product & np.uint64(_WORD) >= uneven:
                    break
                divided[at + i] = False
                attempt += 1
                counter_1 = np.uint32(high | (np.uint32(i) << np.uint32(16)) | (np.uint32(attempt) << np.uint32(24)))
                product = np.uint64(_word(key_0, key_1, counter_0, counter_1)) * size
            rejected[at + i] = attempt
            drawn = np.uint32(product >> np.uint64(32))
            if not replace:
                taken = False
                for other in range(i):
                    taken |= chosen[other] == drawn
                if taken:
                    drawn = np.uint32(last)
                chosen[i] = drawn
            draws[at + i] = drawn
        at += n
