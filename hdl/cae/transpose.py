"""A buffer of rows that gives each group of them as it came, or transposed."""

from amaranth.hdl import Array, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from hdl.large_memory import LargeMemory
from hdl.stream.ring import after


class Transposer(wiring.Component):
    """Slots of a square of bf16 elements each: one fills while another is given, a row a cycle in and out.

    Element j of row i stands in memory ``(i + j) % side``, so that a row and a column both touch each memory once; a
    row that is to be given as it came stands without the turn. A plain slot is given while it still fills, a turned one
    once it is whole: its first row 2 cycles after the last was put, at the earliest.

    Parameters
    ----------
    side : int
        Rows and elements of a row, at most.
    slots : int
        Slots; with three, a turned one is given each `side` cycles even if what fills them is some cycles behind.

    Attributes
    ----------
    room : Out(1)
        A slot may be reserved.
    reserve : In(1)
        Reserves one; its rows are put later. Only with `room`.
    put : In(1)
        A row is put. The rows of a slot that is not turned come in consecutive cycles.
    row : In
        With `put`: its elements; those it has not may be anything.
    last : In(1)
        With `put`: it is the slot's last.
    turned : In(1)
        With `put`: the slot is given transposed. The same for all rows of a slot.
    given : In
        With the first `put` of a slot: rows to give; all that were put if it is not turned.
    rows : Out(stream)
        The slots in their order, elements as in `row`.
    """

    def __init__(self, side: int, slots: int) -> None:
        self._side, self._slots = side, slots
        shape = data.ArrayLayout(16, side)
        super().__init__(
            {
                "room": Out(1),
                "reserve": In(1),
                "put": In(1),
                "row": In(shape),
                "last": In(1),
                "turned": In(1),
                "given": In(range(side + 1)),
                "rows": Out(stream.Signature(shape)),
            }
        )

    def elaborate(self, _platform: object) -> Module:
        """Build the memories between two rotations."""
        m = Module()
        side, slots = self._side, self._slots
        turned = Array(Signal(name=f"turned_{slot}") for slot in range(slots))
        given = Array(Signal(range(side + 1), name=f"given_{slot}") for slot in range(slots))
        memories = [LargeMemory(part_bits=16, parts=1, depth=max(2, slots * side)) for _ in range(side)]
        for number, memory in enumerate(memories):
            m.submodules[f"memory_{number}"] = memory
        free, full = Signal(range(slots + 1), init=slots), Signal(range(slots + 1))
        filled = self._fill(m, turned, given, memories)
        released = self._give(m, turned, given, memories, full != 0)
        m.d.comb += self.room.eq(free != 0)
        m.d.sync += [free.eq(free + released - self.reserve), full.eq(full + filled - released)]
        return m

    def _fill(self, m: Module, turned: Array, given: Array, memories: list[LargeMemory]) -> Value:
        """Put rows into the memories; return when a slot may be given from the next cycle on."""
        side, slots = self._side, self._slots
        slot, base = Signal(range(max(2, slots)), name="put_slot"), Signal(range(slots * side), name="put_base")
        index = Signal(range(max(2, side)), name="put_index")
        amount = Mux(self.turned, index, 0)
        elements = _rotated(m, self.row.as_value(), amount, left=True, name="put")
        for number, memory in enumerate(memories):
            m.d.comb += [
                memory.write.eq(self.put),
                memory.write_address.eq(base + index),
                memory.write_data.eq(elements.word_select(number, 16)),
            ]
        with m.If(self.put):
            m.d.sync += index.eq(Mux(self.last, 0, index + 1))
            with m.If(index == 0):
                m.d.sync += [turned[slot].eq(self.turned), given[slot].eq(self.given)]
            with m.If(self.last):
                m.d.sync += [slot.eq(after(slot, slots)), base.eq(Mux(slot == slots - 1, 0, base + side))]
        return self.put & Mux(self.turned, self.last, index == 0)

    def _give(self, m: Module, turned: Array, given: Array, memories: list[LargeMemory], full: Value) -> Signal:
        """Read rows or columns; return when the last of a slot is read."""
        side, slots = self._side, self._slots
        slot, base = Signal(range(max(2, slots)), name="get_slot"), Signal(range(slots * side), name="get_base")
        index, amount = Signal(range(max(2, side)), name="get_index"), Signal(range(max(2, side)))
        valid, get, released = Signal(), Signal(), Signal()
        is_turned = Signal()
        words = []
        for number, memory in enumerate(memories):
            row: Value = number - index
            if number != side - 1:  # of the last memory the index never is the greater
                row = Mux(index > number, row + side, row)
            m.d.comb += [
                memory.read.eq(get),
                memory.read_address.eq(base + Mux(is_turned, row, index)),
            ]
            words.append(memory.read_data)
        elements = Signal(16 * side)
        m.d.comb += [
            is_turned.eq(turned[slot]),
            get.eq(full & (~valid | self.rows.ready)),
            released.eq(get & (index + 1 == given[slot])),
            *(elements.word_select(number, 16).eq(word) for number, word in enumerate(words)),
            self.rows.payload.as_value().eq(_rotated(m, elements, amount, left=False, name="get")),
            self.rows.valid.eq(valid),
        ]
        with m.If(~valid | self.rows.ready):
            m.d.sync += valid.eq(get)
        with m.If(get):
            m.d.sync += [amount.eq(Mux(is_turned, index, 0)), index.eq(Mux(released, 0, index + 1))]
        with m.If(released):
            m.d.sync += [slot.eq(after(slot, slots)), base.eq(Mux(slot == slots - 1, 0, base + side))]
        return released


def _rotated(m: Module, elements: Value, amount: Value, *, left: bool, name: str) -> Value:
    """Rotate elements by an amount, a power of two at a time."""
    for bit in range(len(amount)):
        distance = 16 << bit
        step = Signal(len(elements), name=f"{name}_rotated_{bit}")
        moved = elements.rotate_left(distance) if left else elements.rotate_right(distance)
        m.d.comb += step.eq(Mux(amount[bit], moved, elements))
        elements = step
    return elements
