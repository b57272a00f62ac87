"""For simulation only: every elementary function at every latency, side by side behind one stream."""

import numpy as np
from amaranth.hdl import Cat, EnableInserter, Module, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from hdl.arith.exp import Fp32Exp
from hdl.arith.log import Fp32Log
from hdl.arith.reciprocal import Fp32Reciprocal
from hdl.arith.reciprocal_sqrt import Fp32ReciprocalSqrt

FUNCTIONS = {
    "exp": Fp32Exp,
    "log": Fp32Log,
    "reciprocal": Fp32Reciprocal,
    "reciprocal_sqrt": Fp32ReciprocalSqrt,
}
VARIANTS = tuple((name, latency) for name, block in FUNCTIONS.items() for latency in range(block.MAX_LATENCY + 1))
"""What the bits of ``odd`` belong to."""

RESULTS = data.StructLayout(dict.fromkeys((*FUNCTIONS, "odd"), 32))
RESULTS_DTYPE = np.dtype([(name, "<u4") for name in (*FUNCTIONS, "odd")])

_DEPTH = max(block.MAX_LATENCY for block in FUNCTIONS.values())


class FunctionUnits(wiring.Component):
    """Results of every function at its default latency, and which other latencies disagree with it.

    Attributes
    ----------
    i : stream of 32 bits
        Operands. The blocks' own enable-free pipelines are held as a whole while `o` is not taken.
    o : stream of `RESULTS`
        Results, 6 cycles later; `odd` has a bit for each of `VARIANTS` that is set if its result is not that of the
        default latency.
    """

    i: In(stream.Signature(32))
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
        for name, latency in VARIANTS:
            block = FUNCTIONS[name](latency=latency)
            inner.submodules[f"{name}_{latency}"] = block
            inner.d.comb += block.a.eq(self.i.payload)
            results[name, latency] = _delayed(inner, f"{name}_{latency}", block.o, _DEPTH - latency)

        usual = {name: results[name, block.DEFAULT_LATENCY] for name, block in FUNCTIONS.items()}
        inner.d.comb += [self.o.payload[name].eq(result) for name, result in usual.items()]
        inner.d.comb += self.o.payload.odd.eq(Cat(results[name, latency] != usual[name] for name, latency in VARIANTS))
        return m


def _delayed(m: Module, name: str, value: Value, cycles: int) -> Value:
    for cycle in range(cycles):
        later = Signal(len(value), name=f"{name}_after_{cycle + 1}")
        m.d.sync += later.eq(value)
        value = later
    return value
