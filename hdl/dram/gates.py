"""Gates: how long a command must still wait for those before it."""

from amaranth.hdl import Module, Mux, Signal, Value


class Gate:
    """A down-counter to the first cycle in which a command is allowed.

    Parameters
    ----------
    m : Module
        Where it is built; add all `close` calls before `build`.
    name : str
        Name of the counter.

    Attributes
    ----------
    open : Value
        True in every cycle in which the command is allowed.
    """

    def __init__(self, m: Module, name: str, longest: int) -> None:
        self._m = m
        self._left = Signal(range(max(2, longest)), name=name)
        self._closings: list[tuple[Value, int]] = []
        self.open = self._left == 0

    def close(self, event: Value, cycles: int) -> None:
        """Keep the gate shut for some cycles from an event on; at most one event of a gate happens in a cycle.

        Parameters
        ----------
        event : Value
            When.
        cycles : int
            The command is allowed again so many cycles later, >= 1.
        """
        self._closings.append((event, cycles))

    def build(self) -> None:
        """Build the counter. A gate already shut for longer stays so."""
        least: Value = Value.cast(0)
        for event, cycles in self._closings:
            least = Mux(event, cycles - 1, least)
        counted = Mux(self._left == 0, 0, self._left - 1)
        self._m.d.sync += self._left.eq(Mux(counted > least, counted, least))
