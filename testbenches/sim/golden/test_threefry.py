"""The random draws: Random123's published vectors, a second model in Python's integers, and the counters of DROPOUT."""

import numpy as np
import pytest

from sim.golden.threefry import dropout_draws, threefry_2x32

KNOWN = [
    # key, counter, draw: threefry2x32 20 of Random123's kat_vectors
    ((0x00000000, 0x00000000), (0x00000000, 0x00000000), (0x6B200159, 0x99BA4EFE)),
    ((0xFFFFFFFF, 0xFFFFFFFF), (0xFFFFFFFF, 0xFFFFFFFF), (0x1CB996FC, 0xBB002BE7)),
    ((0x13198A2E, 0x03707344), (0x243F6A88, 0x85A308D3), (0xC4923A9C, 0x483DF7A0)),
]


def in_integers(key, counter):
    """Draw two words as the paper says, with none of the package's constants."""
    words = [*key, 0x1BD11BDA ^ key[0] ^ key[1]]
    first, second = ((counter[i] + words[i]) % 2**32 for i in (0, 1))
    for done in range(20):
        if done and done % 4 == 0:
            first = (first + words[done // 4 % 3]) % 2**32
            second = (second + words[(done // 4 + 1) % 3] + done // 4) % 2**32
        turn = (13, 15, 26, 6, 17, 29, 16, 24)[done % 8]
        first = (first + second) % 2**32
        second = (second << turn | second >> (32 - turn)) % 2**32 ^ first
    return (first + words[2]) % 2**32, (second + words[0] + 5) % 2**32


@pytest.mark.parametrize(("key", "counter", "draw"), KNOWN)
def test_published_vectors(key, counter, draw):
    assert in_integers(key, counter) == draw
    assert threefry_2x32(np.array(key, np.uint32), np.array(counter, np.uint32)).tolist() == list(draw)


def test_many_at_once_and_broadcast():
    rng = np.random.default_rng(0)
    keys, counters = rng.integers(0, 1 << 32, (2, 300, 2), np.uint32)
    draws = threefry_2x32(keys, counters)
    assert draws.dtype == np.uint32
    assert [tuple(pair) for pair in draws.tolist()] == list(map(in_integers, keys.tolist(), counters.tolist()))
    one_key = threefry_2x32(keys[0], counters.reshape(20, 15, 2))
    assert one_key.shape == (20, 15, 2)
    assert one_key[7, 3].tolist() == list(in_integers(keys[0].tolist(), counters[7 * 15 + 3].tolist()))


def test_dropout_draws():
    key = 0x1122334455667788
    draws = dropout_draws(key, first_row=(1 << 32) - 2, rows=5, columns=7)
    for row, column in np.ndindex(5, 7):
        both = in_integers((0x55667788, 0x11223344), ((row - 2) % 2**32, column // 2))
        assert draws[row, column] == both[column % 2]
    assert (dropout_draws(key, first_row=0, rows=3, columns=7) == draws[2:]).all(), "the order of tiles has no say"


def test_draws_are_spread_evenly():
    draws = dropout_draws(7, first_row=0, rows=400, columns=500)
    share = np.bincount(draws.ravel() >> 28, minlength=16) / draws.size
    assert np.abs(share - 1 / 16).max() < 5 * np.sqrt(1 / 16 / draws.size)
    assert abs(np.corrcoef(draws[:, ::2].ravel(), draws[:, 1::2].ravel())[0, 1]) < 5 / np.sqrt(draws.size / 2)
