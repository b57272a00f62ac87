"""Executor of programs on the golden model: the values that the hardware has after each work item."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sim.config import NmeConfig, SystemConfig
from sim.golden.numbers import add32, canonical, flush, fp32_max, fp32_to_bf16
from sim.golden.product import product
from sim.golden.reduce import reduce_streams
from sim.jit import njit
from sim.program.commands import result_beat
from sim.program.instructions import partial_beat
from sim.program.items import Merge, Product, Program, Reduce, Vector
from sim.program.reduce_trace import ReduceTrace, beats_of, feature_slices, reduce_trace

Tensors = dict[str, NDArray[np.uint32]]
"""Tensors by name: fp32 bits. What an engine reads it rounds to its own element format first, once."""


def stored(bits: NDArray[np.uint32], config: NmeConfig) -> NDArray[np.unsignedinteger]:
    """Round fp32 bits to an engine's element format, as at write-back.

    Parameters
    ----------
    bits : ndarray of uint32
        fp32 bits.
    config : NmeConfig
        The engine.

    Returns
    -------
    ndarray of uint16 or uint32
        Bits of the elements.
    """
    return fp32_to_bf16(bits) if config.element == "bf16" else canonical(flush(bits))


def reduce_traces(item: Reduce, tensors: Tensors, config: SystemConfig) -> dict[tuple[int, int], ReduceTrace]:
    """Make the streams of each DIMM for each slice of the features.

    Parameters
    ----------
    item : Reduce
        The work item.
    tensors : dict of str to ndarray of uint32
        Holds the source tensor.
    config : SystemConfig
        The hardware.

    Returns
    -------
    dict of (int, int) to ReduceTrace
        By (slice, DIMM); DIMMs without shards are left out.
    """
    values = stored(tensors[item.source], config.nme)
    weights = stored(item.shards.edge_weight.view(np.uint32), config.nme)
    orders = {dimm: item.shards.of_dimm(dimm) for dimm in range(config.dram.dimms)}
    return {
        (number, dimm): reduce_trace(item.shards, order, values[:, part], config.nme, weights=weights)
        for number, part in enumerate(feature_slices(item.features, config.nme))
        for dimm, order in orders.items()
        if len(order)
    }


class PartialVectors(NamedTuple):
    """What a DIMM adds up of a slice of the features.

    Attributes
    ----------
    dimm, first_feature : int
        The DIMM, and where the slice begins.
    vertex : ndarray of int64, shape [n]
        Destination of each vector, in the order of the DIMM's shards.
    vectors : ndarray of float32, shape [n, features of the slice]
        The partial sums.
    """

    dimm: int
    first_feature: int
    vertex: NDArray[np.int64]
    vectors: NDArray[np.float32]


def partial_vectors(item: Reduce, tensors: Tensors, config: SystemConfig) -> Iterator[PartialVectors]:
    """Run a Reduce on the DIMMs, by slice, then by rising DIMM.

    Parameters
    ----------
    item : Reduce
        The work item.
    tensors : dict of str to ndarray of uint32
        Holds the source tensor.
    config : SystemConfig
        The hardware.

    Yields
    ------
    PartialVectors
        The partial sums of a DIMM.
    """
    layout = result_beat(config.nme.lanes)
    slices = feature_slices(item.features, config.nme)
    for (number, dimm), trace in sorted(reduce_traces(item, tensors, config).items()):
        result = reduce_streams(trace, config.nme)
        beats = layout.decode(result.partials)
        n_features = slices[number].stop - slices[number].start
        n_beats = beats_of(n_features, config.nme.lanes)
        order = item.shards.of_dimm(dimm)
        first_vertex = np.repeat(item.shards.interval_index[order] * item.shards.interval, result.partials_of)
        vertex = (first_vertex + beats["index"].astype(np.int64))[::n_beats]
        vectors = beats["data"].view(np.float32).reshape(-1, n_beats * config.nme.lanes)[:, :n_features]
        yield PartialVectors(dimm, slices[number].start, vertex, np.ascontiguousarray(vectors))


def partial_streams(item: Reduce, tensors: Tensors, config: SystemConfig) -> list[NDArray[np.uint8]]:
    """Run a Reduce and make of it what the sources of one MERGE over all vertices send.

    Parameters
    ----------
    item : Reduce
        The work item.
    tensors : dict of str to ndarray of uint32
        Holds the source tensor.
    config : SystemConfig
        The hardware.

    Returns
    -------
    list of ndarray of uint8, shape [n_beats, partial_beat(lanes).bytes]
        By port: the vectors of a DIMM by rising vertex, in beats of the Centralized Acceleration Engine, and the beat
        that ends them; then those of the next DIMM of that port.
    """
    lanes = config.cae.lanes
    n_beats = beats_of(item.features, lanes)
    sums = np.zeros((config.dram.dimms, item.shards.n_nodes, n_beats * lanes), np.uint32)
    touched = np.zeros(sums.shape[:2], np.bool_)
    for dimm, first, vertex, vectors in partial_vectors(item, tensors, config):
        sums[dimm, vertex, first : first + vectors.shape[1]] = canonical(vectors.view(np.uint32))
        touched[dimm, vertex] = True
    layout, streams = partial_beat(lanes), [[partial_beat(lanes).encode(0, {})] for _ in range(config.cae.merge_ports)]
    for dimm in range(config.dram.dimms):
        vertices = np.flatnonzero(touched[dimm])
        beat = np.tile(np.arange(n_beats), len(vertices))
        fields = {
            "index": np.repeat(vertices, n_beats),
            "first": beat == 0,
            "last": beat == n_beats - 1,
            "data": sums[dimm, vertices].reshape(-1, lanes),
        }
        streams[config.cae.merge_port(dimm)] += [layout.encode(len(beat), fields), layout.encode(1, {"end": 1})]
    return [np.concatenate(parts) for parts in streams]


def _reduce_and_merge(item: Reduce, tensors: Tensors, config: SystemConfig) -> NDArray[np.uint32]:
    """Add up the partial sums by rising DIMM, from +0."""
    sums = np.zeros((item.shards.n_nodes, item.features), np.float32)
    for _, first_feature, vertex, vectors in partial_vectors(item, tensors, config):
        _merge(vertex, vectors, sums, first_feature)
    return canonical(sums.view(np.uint32))


@njit
def _merge(
    vertex: NDArray[np.int64], vectors: NDArray[np.float32], sums: NDArray[np.float32], first_feature: int
) -> None:
    for i in range(len(vertex)):
        for k in range(vectors.shape[1]):
            place = first_feature + k
            sums[vertex[i], place] = add32(sums[vertex[i], place], vectors[i, k])


def execute(program: Program, tensors: Tensors, config: SystemConfig) -> Tensors:
    """Run a forward program.

    Parameters
    ----------
    program : Program
        The work items.
    tensors : dict of str to ndarray of uint32
        The tensors that the program reads, as fp32 bits.
    config : SystemConfig
        The hardware: its element formats decide where values are rounded.

    Returns
    -------
    dict of str to ndarray of uint32
        The given tensors and all that the program made, but for partial sums.

    Raises
    ------
    ValueError
        An item of the program is not one of a forward pass.
    """
    out = dict(tensors)
    for item in program.items:
        match item:
            case Reduce():
                continue
            case Merge():
                reduce = next(i for i in program.items if isinstance(i, Reduce) and i.result == item.source)
                out[item.result] = _reduce_and_merge(reduce, out, config)
            case Product(kind="xw"):
                out[item.result] = product(fp32_to_bf16(out[item.left]), fp32_to_bf16(out[item.right]))
            case Vector(operation="relu"):
                out[item.result] = fp32_max(out[item.source], np.zeros(1, np.uint32))
            case _:
                raise ValueError(f"{item.label}: the golden executor runs forward passes only")
    return out
