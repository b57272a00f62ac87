"""Polynomials in hardware against the same in Python's whole numbers, for small tables of any signs."""

import numpy as np
import pytest
from amaranth.hdl import Module
from amaranth.lib.wiring import In, Out

from hdl.arith.pipeline import Pipeline
from hdl.arith.table import fitted
from sim.program.functions import RESULT_BITS, SLOPE_BITS, Coefficients
from testbenches.arith.rtl import simulate

REST_BITS = 9
TABLES = [
    [Coefficients(1 << 31, 5 << 20, 3 << 10), Coefficients(0xC0000000, 1, 0)],
    [Coefficients(1 << 30, -(1 << 23), 1 << 12), Coefficients((1 << 31) - 1, -1, -4096)],
    [Coefficients(3 << 29, 12345, -1), Coefficients(3 << 29, -12345, 1)],
]


class _Evaluated(Pipeline):
    CUTS = ((), (3,), (1, 3), (1, 2, 3))

    a: In(REST_BITS + 1)
    o: Out(RESULT_BITS + 1)
    also: Out(1)

    def __init__(self, table, **options):
        super().__init__(**options)
        self.table = table

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        x = fitted(m, self.cuts(m), self.table, part=self.a[-1], rest=self.a[:-1], also=self.a[0])
        m.d.comb += [self.o.eq(x.value), self.also.eq(x.also)]
        return m


@pytest.mark.parametrize("latency", range(4))
@pytest.mark.parametrize("table", TABLES, ids=["rising", "falling", "both"])
def test_every_place_of_every_part(table, latency):
    a = np.arange(2 << REST_BITS, dtype=np.uint32)
    seen = simulate(_Evaluated(table, latency=latency), a=a)
    expected = []
    for word in a.tolist():
        part, t = table[word >> REST_BITS], word % (1 << REST_BITS) - (1 << REST_BITS - 1)
        slope = (part.c1 << SLOPE_BITS) + (part.c2 * t >> REST_BITS - 1 - SLOPE_BITS)
        expected.append(part.c0 + (slope * t >> REST_BITS - 1 + SLOPE_BITS))
    assert seen["o"][latency:].tolist() == expected
    assert seen["also"][latency:].tolist() == (a & 1).tolist()
