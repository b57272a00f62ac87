"""Tables of the elementary functions: quadratic polynomials over equal parts of an interval, as whole numbers.

Each part has the polynomial through three points of its function, at the part's centre and at sqrt(3)/2 of its half
width to either side: Chebyshev's points, of which the error is a quarter of what the third derivative allows at the
ends. With t from -1 to 1 over the part and f0, f-, f+ the function there::

    c0 = f0    c1 = (f+ - f-) / sqrt(3)    c2 = (f+ + f- - 2 f0) * 2 / 3

each rounded to the nearest multiple of 2**-`RESULT_BITS`. Computed in decimals of 50 places, so that every machine gets
the same numbers.
"""

from collections.abc import Callable
from decimal import ROUND_HALF_EVEN, Context, Decimal, localcontext
from typing import NamedTuple

INDEX_BITS = 7
"""The leading bits of a fraction that choose the part: 128 of them."""

RESULT_BITS = 31
"""Places of coefficients and results after the point."""

SLOPE_BITS = 2
"""Places that c1 + c2 t keeps below those of the result: with fewer, `EXP` would not rise everywhere."""

_PARTS = 1 << INDEX_BITS
_CONTEXT = Context(prec=50, rounding=ROUND_HALF_EVEN)


class Coefficients(NamedTuple):
    """Polynomial of one part, c0 + c1 t + c2 t**2 with t from -1 to below 1, in units of 2**-`RESULT_BITS`."""

    c0: int
    c1: int
    c2: int


def _fitted(function: Callable[[Decimal], Decimal], first: Decimal, width: Decimal) -> Coefficients:
    root = Decimal(3).sqrt()
    centre, reach = first + width / 2, width * root / 4
    low, middle, high = (function(point) for point in (centre - reach, centre, centre + reach))
    exact = (middle, (high - low) / root, (high + low - 2 * middle) * 2 / 3)
    return Coefficients(*(int((value * 2**RESULT_BITS).to_integral_value()) for value in exact))


def _table(function: Callable[[Decimal], Decimal], first: int, parts: int = _PARTS) -> tuple[Coefficients, ...]:
    """Fit a function over `parts` parts of 1/128 that begin at `first`."""
    width = Decimal(1) / _PARTS
    return tuple(_fitted(function, first + part * width, width) for part in range(parts))


def _power(fraction: Decimal) -> Decimal:
    return (fraction * Decimal(2).ln()).exp()


def _log_slope(significand: Decimal) -> Decimal:
    """ln(m) / (m - 1), with m from 3/4 to 3/2: significands of 3/2 and more are halved."""
    m = significand if significand < Decimal("1.5") else significand / 2
    return m.ln() / (m - 1)


with localcontext(_CONTEXT):
    EXP = _table(_power, 0)
    """2**u for u from 0 to 1."""

    LOG = _table(_log_slope, 1)
    """ln(m) / (m - 1), by the fraction of the significand before it is halved."""

    RECIPROCAL = _table(lambda m: 1 / m, 1)
    """1 / m for m from 1 to 2."""

    RECIPROCAL_SQRT = _table(lambda m: 1 / m.sqrt(), 1) + _table(lambda m: 1 / (2 * m).sqrt(), 1)
    """1 / sqrt(m) for m from 1 to 2, then 1 / sqrt(2 m)."""

    LOG2_E_BITS = 38
    LOG2_E = int((2**LOG2_E_BITS / Decimal(2).ln()).to_integral_value())
    """log2(e), in units of 2**-`LOG2_E_BITS`."""

    LN_2_BITS = 36
    LN_2 = int((2**LN_2_BITS * Decimal(2).ln()).to_integral_value())
    """ln(2), in units of 2**-`LN_2_BITS`."""
