"""The Centralized Acceleration Engine, whole: instructions in, statuses out, a memory and partial sums beside."""

from amaranth.hdl import Module
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from hdl.cae.banks import Banks
from hdl.cae.judge import units_of
from hdl.cae.merge import MergeUnit
from hdl.cae.product_engine import ProductEngine
from hdl.cae.sequencer import Sequencer
from hdl.cae.transfer import TransferUnit
from hdl.cae.vector.unit import VectorUnit
from hdl.layout import struct_layout
from sim.config import CaeConfig
from sim.program.counters import CAE_COUNTERS, COUNTER_BITS
from sim.program.instructions import CAE_INSTRUCTION, CAE_STATUS, memory_request, partial_beat


def counters_of(config: CaeConfig) -> tuple[str, ...]:
    """Return the names of an engine's counters.

    Parameters
    ----------
    config : CaeConfig
        The engine.

    Returns
    -------
    tuple of str
        ``<unit>_cycles_<name>``.
    """
    return tuple(
        f"{unit}_cycles_{name}" for unit in units_of(config) for name in CAE_COUNTERS[unit.rstrip("_0123456789")]
    )


class CentralEngine(wiring.Component):
    """Sequencer, units and banks.

    Instructions are judged in order and wait in a window; each starts once those before it that use the same banks, or
    the same unit, let it. All units work side by side. Statuses come in the order of the program.

    Parameters
    ----------
    config : CaeConfig
        The engine.

    Attributes
    ----------
    instruction : In(stream of `CAE_INSTRUCTION`)
        The program.
    status : Out(stream of `CAE_STATUS`)
        One for each instruction.
    request : Out(stream of `memory_request`)
        What the memory is asked to read and write, in order.
    response : In(stream of a beat of 16-bit lanes)
        What was read, in order; always taken at once.
    partials_<i> : In(stream of `partial_beat`)
        The sources of port i.
    <unit>_cycles_<name> : Out(48)
        Counters by the names of `CAE_COUNTERS`; those of each unit add up to the cycles since reset.
    """

    def __init__(self, config: CaeConfig) -> None:
        self._config = config
        lanes = config.lanes
        partials = stream.Signature(struct_layout(partial_beat(lanes)))
        super().__init__(
            {
                "instruction": In(stream.Signature(struct_layout(CAE_INSTRUCTION))),
                "status": Out(stream.Signature(struct_layout(CAE_STATUS))),
                "request": Out(stream.Signature(struct_layout(memory_request(lanes)))),
                "response": In(stream.Signature(data.ArrayLayout(16, lanes))),
                **{f"partials_{i}": In(partials) for i in range(config.merge_ports)},
                **{name: Out(COUNTER_BITS) for name in counters_of(config)},
            }
        )

    def elaborate(self, _platform: object) -> Module:
        """Connect the parts."""
        m = Module()
        config = self._config
        m.submodules.sequencer = sequencer = Sequencer(config)
        units = {"transfer": TransferUnit(config), "product": ProductEngine(config), "merge": MergeUnit(config)}
        units |= {f"vector_{i}": VectorUnit(config) for i in range(config.vector_units)}
        two_ports = [name for name in units if hasattr(units[name], "right")]
        m.submodules.banks = banks = Banks(
            config,
            readers=[*(f"{name}_left" for name in units), *(f"{name}_right" for name in two_ports)],
            writers=list(units),
        )
        for name, unit in units.items():
            m.submodules[name] = unit
            wiring.connect(m, getattr(sequencer, f"job_{name}"), unit.job)
            wiring.connect(m, unit.left, getattr(banks, f"read_{name}_left"))
            wiring.connect(m, unit.result, getattr(banks, f"write_{name}"))
            if name in two_ports:
                wiring.connect(m, unit.right, getattr(banks, f"read_{name}_right"))
            if name != "transfer":
                wiring.connect(m, unit.read, getattr(sequencer, f"read_{name}"))
                wiring.connect(m, unit.done, getattr(sequencer, f"done_{name}"))
            for counter in CAE_COUNTERS[name.rstrip("_0123456789")]:
                m.d.comb += getattr(self, f"{name}_cycles_{counter}").eq(getattr(unit, f"cycles_{counter}"))
        transfer, merge = units["transfer"], units["merge"]
        for told in ("read_store", "done_store", "done_load"):
            wiring.connect(m, getattr(transfer, told), getattr(sequencer, told))
        for name in ("instruction", "status"):
            wiring.connect(m, wiring.flipped(getattr(self, name)), getattr(sequencer, name))
        for name in ("request", "response"):
            wiring.connect(m, wiring.flipped(getattr(self, name)), getattr(transfer, name))
        for i in range(config.merge_ports):
            wiring.connect(m, wiring.flipped(getattr(self, f"partials_{i}")), getattr(merge, f"partials_{i}"))
        return m
