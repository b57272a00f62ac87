"""Delay lines: a value some cycles later."""

from amaranth.hdl import Module, Signal, Value


def delayed(m: Module, value: Value, cycles: int, *, name: str, reset_less: bool = True) -> list[Value]:
    """Build a chain of registers.

    Parameters
    ----------
    m : Module
        Where it is built.
    value : Value
        What enters.
    cycles : int
        Length of the chain.
    name : str
        Name of its registers, to which the delay is added.
    reset_less : bool
        False for control bits, which must be 0 after reset.

    Returns
    -------
    list of Value
        ``cycles + 1`` values; item i is `value` i cycles later.
    """
    taps = [value]
    for cycle in range(1, cycles + 1):
        register = Signal(value.shape(), name=f"{name}_{cycle}", reset_less=reset_less)
        m.d.sync += register.eq(taps[-1])
        taps.append(register)
    return taps
