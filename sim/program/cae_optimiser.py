"""Optimisers as vector instructions: fp32 master weights, changed in place."""

from dataclasses import dataclass
from typing import Literal

from sim.program.cae_program import CaeProgram, Rows
from sim.program.instructions import RightOperand, VectorFunction, VectorOperation

Rule = Literal["sgd", "adam", "adamw"]


@dataclass(frozen=True, kw_only=True)
class Optimiser:
    """How weights follow their gradients.

    Attributes
    ----------
    rule : {"sgd", "adam", "adamw"}
        Stochastic gradient descent with momentum; Adam (Kingma and Ba, 2015), whose weight decay is added to the
        gradient; AdamW (Loshchilov and Hutter, 2019), whose decay is not.
    learning_rate, weight_decay : float
        Of all rules. Defaults: GNNear's artifact.
    momentum : float
        Of SGD: velocity = momentum velocity + gradient, weight = weight - learning_rate velocity.
    beta1, beta2, epsilon : float
        Of Adam. Defaults: Kingma and Ba.
    """

    rule: Rule = "adam"
    learning_rate: float = 0.01
    weight_decay: float = 5e-4
    momentum: float = 0.9
    beta1: float = 0.9
    beta2: float = 0.999
    epsilon: float = 1e-8

    @property
    def states(self) -> tuple[str, ...]:
        """What the rule keeps for each weight from step to step, 0 at first."""
        return ("velocity",) if self.rule == "sgd" else ("first_moment", "second_moment")


@dataclass(frozen=True, kw_only=True)
class Weights:
    """Where a matrix of weights stands, with all that its update needs; everything has its shape and fp32.

    Attributes
    ----------
    size : tuple of int
        Its rows and columns.
    weight : Rows
        The master weights.
    gradient : Rows
        Their gradient; overwritten.
    states : tuple of Rows
        As `Optimiser.states`.
    scratch : Rows
        Room for one more matrix. Three banks are enough: weights and states in one, gradient and scratch in one each.
    """

    size: tuple[int, int]
    weight: Rows
    gradient: Rows
    states: tuple[Rows, ...]
    scratch: Rows


def update_weights(program: CaeProgram, optimiser: Optimiser, weights: Weights, step: int) -> None:
    """Add one step of an optimiser.

    Parameters
    ----------
    program : CaeProgram
        Where the instructions go.
    optimiser : Optimiser
        The rule.
    weights : Weights
        What it changes.
    step : int
        Number of the step, from 1 on.
    """
    if optimiser.rule == "sgd":
        _sgd(program, optimiser, weights)
    else:
        _adam(program, optimiser, weights, step)


def _combine(program: CaeProgram, weights: Weights, target: Rows, alpha: float, other: Rows, beta: float) -> None:
    """Add target = alpha target + beta other."""
    program.vector(
        VectorOperation.COMBINE,
        target,
        target,
        weights.size,
        right=other,
        alpha=alpha,
        beta=beta,
    )


def _sgd(program: CaeProgram, optimiser: Optimiser, weights: Weights) -> None:
    (velocity,) = weights.states
    if optimiser.weight_decay:
        _combine(program, weights, weights.gradient, 1.0, weights.weight, optimiser.weight_decay)
    _combine(program, weights, velocity, optimiser.momentum, weights.gradient, 1.0)
    # Weight and velocity share a bank: the velocity goes round by the scratch.
    rate = optimiser.learning_rate
    program.vector(VectorOperation.AFFINE, velocity, weights.scratch, weights.size, alpha=rate, beta=-0.0)
    _combine(program, weights, weights.weight, 1.0, weights.scratch, -1.0)


def _adam(program: CaeProgram, optimiser: Optimiser, weights: Weights, step: int) -> None:
    first, second = weights.states
    gradient, scratch, size = weights.gradient, weights.scratch, weights.size
    beta1, beta2 = optimiser.beta1, optimiser.beta2
    if optimiser.weight_decay and optimiser.rule == "adam":
        _combine(program, weights, gradient, 1.0, weights.weight, optimiser.weight_decay)
    if optimiser.weight_decay and optimiser.rule == "adamw":
        kept = 1 - optimiser.learning_rate * optimiser.weight_decay
        program.vector(VectorOperation.AFFINE, weights.weight, weights.weight, size, alpha=kept, beta=-0.0)
    _combine(program, weights, first, beta1, gradient, 1 - beta1)
    program.vector(VectorOperation.MULTIPLY, gradient, scratch, size, mode=RightOperand.SAME)
    _combine(program, weights, second, beta2, scratch, 1 - beta2)
    # The square root of the second moment, corrected for its start at 0, plus epsilon; 1 divided by that.
    program.copy(second, scratch, size, function=VectorFunction.RECIPROCAL_SQRT)
    program.vector(VectorOperation.ROOT, second, gradient, size, right=scratch)
    program.vector(
        VectorOperation.AFFINE,
        gradient,
        scratch,
        size,
        alpha=(1 - beta2**step) ** -0.5,
        beta=optimiser.epsilon,
        function=VectorFunction.RECIPROCAL,
    )
    program.vector(VectorOperation.MULTIPLY, first, gradient, size, right=scratch)
    _combine(program, weights, weights.weight, 1.0, gradient, -optimiser.learning_rate / (1 - beta1**step))
