"""Fields of fp32 and bf16 numbers, and the rounding that adder and multiplier share."""

from typing import NamedTuple

from amaranth.hdl import Cat, Const, Module, Mux, Value

from hdl.arith.pipeline import share

FP32_NAN = 0x7FC00000
BF16_NAN = 0x7FC0
BIAS = 127  # of both formats' exponents
EXPONENT_BITS = 8
FRACTION_BITS = 23  # of fp32
SIGNIFICAND_BITS = FRACTION_BITS + 1


class Fields(NamedTuple):
    """A number taken apart; subnormals count as zero.

    Attributes
    ----------
    sign, exponent, fraction : Value
        The stored fields, 1, 8 and 23 (fp32) or 7 bits (bf16).
    significand : Value
        Fraction under its leading one. It means nothing where `zero`, `infinite` or `nan` holds.
    zero, infinite, nan : Value
        The class of the number; none of them for a normal one.
    """

    sign: Value
    exponent: Value
    fraction: Value
    significand: Value
    zero: Value
    infinite: Value
    nan: Value


def unpack(bits: Value) -> Fields:
    """Take a number apart.

    Parameters
    ----------
    bits : Value
        32 bits of fp32 or 16 of bf16.

    Returns
    -------
    Fields
        Its fields and class.
    """
    fraction, exponent, sign = bits[: -1 - EXPONENT_BITS], bits[-1 - EXPONENT_BITS : -1], bits[-1]
    top = exponent.all()
    return Fields(
        sign=sign,
        exponent=exponent,
        fraction=fraction,
        significand=Cat(fraction, Const(1, 1)),
        zero=~exponent.any(),
        infinite=top & ~fraction.any(),
        nan=top & fraction.any(),
    )


def flush(bits: Value) -> Value:
    """Replace a subnormal number with zero of its sign.

    Parameters
    ----------
    bits : Value
        32 bits of fp32 or 16 of bf16.

    Returns
    -------
    Value
        As many bits.
    """
    number = unpack(bits)
    return Cat(Mux(number.zero, 0, number.fraction), number.exponent, number.sign)


def round_up(*, exponent: Value, lsb: Value, guard: Value, sticky: Value) -> Value:
    """Decide whether a significand is raised by one unit in the last place.

    Parameters
    ----------
    exponent : Value
        Biased exponent, signed.
    lsb, guard, sticky : Value
        The last place kept, the one below it, and whether anything lies further below.

    Returns
    -------
    Value
        1 bit: nearest, ties to even. Always 1 for exponent 0: gradual underflow rounds those at the place above, so
        that the largest of them, all ones, becomes the smallest normal number. All others are flushed, raised or not,
        as raising does not bring them there.
    """
    return (guard & (lsb | sticky)) | (exponent == 0)


def round_and_pack(
    m: Module,
    *,
    sign: Value,
    exponent: Value,
    significand: Value,
    guard: Value,
    sticky: Value,
    zero: Value,
    infinite: Value,
    nan: Value,
) -> Value:
    """Round a normalised number to fp32, flush it if it is subnormal, and put the special cases in their place.

    Parameters
    ----------
    m : Module
        Where it is built.
    sign : Value
        Sign of the result, of zero and infinity too.
    exponent : Value
        Biased exponent, signed, of any range.
    significand : Value
        24 bits, the highest 1.
    guard, sticky : Value
        The place below the significand, and whether anything lies further below.
    zero, infinite, nan : Value
        The result is this whatever the number. `nan` goes before `infinite` before `zero`.

    Returns
    -------
    Value
        32 bits of fp32.
    """
    raised = round_up(exponent=exponent, lsb=significand[0], guard=guard, sticky=sticky)
    # A significand of all ones carries into the exponent, which is then right, and the fraction is then zero.
    rounded = share(
        m, "rounded", (Cat(significand[:FRACTION_BITS], exponent) + raised)[: FRACTION_BITS + len(exponent)]
    )
    fraction, biased = rounded[:FRACTION_BITS], rounded[FRACTION_BITS:].as_signed()
    overflow = infinite | (biased >= 255)
    underflow = zero | (biased <= 0)
    finite = Mux(underflow, 0, Cat(fraction, biased[:EXPONENT_BITS]))
    magnitude = Mux(overflow, 0x7F800000, finite)
    return Mux(nan, FP32_NAN, Cat(magnitude[: FRACTION_BITS + EXPONENT_BITS], sign))
