"""Sum of a column: four chains of additions, then their sum."""

from amaranth.hdl import Instance, Module, Mux
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from hdl.arith.add import Fp32Add
from hdl.cae.vector.lane import MINUS_ZERO
from hdl.delay import delayed
from hdl.shared import SharedModules
from sim.config import CaeConfig

CHAINS = 4


class ColumnSum(wiring.Component):
    """Adds up the elements of one lane, one a cycle; a column after the other.

    Row r of a column joins chain r mod 4, so that its chain's sum is there whatever the latency of an adder. What the
    four chains end with comes in four neighbouring cycles, in an order that depends on the number of rows:

    =======  ==========  ===============  ===========================
    rows     chains end  pair complete    pair complete with last row
    =======  ==========  ===============  ===========================
    4 n      0 1 2 3     0, 1 at the 2nd  2, 3
    4 n + 1  1 2 3 0     2, 3 at the 3rd  0, 1
    4 n + 2  2 3 0 1     2, 3 at the 2nd  0, 1
    4 n + 3  3 0 1 2     0, 1 at the 3rd  2, 3
    =======  ==========  ===============  ===========================

    So an odd row's partner came 1 cycle before, an even last row's 3 cycles before, and the other pair 1 or 2 cycles
    before the last. The adders work on whatever comes; only what they give for the last row counts.

    Parameters
    ----------
    config : CaeConfig
        Arithmetic latencies.

    Attributes
    ----------
    element : In(32)
        fp32 number, in cycle t.
    fresh : In(1)
        With `element`: one of the first four rows; there is no sum of its chain yet.
    pair_odd, pair_fresh : In(1)
        The row's lowest bit, and `fresh`; in cycle t + add_latency.
    one_pair, odd_rows : In(1)
        Whether a column has at most two rows, and whether their number is odd; held while elements are on their way.
    result : Out(32)
        With the last row: the column's sum, in cycle t + 3 add_latency.
    """

    element: In(32)
    fresh: In(1)
    pair_odd: In(1)
    pair_fresh: In(1)
    one_pair: In(1)
    odd_rows: In(1)
    result: Out(32)

    def __init__(self, config: CaeConfig) -> None:
        self.config = config
        super().__init__()

    def elaborate(self, platform: object) -> Module | Instance:
        """Build three adders and what they wait in, or stand in for them where all lanes share one module."""
        latency = self.config.add_latency
        if isinstance(platform, SharedModules):
            return platform.instance(f"column_sum_a{latency}", self)
        m = Module()
        m.submodules.chain = chain = Fp32Add(latency=latency)
        m.submodules.pair = pair = Fp32Add(latency=latency)
        m.submodules.final = final = Fp32Add(latency=latency)
        chains = delayed(m, chain.o, CHAINS - 1, name="chain", reset_less=False)
        pairs = delayed(m, pair.o, 2, name="pair", reset_less=False)
        m.d.comb += [
            chain.a.eq(Mux(self.fresh, MINUS_ZERO, chains[CHAINS - latency])),
            chain.b.eq(self.element),
            pair.a.eq(Mux(self.pair_odd, chains[1], Mux(self.pair_fresh, MINUS_ZERO, chains[3]))),
            pair.b.eq(chain.o),
            final.a.eq(Mux(self.one_pair, MINUS_ZERO, Mux(self.odd_rows, pairs[1], pairs[2]))),
            final.b.eq(pair.o),
            self.result.eq(final.o),
        ]
        return m
