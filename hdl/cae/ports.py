"""How the units of the Centralized Acceleration Engine are told what to do, and how they reach the banks."""

from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from hdl.layout import struct_layout
from sim.config import CaeConfig
from sim.program.instructions import CAE_INSTRUCTION

READ_CYCLES = 2
"""Cycles from `en` of a bank's read to its data. A beat that is written in cycle t is read from cycle t + 2 on."""


def bank_read(config: CaeConfig) -> wiring.Signature:
    """Return the port through which a unit reads banks, as the unit has it.

    Parameters
    ----------
    config : CaeConfig
        The engine.

    Returns
    -------
    wiring.Signature
        ``en``, ``bank`` and ``address`` out; ``data`` in, fp32 by lane, `READ_CYCLES` later and only then. Never
        stalls: the sequencer gives a bank's read port to one instruction at a time.
    """
    return wiring.Signature(
        {
            "en": Out(1),
            "bank": Out(range(config.banks)),
            # Even one beat has an address of one bit: a net without any is not Verilog.
            "address": Out(range(max(2, config.operand_bank_beats, config.vector_bank_beats))),
            "data": In(data.ArrayLayout(32, config.lanes)),
        }
    )


def bank_write(config: CaeConfig) -> wiring.Signature:
    """Return the port through which a unit writes banks, as the unit has it.

    Parameters
    ----------
    config : CaeConfig
        The engine.

    Returns
    -------
    wiring.Signature
        ``en``, ``bank``, ``address``, ``parts`` (which parts of the beat, each as wide as the array has columns) and
        ``data``, fp32 by lane, all out. A bank of bf16 rounds what is written. Never stalls.
    """
    return wiring.Signature(
        {
            "en": Out(1),
            "bank": Out(range(config.banks)),
            # Even one beat has an address of one bit: a net without any is not Verilog.
            "address": Out(range(max(2, config.operand_bank_beats, config.vector_bank_beats))),
            "parts": Out(config.lanes // config.columns),
            "data": Out(data.ArrayLayout(32, config.lanes)),
        }
    )


def job_layout(config: CaeConfig) -> data.StructLayout:
    """Return what a unit is told of an instruction that may start.

    Parameters
    ----------
    config : CaeConfig
        The engine.

    Returns
    -------
    data.StructLayout
        The ``instruction``, already judged good, and its ``slot`` of the window, for the unit's reports.
    """
    return data.StructLayout(
        {"instruction": struct_layout(CAE_INSTRUCTION), "slot": range(max(2, config.window_instructions))}
    )


def report(config: CaeConfig) -> wiring.Signature:
    """Return the port through which a unit tells that an instruction has come so far, as the unit has it.

    Parameters
    ----------
    config : CaeConfig
        The engine.

    Returns
    -------
    wiring.Signature
        ``valid`` for one cycle, ``slot``, and ``code`` (`CaeCode`), all out. A unit has two of them: ``read``, in the
        cycle of the last read of a bank or later, and ``done``, in the cycle of the last write of a bank (or of the
        last request to the memory that is taken) or later, not before ``read``.
    """
    return wiring.Signature({"valid": Out(1), "slot": Out(range(max(2, config.window_instructions))), "code": Out(8)})
