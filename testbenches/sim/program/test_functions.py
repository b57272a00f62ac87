"""The tables against the functions they stand for, in doubles, and what the hardware takes for granted of them."""

import math

import numpy as np
import pytest

from sim.program import functions as tables

UNIT = 2.0**-tables.RESULT_BITS


def _log_slope(u):
    m = 1 + u if u < 0.5 else (1 + u) / 2
    return math.log1p(m - 1) / (m - 1) if m != 1 else 1.0


TABLES = [
    # table, its function of the place from 0 to 1 in it, error in units (third derivative / 192 / 128**3, and rounding)
    ("EXP", lambda u: 2.0**u, 5.5),
    ("LOG", _log_slope, 9.5),
    ("RECIPROCAL", lambda u: 1 / (1 + u), 33),
    ("RECIPROCAL_SQRT", lambda u: 1 / math.sqrt(1 + 2 * u if u < 0.5 else 4 * u), 11),
]


def evaluated(part, t, places=15):
    """Evaluate as the hardware does, with t in units of 2**-places."""
    slope = (part.c1 << tables.SLOPE_BITS) + ((part.c2 * t) >> (places - tables.SLOPE_BITS))
    return part.c0 + ((slope * t) >> (places + tables.SLOPE_BITS))


@pytest.mark.parametrize(("name", "function", "bound"), TABLES, ids=lambda value: value if type(value) is str else "")
def test_polynomials_are_near_their_function(name, function, bound):
    table = getattr(tables, name)
    worst = 0.0
    for part, polynomial in enumerate(table):
        for t in (-32768, -32767, -23170, -9000, 0, 1, 9000, 23170, 32767):
            exact = function((part + (t + 32768) / 65536) / len(table))
            worst = max(worst, abs(evaluated(polynomial, t) * UNIT - exact) / UNIT)
    assert bound / 2 < worst < bound


@pytest.mark.parametrize(
    ("name", "rest_bits", "low", "high"),
    [("EXP", 24, 1, 2), ("RECIPROCAL", 16, 0.5, 1), ("RECIPROCAL_SQRT", 16, 0.5, 1)],
)
def test_results_need_no_normalisation_and_never_turn_back(name, rest_bits, low, high):
    """Every value of every part, 2**31 of EXP's at 509 steps, has its leading one in the same place."""
    end = 1 << rest_bits - 1
    step = 509 if name == "EXP" else 1
    t = np.append(np.arange(-end, end - 1, step, dtype=np.int64), end - 1)
    sign = 1 if name == "EXP" else -1
    last = None
    for part in getattr(tables, name):
        values = evaluated(part, t, rest_bits - 1)
        assert values.min() >= low / UNIT
        assert values.max() < high / UNIT
        assert (sign * np.diff(values) >= 0).all()
        assert last is None or sign * (values[0] - last) >= 0
        last = values[-1]


def test_constants():
    assert round(math.log2(math.e) * 2**tables.LOG2_E_BITS) == tables.LOG2_E
    assert round(math.log(2) * 2**tables.LN_2_BITS) == tables.LN_2


def test_reciprocal_is_less_than_half_a_place_off():
    """What lets one comparison tell the nearest: half a place of a result is 64 units."""
    t = np.arange(-32768, 32768, dtype=np.int64)
    for number, part in enumerate(tables.RECIPROCAL):
        values = evaluated(part, t)
        significand = (1 << 23) + (number << 16) + t + 32768
        assert (np.abs(values - 2.0**54 / significand) < 64).all()
