"""Optimisers against double precision, over several steps."""

import numpy as np
import pytest

from sim.config import load_config
from sim.program.cae_optimiser import Optimiser, Weights, update_weights
from sim.program.cae_program import CaeProgram
from sim.program.cae_space import BankSpace
from testbenches.sim.program.run_vectors import run_vectors

CONFIG = load_config("tiny").cae
SHAPE = (5, 7)


def exact_step(rule, step, weight, gradient, states):
    """Do a step in double precision; return the weight and the states."""
    decayed = gradient + (rule.weight_decay * weight if rule.rule != "adamw" else 0)
    if rule.rule == "sgd":
        velocity = rule.momentum * states[0] + decayed
        return weight - rule.learning_rate * velocity, (velocity,)
    first = rule.beta1 * states[0] + (1 - rule.beta1) * decayed
    second = rule.beta2 * states[1] + (1 - rule.beta2) * decayed**2
    kept = weight * (1 - rule.learning_rate * rule.weight_decay) if rule.rule == "adamw" else weight
    scaled = np.sqrt(second / (1 - rule.beta2**step)) + rule.epsilon
    return kept - rule.learning_rate * first / (1 - rule.beta1**step) / scaled, (first, second)


@pytest.mark.parametrize("weight_decay", [0.0, 0.1])
@pytest.mark.parametrize("name", ["sgd", "adam", "adamw"])
def test_steps(name, weight_decay):
    rule, rng = Optimiser(rule=name, weight_decay=weight_decay), np.random.default_rng(0)
    space = BankSpace(CONFIG)
    trained, a, b = (CONFIG.operand_banks + i for i in range(3))
    weights = Weights(
        size=SHAPE,
        weight=space.matrix(trained, *SHAPE),
        gradient=space.matrix(a, *SHAPE),
        states=tuple(space.matrix(trained, *SHAPE) for _ in rule.states),
        scratch=space.matrix(b, *SHAPE),
    )
    weight, states = rng.standard_normal(SHAPE), tuple(np.zeros(SHAPE) for _ in rule.states)
    held = {"weight": weight, **dict(zip(rule.states, states, strict=True))}
    places = {"weight": weights.weight, **dict(zip(rule.states, weights.states, strict=True))}
    for step in range(1, 5):
        gradient = rng.standard_normal(SHAPE)
        gradient[0, :3] = 0  # where nothing ever comes, the root is of 0
        program = CaeProgram()
        update_weights(program, rule, weights, step)
        loaded = {**{n: (places[n], held[n]) for n in places}, "gradient": (weights.gradient, gradient)}
        held = run_vectors(CONFIG, program, loaded, {n: (places[n], SHAPE) for n in places})
        weight, states = exact_step(rule, step, weight, gradient, states)
        for label, exact in (("weight", weight), *zip(rule.states, states, strict=True)):
            np.testing.assert_allclose(held[label], exact, rtol=2e-5, atol=1e-6, err_msg=label)
