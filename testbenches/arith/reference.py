"""The number contract in whole numbers of any size: slow, exact, and sharing nothing with the golden model."""

SIGN = 1 << 31
INFINITY = 0x7F800000
NAN = 0x7FC00000
BF16_NAN = 0x7FC0

_LEAST_PLACE = -149  # of subnormal fp32 numbers, as a power of two


def is_nan(bits: int) -> bool:
    return bits & ~SIGN > INFINITY


def is_infinite(bits: int) -> bool:
    return bits & ~SIGN == INFINITY


def is_subnormal(bits: int) -> bool:
    return 0 < bits & ~SIGN < 1 << 23


def flushed(bits: int) -> int:
    return bits & SIGN if is_subnormal(bits) else bits


def units(bits: int) -> int:
    """Give a finite number in units of 2**-149; subnormals count as zero."""
    exponent, fraction = bits >> 23 & 0xFF, bits & 0x7FFFFF
    magnitude = (fraction | 1 << 23) << exponent - 1 if exponent else 0
    return -magnitude if bits & SIGN else magnitude


def rounded(sign: int, magnitude: int, place: int, significant_bits: int = 24) -> int:
    """Round magnitude * 2**place to nearest even with gradual underflow, and flush what is subnormal then.

    Parameters
    ----------
    sign : int
        0 or `SIGN`.
    magnitude, place : int
        The exact number, not zero.
    significant_bits : int
        24 for fp32, 8 for the numbers of bf16.

    Returns
    -------
    int
        fp32 bits.
    """
    last = max(magnitude.bit_length() + place - significant_bits, _LEAST_PLACE + 24 - significant_bits)
    shift = last - place
    if shift > 0:
        whole, rest = divmod(magnitude, 1 << shift)
        half = 1 << (shift - 1)
        whole += rest > half or (rest == half and whole % 2 == 1)
    else:
        whole = magnitude << -shift
    if whole.bit_length() < significant_bits:
        return sign
    if whole.bit_length() > significant_bits:
        whole, last = whole >> 1, last + 1
    exponent = last + significant_bits - 1 + 127
    fraction = (whole << (24 - significant_bits)) & 0x7FFFFF
    return sign | (INFINITY if exponent >= 255 else exponent << 23 | fraction)


def add(a: int, b: int) -> int:
    if is_nan(a) or is_nan(b) or (is_infinite(a) and is_infinite(b) and a != b):
        return NAN
    if is_infinite(a) or is_infinite(b):
        return a if is_infinite(a) else b
    total = units(a) + units(b)
    if total == 0:
        zeros = units(a) == 0
        return a & b & SIGN if zeros else 0
    return rounded(SIGN if total < 0 else 0, abs(total), _LEAST_PLACE)


def mul(a: int, b: int) -> int:
    sign = (a ^ b) & SIGN
    a, b = flushed(a), flushed(b)
    infinite, zero = is_infinite(a) or is_infinite(b), 0 in (a & ~SIGN, b & ~SIGN)
    if is_nan(a) or is_nan(b) or (infinite and zero):
        return NAN
    if infinite or zero:
        return sign | (INFINITY if infinite else 0)
    return rounded(sign, abs(units(a) * units(b)), 2 * _LEAST_PLACE)


def narrow(a: int) -> int:
    """Round fp32 bits to bf16 bits."""
    if is_nan(a):
        return BF16_NAN
    if is_infinite(a) or units(a) == 0:
        return flushed(a) >> 16
    return rounded(a & SIGN, abs(units(a)), _LEAST_PLACE, significant_bits=8) >> 16


def maximum(a: int, b: int) -> int:
    if is_nan(a) or is_nan(b):
        return NAN
    # The sign of a zero is the last thing that decides.
    return max(flushed(a), flushed(b), key=lambda x: (_line(x), not x & SIGN))


def minimum(a: int, b: int) -> int:
    larger = maximum(a ^ SIGN, b ^ SIGN)
    return larger if larger == NAN else larger ^ SIGN


def compare(a: int, b: int) -> tuple[bool, bool, bool]:
    """Tell whether a is less than b, equal to it, unordered."""
    if is_nan(a) or is_nan(b):
        return False, False, True
    return _line(a) < _line(b), _line(a) == _line(b), False


def _line(bits: int) -> int:
    """Order of numbers on the line, infinities included: as units grow with the bits, the bits do for them."""
    magnitude = flushed(bits) & ~SIGN
    return -magnitude if bits & SIGN else magnitude
