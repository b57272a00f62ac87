"""The vector unit's golden model against formulas in numpy, and against what the operations are for."""

from functools import reduce
from itertools import product

import numpy as np
import pytest

from sim.golden import functions
from sim.golden.numbers import canonical, flush, fp32_add, fp32_max, fp32_mul
from sim.golden.vector import vector_operation
from sim.program.cae_check import knows_vector
from sim.program.instructions import (
    NEEDS_RIGHT,
    RightOperand,
    VectorFunction,
    VectorOperation,
    VectorReduction,
)
from testbenches.arith.cases import SPECIALS
from testbenches.sim.golden.test_threefry import in_integers

ONE, ZERO, MINUS_ZERO, MINUS_INFINITY = (np.uint32(word) for word in (0x3F800000, 0, 0x80000000, 0xFF800000))
FUNCTIONS = {
    VectorFunction.NONE: lambda x: x,
    VectorFunction.RELU: lambda x: fp32_max(x, ZERO),
    VectorFunction.EXP: functions.fp32_exp,
    VectorFunction.LOG: functions.fp32_log,
    VectorFunction.RECIPROCAL: functions.fp32_reciprocal,
    VectorFunction.RECIPROCAL_SQRT: functions.fp32_reciprocal_sqrt,
}


def bits(value):
    return int(np.float32(value).view(np.uint32))


def floats(words):
    return words.view(np.float32).astype(np.float64)


def numbers(rng, shape, special=0.3):
    plain = rng.standard_normal(shape).astype(np.float32).view(np.uint32)
    return np.where(rng.random(shape) < special, rng.choice(SPECIALS, shape), plain)


def operate(operation, a, b, alpha, beta, kept):
    """Give the operation's result by array formulas."""
    plain = canonical(flush(a))
    is_positive = {name: flush(x).view(np.float32) > 0 for name, x in (("a", a), ("b", b))}
    alpha_a = fp32_mul(alpha, a)
    line = fp32_add(alpha_a, beta)
    root = np.where(np.isin(flush(a), [0, 0x80000000, 0x7F800000]), plain, fp32_mul(a, b))
    return {
        VectorOperation.COMBINE: lambda: fp32_add(alpha_a, fp32_mul(beta, b)),
        VectorOperation.MULTIPLY: lambda: fp32_mul(a, b),
        VectorOperation.AFFINE: lambda: line,
        VectorOperation.MAXIMUM: lambda: fp32_max(a, b),
        VectorOperation.LEAKY_RELU: lambda: np.where(is_positive["a"], plain, alpha_a),
        VectorOperation.RELU_GRADIENT: lambda: np.where(is_positive["b"], plain, ZERO),
        VectorOperation.LEAKY_RELU_GRADIENT: lambda: np.where(is_positive["b"], plain, alpha_a),
        VectorOperation.ELU_GRADIENT: lambda: np.where(is_positive["b"], plain, fp32_add(fp32_mul(a, b), alpha_a)),
        VectorOperation.SELECT_POSITIVE: lambda: np.where(is_positive["b"], canonical(flush(b)), line),
        VectorOperation.ROOT: lambda: root,
        VectorOperation.DROPOUT: lambda: np.where(kept, alpha_a, ZERO),
    }[operation]()


def tree(words, join, neutral):
    words = [*words, *[neutral] * ((1 << (len(words) - 1).bit_length()) - len(words))]
    while len(words) > 1:
        words = [join(words[i], words[i + 1]) for i in range(0, len(words), 2)]
    return words[0]


def reduced(reduction, x, columns, lanes):
    """Give the reduction's result by lists of columns or rows."""
    if reduction == VectorReduction.NONE:
        return np.where(np.arange(x.shape[1]) < columns, x, ZERO)
    if reduction == VectorReduction.COLUMN_SUM:
        chains = [[*x[chain::4]] for chain in range(4)]
        ends = [reduce(fp32_add, chain) if chain else np.full(x.shape[1], MINUS_ZERO) for chain in chains]
        total = fp32_add(fp32_add(ends[0], ends[1]), fp32_add(ends[2], ends[3]))
        return np.where(np.arange(x.shape[1]) < columns, total, ZERO)[None]
    join, neutral = (fp32_add, MINUS_ZERO) if reduction == VectorReduction.ROW_SUM else (fp32_max, MINUS_INFINITY)
    beats = []
    for first in range(0, columns, lanes):
        end = min(columns, first + lanes)
        missing = [np.full(len(x), neutral)] * (first + lanes - end)
        beats.append(tree([*x[:, first:end].T, *missing], join, np.full(len(x), neutral)))
    return np.repeat(reduce(join, beats)[:, None], lanes, axis=1)


def reference(job, left, right, lanes):
    rows, columns, width = job["rows"], job["columns"], left.shape[1]
    mode = job["right_operand"]
    if mode in (RightOperand.NONE, RightOperand.SAME):
        right = left
    elif mode == RightOperand.BY_ROW:
        right = np.tile(right, width // lanes)
    right = np.broadcast_to(right, left.shape)
    kept = np.zeros(left.shape, bool)
    if job["operation"] == VectorOperation.DROPOUT:
        key = (job["key"] & 0xFFFFFFFF, job["key"] >> 32)
        for row, column in np.ndindex(rows, columns):
            draw = in_integers(key, ((job["depth"] + row) % 2**32, column // 2))[column % 2]
            kept[row, column] = draw < job["beta"]
    alpha, beta = np.uint32(job["alpha"]), np.uint32(job["beta"])
    operated = operate(job["operation"], left, right, alpha, beta, kept)
    return reduced(job["reduction"], FUNCTIONS[job["function"]](operated), columns, lanes)


def right_of(mode, rng, rows, width, lanes):
    shapes = {
        RightOperand.FULL: (rows, width),
        RightOperand.BY_ROW: (rows, lanes),
        RightOperand.BY_COLUMN: (1, width),
    }
    return numbers(rng, shapes[mode]) if mode in shapes else None


@pytest.mark.parametrize("lanes", [1, 3, 4, 8, 12])
@pytest.mark.parametrize("operation", VectorOperation)
def test_every_combination(operation, lanes):
    rng = np.random.default_rng(100 * operation + lanes)
    for mode, function, reduction in product(RightOperand, VectorFunction, VectorReduction):
        if (operation in NEEDS_RIGHT) != (mode != RightOperand.NONE):
            continue
        rows, columns = int(rng.integers(1, 12)), int(rng.integers(1, 3 * lanes + 1))
        width = -(-columns // lanes) * lanes
        job = {"operation": operation, "right_operand": mode, "function": function, "reduction": reduction}
        job |= {"rows": rows, "columns": columns, "depth": int(rng.choice([5, (1 << 32) - 2]))}
        job |= {name: int(numbers(rng, ())) for name in ("alpha", "beta")}
        job["key"] = int(rng.integers(1 << 64, dtype=np.uint64))
        left, right = numbers(rng, (rows, width)), right_of(mode, rng, rows, width, lanes)
        got = vector_operation(job, left, right, lanes)
        assert got.dtype == np.uint32
        np.testing.assert_array_equal(got, reference(job, left, right, lanes), err_msg=str(job))


PLAIN = {"function": 0, "reduction": 0, "right_operand": 0, "alpha": bits(1), "beta": 0, "key": 0, "depth": 0}


def run(lanes=8, right=None, left=None, **fields):
    job = PLAIN | {"rows": len(left), "columns": left.shape[1]} | fields
    return vector_operation(job, left, right, lanes)


def smooth(seed, shape=(20, 16)):
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32).view(np.uint32)


def test_elu_and_its_gradient():
    x, slope = smooth(0), 1.25
    grown = run(left=x, operation=VectorOperation.AFFINE, beta=bits(0), function=VectorFunction.EXP)
    alpha = {"alpha": bits(slope), "right_operand": RightOperand.FULL}
    y = run(left=grown, right=x, operation=VectorOperation.SELECT_POSITIVE, beta=bits(-slope), **alpha)
    want = np.where(floats(x) > 0, floats(x), slope * np.expm1(floats(x)))
    np.testing.assert_allclose(floats(y), want, atol=1e-6)
    gradient = run(left=smooth(1), right=y, operation=VectorOperation.ELU_GRADIENT, **alpha)
    want = floats(smooth(1)) * np.where(floats(x) > 0, 1, slope * np.exp(floats(x)))
    np.testing.assert_allclose(floats(gradient), want, atol=1e-5)


def test_square_root():
    a = np.concatenate([smooth(2).ravel() & 0x7FFFFFFF, np.array([0, 0x80000000, 0x7F800000, 1, *[bits(4)] * 4])])
    a = a.astype(np.uint32).reshape(-1, 8)
    b = run(left=a, operation=VectorOperation.AFFINE, beta=0x80000000, function=VectorFunction.RECIPROCAL_SQRT)
    got = run(left=a, right=b, operation=VectorOperation.ROOT, right_operand=RightOperand.FULL)
    np.testing.assert_allclose(floats(got), np.sqrt(floats(flush(a))), rtol=2e-7)
    assert got.ravel()[-8:-4].tolist() == [0, 0x80000000, 0x7F800000, 0]


def test_softmax():
    """Row maximum, exponential of the difference, row sum, reciprocal: each row adds up to 1."""
    x = smooth(3, (9, 24))
    top = run(left=x, operation=VectorOperation.AFFINE, beta=0x80000000, reduction=VectorReduction.ROW_MAXIMUM)
    assert (floats(top) == floats(x).max(1, keepdims=True)).all()
    combine = {"operation": VectorOperation.COMBINE, "right_operand": RightOperand.BY_ROW, "beta": bits(-1)}
    grown = run(left=x, right=top, function=VectorFunction.EXP, **combine)
    total = run(left=grown, operation=VectorOperation.AFFINE, beta=0x80000000, reduction=VectorReduction.ROW_SUM)
    inverse = run(left=total, operation=VectorOperation.AFFINE, beta=0x80000000, function=VectorFunction.RECIPROCAL)
    share = run(left=grown, right=inverse, operation=VectorOperation.MULTIPLY, right_operand=RightOperand.BY_ROW)
    want = np.exp(floats(x))
    np.testing.assert_allclose(floats(share), want / want.sum(1, keepdims=True), rtol=1e-6)


def test_dropout_keeps_the_asked_share_whatever_the_tiles():
    ones = np.full((300, 200), bits(1), np.uint32)
    fields = {"operation": VectorOperation.DROPOUT, "alpha": bits(4), "beta": 1 << 30, "key": 99}
    whole = run(left=ones, depth=1000, **fields)
    assert set(np.unique(whole)) == {0, bits(4)}
    assert abs((whole > 0).mean() - 0.25) < 0.01
    parts = [run(left=ones[first : first + 70], depth=1000 + first, **fields) for first in range(0, 300, 70)]
    assert (np.concatenate(parts) == whole).all()
    assert (run(left=ones, depth=1000, lanes=1, **fields) == whole).all()


def test_order_of_additions_is_part_of_the_contract():
    """With 1 and terms that vanish beside it, another order gives another sum."""
    small = bits(2.0**-24)
    column = np.array([[bits(1)], [small], [small], [small], [small]], np.uint32)
    got = run(left=column, lanes=1, operation=VectorOperation.AFFINE, reduction=VectorReduction.COLUMN_SUM)
    assert got[0, 0] == bits(1 + 2.0**-23)  # ((1 + s4) + s1) + (s2 + s3), in one chain it would be 1
    row = np.array([[small, small, bits(1), small]], np.uint32)
    got = run(left=row, lanes=4, operation=VectorOperation.AFFINE, beta=0x80000000, reduction=VectorReduction.ROW_SUM)
    assert got.tolist() == [[bits(1 + 2.0**-23)] * 4]


def test_padding():
    """What stands in lanes beyond the columns, NaN too, has no effect, and they are +0 in the result."""
    left = np.full((3, 8), 0x7FC00000, np.uint32)
    left[:, :5] = bits(-2)
    for reduction, want in (
        (VectorReduction.NONE, [[bits(-2)] * 5 + [0] * 3] * 3),
        (VectorReduction.ROW_SUM, [[bits(-10)] * 4] * 3),
        (VectorReduction.ROW_MAXIMUM, [[bits(-2)] * 4] * 3),
        (VectorReduction.COLUMN_SUM, [[bits(-6)] * 5 + [0] * 3]),
    ):
        got = run(left=left, lanes=4, columns=5, operation=VectorOperation.AFFINE, reduction=reduction)
        assert got.tolist() == want


def test_shapes_are_checked():
    left = smooth(5, (4, 16))
    with pytest.raises(ValueError, match=r"left operand must have the shape \(4, 16\), not \(4, 8\)"):
        run(left=left[:, :8], columns=9, operation=VectorOperation.AFFINE)
    for mode, shape in (("FULL", (4, 16)), ("BY_ROW", (4, 8)), ("BY_COLUMN", (1, 16))):
        fields = {"operation": VectorOperation.MULTIPLY, "right_operand": RightOperand[mode]}
        for wrong in (None, np.zeros((2, 8), np.uint32)):
            with pytest.raises(ValueError, match=rf"right operand must have the shape \({shape[0]}, {shape[1]}\)"):
                run(left=left, right=wrong, **fields)


def test_which_instructions_are_good():
    takes_none = {"AFFINE", "LEAKY_RELU", "DROPOUT"}
    assert {operation.name for operation in VectorOperation} - takes_none == {one.name for one in NEEDS_RIGHT}
    good = 0
    for operation, function, reduction, right in product(range(256), range(8), range(6), range(7)):
        fields = {"operation": operation, "function": function, "reduction": reduction, "right_operand": right}
        known = 1 <= operation <= 11 and function <= 5 and reduction <= 3 and right <= 4
        fits = known and (VectorOperation(operation).name in takes_none) == (right == 0)
        assert knows_vector(fields) == fits
        good += fits
    assert good == (8 * 4 + 3) * 6 * 4
