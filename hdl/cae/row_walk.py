"""Where the beats of a matrix lie, row by row: without a multiplier or a divider."""

from amaranth.hdl import Module, Mux, Signal, Value


class RowWalk:
    """Steps through the beats of rows.

    Parameters
    ----------
    m : Module
        Where it is built.
    lanes : int
        Elements of a beat.
    name : str
        Name of its registers.
    address_bits : int
        Bits of an address.

    Attributes
    ----------
    address : Signal
        The beat.
    left : Signal
        Elements of the row from this beat on.
    last_of_row, last : Signal
        It is the last beat of its row, of all rows.
    """

    def __init__(self, m: Module, lanes: int, *, name: str, address_bits: int) -> None:
        self._m, self._lanes = m, lanes
        self.address = Signal(address_bits, name=f"{name}_address")
        self.left = Signal(16, name=f"{name}_left")
        self.last_of_row, self.last = Signal(name=f"{name}_last_of_row"), Signal(name=f"{name}_last")
        self._row = Signal(address_bits, name=f"{name}_row")
        self._rows, self._columns = Signal(16, name=f"{name}_rows"), Signal(16, name=f"{name}_columns")
        self._pitch = Signal(address_bits, name=f"{name}_pitch")
        self._stride = Signal(2, name=f"{name}_stride")
        m.d.comb += [
            self.last_of_row.eq(self.left <= lanes),
            self.last.eq(self.last_of_row & (self._rows == 1)),
        ]

    def start(self, address: Value, pitch: Value, rows: Value, columns: Value, stride: Value | int = 1) -> None:
        """Begin with the first beat, from the next cycle on; `stride` addresses, 1 or 2, make a beat."""
        self._m.d.sync += [
            self.address.eq(address),
            self._row.eq(address + pitch),
            self._pitch.eq(pitch),
            self._rows.eq(rows),
            self._columns.eq(columns),
            self.left.eq(columns),
            self._stride.eq(stride),
        ]

    def advance(self) -> None:
        """Go on to the next beat."""
        self._m.d.sync += [
            self.address.eq(Mux(self.last_of_row, self._row, self.address + self._stride)),
            self.left.eq(Mux(self.last_of_row, self._columns, self.left - self._lanes)),
        ]
        with self._m.If(self.last_of_row):
            self._m.d.sync += [self._row.eq(self._row + self._pitch), self._rows.eq(self._rows - 1)]


def counted_lanes(m: Module, left: Value, lanes: int, *, name: str) -> Signal:
    """Return which lanes of a beat are elements of the row, of which `left` are left from this beat on."""
    counts = Signal(lanes, name=name)
    m.d.comb += [counts[lane].eq(left > lane) for lane in range(lanes)]
    return counts
