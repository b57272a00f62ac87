"""Timing model of the sequencer: what each instruction waits for."""

from collections import deque
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sim.config import CaeConfig
from sim.program.cae_check import BankUse, bank_use
from sim.program.instructions import CaeOpcode
from sim.timing.cae.job import JobTiming
from sim.timing.streams import next_free, waits_of

JUDGE_CYCLES = 4
"""Cycles from taking an instruction to its verdict."""


class _Slot(NamedTuple):
    unit: str
    use: BankUse
    job: JobTiming


def unit_of(instruction: Mapping[str, int]) -> str:
    """Return the name of the unit that runs an instruction; empty for a SYNCHRONISE.

    Parameters
    ----------
    instruction : mapping of str to int
        Its fields; not refused.

    Returns
    -------
    str
        ``transfer``, ``product``, ``merge``, ``vector_<i>``.
    """
    match instruction["opcode"]:
        case CaeOpcode.LOAD | CaeOpcode.STORE:
            return "transfer"
        case CaeOpcode.PRODUCT:
            return "product"
        case CaeOpcode.MERGE:
            return "merge"
        case CaeOpcode.VECTOR:
            return f"vector_{instruction['unit']}"
    return ""


class SequencerTiming:
    """The sequencer, instruction by instruction.

    Parameters
    ----------
    config : CaeConfig
        The engine.
    instruction, status : ndarray of bool, shape [period]
        Stall patterns of the two streams.
    loaded : int
        The first cycle in which instructions come through.

    Attributes
    ----------
    accepted, reported : list of int
        Cycles of the handovers of instructions and of statuses so far.
    """

    def __init__(
        self, config: CaeConfig, instruction: NDArray[np.bool_], status: NDArray[np.bool_], loaded: int = 0
    ) -> None:
        self._size = config.window_instructions
        self._offers, self._takes = waits_of(instruction), waits_of(status)
        self._loaded = loaded
        self._judged = 0  # when the last verdict was taken
        self._window: deque[_Slot] = deque(maxlen=self._size)
        self._entered = 0
        self.accepted: list[int] = []
        self.reported: list[int] = []

    def enter(self) -> int:
        """Take the next instruction; return the cycle in which its slot of the window is filled."""
        offered = next_free(self._offers, self.accepted[-1] + 1 if self.accepted else 0)
        self.accepted.append(max(offered, self._loaded, self._judged))
        entered = self.accepted[-1] + JUDGE_CYCLES
        if len(self.reported) >= self._size:
            entered = max(entered, self.reported[-self._size] + 1)
        self._judged = self._entered = entered
        return entered

    def offered(self, instruction: Mapping[str, int]) -> int:
        """Return the first cycle in which the unit is offered the instruction that entered last.

        A SYNCHRONISE ends in that cycle.
        """
        offered = self._entered + 1
        unit, use = unit_of(instruction), bank_use(instruction)
        for slot in self._window:
            cycle = _free_of(slot, unit, use)
            if cycle >= offered:
                offered = cycle + 1
        return offered

    def ended(self, instruction: Mapping[str, int], job: JobTiming) -> None:
        """Tell when the instruction that entered last started and ended."""
        self._window.append(_Slot(unit_of(instruction), bank_use(instruction), job))
        self.report(job.done)

    def report(self, done: int) -> None:
        """Report the instruction that entered last, which is over in a cycle."""
        before = self.reported[-1] if self.reported else -1
        self.reported.append(next_free(self._takes, max(done, before) + 1))


def _free_of(slot: _Slot, unit: str, use: BankUse) -> int:
    """Return the cycle of the event for which an instruction waits because of one before it; -1 if there is none."""
    old, job = slot.use, slot.job
    if not unit or not slot.unit:
        return job.done
    reads = {bank for bank in (use.left, use.right) if bank is not None}
    old_reads = {bank for bank in (old.left, old.right) if bank is not None}
    same_unit = slot.unit == unit
    uses = reads if same_unit or use.result is None else reads | {use.result}
    if old.result is not None and old.result in uses:
        return job.done
    if same_unit:
        crossed = (old.left is not None and old.left == use.right) or (old.right is not None and old.right == use.left)
        if use.result in old_reads or crossed:
            return max(job.read, job.started)
        return job.started
    return job.read if old_reads & uses else -1
