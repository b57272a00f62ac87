"""The vector unit's RTL equals the golden model in every bit and the timing model in every cycle."""

import numpy as np
import pytest

from sim.program.instructions import CAE_INSTRUCTION, RightOperand, VectorOperation, VectorReduction
from sim.timing.stalls import STALL_KINDS, stall_pattern
from testbenches.cae.vector.jobs import COMBINATIONS, CONFIGS, contents, numbers, shaped
from testbenches.cae.vector.simulate import difference

TINY = CONFIGS["4-lanes"]


def some(count, seed):
    order = np.random.default_rng(seed).permutation(len(COMBINATIONS))
    return [COMBINATIONS[i] for i in order[:count]]


@pytest.mark.parametrize("name", CONFIGS)
def test_every_combination(name):
    """Every operation with every function, reduction and right operand, back to back."""
    config = CONFIGS[name]
    seed = 10 * list(CONFIGS).index(name)
    jobs = shaped(config, some(len(COMBINATIONS), seed), seed)
    over = [operand for operand in ("left", "right") for job in jobs if job["result_bank"] == job[f"{operand}_bank"]]
    assert {"left", "right"} == set(over), "in place, over either operand"
    assert any(job["result_bank"] < config.operand_banks for job in jobs), "rounded to bf16"
    assert difference(config, jobs, contents(config, seed)) is None


@pytest.mark.parametrize(("name", "kind"), [("6-lanes", "special"), ("4-lanes", "anything")])
def test_special_values(name, kind):
    """Most elements are NaN, infinite, zero of either sign, subnormal or next to such, or any bits at all."""
    config = CONFIGS[name]
    jobs = shaped(config, some(len(COMBINATIONS), 1), 1, kind=kind)
    assert difference(config, jobs, contents(config, 1, kind)) is None


@pytest.mark.parametrize("name", ["4-lanes", "8-lanes", "2-parts", "3-lanes"])
def test_every_shape(name):
    """Every number of rows up to two full turns, every number of columns up to two beats and a lane."""
    config = CONFIGS[name]
    combination = {"operation": VectorOperation.AFFINE, "right_operand": RightOperand.NONE, "function": 0}
    combinations = [
        {**combination, "rows": rows, "columns": columns, "reduction": reduction}
        for rows in range(1, 10)
        for columns in range(1, 2 * config.lanes + 2)
        for reduction in VectorReduction
    ]
    assert difference(config, shaped(config, combinations, 2), contents(config, 2)) is None


@pytest.mark.parametrize("rows", [14, 20])
@pytest.mark.parametrize("name", ["4-lanes", "2-parts"])
def test_many_rows(name, rows):
    config = CONFIGS[name]
    combinations = [job | {"rows": rows + i % 5} for i, job in enumerate(some(60, rows))]
    assert difference(config, shaped(config, combinations, 3, max_beats=3), contents(config, 3)) is None


@pytest.mark.parametrize("stalls", STALL_KINDS)
def test_jobs_come_when_they_like(stalls):
    """Jobs follow in the cycle after the one before is done, or later."""
    jobs = shaped(TINY, some(100, 4), 4)
    assert difference(TINY, jobs, contents(TINY, 4), stalled=stall_pattern(stalls, seed=5)) is None


LONGEST = (1 << 16) - 1


@pytest.mark.parametrize("which", ["rows", "columns"])
def test_longest(which):
    """As many rows, or columns, as an instruction can name; all rows stand in one beat."""
    config = CONFIGS["8-lanes"]
    shape = {"rows": 1, "columns": 5} | {which: LONGEST}
    places = {"left_bank": 2, "left_pitch": 0, "result_bank": 3, "result_pitch": 0}
    numbered = {"alpha": 0x3F8CCCCD, "beta": 3 << 30, "depth": (1 << 32) - 7, "key": 0x0123456789ABCDEF}
    zero = dict.fromkeys((field.name for field in CAE_INSTRUCTION.fields if field.name), 0)
    jobs = [
        {**zero, **shape, **places, **numbered, "operation": VectorOperation.DROPOUT, "reduction": reduction}
        for reduction in VectorReduction
    ]
    beats = 1 if which == "rows" else -(-LONGEST // config.lanes)
    words = numbers(np.random.default_rng(6), "plain", (beats, config.lanes))
    filled = {2: words, 3: np.zeros((beats, config.lanes), np.uint32)}
    assert difference(config, jobs, filled, max_quiet_cycles=LONGEST + 100) is None


@pytest.mark.parametrize("backend", ["pysim", "cocotb"])
def test_other_simulators_agree(backend):
    config = TINY.replace(operand_bank_beats=40, vector_bank_beats=40)
    jobs = shaped(config, some(15, 7), 7, max_rows=6)
    assert difference(config, jobs, contents(config, 7), backend=backend) is None
