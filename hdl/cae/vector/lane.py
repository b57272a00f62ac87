"""One lane of a vector unit: what becomes of an element before it is written or reduced."""

from amaranth.hdl import Instance, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from hdl.arith.add import Fp32Add
from hdl.arith.compare import Fp32MaxMin
from hdl.arith.exp import Fp32Exp
from hdl.arith.format import unpack
from hdl.arith.log import Fp32Log
from hdl.arith.mul import Fp32Mul
from hdl.arith.reciprocal import Fp32Reciprocal
from hdl.arith.reciprocal_sqrt import Fp32ReciprocalSqrt
from hdl.delay import delayed
from hdl.shared import SharedModules
from sim.config import CaeConfig
from sim.config.cae import VECTOR_FUNCTION_CYCLES
from sim.program.instructions import VectorFunction, VectorOperation

ONE = 0x3F800000
MINUS_ZERO = 0x80000000
"""What an addition leaves as it is. +0 would turn -0 into +0."""

_FUNCTIONS = {
    VectorFunction.EXP: Fp32Exp,
    VectorFunction.LOG: Fp32Log,
    VectorFunction.RECIPROCAL: Fp32Reciprocal,
    VectorFunction.RECIPROCAL_SQRT: Fp32ReciprocalSqrt,
}


class VectorLane(wiring.Component):
    """Chooses the factors of two products, adds the products, applies a function.

    Every operation is such a sum: what only passes is multiplied by 1 and added to -0, which flushes it and makes a NaN
    canonical. An element takes ``config.vector_element_cycles - 2`` cycles through the lane, whatever the operation.

    Parameters
    ----------
    config : CaeConfig
        Arithmetic latencies.

    Attributes
    ----------
    operation, function : In(4), In(3)
        `VectorOperation` and `VectorFunction`; held while elements are on their way, as are the next three.
    same : In(1)
        The right operand is the left one.
    alpha, beta : In(32)
        fp32 numbers.
    left, right : In(32)
        fp32 elements, in cycle t.
    kept : In(1)
        DROPOUT: the element is kept; in cycle t + 1 + vector_mul_latency + add_latency.
    active, neutral : In(1), In(32)
        Whether the element counts, and what stands in its place if not; in the cycle before `result`.
    result : Out(32)
        fp32 result.
    """

    operation: In(4)
    function: In(3)
    same: In(1)
    alpha: In(32)
    beta: In(32)
    left: In(32)
    right: In(32)
    kept: In(1)
    active: In(1)
    neutral: In(32)
    result: Out(32)

    def __init__(self, config: CaeConfig) -> None:
        self.config = config
        super().__init__()

    def elaborate(self, platform: object) -> Module | Instance:
        """Build the data path, or stand in for it where all lanes share one module."""
        config = self.config
        if isinstance(platform, SharedModules):
            return platform.instance(f"vector_lane_m{config.vector_mul_latency}_a{config.add_latency}", self)
        m = Module()
        m.submodules.first = first = Fp32Mul(latency=config.vector_mul_latency)
        m.submodules.second = second = Fp32Mul(latency=config.vector_mul_latency)
        m.submodules.add = add = Fp32Add(latency=config.add_latency)
        self._select(m, first, second)
        operated = Signal(32)
        m.d.comb += [
            add.a.eq(first.o),
            add.b.eq(second.o),
            operated.eq(Mux((self.operation == VectorOperation.DROPOUT) & ~self.kept, 0, add.o)),
        ]
        passed = delayed(m, operated, VECTOR_FUNCTION_CYCLES, name="passed")[-1]
        applied = Signal(32)
        m.d.comb += applied.eq(passed)
        blocks = {kind: block(latency=VECTOR_FUNCTION_CYCLES) for kind, block in _FUNCTIONS.items()}
        for kind, block in blocks.items():
            m.submodules[kind.name.lower()] = block
            m.d.comb += block.a.eq(operated)
        with m.Switch(self.function):
            with m.Case(VectorFunction.RELU):
                m.d.comb += applied.eq(Mux(passed[-1], 0, passed))  # the canonical NaN is positive
            for kind, block in blocks.items():
                with m.Case(kind):
                    m.d.comb += applied.eq(block.o)
        m.d.sync += self.result.eq(Mux(self.active, applied, self.neutral))
        return m

    def _select(self, m: Module, first: Fp32Mul, second: Fp32Mul) -> None:
        """Choose the factors, in a cycle of its own."""
        left, right = self.left, Signal(32, name="b")
        m.submodules.choose = choose = Fp32MaxMin(latency=0)
        m.d.comb += [right.eq(Mux(self.same, self.left, self.right)), choose.a.eq(left), choose.b.eq(right)]
        a, b = unpack(left), unpack(right)
        a_positive, b_positive = (~(x.sign | x.zero | x.nan) for x in (a, b))
        m.d.sync += [first.a.eq(left), first.b.eq(ONE), second.a.eq(MINUS_ZERO), second.b.eq(ONE)]
        by_alpha = first.b.eq(self.alpha)
        with m.Switch(self.operation):
            with m.Case(VectorOperation.COMBINE):
                m.d.sync += [by_alpha, second.a.eq(right), second.b.eq(self.beta)]
            with m.Case(VectorOperation.MULTIPLY):
                m.d.sync += first.b.eq(right)
            with m.Case(VectorOperation.AFFINE):
                m.d.sync += [by_alpha, second.a.eq(self.beta)]
            with m.Case(VectorOperation.MAXIMUM):
                m.d.sync += first.a.eq(choose.o)
            with m.Case(VectorOperation.LEAKY_RELU), m.If(~a_positive):
                m.d.sync += by_alpha
            with m.Case(VectorOperation.RELU_GRADIENT), m.If(~b_positive):
                m.d.sync += first.a.eq(0)
            with m.Case(VectorOperation.LEAKY_RELU_GRADIENT), m.If(~b_positive):
                m.d.sync += by_alpha
            with m.Case(VectorOperation.ELU_GRADIENT), m.If(~b_positive):
                m.d.sync += [first.b.eq(right), second.a.eq(left), second.b.eq(self.alpha)]
            with m.Case(VectorOperation.SELECT_POSITIVE):
                with m.If(b_positive):
                    m.d.sync += first.a.eq(right)
                with m.Else():
                    m.d.sync += [by_alpha, second.a.eq(self.beta)]
            with m.Case(VectorOperation.ROOT), m.If(~(a.zero | (a.infinite & ~a.sign))):
                m.d.sync += first.b.eq(right)
            with m.Case(VectorOperation.DROPOUT):
                m.d.sync += by_alpha
