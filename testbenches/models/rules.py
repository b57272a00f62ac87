"""The rules that a bench holds a design to, and how a broken one is told."""

from typing import NamedTuple

RULES = ("", "valid_dropped", "payload_changed", "spurious_beat", "no_progress")
"""By the code that the players use; 0 stands for no fault."""

MEANINGS = {
    "valid_dropped": "valid fell before the beat was taken (it must stay high until ready)",
    "payload_changed": "the payload changed before the beat was taken (it must be stable while valid and not ready)",
    "spurious_beat": "a beat more than the bench expects was offered",
    "no_progress": "no beat was handed over on any stream for the number of cycles allowed (max_quiet_cycles)",
}


class BenchError(AssertionError):
    """A run went wrong; the message says how, where and when, and how far each stream had come.

    Attributes
    ----------
    fault : Fault or None
        The rule broken, or None if the simulation itself broke off (such as by an assertion in the design).
    """

    def __init__(self, message: str, fault: "Fault | None" = None) -> None:
        super().__init__(message)
        self.fault = fault


class Fault(NamedTuple):
    """One broken rule.

    Attributes
    ----------
    rule : str
        One of `RULES`.
    stream : str
        Where; empty for ``no_progress``, which concerns all streams.
    cycle : int
        In which cycle it was seen.
    """

    rule: str
    stream: str
    cycle: int

    def __str__(self) -> str:
        """Tell which rule was broken, where and when."""
        where = f"stream {self.stream}, " if self.stream else ""
        return f"{where}cycle {self.cycle}: {self.rule}: {MEANINGS[self.rule]}"
