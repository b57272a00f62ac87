"""What follows from the width of a vector: `sim.program.geometry`, in hardware."""

from amaranth.hdl import Const, Module, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import ceil_log2

from sim.program.geometry import Geometry


class VectorShape(wiring.Component):
    """What follows from the width of a vector: where vectors of that width lie. Combinational.

    Parameters
    ----------
    geometry : Geometry
        The memory.

    Attributes
    ----------
    beats : In(16)
        Beats of a whole vector.
    bad : Out(1)
        No beat, or more than a row holds.
    stride_log2 : Out(4)
        Distance of neighbours, as a power of two in bursts.
    limit : Out(33)
        Vectors that the memory holds.
    """

    beats: In(16)
    bad: Out(1)
    stride_log2: Out(4)
    limit: Out(33)

    def __init__(self, geometry: Geometry) -> None:
        super().__init__()
        self._geometry = geometry

    def elaborate(self, _platform: object) -> Module:
        """Build the arithmetic of `Geometry`."""
        m = Module()
        geometry = self._geometry
        slice_bits = ceil_log2(geometry.slice_beats)
        bursts = Signal(32)
        rest = lines_of(geometry, self.beats[:slice_bits])
        m.d.comb += [
            bursts.eq((self.beats >> slice_bits) * geometry.slice_bursts + in_each_group(geometry, rest)),
            self.bad.eq((bursts == 0) | (bursts > geometry.bursts)),
            self.stride_log2.eq(sum((bursts > 1 << k for k in range(ceil_log2(geometry.bursts))), Const(0, 1))),
            self.limit.eq(Const(geometry.vectors(1) << geometry.stride_log2(1), 33) >> self.stride_log2),
        ]
        return m


def lines_of(geometry: Geometry, beats: Value) -> Value:
    """Return the lines that hold some beats, the last one filled up."""
    if geometry.beat_bytes >= geometry.line_bytes:
        return beats << ceil_log2(geometry.beat_bytes // geometry.line_bytes)
    per_line = geometry.line_bytes // geometry.beat_bytes
    return (beats + per_line - 1) >> ceil_log2(per_line)


def in_each_group(geometry: Geometry, lines: Value) -> Value:
    """Return the bursts that some lines take in each of the bank groups that they go round."""
    return (lines + geometry.groups - 1) >> ceil_log2(geometry.groups)
