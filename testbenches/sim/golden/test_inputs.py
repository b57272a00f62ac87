"""Inputs of a layer: a graph's own features or random ones, and random weights."""

import numpy as np
import pytest

from sim.golden.inputs import layer_inputs
from sim.graph import load_graph


def test_inputs_of_a_layer():
    karate = load_graph("karate")
    own = layer_inputs(karate, 34, 5, seed=1)
    assert np.array_equal(own["h0"].view(np.float32), karate.features)
    random = layer_inputs(karate, 200, 50, seed=1)
    assert np.array_equal(random["h0"], layer_inputs(karate, 200, 50, seed=1)["h0"])
    assert not np.array_equal(random["h0"], layer_inputs(karate, 200, 50, seed=2)["h0"])
    h0, w0 = (random[name].view(np.float32) for name in ("h0", "w0"))
    assert (h0.shape, w0.shape) == ((34, 200), (200, 50))
    assert abs(h0.mean()) < 0.05
    assert h0.std() == pytest.approx(1, abs=0.05)
    limit = np.sqrt(6 / 250)
    assert np.abs(w0).max() <= np.float32(limit)
    assert w0.std() == pytest.approx(limit / np.sqrt(3), rel=0.05)
