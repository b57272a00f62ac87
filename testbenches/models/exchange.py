"""What a bench and its simulator tell each other through the files of a job's folder.

The players' files are described in ``trace_source.v`` and ``trace_sink.v``. Imports little: the simulator loads it too.
"""

import json
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:  # numpy takes a while to load
    import numpy as np
    from numpy.typing import NDArray

from testbenches.models.rules import Fault

CLOCK_NS = 2
RESET_CYCLES = 4
TAIL_CYCLES = 32
"""Cycles that a bench goes on after its last beat, on the look-out for beats too many."""

_DESCRIPTION = "bench.json"
_OUTCOME = "outcome.json"


def payload_bytes(width: int) -> int:
    """Return the bytes of a payload of so many bits."""
    return -(-width // 8)


class Description(NamedTuple):
    """What is to be played.

    Attributes
    ----------
    sources, sinks : dict of str to int
        Streams, to the width of their payload in bits.
    beats : dict of str to int
        Beats due on each stream.
    inputs : dict of str to int
        Plain inputs, to the value they are held at.
    outputs : list of str
        Plain outputs.
    max_quiet_cycles : int
        Cycles without any handover that end the run.
    ready_after_valid : list of str
        Sinks that show the design a ready only while it shows a valid.
    """

    sources: dict[str, int]
    sinks: dict[str, int]
    beats: dict[str, int]
    inputs: dict[str, int]
    outputs: list[str]
    max_quiet_cycles: int
    ready_after_valid: list[str]

    def write(self, folder: Path) -> None:
        """Write it for the simulator."""
        (folder / _DESCRIPTION).write_text(json.dumps(self._asdict()))
        (folder / "bench.config").write_text(f"{self.max_quiet_cycles}\n")


def read_description() -> Description:
    """Read the description in the current folder."""
    return Description(**json.loads(Path(_DESCRIPTION).read_text()))


class StreamState(NamedTuple):
    """How far a stream has come."""

    taken: int
    due: int
    valid: int
    ready: int


class Outcome(NamedTuple):
    """How a run ended: the first fault or None, the state of each stream, and the values of the plain outputs."""

    fault: Fault | None
    states: dict[str, StreamState]
    outputs: dict[str, int]

    def write(self) -> None:
        """Write it in the current folder."""
        Path(_OUTCOME).write_text(json.dumps(self._asdict()))

    def report(self) -> str:
        """Tell the fault and how far each stream has come, a line each."""
        lines = [
            f"  {name}: {s.taken} of {s.due} taken, valid={s.valid} ready={s.ready}" for name, s in self.states.items()
        ]
        return "\n".join([str(self.fault), *lines])


class Played(NamedTuple):
    """A run: its outcome, the cycles of all handovers, the beats of the sinks, and how long it took."""

    outcome: Outcome
    accepted: "dict[str, NDArray[np.int64]]"
    payloads: "dict[str, NDArray[np.uint8]]"
    seconds_wall: float


def read_outcome(folder: Path) -> Outcome | None:
    """Read the outcome that the simulator left, or None if it ended before it could write one."""
    if not (folder / _OUTCOME).is_file():
        return None
    fields = json.loads((folder / _OUTCOME).read_text())
    fault = Fault(*fields["fault"]) if fields["fault"] else None
    return Outcome(fault, {name: StreamState(*state) for name, state in fields["states"].items()}, fields["outputs"])
