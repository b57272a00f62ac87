"""Room for answers that were asked for: a queue in a memory, written whenever one comes."""

from amaranth.hdl import Module, ShapeLike, Signal, Value
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from hdl.large_memory import LargeMemory
from hdl.stream.ring import after


class Landing(wiring.Component):
    """Beats in order, for many or wide ones.

    A beat is written in the cycle in which it comes, read from the next one on when the beat before it is taken, and
    held in the cycle after that.

    Whoever asks for the beats sees to it that no more than `depth` are on their way or not yet read: it takes all.

    Parameters
    ----------
    shape : shape-like
        The payload.
    depth : int
        Beats that it holds besides the one that it shows.

    Attributes
    ----------
    beats : In(stream)
        Beats in, always taken.
    held : Out(stream)
        The same beats.
    fetches : Out(1)
        A beat is read: its place is free.
    """

    def __init__(self, shape: ShapeLike, depth: int) -> None:
        self._shape, self._depth = shape, max(2, depth)
        super().__init__(
            {"beats": In(stream.Signature(shape)), "held": Out(stream.Signature(shape)), "fetches": Out(1)}
        )

    def elaborate(self, _platform: object) -> Module:
        """Build the memory with its two ends."""
        m = Module()
        width = len(Value.cast(self.held.payload))
        m.submodules.memory = memory = LargeMemory(part_bits=width, parts=1, depth=self._depth)
        head, tail = Signal(range(self._depth)), Signal(range(self._depth))
        level, shown = Signal(range(self._depth + 1)), Signal()
        m.d.comb += [
            self.beats.ready.eq(1),
            memory.write.eq(self.beats.valid),
            memory.write_address.eq(tail),
            memory.write_data.eq(self.beats.payload),
            self.fetches.eq((level != 0) & (~shown | self.held.ready)),
            memory.read.eq(self.fetches),
            memory.read_address.eq(head),
            self.held.valid.eq(shown),
            self.held.payload.eq(memory.read_data),
        ]
        m.d.sync += level.eq(level + self.beats.valid - self.fetches)
        with m.If(self.beats.valid):
            m.d.sync += tail.eq(after(tail, self._depth))
        with m.If(self.fetches):
            m.d.sync += [head.eq(after(head, self._depth)), shown.eq(1)]
        with m.Elif(self.held.ready):
            m.d.sync += shown.eq(0)
        return m
