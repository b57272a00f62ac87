"""Whose turn it is: the next after the one whose turn it was."""

from amaranth.hdl import Cat, Mux, Value


def lowest(bits: Value) -> Value:
    """Return the lowest bit that is set, alone.

    Parameters
    ----------
    bits : Value
        Any bits.

    Returns
    -------
    Value
        As wide; 0 if none is set.
    """
    return bits & (-bits)[: len(bits)]


def number_of(one_hot: Value) -> Value:
    """Return the number of the bit that is set.

    Parameters
    ----------
    one_hot : Value
        At most one of its bits is set.

    Returns
    -------
    Value
        Its number; 0 if none is set.
    """
    size = len(one_hot)
    bits = range(max(1, (size - 1).bit_length()))
    masks = [sum(1 << i for i in range(size) if i >> bit & 1) for bit in bits]
    return Cat((one_hot & mask).any() for mask in masks)


def turn(requests: Value, last: Value) -> Value:
    """Return whose turn it is.

    Parameters
    ----------
    requests : Value
        A bit for each who wants it.
    last : Value
        The number of the one who had it last.

    Returns
    -------
    Value
        One bit as those of `requests`: the next that wants it behind `last`, round and round; 0 if none does.
    """
    size = len(requests)
    behind = requests & ((-2 << last)[:size])
    return Mux(behind.any(), lowest(behind), lowest(requests))[:size]
