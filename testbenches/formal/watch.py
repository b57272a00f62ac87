"""What claims are made of: a value chosen once, and the rules of a stream."""

from amaranth.hdl import Module, Mux, Signal, Value
from amaranth.lib import wiring


def rigid(m: Module, choice: Value, name: str) -> Value:
    """Return a free input's value in the first cycle, for ever: so a claim about it is one about every value."""
    begun, held = Signal(name=f"{name}_begun"), Signal.like(choice, name=f"{name}_held")
    m.d.sync += begun.eq(1)
    with m.If(~begun):
        m.d.sync += held.eq(choice)
    return Mux(begun, held, choice)


def unsteady(m: Module, offered: wiring.PureInterface, name: str) -> Value:
    """Return whether a stream takes back or changes a beat that was offered and not taken."""
    waits, payload = Signal(name=f"{name}_waits"), Signal(Value.cast(offered.payload).shape(), name=f"{name}_payload")
    m.d.sync += [waits.eq(offered.valid & ~offered.ready), payload.eq(Value.cast(offered.payload))]
    return waits & (~offered.valid | (payload != Value.cast(offered.payload)))


def passes(offered: wiring.PureInterface) -> Value:
    """Return whether a beat of a stream is handed over."""
    return offered.valid & offered.ready
