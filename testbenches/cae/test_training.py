"""A whole training step by instructions alone: the RTL's weights equal the golden model's in every bit."""

import numpy as np
import pytest

from sim.config import load_config
from sim.program.cae_optimiser import Optimiser
from sim.program.instructions import CAE_INSTRUCTION, CaeOpcode, memory_request
from testbenches.cae.karate import karate_step
from testbenches.cae.simulate_engine import cae_stalls, simulate_program

CONFIG = load_config("tiny")


@pytest.mark.parametrize("rule", ["adam", "adamw", "sgd"])
def test_step_on_karate_equals_golden(rule):
    one = karate_step(CONFIG, optimiser=Optimiser(rule=rule))
    result = simulate_program(one.instructions, CONFIG.cae, memory=one.memory, partials=one.partials)
    assert result.equal, result.first_difference
    assert not any(result.codes)
    assert set(CAE_INSTRUCTION.decode(one.instructions)["opcode"].tolist()) == set(CaeOpcode) - {CaeOpcode.SYNCHRONISE}
    # What was compared are the requests to the memory: those that write the weights are among them.
    requests = memory_request(CONFIG.cae.lanes).decode(result.golden.requests)
    stored = set(requests["address"][requests["write"] == 1].tolist())
    for name in one.model.weights:
        matrix = one.placed.matrices[name]
        assert stored.issuperset(range(matrix.place.address, matrix.place.address + matrix.beats))
        assert not np.array_equal(one.placed.read(result.golden.memory, name), one.placed.read(one.memory, name))


@pytest.mark.parametrize("kind", ["random", "bursty"])
def test_step_on_karate_equals_golden_under_stalls(kind):
    one = karate_step(CONFIG, seed=1)
    stalls = cae_stalls(kind, 5, CONFIG.cae)
    result = simulate_program(one.instructions, CONFIG.cae, memory=one.memory, partials=one.partials, stalls=stalls)
    assert result.equal, result.first_difference
