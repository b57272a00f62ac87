"""The players in Python, for the backends that Python paces; they behave as ``trace_source.v`` and ``trace_sink.v``.

A backend shows `Players` the values of all signals just before each clock edge with `step`, then drives the signals
that `Players.changes` names. Nothing here knows a simulator, and little is imported: the simulator loads it too.
"""

from collections.abc import Callable, Iterator, Sequence

from testbenches.models.exchange import TAIL_CYCLES, Description, Outcome, StreamState
from testbenches.models.rules import Fault

Read = Callable[[str], int]


class SourceAgent:
    """Offers beats on a stream.

    Parameters
    ----------
    name : str
        The stream.
    width : int
        Bits of its payload.
    beats : sequence of int
        Payloads in order.
    stalled : sequence of int
        Pattern of cycles in which no new beat is offered.

    Attributes
    ----------
    accepted : list of int
        Cycle of each handover.
    """

    def __init__(self, name: str, width: int, beats: Sequence[int], stalled: Sequence[int]) -> None:
        self.name = name
        self.accepted: list[int] = []
        self._idle_payload = (1 << width) - 1
        self._beats = beats
        self._stalled = stalled
        self._offered = False
        self._decide(0)

    @property
    def done(self) -> bool:
        """Whether every beat has been taken."""
        return len(self.accepted) == len(self._beats)

    def _decide(self, cycle: int) -> None:
        self._offered = self._offered or (not self.done and not self._stalled[cycle % len(self._stalled)])

    def drive(self) -> Iterator[tuple[str, int]]:
        """Yield what the stream shows in the coming cycle."""
        yield f"{self.name}__valid", int(self._offered)
        yield f"{self.name}__payload", self._beats[len(self.accepted)] if self._offered else self._idle_payload

    def step(self, cycle: int, read: Read) -> bool:
        """See the signals at the edge of `cycle`; return whether a beat was handed over."""
        moved = self._offered and bool(read(f"{self.name}__ready"))
        if moved:
            self.accepted.append(cycle)
            self._offered = False
        self._decide(cycle + 1)
        return moved

    def state(self, read: Read) -> StreamState:
        """Return how far the stream has come."""
        return StreamState(
            len(self.accepted), len(self._beats), read(f"{self.name}__valid"), read(f"{self.name}__ready")
        )


class SinkAgent:
    """Takes beats from a stream and checks its rules.

    Parameters
    ----------
    name : str
        The stream.
    count : int
        Beats due.
    stalled : sequence of int
        Pattern of cycles in which no beat is taken.

    Attributes
    ----------
    accepted : list of int
        Cycle of each handover.
    payloads : list of int
        The beats taken.
    """

    def __init__(self, name: str, count: int, stalled: Sequence[int]) -> None:
        self.name = name
        self.accepted: list[int] = []
        self.payloads: list[int] = []
        self._count = count
        self._stalled = stalled
        self._held: int | None = None
        self._ready = not stalled[0]

    @property
    def done(self) -> bool:
        """Whether every beat due has been taken."""
        return len(self.accepted) == self._count

    def drive(self) -> Iterator[tuple[str, int]]:
        """Yield what the stream shows in the coming cycle."""
        yield f"{self.name}__ready", int(self._ready)

    def step(self, cycle: int, read: Read) -> bool | Fault:
        """See the signals at the edge of `cycle`; return whether a beat was handed over, or the broken rule."""
        payload = read(f"{self.name}__payload") if read(f"{self.name}__valid") else None
        fault = None
        if self._held is not None and payload is None:
            fault = Fault("valid_dropped", self.name, cycle)
        elif self._held not in (None, payload):
            fault = Fault("payload_changed", self.name, cycle)
        elif payload is not None and self.done:
            fault = Fault("spurious_beat", self.name, cycle)
        moved = self._ready and payload is not None
        if moved and not self.done:
            self.accepted.append(cycle)
            self.payloads.append(payload)
        self._held = None if self._ready else payload
        self._ready = not self._stalled[(cycle + 1) % len(self._stalled)]
        return fault or moved

    def state(self, read: Read) -> StreamState:
        """Return how far the stream has come."""
        return StreamState(len(self.accepted), self._count, read(f"{self.name}__valid"), read(f"{self.name}__ready"))


class Players:
    """All agents of a bench, and the referee who ends the run.

    Parameters
    ----------
    description : Description
        What is to be played.
    beats : mapping of str to sequence of int
        Payloads of each source.
    stalled : mapping of str to sequence of int
        Stall pattern of each stream.

    Attributes
    ----------
    signals : list of str
        Every signal that `changes` may name or a `read` may be asked for.
    """

    def __init__(
        self, description: Description, beats: dict[str, Sequence[int]], stalled: dict[str, Sequence[int]]
    ) -> None:
        self.sources = [
            SourceAgent(name, width, beats[name], stalled[name]) for name, width in description.sources.items()
        ]
        self.sinks = [SinkAgent(name, description.beats[name], stalled[name]) for name in description.sinks]
        streams = (*description.sources, *description.sinks)
        self.signals = [f"{name}__{part}" for name in streams for part in ("payload", "valid", "ready")]
        self.signals += description.outputs
        self._description = description
        self._shown: dict[str, int] = {}
        self._cycle = 0
        self._quiet_cycles = 0
        self._tail_cycles = 0
        self._fault: Fault | None = None

    def changes(self) -> Iterator[tuple[str, int]]:
        """Yield the signals that change for the coming cycle, with their values."""
        for agent in (*self.sources, *self.sinks):
            for name, value in agent.drive():
                if self._shown.get(name) != value:
                    self._shown[name] = value
                    yield name, value

    def step(self, read: Read) -> bool:
        """See the signals at a clock edge; return whether the run is over."""
        was_done = all(agent.done for agent in (*self.sources, *self.sinks))
        seen = [agent.step(self._cycle, read) for agent in (*self.sinks, *self.sources)]
        faults = [what for what in seen if isinstance(what, Fault)]
        moved = True in seen
        self._quiet_cycles = 0 if moved else self._quiet_cycles + 1
        self._tail_cycles += was_done
        if not was_done and self._quiet_cycles == self._description.max_quiet_cycles:
            faults.append(Fault("no_progress", "", self._cycle))
        self._fault = faults[0] if faults else None
        self._cycle += 1
        return self._fault is not None or self._tail_cycles == TAIL_CYCLES

    def outcome(self, read: Read) -> Outcome:
        """Return how the run ended; `read` gives the signals one cycle after the last `step`."""
        states = {agent.name: agent.state(read) for agent in (*self.sources, *self.sinks)}
        return Outcome(self._fault, states, {name: read(name) for name in self._description.outputs})
