"""The vectors of a DIMM: each source has its number there, and its beats lie in its lines."""

import numpy as np
import pytest
from hypothesis import given

from sim.config import load_config
from sim.program.address import vector_lines
from sim.program.geometry import Geometry
from sim.program.image import DimmImage
from sim.program.partition import duplicated_sources, home_dimm
from sim.program.vectors import padded_beats, vector_image, vector_numbers, write_vectors
from testbenches.sim.program.strategies import edge_lists, machines, relaxed, sharded

TINY = load_config("tiny")
FP32 = TINY.replace(**{"nme.element": "fp32"})
OVER_GROUPS = TINY.replace(**{"dram.mapping": "bursts_over_groups", "nme.max_beats": 32})


@given(edge_lists(), machines())
@relaxed
def test_every_source_has_a_number(drawn, machine):
    """In each DIMM numbers go from 0 on, without gaps: first its own vertices by id, then duplicates by id."""
    (edges, n_nodes), (dram, partition, interval) = drawn, machine
    config = TINY.model_copy(update={"dram": dram, "partition": partition})
    shards, _ = sharded(edges, n_nodes, dram, partition, interval)
    degrees = np.bincount([source for source, _ in edges], minlength=n_nodes).astype(np.int64)
    duplicated = duplicated_sources(degrees, dram, partition)
    home = home_dimm(np.arange(n_nodes), dram, partition)
    for dimm in range(dram.dimms):
        used, held = vector_numbers(shards, dimm, config), vector_numbers(shards, dimm, config, duplicated=duplicated)
        own = np.flatnonzero(home == dimm).tolist()
        for numbers in (used, held):
            present = np.flatnonzero(numbers >= 0)
            order = present[np.argsort(numbers[present])].tolist()
            assert sorted(numbers[present].tolist()) == list(range(len(present)))
            assert order[: len(own)] == own
            assert order[len(own) :] == sorted(order[len(own) :])
            for shard in shards.of_dimm(dimm).tolist():
                sources = shards.sources[shards.source_start[shard] : shards.source_start[shard + 1]]
                assert (numbers[sources] >= 0).all()
        channel = home // dram.dimms_per_channel == dimm // dram.dimms_per_channel
        assert ((held >= 0) == ((home == dimm) | (channel & duplicated))).all()
        assert ((used >= 0) <= (held >= 0)).all()
        guests = (used >= 0) & (home != dimm)
        bounds = [shards.source_start[shard : shard + 2] for shard in shards.of_dimm(dimm)]
        read = {int(u) for low, high in bounds for u in shards.sources[low:high]}
        assert set(np.flatnonzero(guests).tolist()) == {u for u in read if home[u] != dimm}


@pytest.mark.parametrize("config", [TINY, FP32, OVER_GROUPS], ids=["bf16", "fp32", "over groups"])
def test_beats_lie_in_their_lines(config):
    """Slices begin at lines of their own, and what is left of a line is zero."""
    rng, geometry = np.random.default_rng(0), Geometry.of(config)
    size = config.nme.element_bytes
    features = 2 * config.nme.max_features + config.nme.lanes + 3
    values = rng.integers(1, 2**16, (7, features)).astype(f"<u{size}")
    numbers = np.array([4, -1, 0, 9, 1000, -1, 5])
    image = vector_image(values, numbers, 4, config)
    n_lines = 0
    for vertex in np.flatnonzero(numbers >= 0).tolist():
        data = values[vertex].tobytes()
        for index in range(3):
            lines = vector_lines(numbers[[vertex]], 4, 2 * config.nme.max_beats + 2, index, geometry)
            part = data[index * config.nme.max_features * size :][: config.nme.max_features * size]
            assert image.read(lines).tobytes() == part.ljust(lines.size * geometry.line_bytes, b"\0")
            n_lines += lines.size
    assert len(image.addresses) == n_lines


def test_the_last_of_equals_stays():
    geometry = Geometry.of(TINY)
    values = np.arange(3 * 8, dtype=np.uint16).reshape(3, 8)
    beats = padded_beats(values, TINY.nme)
    assert beats.shape == (3, 1, 16)
    image = write_vectors(DimmImage.empty(128), np.array([2, 3, 2]), beats, 0, geometry)
    for number, row in ((2, 2), (3, 1)):
        lines = image.read(vector_lines(np.array([number]), 0, 1, 0, geometry))
        assert lines.tobytes() == values[row].tobytes() + bytes(112)


def test_beats_are_filled_up():
    values = np.array([[1, 2, 3, 4, 5, 6, 7, 8, 9]], np.uint32)
    assert padded_beats(values, FP32.nme).view(np.uint32).tolist() == [[[1, 2, 3, 4, 5, 6, 7, 8], [9, *[0] * 7]]]
    assert padded_beats(values[:0], FP32.nme).shape == (0, 2, 32)
