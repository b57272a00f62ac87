"""Positions in a ring of slots."""

from amaranth.hdl import Mux, Value


def after(position: Value, size: int) -> Value:
    """Return the position that follows.

    Parameters
    ----------
    position : Value
        A slot, below `size`.
    size : int
        Slots of the ring.

    Returns
    -------
    Value
        The next slot; 0 after the last.
    """
    return Mux(position == size - 1, 0, position + 1)
