"""What a bench sees of a design: its streams and its plain ports."""

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from amaranth.hdl import Shape, Value
from amaranth.lib import stream, wiring

Path = tuple[str | int, ...]


@dataclass(frozen=True, kw_only=True)
class Ports:
    """The ports of a design, by Verilog name (parts of nested names joined by ``__``), to their widths in bits.

    Attributes
    ----------
    sources : dict of str to int
        Streams into the design, to the width of their payload.
    sinks : dict of str to int
        Streams out of the design, to the width of their payload.
    inputs, outputs : dict of str to int
        Ports that belong to no stream.
    """

    sources: dict[str, int] = field(default_factory=dict)
    sinks: dict[str, int] = field(default_factory=dict)
    inputs: dict[str, int] = field(default_factory=dict)
    outputs: dict[str, int] = field(default_factory=dict)


def discover(component: wiring.Component) -> Ports:
    """Find the ports of a component.

    Parameters
    ----------
    component : wiring.Component
        Any design; it is not elaborated.

    Raises
    ------
    ValueError
        If a stream cannot be played: it has no payload bits, or is always valid or always ready.
    """
    ports = Ports()
    streams = {name(path): path for path in _streams(component.signature, ())}
    for path, member, _ in component.signature.flatten(component):
        width = Shape.cast(member.shape).width
        if name(path[:-1]) not in streams:
            (ports.inputs if member.flow is wiring.In else ports.outputs)[name(path)] = width
        elif path[-1] == "payload":
            if width == 0:
                raise ValueError(f"stream {name(path[:-1])} has a payload of no bits; give it at least one")
            (ports.sources if member.flow is wiring.In else ports.sinks)[name(path[:-1])] = width
    return ports


def port_values(component: wiring.Component) -> dict[str, Value]:
    """Return every port of a component, by Verilog name, as an unsigned Amaranth value."""
    return {name(path): Value.cast(value).as_unsigned() for path, _, value in component.signature.flatten(component)}


def name(path: Path) -> str:
    """Return the Verilog name of a port."""
    return "__".join(map(str, path))


def _streams(signature: wiring.Signature, prefix: Path) -> Iterator[Path]:
    for member_name, member in signature.members.items():
        if not member.is_signature:
            continue
        inner: Any = member.signature
        for index in itertools.product(*map(range, member.dimensions)):
            path = (*prefix, member_name, *index)
            if not isinstance(inner, stream.Signature):
                yield from _streams(inner, path)
            elif inner.always_ready or inner.always_valid:
                raise ValueError(
                    f"stream {name(path)} is always ready or always valid; the benches play plain streams only"
                )
            else:
                yield path
