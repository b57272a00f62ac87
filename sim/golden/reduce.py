"""Golden model of the reduce unit: what leaves it, bit for bit, for any streams that enter."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sim.config import NmeConfig
from sim.golden.numbers import add32, bf16_to_fp32, canonical, flush, max32, min32, mul32
from sim.jit import njit
from sim.program.commands import (
    EDGE_RECORD,
    REDUCE_COMMAND,
    REDUCE_STATUS,
    ReduceCode,
    ReduceOpcode,
    result_beat,
    vector_beat,
)
from sim.program.reduce_trace import ReduceTrace, Work, decode_work

# Plain numbers, which kernels can store.
_MULTIPLY_ADD, _MAX, _MIN = int(ReduceOpcode.MULTIPLY_ADD), int(ReduceOpcode.MAX), int(ReduceOpcode.MIN)
_OK, _EDGE_DESTINATION, _SOURCE_COUNT = (
    int(code) for code in (ReduceCode.OK, ReduceCode.EDGE_DESTINATION, ReduceCode.SOURCE_COUNT)
)


@dataclass(frozen=True, kw_only=True)
class ReduceResult:
    """What leaves a reduce unit.

    Attributes
    ----------
    partials : ndarray of uint8, shape [n_beats, result_beat(lanes).bytes]
        Partial sums of all commands.
    status : ndarray of uint8, shape [n_commands, REDUCE_STATUS.bytes]
        One status for each command.
    partials_of : ndarray of int64, shape [n_commands]
        Beats of partial sums that each command gives.
    """

    partials: NDArray[np.uint8]
    status: NDArray[np.uint8]
    partials_of: NDArray[np.int64]


def reduce_streams(trace: ReduceTrace, config: NmeConfig) -> ReduceResult:
    """Run the golden model over the streams of one reduce unit.

    Parameters
    ----------
    trace : ReduceTrace
        Streams in.
    config : NmeConfig
        The engine.

    Returns
    -------
    ReduceResult
        Streams out.
    """
    work = decode_work(trace, config)
    elements = vector_beat(config.lanes, 8 * config.element_bytes).decode(trace.vectors)["data"]
    weights = EDGE_RECORD.decode(trace.edges)["weight"]
    out = Sums.empty(work, config)
    code = work.code.copy()
    _run(work, _floats(weights, config), _floats(elements, config), code, out)
    total = int(out.beats_of.sum())
    partials = result_beat(config.lanes).encode(
        total,
        {
            "index": out.slot[:total],
            "first": out.first[:total],
            "last": out.last[:total],
            "data": canonical(out.data[:total].view(np.uint32)),
        },
    )
    tags = REDUCE_COMMAND.decode(trace.commands)["tag"]
    status = REDUCE_STATUS.encode(len(code), {"tag": tags, "code": code, "edges": out.accumulated})
    return ReduceResult(partials=partials, status=status, partials_of=out.beats_of)


class Sums(NamedTuple):
    """Buffers of the kernel: the output buffer of the engine, and what leaves it."""

    buffer: NDArray[np.float32]
    slot: NDArray[np.uint16]
    first: NDArray[np.bool_]
    last: NDArray[np.bool_]
    data: NDArray[np.float32]
    accumulated: NDArray[np.int64]
    beats_of: NDArray[np.int64]

    @classmethod
    def empty(cls, work: Work, config: NmeConfig) -> "Sums":
        """Make room for all results of some work."""
        room, n = work.result_room, len(work.code)
        return cls(
            np.zeros((config.interval, config.max_beats, config.lanes), np.float32),
            np.zeros(room, np.uint16),
            np.zeros(room, np.bool_),
            np.zeros(room, np.bool_),
            np.zeros((room, config.lanes), np.float32),
            np.zeros(n, np.int64),
            np.zeros(n, np.int64),
        )


def _floats(bits: NDArray[np.unsignedinteger], config: NmeConfig) -> NDArray[np.float32]:
    if config.element == "bf16":
        return bf16_to_fp32(bits.astype(np.uint16)).view(np.float32)
    return flush(bits.astype(np.uint32)).view(np.float32)


@njit
def _run(
    work: Work, weights: NDArray[np.float32], vectors: NDArray[np.float32], code: NDArray[np.int64], out: Sums
) -> None:
    touched = np.zeros(len(out.buffer), np.bool_)
    next_edge, next_vector, n_out = 0, 0, 0
    for c in range(len(code)):
        if code[c] != _OK:
            continue
        used = 0
        for e in range(next_edge, next_edge + work.edges[c]):
            orphan = used == work.sources[c]
            v = work.edge_destination[e]
            if orphan or v >= work.destinations[c]:
                if code[c] == _OK:
                    code[c] = _EDGE_DESTINATION if v >= work.destinations[c] else _SOURCE_COUNT
            else:
                first_beat = next_vector + used * work.beats[c]
                elements = vectors[first_beat : first_beat + work.beats[c]]
                if work.opcode[c] >= _MAX:
                    _compare(out.buffer[v], touched[v], work.opcode[c] == _MIN, elements)
                else:
                    weight = weights[e] if work.opcode[c] == _MULTIPLY_ADD else np.float32(1)
                    _add(out.buffer[v], touched[v], weight, elements)
                touched[v] = True
                out.accumulated[c] += 1
            if work.edge_last[e] and not orphan:
                used += 1
        if used != work.sources[c] and code[c] == _OK:
            code[c] = _SOURCE_COUNT
        next_edge += work.edges[c]
        next_vector += work.sources[c] * work.beats[c]
        before = n_out
        n_out = _drain(out, touched, work.beats[c], n_out)
        out.beats_of[c] = n_out - before


@njit
def _add(sums: NDArray[np.float32], touched: bool, weight: np.float32, elements: NDArray[np.float32]) -> None:
    for b in range(len(elements)):
        if touched:
            for k in range(elements.shape[1]):
                sums[b, k] = add32(sums[b, k], mul32(weight, elements[b, k]))
        else:
            for k in range(elements.shape[1]):
                sums[b, k] = add32(np.float32(0), mul32(weight, elements[b, k]))


@njit
def _compare(chosen: NDArray[np.float32], touched: bool, minimum: bool, elements: NDArray[np.float32]) -> None:
    for b in range(len(elements)):
        for k in range(elements.shape[1]):
            if not touched:
                chosen[b, k] = elements[b, k]
            elif minimum:
                chosen[b, k] = min32(chosen[b, k], elements[b, k])
            else:
                chosen[b, k] = max32(chosen[b, k], elements[b, k])


@njit
def _drain(out: Sums, touched: NDArray[np.bool_], beats: int, n_out: int) -> int:
    for v in np.flatnonzero(touched):
        for b in range(beats):
            out.slot[n_out] = v
            out.first[n_out] = b == 0
            out.last[n_out] = b == beats - 1
            out.data[n_out] = out.buffer[v, b]
            n_out += 1
    touched[:] = False
    return n_out
