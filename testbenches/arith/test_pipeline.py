# amaranth: UnusedElaboratable=no
"""The latency that a block declares is the one it has."""

import numpy as np
import pytest

from hdl.arith.add import Fp32Add
from sim.golden import numbers
from testbenches.arith.cases import pairs
from testbenches.arith.rtl import simulate
from testbenches.arith.units import UNITS, VARIANTS, Unit

CYCLES = 150
OPERANDS = dict(zip("ab", (column[-CYCLES:] for column in pairs(10_000, seed=7)), strict=True)) | {
    "minimum": np.arange(CYCLES, dtype=np.uint32) // 3 % 2
}


def _half(words: np.ndarray) -> np.ndarray:
    return words.astype(np.uint16)


EXPECTED = {
    "sum": lambda w: numbers.fp32_add(w["a"], w["b"]),
    "product": lambda w: numbers.fp32_mul(w["a"], w["b"]),
    "bf16_product": lambda w: numbers.bf16_mul(_half(w["a"]), _half(w["b"])),
    "chosen": lambda w: np.where(w["minimum"], numbers.fp32_min(w["a"], w["b"]), numbers.fp32_max(w["a"], w["b"])),
    "widened": lambda w: numbers.bf16_to_fp32(_half(w["a"])),
    "narrowed": lambda w: numbers.fp32_to_bf16(w["a"]),
    "order": lambda w: numbers.fp32_compare(w["a"], w["b"]),
}


@pytest.mark.parametrize(("unit", "latency"), VARIANTS, ids=lambda value: getattr(value, "field", value))
def test_results_leave_after_the_declared_latency(unit: Unit, latency: int) -> None:
    block = unit.block(latency=latency)
    assert block.latency == latency
    operands = {name: words >> 16 if unit.high_half else words for name, words in OPERANDS.items()}
    operands |= {"minimum": OPERANDS["minimum"]}
    seen = simulate(block, **{name: operands[name] for name in block.signature.members if name in operands})
    expected = np.atleast_2d(EXPECTED[unit.field](operands))
    got = np.array(list(seen.values()))
    np.testing.assert_array_equal(got[:, latency:], expected)
    # The operands are new in every cycle, so that no other latency fits.
    assert not any(np.array_equal(got[:, n : n + CYCLES], expected) for n in range(latency))


@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.field)
def test_latency_is_checked(unit: Unit) -> None:
    for wrong in (-1, unit.block.MAX_LATENCY + 1, 1.0, True):
        with pytest.raises(
            ValueError, match=f"{unit.block.__name__} cannot have latency={wrong}.* to {unit.block.MAX_LATENCY}"
        ):
            unit.block(latency=wrong)


@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.field)
def test_every_latency_has_as_many_registers_in_order(unit: Unit) -> None:
    for latency, registered in enumerate(unit.block.CUTS):
        assert len(registered) == latency
        assert list(registered) == sorted(set(registered))


def test_defaults() -> None:
    assert {unit.field: unit.block().latency for unit in UNITS} == {
        "sum": 3,
        "product": 2,
        "bf16_product": 1,
        "chosen": 1,
        "widened": 1,
        "narrowed": 1,
        "order": 1,
    }


def test_latency_is_keyword_only() -> None:
    with pytest.raises(TypeError):
        Fp32Add(3)
