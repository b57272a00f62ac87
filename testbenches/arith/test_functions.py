# amaranth: UnusedElaboratable=no
"""Every elementary function at every latency against the golden model, compiled; and the latency it declares."""

import numpy as np
import numpy.typing as npt
import pytest

from sim.golden import functions
from testbenches import bench
from testbenches.arith.cases import SPECIALS, assert_same
from testbenches.arith.function_units import FUNCTIONS, RESULTS_DTYPE, VARIANTS, FunctionUnits
from testbenches.arith.rtl import simulate

U32 = npt.NDArray[np.uint32]

COUNT = 600_000
GOLDEN = {
    "exp": functions.fp32_exp,
    "log": functions.fp32_log,
    "reciprocal": functions.fp32_reciprocal,
    "reciprocal_sqrt": functions.fp32_reciprocal_sqrt,
}


def operands(count: int, *, seed: int) -> U32:
    """Make operands: special ones, ends of parts of the tables, exp's range, around 1, anything.

    Parameters
    ----------
    count : int
        Number of operands, more than 20,000.
    seed : int
        For numpy's generator.

    Returns
    -------
    ndarray of uint32, shape [count]
        fp32 bits.
    """
    rng = np.random.default_rng(seed)
    some = (count - len(SPECIALS)) // 4
    ends = (rng.integers(0, 1 << 17, some) << 15) + rng.integers(-2, 3, some)
    powers = rng.uniform(-105, 95, some).astype(np.float32) * (2.0 ** -rng.integers(0, 30, some)).astype(np.float32)
    near_one = 0x3F800000 + rng.integers(-1, 2, some) * (1 << rng.integers(0, 23, some)) + rng.integers(-2, 3, some)
    anything = rng.integers(0, 1 << 32, count - len(SPECIALS) - 3 * some)
    kinds = (ends % (1 << 32), powers.view(np.uint32), near_one, anything)
    return np.concatenate([SPECIALS, *(kind.astype(np.uint32) for kind in kinds)])


def assert_units_equal_golden(a: U32) -> None:
    """Send operands through all units and compare every bit."""
    source = bench.Source(payloads=a.astype("<u4").view(np.uint8).reshape(len(a), -1))
    result = bench.run(FunctionUnits(), bench.Bench(sources={"i": source}, sinks={"o": bench.Sink(count=len(a))}))
    got = np.ascontiguousarray(result.payloads["o"]).view(RESULTS_DTYPE)[:, 0]
    for bit, (name, latency) in enumerate(VARIANTS):
        odd = np.flatnonzero(got["odd"] >> np.uint32(bit) & np.uint32(1))
        assert not len(odd), f"{name}, latency {latency}: differs first for {a[odd[0]]:#x}"
    for name, golden in GOLDEN.items():
        assert_same(got[name], golden(a), a=a)


def test_units_equal_golden() -> None:
    assert_units_equal_golden(operands(COUNT, seed=8))


@pytest.mark.soak
@pytest.mark.parametrize("exponent", [1, 126, 127, 128, 253])
def test_units_equal_golden_for_all_significands(exponent: int) -> None:
    assert_units_equal_golden((np.arange(1 << 23) + (exponent << 23)).astype(np.uint32))


@pytest.mark.parametrize(("name", "latency"), VARIANTS)
def test_results_leave_after_the_declared_latency(name: str, latency: int) -> None:
    block = FUNCTIONS[name](latency=latency)
    assert block.latency == latency
    a = np.random.default_rng(latency).uniform(0.1, 30, 40).astype(np.float32).view(np.uint32)
    (got,) = simulate(block, a=a).values()
    expected = GOLDEN[name](a)
    np.testing.assert_array_equal(got[latency:], expected)
    # The operands are new in every cycle, so that no other latency fits.
    assert not any(np.array_equal(got[n : n + len(a)], expected) for n in range(latency))


@pytest.mark.parametrize("name", FUNCTIONS)
def test_every_latency_has_as_many_registers_in_order(name: str) -> None:
    block = FUNCTIONS[name]
    for latency, registered in enumerate(block.CUTS):
        assert len(registered) == latency
        assert list(registered) == sorted(set(registered))
    assert block().latency == 4
    with pytest.raises(ValueError, match=f"{block.__name__} cannot have latency=9"):
        block(latency=9)
