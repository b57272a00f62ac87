"""Bugs planted in the elementary functions are caught by the comparison with the golden model."""

import numpy as np
import pytest

from testbenches.arith.cases import SPECIALS
from testbenches.arith.rtl import simulate
from testbenches.arith.test_functions import GOLDEN, operands
from testbenches.planted import Bug, plant

CLASSES = {
    "exp": "Fp32Exp",
    "log": "Fp32Log",
    "reciprocal": "Fp32Reciprocal",
    "reciprocal_sqrt": "Fp32ReciprocalSqrt",
}

BUGS = [
    ("exp", "table", "square term halved", "bend[places - SLOPE_BITS :]", "bend[places - SLOPE_BITS + 1 :]"),
    ("log", "table", "place of the part unsigned", "Cat(rest[:-1], ~rest[-1]).as_signed()", "Cat(rest).as_signed()"),
    ("exp", "exp", "far too small an operand", "x.distance[6:].any(), 63", "x.distance[7:].any(), 63"),
    ("exp", "exp", "negative power not negated", "Mux(x.sign, -magnitude,", "Mux(x.sign, ~magnitude,"),
    ("exp", "exp", "overflow a power of two early", "a.exponent >= _LEAST", "a.exponent + 1 >= _LEAST"),
    ("exp", "exp", "minus infinity", "zero=beyond & a.sign", "zero=beyond & a.sign & ~a.infinite"),
    ("log", "log", "significand halved, exponent not raised", "a.exponent + halved - BIAS", "a.exponent - BIAS"),
    ("log", "log", "sign of the logarithm", "a.exponent < BIAS)", "a.exponent <= BIAS)"),
    ("log", "log", "minus zero is negative", "(a.sign & ~a.zero)", "a.sign"),
    ("log", "log", "sticky bit short", "sticky=moved[: -SIGNIFICAND_BITS - 1]", "sticky=moved[-SIGNIFICAND_BITS - 2]"),
    ("reciprocal", "reciprocal", "never corrected", "return product[-1]", "return significand[0]"),
    ("reciprocal", "reciprocal", "compared a place too low", "SIGNIFICAND_BITS + 3]", "SIGNIFICAND_BITS]"),
    ("reciprocal", "reciprocal", "exponent one off", "2 * BIAS - 1 - a.exponent", "2 * BIAS - a.exponent"),
    ("reciprocal_sqrt", "reciprocal_sqrt", "even and odd exponents swapped", "~a.exponent[0]", "a.exponent[0]"),
    ("reciprocal_sqrt", "reciprocal_sqrt", "sign of zero lost", "sign=a.sign,", "sign=a.sign & ~a.zero,"),
    ("reciprocal_sqrt", "format", "ties and more go up", "(guard & (lsb | sticky)) |", "guard |"),
]
"""Function, file, what is wrong, text, text in its place. The last one is in the rounding that all blocks share."""


def wrong_results(name, block):
    some = operands(20_400, seed=9)
    a = np.append(some[: len(SPECIALS)], some[len(SPECIALS) :: 7])
    return np.count_nonzero(simulate(block, a=a)["o"][block.latency :] != GOLDEN[name](a))


@pytest.mark.parametrize(("name", "file", "wrong", "old", "new"), BUGS, ids=[bug[2].replace(" ", "-") for bug in BUGS])
def test_bug_is_caught(name, file, wrong, old, new):
    bug = Bug(name=wrong, module=f"hdl.arith.{file}", old=old, new=new)
    block = plant(bug, f"hdl.arith.{name}", CLASSES[name])
    assert wrong_results(name, block)


@pytest.mark.parametrize("name", CLASSES)
def test_nothing_is_caught_where_nothing_is_planted(name):
    same = "return product[-1]"
    harmless = Bug(name="none", module="hdl.arith.reciprocal", old=same, new=f"{same}  ")
    assert not wrong_results(name, plant(harmless, f"hdl.arith.{name}", CLASSES[name]))
