"""Verilog text of a component, with blocks that it holds many times over written once: one module, many instances."""

import gc
import os
from typing import Any

from amaranth.back import verilog
from amaranth.hdl import ClockSignal, Elaboratable, Instance, ResetSignal
from amaranth.lib import wiring


class SharedModules:
    """The platform under which Verilog is written: repeated blocks ask it for an instance in their place.

    Elaborating a block costs the same each time, and its text would stand as often in the file; an array of 128 x 128
    would take an hour. Amaranth's own simulator has no such platform: it builds every block in place, from the same
    code.

    Attributes
    ----------
    modules : dict of str to wiring.Component
        The blocks met so far, by the name of their module.
    texts : dict of str to str
        Modules written by hand, by name.
    """

    def __init__(self) -> None:
        self.modules: dict[str, wiring.Component] = {}
        self.texts: dict[str, str] = {}

    def instance(self, name: str, block: wiring.Component) -> Instance:
        """Take the place of a block.

        Parameters
        ----------
        name : str
            Name of its module; it tells the kind of block and all its parameters.
        block : wiring.Component
            The block; it has registers with a reset in the clock domain ``sync``.

        Returns
        -------
        Instance
            An instance of the module, connected to the block's ports.
        """
        self.modules.setdefault(name, block)
        ports = {"i_clk": ClockSignal(), "i_rst": ResetSignal()}
        for path, member, value in block.signature.flatten(block):
            direction = "i" if member.flow == wiring.In else "o"
            ports[f"{direction}_{'__'.join(map(str, path))}"] = value
        return Instance(name, **ports)


class _Body(Elaboratable):
    """A shared block in its own module: it must not stand in for itself, but the blocks within it may."""

    def __init__(self, block: wiring.Component) -> None:
        self._block = block

    def __getattr__(self, name: str) -> Any:
        return getattr(self._block, name)

    def elaborate(self, _platform: object) -> Any:
        return self._block.elaborate(None)


def to_verilog(component: wiring.Component, name: str) -> str:
    """Write a component as Verilog.

    Parameters
    ----------
    component : wiring.Component
        The component.
    name : str
        Name of the top module.

    Returns
    -------
    str
        All modules. The same component gives the same text.
    """
    os.environ.setdefault("AMARANTH_USE_YOSYS", "builtin")  # never a stray Yosys of the machine
    shared = SharedModules()
    collecting = gc.isenabled()
    gc.disable()  # millions of small objects that all live to the end: collecting them takes half the time
    try:
        text = verilog.convert(component, name=name, platform=shared, emit_src=False, strip_internal_attrs=True)
        written: set[str] = set()
        while len(written) < len(shared.modules):  # a block may hold others, which are met as it is written
            for module, block in list(shared.modules.items()):
                if module not in written:
                    written.add(module)
                    body = _Body(block)
                    text += verilog.convert(
                        body, name=module, platform=shared, emit_src=False, strip_internal_attrs=True
                    )
        text += "".join(shared.texts.values())
    finally:
        if collecting:
            gc.enable()
    return text
