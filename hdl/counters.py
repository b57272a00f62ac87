"""Cycle counters of an engine: one of them counts in every cycle, so they add up to the total."""

from collections.abc import Mapping

from amaranth.hdl import Module, Signal, Value


def share_out(m: Module, counters: Mapping[str, Signal], reasons: Mapping[str, Value]) -> None:
    """Count each cycle under one name.

    Parameters
    ----------
    m : Module
        The engine's module.
    counters : mapping of str to Signal
        The counters by name, in order of precedence; the last gets every cycle that no other claims.
    reasons : mapping of str to Value
        For each name but the last, when a cycle is its own; where several hold, the first counts.

    Raises
    ------
    ValueError
        The names differ.
    """
    *claimed, rest = counters
    if claimed != list(reasons):
        raise ValueError(f"the counters before the last are {claimed}, but there are reasons for {list(reasons)}")
    taken = Signal(name="cycle_claimed")
    previous: Value = Value.cast(0)
    for name, reason in reasons.items():
        with m.If(reason & ~previous):
            m.d.sync += counters[name].eq(counters[name] + 1)
        previous |= reason
    m.d.comb += taken.eq(previous)
    with m.If(~taken):
        m.d.sync += counters[rest].eq(counters[rest] + 1)
