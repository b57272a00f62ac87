"""Soft-max with cross-entropy against double precision."""

import numpy as np
import pytest

from sim.config import load_config
from sim.program.cae_loss import cross_entropy
from sim.program.cae_program import CaeProgram
from sim.program.cae_space import BankSpace
from testbenches.sim.program.run_vectors import run_vectors

CONFIG = load_config("tiny").cae


@pytest.mark.parametrize("columns", [1, 2, 4, 7, 9])
@pytest.mark.parametrize("scale", [1.0, 30.0])
def test_loss_and_gradient(columns, scale):
    rng, rows = np.random.default_rng(columns), 11
    logits = (scale * rng.standard_normal((rows, columns))).astype(np.float32)
    labels, labelled = rng.integers(0, columns, rows), rng.random(rows) < 0.6
    one_hot = np.eye(columns)[labels] * labelled[:, None]
    a, b, c = (CONFIG.operand_banks + i for i in range(3))
    space, program = BankSpace(CONFIG), CaeProgram()
    places = {
        "logits": space.matrix(a, rows, columns),
        "labels": space.matrix(b, rows, columns),
        "mask": space.row_numbers(b, rows),
    }
    count = int(labelled.sum())
    gradient, loss = cross_entropy(program, space, *places.values(), rows=rows, columns=columns, labelled=count, bank=c)
    spread = np.repeat(labelled[:, None], CONFIG.lanes, axis=1)
    values = {"logits": logits, "labels": one_hot, "mask": spread}
    found = run_vectors(
        CONFIG,
        program,
        {name: (places[name], values[name]) for name in places},
        {"gradient": (gradient, (rows, columns)), "loss": (loss, (1, 1))},
    )
    exact = logits.astype(np.float64)
    exact -= exact.max(axis=1, keepdims=True)
    total = np.exp(exact).sum(axis=1)
    expected = (np.exp(exact) / total[:, None] * labelled[:, None] - one_hot) / count
    np.testing.assert_allclose(found["gradient"], expected, atol=1e-6)
    row_loss = (np.log(total) - exact[np.arange(rows), labels]) * labelled / count
    np.testing.assert_allclose(found["loss"].item(), row_loss.sum(), rtol=1e-5, atol=1e-6)
    assert not found["gradient"][~labelled].any()
