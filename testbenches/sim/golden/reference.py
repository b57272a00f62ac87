"""A second golden model: plain Python over numbers in double precision, rounded to fp32 after each operation.

Double precision has more than twice the places of fp32 and two to spare, so rounding its result once more gives the
correctly rounded fp32 sum or product.
"""

import math
import struct

import numpy as np

NAN = 0x7FC00000
SPECIAL_BF16 = np.array(
    [0x0000, 0x8000, 0x0001, 0x807F, 0x0080, 0x8080, 0x3F80, 0xBF80, 0x7F7F, 0xFF7F, 0x7F80, 0xFF80, 0x7FC1, 0xFFA0],
    np.uint16,
)
"""Zeros, subnormals, smallest normal numbers, ones, largest numbers, infinities, NaNs."""


def value(bits, element):
    """Give the number that stored bits stand for; subnormals are zero."""
    bits = int(bits) << 16 if element == "bf16" else int(bits)
    number = struct.unpack("<f", struct.pack("<I", bits & 0xFFFFFFFF))[0]
    return flushed(number)


def flushed(number):
    return math.copysign(0.0, number) if abs(number) < 2.0**-126 else number


def rounded(number):
    with np.errstate(all="ignore"):
        return flushed(float(np.float32(number)))


def add(a, b):
    return rounded(a + b)


def multiply(a, b):
    return rounded(a * b)


def greater(a, b):
    """Give NaN if either is NaN, else the greater number, +0 above -0."""
    if math.isnan(a) or math.isnan(b):
        return math.nan
    return max(a, b, key=lambda number: (number, math.copysign(1, number)))


def lesser(a, b):
    return -greater(-a, -b)


def bits_of(number):
    return NAN if math.isnan(number) else struct.unpack("<I", struct.pack("<f", number))[0]


def random_bits(rng, shape, element, special_share=0.2):
    """Make element bits: normal numbers of mixed sizes, and special ones."""
    numbers = (rng.standard_normal(shape) * 2.0 ** rng.integers(-6, 7, shape)).astype(np.float32).view(np.uint32)
    special = rng.choice(SPECIAL_BF16, shape).astype(np.uint32) << 16
    bits = np.where(rng.random(shape) < special_share, special, numbers)
    return (bits >> 16).astype(np.uint16) if element == "bf16" else bits.astype(np.uint32)


def reduce_streams(commands, edges, vectors, config):
    """Run shards. All arguments and results are lists of tuples of numbers, in the order of the streams' fields.

    Commands are (opcode, beats, destinations, tag, sources, edges), edges (slot, last, weight bits), vectors tuples of
    element bits. Returns (partials, status): partials (index, first, last, elements' bits), status (tag, code, edges).
    """
    partials, status = [], []
    edges, vectors = iter(edges), iter(vectors)
    for opcode, beats, destinations, tag, n_sources, n_edges in commands:
        reasons = [
            (1, opcode not in (1, 2, 3, 4)),
            (2, not 0 < beats <= config.max_beats),
            (3, not 0 < destinations <= config.interval),
            (4, n_sources == 0),
            (5, n_edges == 0),
        ]
        code = next((code for code, refused in reasons if refused), 0)
        if code:
            status.append((tag, code, 0))
            continue
        loaded = [[x for _ in range(beats) for x in next(vectors)] for _ in range(n_sources)]
        sums, accumulated = {}, 0
        for _ in range(n_edges):
            slot, last, weight = next(edges)
            if slot >= destinations:
                code = code or 6
            elif not loaded:
                code = code or 7
            else:
                factor = value(weight, config.element) if opcode == 2 else 1.0
                terms = [multiply(factor, value(x, config.element)) for x in loaded[0]]
                before = sums.get(slot, terms if opcode > 2 else [0.0] * len(terms))
                join = {1: add, 2: add, 3: greater, 4: lesser}[opcode]
                sums[slot] = [join(total, term) for total, term in zip(before, terms, strict=True)]
                accumulated += 1
            if last and loaded:
                loaded.pop(0)
        if loaded:
            code = code or 7
        for slot in sorted(sums):
            for beat in range(beats):
                part = sums[slot][beat * config.lanes : (beat + 1) * config.lanes]
                partials.append((slot, beat == 0, beat == beats - 1, [bits_of(x) for x in part]))
        status.append((tag, code, accumulated))
    return partials, status


def product(x, w):
    """Multiply bf16 matrices: each result is one chain of additions from +0, K from low to high."""
    out = np.zeros((x.shape[0], w.shape[1]), np.uint32)
    for m, n in np.ndindex(out.shape):
        total = 0.0
        for k in range(x.shape[1]):
            total = add(total, multiply(value(x[m, k], "bf16"), value(w[k, n], "bf16")))
        out[m, n] = bits_of(total)
    return out
