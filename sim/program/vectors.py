"""The vectors of a DIMM: which it holds, by what numbers, and how their beats fill its lines."""

import numpy as np
from numpy.typing import NDArray

from sim.config import NmeConfig, SystemConfig
from sim.program.address import local_index, vector_lines
from sim.program.geometry import Geometry
from sim.program.image import DimmImage
from sim.program.partition import Shards, home_dimm
from sim.program.reduce_trace import beats_of, ranges


def vector_numbers(
    shards: Shards, dimm: int, config: SystemConfig, *, duplicated: NDArray[np.bool_] | None = None
) -> NDArray[np.int64]:
    """Give numbers to the vectors that a DIMM holds: first those of its own vertices, then the duplicates.

    Parameters
    ----------
    shards : Shards
        The sharded graph.
    dimm : int
        The DIMM.
    config : SystemConfig
        Channels, DIMMs and blocks.
    duplicated : ndarray of bool, shape [N], optional
        Vertices that stand in all DIMMs of their channel (`duplicated_sources`). Without it, those duplicates are held
        that the DIMM's shards read.

    Returns
    -------
    ndarray of int64, shape [N]
        Number of each vertex in this DIMM, or -1: its `local_index` at home; duplicates of other DIMMs' vertices
        follow, by rising id.
    """
    dram, partition = config.dram, config.partition
    vertices = np.arange(shards.n_nodes)
    home = home_dimm(vertices, dram, partition)
    if duplicated is None:
        held = np.zeros(shards.n_nodes, bool)
        mine = np.flatnonzero(shards.dimm == dimm)
        starts = shards.source_start[mine]
        held[shards.sources[ranges(starts, shards.source_start[mine + 1] - starts)]] = True
    else:
        held = duplicated & (home // dram.dimms_per_channel == dimm // dram.dimms_per_channel)
    numbers = np.where(home == dimm, local_index(vertices, dram, partition), -1)
    guests = np.flatnonzero(held & (home != dimm))
    numbers[guests] = np.count_nonzero(home == dimm) + np.arange(len(guests))
    return numbers


def vector_image(
    values: NDArray[np.unsignedinteger], numbers: NDArray[np.int64], kind: int, config: SystemConfig
) -> DimmImage:
    """Lay vectors in the memory of a DIMM.

    Parameters
    ----------
    values : ndarray of uint16 (bf16) or uint32 (fp32), shape [N, F]
        Bits of all vertices' vectors.
    numbers : ndarray of int64, shape [N]
        Number of each in the DIMM; -1 leaves it out.
    kind : int
        Kind of vector, 0 to 6.
    config : SystemConfig
        The hardware.

    Returns
    -------
    DimmImage
        The lines of the vectors, as a STORE would write them.

    Raises
    ------
    LayoutError
        They do not fit.
    ValueError
        They are not in the engine's element format, or there is no such kind.
    """
    geometry = Geometry.of(config)
    held = np.flatnonzero(numbers >= 0)
    beats = padded_beats(values[held], config.nme)
    return write_vectors(DimmImage.empty(geometry.line_bytes), numbers[held], beats, kind, geometry)


def write_vectors(
    image: DimmImage, numbers: NDArray[np.int64], beats: NDArray[np.uint8], kind: int, geometry: Geometry
) -> DimmImage:
    """Write vectors into a memory, one after the other.

    Parameters
    ----------
    image : DimmImage
        The memory.
    numbers : ndarray of int64, shape [n]
        Numbers of the vectors; if one comes more than once, the last stays.
    beats : ndarray of uint8, shape [n, beats, beat_bytes]
        The vectors.
    kind : int
        Kind of vector, 0 to 6.
    geometry : Geometry
        The memory's sizes.

    Returns
    -------
    DimmImage
        The memory afterwards; lines are filled up with zeros behind each slice.
    """
    n, width, beat_bytes = beats.shape
    addresses, contents = [], []
    for index in range(geometry.slices(width)):
        lines = vector_lines(numbers, kind, width, index, geometry)
        first = index * geometry.slice_beats
        slice_bytes = geometry.beats_of_slice(width, index) * beat_bytes
        padded = np.zeros((n, lines.shape[1] * geometry.line_bytes), np.uint8)
        padded[:, :slice_bytes] = beats.reshape(n, width * beat_bytes)[:, first * beat_bytes :][:, :slice_bytes]
        addresses.append(lines.reshape(-1))
        contents.append(padded.reshape(-1, geometry.line_bytes))
    return image.write(np.concatenate(addresses), np.concatenate(contents))


def padded_beats(values: NDArray[np.unsignedinteger], config: NmeConfig) -> NDArray[np.uint8]:
    """Cut vectors into beats, the last one of each filled up with zeros.

    Parameters
    ----------
    values : ndarray of uint16 (bf16) or uint32 (fp32), shape [n, F]
        Bits of the vectors.
    config : NmeConfig
        The engine.

    Returns
    -------
    ndarray of uint8, shape [n, beats, lanes * element bytes]
        The beats.

    Raises
    ------
    ValueError
        The vectors are empty, or not in the engine's element format.
    """
    check_element("vectors", values, config)
    if not values.shape[1]:
        raise ValueError("vectors without elements cannot be stored")
    beats = beats_of(values.shape[1], config.lanes)
    padded = np.zeros((len(values), beats * config.lanes), values.dtype)
    padded[:, : values.shape[1]] = values
    return padded.view(np.uint8).reshape(len(values), beats, config.lanes * config.element_bytes)


def check_element(name: str, bits: NDArray[np.unsignedinteger], config: NmeConfig) -> None:
    """Refuse numbers that are not in an engine's element format.

    Parameters
    ----------
    name : str
        What they are, for the message.
    bits : ndarray
        The numbers' bits.
    config : NmeConfig
        The engine.

    Raises
    ------
    ValueError
        Their type is not that of the elements.
    """
    element = np.dtype(f"<u{config.element_bytes}")
    if bits.dtype != element:
        raise ValueError(f"{name} must be bits of {config.element} ({element}), not {bits.dtype}")
