"""Random streams for a reduce unit, good and bad commands and edges mixed."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from sim.config import NmeConfig
from sim.program.commands import EDGE_RECORD, REDUCE_COMMAND, ReduceOpcode
from sim.program.reduce_trace import ReduceTrace

SPECIAL_FP32 = np.array(
    [0, 0x80000000, 1, 0x807FFFFF, 0x00800000, 0x80800001, 0x3F800000, 0xBF800000, 0x7F7FFFFF, 0xFF7FFFFF,
     0x7F800000, 0xFF800000, 0x7FC00000, 0xFFC00001, 0x7F800001],
    np.uint32,
)  # fmt: skip
"""Zeros, subnormals, least and greatest normals, ones, infinities, NaNs."""


def random_bits(rng: np.random.Generator, shape: tuple[int, ...], element: str, special: float) -> NDArray:
    """Make element bits: normal numbers of mixed size, of which a share is replaced by special values."""
    values = (rng.standard_normal(shape) * 2.0 ** rng.integers(-20, 20, shape)).astype(np.float32).view(np.uint32)
    values = np.where(rng.random(shape) < special, rng.choice(SPECIAL_FP32, shape), values)
    return (values >> 16).astype(np.uint16) if element == "bf16" else values


def random_trace(
    config: NmeConfig,
    *,
    seed: int,
    commands: int,
    max_edges: int = 12,
    bad: float = 0.0,
    special: float = 0.0,
    destinations: int | None = None,
    opcodes: Sequence[ReduceOpcode] = tuple(ReduceOpcode),
) -> ReduceTrace:
    """Make the streams of random shards.

    `bad` is the share of commands that are refused, of edges that point outside, and of last-of-source marks that are
    wrong; `destinations` narrows the slots that edges hit, for hazards; `opcodes` are those of good commands.
    """
    rng = np.random.default_rng(seed)
    fields = {name: [] for name in ("opcode", "beats", "destinations", "tag", "sources", "edges")}
    edges, vectors = [], []
    for tag in range(commands):
        beats = int(rng.integers(1, config.max_beats + 1))
        slots = int(rng.integers(1, config.interval + 1))
        n_edges = int(rng.integers(1, max_edges + 1))
        n_sources = int(rng.integers(1, n_edges + 1))
        last = np.zeros(n_edges, bool)
        last[rng.choice(n_edges - 1, n_sources - 1, replace=False)] = True
        last[-1] = True
        command = {
            "opcode": int(rng.choice(opcodes)), "beats": beats, "destinations": slots, "tag": tag,
            "sources": n_sources, "edges": n_edges,
        }  # fmt: skip
        refused = rng.random() < bad
        if refused:
            wrong = {
                "opcode": [0, 5, 255],
                "beats": [0, config.max_beats + 1, 65535],
                "destinations": [0, config.interval + 1, 65535],
                "sources": [0],
                "edges": [0],
            }
            for name in rng.choice(list(wrong), int(rng.integers(1, 3)), replace=False):
                command[name] = int(rng.choice(wrong[name]))
        else:
            destination = rng.integers(0, min(slots, destinations or slots), n_edges)
            outside = rng.random(n_edges) < bad / 2
            destination[outside] = rng.choice([slots, config.interval, 65535], int(outside.sum()))
            last ^= rng.random(n_edges) < bad / 4
            edges.append(
                EDGE_RECORD.encode(
                    n_edges,
                    {
                        "destination": destination,
                        "last_of_source": last,
                        "weight": random_bits(rng, (n_edges,), config.element, special),
                    },
                )
            )
            vectors.append(random_bits(rng, (n_sources * beats, config.lanes), config.element, special).view(np.uint8))
        for name, value in command.items():
            fields[name].append(value)
    return ReduceTrace(
        commands=REDUCE_COMMAND.encode(commands, fields),
        edges=np.concatenate([np.zeros((0, EDGE_RECORD.bytes), np.uint8), *edges]),
        vectors=np.concatenate([np.zeros((0, config.lanes * config.element_bytes), np.uint8), *vectors]),
    )
