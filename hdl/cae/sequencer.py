"""The Centralized Acceleration Engine's sequencer: starts each instruction when nothing before it is in its way."""

from amaranth.hdl import Module
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from hdl.cae.judge import Judge, units_of
from hdl.cae.ports import job_layout, report
from hdl.cae.window import InstructionWindow, readers_of
from hdl.layout import struct_layout
from sim.config import CaeConfig
from sim.program.instructions import CAE_INSTRUCTION, CAE_STATUS


class Sequencer(wiring.Component):
    """Judges instructions, hands them to the units, and reports their ends in the order of the program.

    Parameters
    ----------
    config : CaeConfig
        The engine.

    Attributes
    ----------
    instruction : In(stream of `CAE_INSTRUCTION`)
        The program.
    status : Out(stream of `CAE_STATUS`)
        One for each instruction, in order.
    job_<unit> : Out(stream of `job_layout`)
        What each unit may start.
    read_<name>, done_<name> : In(`report`)
        How far the units are.
    """

    def __init__(self, config: CaeConfig) -> None:
        self._config = config
        readers = readers_of(config)
        super().__init__(
            {
                "instruction": In(stream.Signature(struct_layout(CAE_INSTRUCTION))),
                "status": Out(stream.Signature(struct_layout(CAE_STATUS))),
                **{f"job_{unit}": Out(stream.Signature(job_layout(config))) for unit in units_of(config)},
                **{f"read_{name}": In(report(config)) for name in readers},
                **{f"done_{name}": In(report(config)) for name in ("load", *readers)},
            }
        )

    def elaborate(self, _platform: object) -> Module:
        """Connect the judge and the window."""
        m = Module()
        m.submodules.judge = judge = Judge(self._config)
        m.submodules.window = window = InstructionWindow(self._config)
        wiring.connect(m, wiring.flipped(self.instruction), judge.instruction)
        wiring.connect(m, judge.verdict, window.verdict)
        for name in self.signature.members:
            if name != "instruction":
                wiring.connect(m, wiring.flipped(getattr(self, name)), getattr(window, name))
        return m
