"""The arithmetic is IEEE 754 with the contract's flushing, for every input.

What is proved: the RTL as it is shipped, pipeline included, is translated to SMT-LIB and unrolled over its latency. The
first state is unconstrained and so are all inputs in all cycles. `latency` cycles after the operands, the outputs are
compared bit by bit, zero signs and the canonical NaN included, with SMT-LIB's own FloatingPoint theory.

* Every block is proved for all inputs at every latency that it offers. None is left to testing.
* `Fp32Mul` is proved against `fp.mul` at its default latency. At every latency it is also proved against the definition
  of IEEE multiplication (the exact product, from an integer multiplication, rounded once), which is a thousand times
  faster, as the solver need not find out that two ways to multiply agree.
* The solver knows no bf16. A bf16 operand is the fp32 number with 16 zeros appended, and rounding to bf16 is rounding a
  significand, as a real number from 128 to 256, to the nearest integer.

`sim.golden.numbers` is tied to the same contract by tests, not by proof. Counterexamples to planted bugs are checked
with it.
"""

import sys
from collections.abc import Callable
from types import SimpleNamespace

import numpy as np
import pytest
from amaranth.hdl import Cat, Module, Value
from amaranth.lib.wiring import Out

from hdl.arith.add import Fp32Add
from hdl.arith.compare import Fp32Compare, Fp32MaxMin
from hdl.arith.convert import Bf16ToFp32, Fp32ToBf16
from hdl.arith.mul import Bf16Mul, Fp32Mul
from hdl.arith.pipeline import Cuts, Pipeline
from sim.golden import numbers
from testbenches.formal.smt import Answer, at, solve, transition_system, unroll

pytestmark = pytest.mark.formal

CONTRACT = """
(define-fun zeroed ((x (_ BitVec 32))) (_ BitVec 32)
  (ite (= ((_ extract 30 23) x) #x00) (concat ((_ extract 31 31) x) (_ bv0 31)) x))
(define-fun fp32 ((x (_ BitVec 32))) (_ FloatingPoint 8 24) ((_ to_fp 8 24) (zeroed x)))
(define-fun bf16 ((x (_ BitVec 16))) (_ FloatingPoint 8 24) (fp32 (concat x #x0000)))
(define-fun is_fp32 ((bits (_ BitVec 32)) (r (_ FloatingPoint 8 24))) Bool
  (ite (fp.isNaN r) (= bits #x7fc00000)
  (ite (fp.isSubnormal r) (= bits (ite (fp.isNegative r) #x80000000 #x00000000))
  (= ((_ to_fp 8 24) bits) r))))
"""

ADDS = "(is_fp32 o (fp.add RNE (fp32 a) (fp32 b)))"
MULTIPLIES = "(is_fp32 o (fp.mul RNE (fp32 a) (fp32 b)))"
MULTIPLIES_BF16 = "(is_fp32 o (fp.mul RNE (bf16 a) (bf16 b)))"
COMPARES = """
(and (= lt (fp.lt (fp32 a) (fp32 b))) (= eq (fp.eq (fp32 a) (fp32 b)))
     (= unordered (or (fp.isNaN (fp32 a)) (fp.isNaN (fp32 b)))))
"""
# Numbers that compare equal have equal bits or are zeros: "or" of the bits then gives -0 if there is one, "and" +0.
CHOOSES = """
(= o (ite (or (fp.isNaN (fp32 a)) (fp.isNaN (fp32 b))) #x7fc00000
     (ite (fp.eq (fp32 a) (fp32 b)) (ite minimum (bvor (zeroed a) (zeroed b)) (bvand (zeroed a) (zeroed b)))
     (ite (= minimum (fp.lt (fp32 a) (fp32 b))) (zeroed a) (zeroed b)))))
"""
# A carry out of the rounded significand, then 256, goes into the exponent.
NARROWS = """
(= o (ite (fp.isNaN (fp32 a)) #x7fc0
     (ite (not (fp.isNormal (fp32 a))) ((_ extract 31 16) (zeroed a))
     (let ((significand (fp #b0 #b10000000110 (concat ((_ extract 22 0) a) (_ bv0 29)))))
     (concat ((_ extract 31 31) a)
       (bvadd (concat ((_ extract 30 23) a) (_ bv0 7)) (bvsub ((_ fp.to_ubv 15) RNE significand) (_ bv128 15))))))))
"""
WIDENS = "(is_fp32 o (bf16 a))"

# Of normal numbers: the integer product of the significands, put into a double, which holds it exactly. Its exponent is
# the sum of the stored ones, less twice the bias of fp32 (127), plus that of doubles (1023): + 769.
MULTIPLIES_BY_DEFINITION = """
(let ((p (bvmul (concat (_ bv1 25) ((_ extract 22 0) a)) (concat (_ bv1 25) ((_ extract 22 0) b))))
      (e (bvadd (concat #b000 ((_ extract 30 23) a)) (concat #b000 ((_ extract 30 23) b)) (_ bv769 11)))
      (s (bvxor ((_ extract 31 31) a) ((_ extract 31 31) b))))
 (ite (and (fp.isNormal (fp32 a)) (fp.isNormal (fp32 b)))
  (is_fp32 o ((_ to_fp 8 24) RNE
    (ite (= ((_ extract 47 47) p) #b1) (fp s (bvadd e (_ bv1 11)) (concat ((_ extract 46 0) p) (_ bv0 5)))
                                       (fp s e (concat ((_ extract 45 0) p) (_ bv0 6))))))
  (is_fp32 o (fp.mul RNE (fp32 a) (fp32 b)))))
"""


def counterexample(block: Pipeline, claim: str) -> Answer:
    """Look for inputs with which a block breaks a claim.

    Parameters
    ----------
    block : Pipeline
        Any of the arithmetic blocks.
    claim : str
        SMT-LIB term over the block's ports, the outputs `latency` cycles after the inputs.

    Returns
    -------
    Answer
        Unsatisfiable if the claim holds; else the values at the ports.
    """
    ports = []
    for name, member in block.signature.members.items():
        bits = member.shape
        cycle = block.latency if member.flow == Out else 0
        ports.append(f"(define-fun {name} () {'Bool' if bits == 1 else f'(_ BitVec {bits})'} {at(name, cycle)})")
    text = [transition_system(block), CONTRACT, unroll(block.latency), *ports, f"(assert (not {claim}))"]
    return solve("\n".join(text), tuple(block.signature.members))


def prove(block: Pipeline, claim: str) -> None:
    answer = counterexample(block, claim)
    sys.stdout.write(f"{type(block).__name__}, latency {block.latency}: {answer.seconds:.2f} s\n")
    assert not answer.satisfiable, {name: f"{value:#x}" for name, value in answer.values.items()}


@pytest.mark.parametrize("latency", range(Fp32Add.MAX_LATENCY + 1))
def test_adder_is_ieee_addition(latency: int) -> None:
    prove(Fp32Add(latency=latency), ADDS)


def test_multiplier_is_ieee_multiplication() -> None:
    prove(Fp32Mul(), MULTIPLIES)


@pytest.mark.parametrize("latency", range(Fp32Mul.MAX_LATENCY + 1))
def test_multiplier_rounds_the_exact_product(latency: int) -> None:
    prove(Fp32Mul(latency=latency), MULTIPLIES_BY_DEFINITION)


@pytest.mark.parametrize("latency", range(Bf16Mul.MAX_LATENCY + 1))
def test_bf16_multiplier_is_ieee_multiplication(latency: int) -> None:
    prove(Bf16Mul(latency=latency), MULTIPLIES_BF16)


@pytest.mark.parametrize(
    ("block", "claim"),
    [(Fp32Compare, COMPARES), (Fp32MaxMin, CHOOSES), (Fp32ToBf16, NARROWS), (Bf16ToFp32, WIDENS)],
    ids=["compare", "max_min", "fp32_to_bf16", "bf16_to_fp32"],
)
def test_comparisons_and_conversions_are_ieee(block: type[Pipeline], claim: str) -> None:
    for latency in range(block.MAX_LATENCY + 1):
        prove(block(latency=latency), claim)


@pytest.mark.parametrize("block", [Fp32Add, Fp32Mul, Bf16Mul, Fp32Compare, Fp32MaxMin, Fp32ToBf16, Bf16ToFp32])
def test_proofs_are_not_empty(block: type[Pipeline]) -> None:
    assert counterexample(block(), "false").satisfiable


def _ties_up(*, exponent: Value, guard: Value, **_others: Value) -> Value:
    return guard | (exponent == 0)


def _no_gradual_underflow(*, lsb: Value, guard: Value, sticky: Value, **_others: Value) -> Value:
    return guard & (lsb | sticky)


class _WithoutSticky(Fp32Add):
    @staticmethod
    def align(m: Module, significand: Value, distance: Value) -> Value:
        return Cat(0, Fp32Add.align(m, significand, distance)[1:])


class _WrongSignOfZero(Fp32Add):
    @staticmethod
    def sign_of_zero(a_sign: Value, b_sign: Value) -> Value:
        return a_sign | b_sign


class _WithoutOneStage(Fp32Add):
    CUTS = (*Fp32Add.CUTS[:3], (3, 5), *Fp32Add.CUTS[4:])


class _OneRegisterMissing(Fp32Mul):
    """The sign, alone, is not held at the multiplier's register."""

    def cuts(self, m: Module) -> Cuts:
        registered, direct, point = super().cuts(m), Cuts(m, ()), 0

        def cut(**values: Value) -> SimpleNamespace:
            nonlocal point
            point += 1
            held = registered(**values)
            if point == 2:
                held.sign = direct(unheld_sign=values["sign"]).unheld_sign
            return held

        return cut


def _keep(bits: Value) -> Value:
    return bits


def _chosen(a: np.uint32, b: np.uint32, minimum: int) -> np.uint32:
    return (numbers.fp32_min if minimum else numbers.fp32_max)(a, b)


_ROUND_UP = "hdl.arith.format.round_up"


@pytest.mark.parametrize(
    ("block", "patch", "claim", "golden"),
    [
        pytest.param(Fp32Add, (_ROUND_UP, _ties_up), ADDS, numbers.fp32_add, id="sum_ties_up"),
        pytest.param(_WithoutSticky, None, ADDS, numbers.fp32_add, id="no_sticky_bit"),
        pytest.param(_WrongSignOfZero, None, ADDS, numbers.fp32_add, id="wrong_sign_of_zero"),
        pytest.param(_WithoutOneStage, None, ADDS, numbers.fp32_add, id="stage_missing"),
        pytest.param(Fp32Mul, (_ROUND_UP, _ties_up), MULTIPLIES, numbers.fp32_mul, id="product_ties_up"),
        pytest.param(
            Fp32Mul,
            (_ROUND_UP, _no_gradual_underflow),
            MULTIPLIES_BY_DEFINITION,
            numbers.fp32_mul,
            id="product_never_rises_to_normal",
        ),
        pytest.param(_OneRegisterMissing, None, MULTIPLIES_BY_DEFINITION, numbers.fp32_mul, id="register_missing"),
        pytest.param(Fp32MaxMin, ("hdl.arith.compare.flush", _keep), CHOOSES, _chosen, id="max_min_keep_subnormals"),
        pytest.param(
            Fp32ToBf16, ("hdl.arith.convert.flush", _keep), NARROWS, numbers.fp32_to_bf16, id="bf16_keeps_subnormals"
        ),
    ],
)
def test_planted_bugs_are_found(
    block: type[Pipeline],
    patch: tuple[str, Callable[..., Value]] | None,
    claim: str,
    golden: Callable[..., np.ndarray],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if patch is not None:
        monkeypatch.setattr(*patch)
    answer = counterexample(block(), claim)
    assert answer.satisfiable
    inputs = {name: np.uint32(value) for name, value in answer.values.items() if name != "o"}
    shown = ", ".join(f"{name}={value:#x}" for name, value in answer.values.items())
    sys.stdout.write(f"{block.__name__}: {shown}, found in {answer.seconds:.2f} s\n")
    assert golden(*inputs.values()) != answer.values["o"]
