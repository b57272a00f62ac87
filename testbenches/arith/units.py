"""For simulation only: every arithmetic block at every latency, side by side behind one stream."""

from typing import NamedTuple

import numpy as np
from amaranth.hdl import Cat, EnableInserter, Module, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from hdl.arith.add import Fp32Add
from hdl.arith.compare import Fp32Compare, Fp32MaxMin
from hdl.arith.convert import Bf16ToFp32, Fp32ToBf16
from hdl.arith.mul import Bf16Mul, Fp32Mul
from hdl.arith.pipeline import Pipeline

OPERANDS = data.StructLayout({"a": 32, "b": 32, "minimum": 1})
OPERANDS_DTYPE = np.dtype([("a", "<u4"), ("b", "<u4"), ("minimum", "u1")])


class Unit(NamedTuple):
    """A block among the units.

    Attributes
    ----------
    field : str
        Where its result is among the results.
    block : type of Pipeline
        Its class.
    high_half : bool
        Its operands are the upper halves of the stream's, which are bf16.
    """

    field: str
    block: type[Pipeline]
    high_half: bool = False


UNITS = (
    Unit("sum", Fp32Add),
    Unit("product", Fp32Mul),
    Unit("bf16_product", Bf16Mul, high_half=True),
    Unit("chosen", Fp32MaxMin),
    Unit("widened", Bf16ToFp32, high_half=True),
    Unit("narrowed", Fp32ToBf16),
    Unit("order", Fp32Compare),
)
VARIANTS = tuple((unit, latency) for unit in UNITS for latency in range(unit.block.MAX_LATENCY + 1))
"""What the bits of ``odd`` belong to."""

_WORDS = ("sum", "product", "bf16_product", "chosen", "widened", "odd")
RESULTS = data.StructLayout({**dict.fromkeys(_WORDS, 32), "narrowed": 16, "order": 8})
RESULTS_DTYPE = np.dtype([*((name, "<u4") for name in _WORDS), ("narrowed", "<u2"), ("order", "u1")])

_DEPTH = max(unit.block.MAX_LATENCY for unit in UNITS)


class Units(wiring.Component):
    """Results of every block at its default latency, and which other latencies disagree with it.

    Attributes
    ----------
    i : stream of `OPERANDS`
        Operands. The blocks' own enable-free pipelines are held as a whole while `o` is not taken.
    o : stream of `RESULTS`
        Results, 5 cycles later. `order` holds lt, eq, unordered from bit 0; `odd` has a bit for each of `VARIANTS` that
        is set if its result is not that of the default latency.
    """

    i: In(stream.Signature(OPERANDS))
    o: Out(stream.Signature(RESULTS))

    def elaborate(self, _platform: object) -> Module:
        """Build the units."""
        m = Module()
        inner = Module()
        moving = Signal()
        m.d.comb += [moving.eq(self.o.ready | ~self.o.valid), self.i.ready.eq(moving)]
        m.submodules.inner = EnableInserter(moving)(inner)
        inner.d.comb += self.o.valid.eq(_delayed(inner, "valid", self.i.valid, _DEPTH))

        results = {}
        for unit, latency in VARIANTS:
            block = unit.block(latency=latency)
            name = f"{unit.field}_{latency}"
            inner.submodules[name] = block
            operands = {"a": self.i.payload.a, "b": self.i.payload.b, "minimum": self.i.payload.minimum}
            outputs = []
            for port, member in block.signature.members.items():
                if member.flow == Out:
                    outputs.append(getattr(block, port))
                else:
                    operand = operands[port]
                    inner.d.comb += getattr(block, port).eq(operand[16:] if unit.high_half else operand)
            results[unit, latency] = _delayed(inner, name, Cat(*outputs), _DEPTH - latency)

        usual = {unit: results[unit, unit.block.DEFAULT_LATENCY] for unit in UNITS}
        inner.d.comb += [self.o.payload[unit.field].eq(result) for unit, result in usual.items()]
        inner.d.comb += self.o.payload.odd.eq(Cat(results[unit, latency] != usual[unit] for unit, latency in VARIANTS))
        return m


def _delayed(m: Module, name: str, value: Value, cycles: int) -> Value:
    for cycle in range(cycles):
        later = Signal(len(value), name=f"{name}_after_{cycle + 1}")
        m.d.sync += later.eq(value)
        value = later
    return value
