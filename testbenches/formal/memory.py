"""A memory for proofs: it answers in any order."""

from amaranth.hdl import Array, Cat, Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out


class AnyOrderMemory(wiring.Component):
    """Answers each request once, its lines in order, those of several requests in any order.

    Parameters
    ----------
    requests : int
        Requests that may be under way, by their numbers.
    most : int
        Lines of a request at most.

    Attributes
    ----------
    asked, number, lines : In
        A request is made, under a number that no other has now.
    comes, choice : In
        A line comes, of the request of that number if it waits for any.
    valid, of, line, last : Out
        The line.
    reused : Out(1)
        A request is made under a number that is under way.
    empty : Out(1)
        No line is left to come.
    """

    def __init__(self, requests: int, most: int) -> None:
        self._requests = requests
        numbers = range(max(2, requests))
        super().__init__(
            {
                "asked": In(1), "number": In(numbers), "lines": In(range(most + 1)), "comes": In(1),
                "choice": In(numbers), "valid": Out(1), "of": Out(numbers), "line": Out(range(most + 1)),
                "last": Out(1), "reused": Out(1), "empty": Out(1),
            }
        )  # fmt: skip

    def elaborate(self, _platform: object) -> Module:
        """Build the memory's side."""
        m = Module()
        left = Array(Signal.like(self.lines, name=f"left_{i}") for i in range(self._requests))
        given = Array(Signal.like(self.lines, name=f"given_{i}") for i in range(self._requests))
        m.d.comb += [
            self.of.eq(self.choice),
            self.valid.eq(self.comes & (self.choice < self._requests) & (left[self.choice] != 0)),
            self.line.eq(given[self.choice]),
            self.last.eq(left[self.choice] == 1),
            self.empty.eq(~Cat(n.any() for n in left).any()),
            self.reused.eq(self.asked & (left[self.number] != 0)),
        ]
        with m.If(self.valid):
            m.d.sync += [left[self.of].eq(left[self.of] - 1), given[self.of].eq(self.line + 1)]
        with m.If(self.asked):
            m.d.sync += [left[self.number].eq(self.lines), given[self.number].eq(0)]
        return m
