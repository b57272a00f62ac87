"""Reduction of rows: a tree over the lanes of a beat, then one chain over the beats of a row."""

from amaranth.hdl import Instance, Module, Mux, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from hdl.arith.add import Fp32Add
from hdl.arith.compare import Fp32MaxMin
from hdl.delay import delayed
from hdl.shared import SharedModules
from sim.config import CaeConfig

MINUS_INFINITY = 0xFF800000
"""What a maximum leaves as it is."""


class ReductionNode(wiring.Component):
    """Adds two numbers, or takes the greater one.

    Parameters
    ----------
    config : CaeConfig
        Arithmetic latencies.

    Attributes
    ----------
    maximum : In(1)
        Take the greater one; held while numbers are on their way.
    a, b : In(32)
        fp32 operands.
    o : Out(32)
        fp32 result, ``config.add_latency`` cycles later.
    """

    maximum: In(1)
    a: In(32)
    b: In(32)
    o: Out(32)

    def __init__(self, config: CaeConfig) -> None:
        self.config = config
        super().__init__()

    def elaborate(self, platform: object) -> Module | Instance:
        """Build both beside each other, or stand in for them where all nodes share one module."""
        latency = self.config.add_latency
        if isinstance(platform, SharedModules):
            return platform.instance(f"reduction_node_a{latency}", self)
        m = Module()
        m.submodules.add = add = Fp32Add(latency=latency)
        m.submodules.choose = choose = Fp32MaxMin(latency=0)
        chosen = delayed(m, choose.o, latency, name="chosen", reset_less=False)[-1]
        m.d.comb += [
            add.a.eq(self.a),
            add.b.eq(self.b),
            choose.a.eq(self.a),
            choose.b.eq(self.b),
            self.o.eq(Mux(self.maximum, chosen, add.o)),
        ]
        return m


class RowReduction(wiring.Component):
    """Reduces beats, one a cycle; beats of one row must be ``config.add_latency`` cycles apart.

    Parameters
    ----------
    config : CaeConfig
        Lanes and arithmetic latencies.

    Attributes
    ----------
    maximum : In(1)
        Take maxima instead of sums; held while beats are on their way.
    elements : In
        A beat of fp32 numbers; lanes that do not count hold `neutral`.
    neutral : In(32)
        -0 for sums, -infinity for maxima; held as well.
    first : In(1)
        With `elements`: the first beat of its row.
    result : Out(32)
        The row's sum or maximum up to this beat, ``config.vector_row_cycles`` later.
    """

    def __init__(self, config: CaeConfig) -> None:
        self.config = config
        super().__init__(
            {
                "maximum": In(1),
                "elements": In(data.ArrayLayout(32, config.lanes)),
                "neutral": In(32),
                "first": In(1),
                "result": Out(32),
            }
        )

    def elaborate(self, _platform: object) -> Module:
        """Build the tree and the chain."""
        m = Module()
        config = self.config
        level = [self.elements[lane] for lane in range(config.lanes)]
        depth = 0
        while len(level) > 1:
            depth += 1
            # A missing neighbour counts as neutral; a pair of them would be neutral again, so there is none.
            level.extend([self.neutral] * (len(level) % 2))
            level = [
                self._node(m, f"node_{depth}_{pair}", *level[2 * pair : 2 * pair + 2])
                for pair in range(len(level) // 2)
            ]
        first = delayed(m, self.first, depth * config.add_latency, name="first")[-1]
        total = Signal(32)
        m.d.comb += self.result.eq(self._node(m, "chain", Mux(first, self.neutral, total), level[0]))
        m.d.comb += total.eq(self.result)
        return m

    def _node(self, m: Module, name: str, a, b) -> Signal:
        m.submodules[name] = node = ReductionNode(self.config)
        m.d.comb += [node.maximum.eq(self.maximum), node.a.eq(a), node.b.eq(b)]
        return node.o
