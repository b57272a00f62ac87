"""Compiler of one training step of a graph convolutional network, as instructions alone, for graphs that fit the banks.

Two layers: h = act(A X W0 + b0), z = A h W1 + b1. The first aggregation, A X, is merged from the partial sums of the
Near-Memory Engines; the others multiply by A on the array. Weights, their fp32 masters and the optimiser's states come
from memory and go back to it.
"""

from dataclasses import dataclass, field, replace

from sim.config import CaeConfig
from sim.program.cae_loss import cross_entropy
from sim.program.cae_memory import MemoryMap
from sim.program.cae_optimiser import Optimiser, Weights, update_weights
from sim.program.cae_program import CaeProgram, Rows
from sim.program.cae_space import BankSpace
from sim.program.instructions import (
    ElementType,
    ProductKind,
    RightOperand,
    VectorFunction,
    VectorOperation,
    VectorReduction,
)


@dataclass(frozen=True, kw_only=True)
class GcnStep:
    """What is trained, and how.

    Attributes
    ----------
    vertices, features, hidden, classes : int
        Sizes.
    labelled : int
        Vertices with a label.
    sources : int
        Sources of partial sums for the first aggregation, from 0 on.
    keep : float
        Probability to keep a hidden feature in training; 1 for no dropout.
    key : int
        Key of the dropout's draws; the number of the step is added.
    optimiser : Optimiser
        How weights follow gradients.
    """

    vertices: int
    features: int
    hidden: int
    classes: int
    labelled: int
    sources: int
    keep: float = 0.5
    key: int = 0
    optimiser: Optimiser = field(default_factory=Optimiser)

    @property
    def weights(self) -> dict[str, tuple[int, int]]:
        """Shapes of what is trained, by name."""
        return {
            "w0": (self.features, self.hidden),
            "b0": (1, self.hidden),
            "w1": (self.hidden, self.classes),
            "b1": (1, self.classes),
        }

    def memory_map(self, lanes: int) -> MemoryMap:
        """Place all that is in memory before or after a step.

        Parameters
        ----------
        lanes : int
            Elements of a beat.

        Returns
        -------
        MemoryMap
            ``adjacency`` (bf16), ``labels``, ``mask`` (one number for each vertex, in all lanes), ``loss``; for each of
            `weights` its name, and with each of the optimiser's states, as in ``w0.first_moment``: fp32.
        """
        placed, n = MemoryMap(lanes), self.vertices
        placed.add("adjacency", n, n, ElementType.BF16)
        placed.add("labels", n, self.classes, ElementType.FP32)
        placed.add("mask", n, lanes, ElementType.FP32)
        placed.add("loss", 1, 1, ElementType.FP32)
        for name, shape in self.weights.items():
            for full in (name, *(f"{name}.{state}" for state in self.optimiser.states)):
                placed.add(full, *shape, ElementType.FP32)
        return placed


def compile_gcn_step(model: GcnStep, config: CaeConfig, step: int = 1) -> CaeProgram:
    """Compile a training step: forward, loss, backward, update.

    Parameters
    ----------
    model : GcnStep
        What is trained.
    config : CaeConfig
        The engine: four operand banks and four vector banks at least.
    step : int
        Number of the step, from 1 on.

    Returns
    -------
    CaeProgram
        The instructions.

    Raises
    ------
    ValueError
        A matrix does not fit its bank, or the engine has too few of them.
    """
    if config.operand_banks < 4 or config.vector_banks < 4:
        raise ValueError(
            f"a training step needs 4 operand and 4 vector banks; there are {config.operand_banks} and "
            f"{config.vector_banks}"
        )
    return _Step(model, config, step).program


class _Step:
    """The instructions so far, and where things stand.

    Operands of the array stand in four banks of bf16 by their use, so that no product has two in one bank; what the
    vector unit works on goes round three banks of fp32, and what is trained has a fourth.
    """

    def __init__(self, model: GcnStep, config: CaeConfig, step: int) -> None:
        self.program, self.space = CaeProgram(), BankSpace(config)
        self.model, self.config, self.step = model, config, step
        self.memory = model.memory_map(config.lanes).matrices
        self.aggregated, self.streamed, self.stationary, self.graph = range(4)
        self.a, self.b, self.c, self.trained = range(config.operand_banks, config.operand_banks + 4)

        self.adjacency = self._load("adjacency", self.graph)
        names = [name for name in self.memory if name.partition(".")[0] in model.weights]
        self.masters = {name: self._load(name, self.trained) for name in names}
        self.w0, self.w1 = (
            self._copy(self.masters[name], self.stationary, *model.weights[name]) for name in ("w0", "w1")
        )
        self._backward(self._loss(self._forward()))
        for name in names:
            matrix = self.memory[name]
            self.program.store(
                matrix.element, self.masters[name], matrix.place, rows=matrix.rows, columns=matrix.columns
            )

    def _forward(self) -> Rows:
        """Add both layers; return the logits."""
        model, n = self.model, self.model.vertices
        merged = self.space.matrix(self.a, n, model.features)
        self.program.merge(range(model.sources), merged, rows=n, columns=model.features)
        self.a0 = self._copy(merged, self.aggregated, n, model.features)
        z0 = self._product(ProductKind.XW, self.a0, self.w0, self.a, (n, model.features, model.hidden))
        hidden = self._add_bias(z0, "b0", VectorFunction.RELU)
        self.h1 = self.space.matrix(self.streamed, n, model.hidden)
        self._drop(hidden, self.h1)
        self.a1 = self._product(ProductKind.XW, self.adjacency, self.h1, self.aggregated, (n, n, model.hidden))
        z1 = self._product(ProductKind.XW, self.a1, self.w1, self.a, (n, model.hidden, model.classes))
        return self._add_bias(z1, "b1", VectorFunction.NONE)

    def _loss(self, logits: Rows) -> Rows:
        """Add the loss; return its gradient by the logits."""
        model, loss = self.model, self.memory["loss"]
        labels, mask = (self._load(name, self.a) for name in ("labels", "mask"))
        gradient, total = cross_entropy(
            self.program,
            self.space,
            logits,
            labels,
            mask,
            rows=model.vertices,
            columns=model.classes,
            labelled=model.labelled,
            bank=self.c,
        )
        self.program.store(loss.element, total, loss.place, rows=1, columns=1)
        return gradient

    def _backward(self, d1: Rows) -> None:
        """Add the gradients, last layer first, each used as soon as it is there."""
        model, n = self.model, self.model.vertices
        d1_operand = self._copy(d1, self.streamed, n, model.classes)
        sizes = (n, model.classes, model.hidden)
        da1 = self._product(ProductKind.DYWT, d1_operand, self.w1, self.aggregated, sizes)
        self._train("1", self.a1, d1_operand, d1)
        # A^T da1: A lies as it is, and is read across.
        dz0 = self._product(ProductKind.XTDY, self.adjacency, da1, self.a, (n, n, model.hidden))
        self._drop(dz0, dz0)
        masked = self.space.matrix(self.b, n, model.hidden)
        self.program.vector(VectorOperation.RELU_GRADIENT, dz0, masked, (n, model.hidden), right=self.h1)
        self._train("0", self.a0, self._copy(masked, self.streamed, n, model.hidden), masked)

    def _train(self, layer: str, inputs: Rows, gradient_operand: Rows, gradient: Rows) -> None:
        """Add the gradients of a layer's weights and biases, and their updates."""
        n, shapes = self.model.vertices, self.model.weights
        fan_in, fan_out = shapes[f"w{layer}"]
        by_weights = self._product(ProductKind.XTDY, inputs, gradient_operand, self.a, (fan_in, n, fan_out))
        by_biases = self.space.matrix(self.a, 1, fan_out)
        self.program.copy(gradient, by_biases, (n, fan_out), reduction=VectorReduction.COLUMN_SUM)
        for name, found in ((f"w{layer}", by_weights), (f"b{layer}", by_biases)):
            weights = Weights(
                size=shapes[name],
                weight=self.masters[name],
                gradient=found,
                states=tuple(self.masters[f"{name}.{state}"] for state in self.model.optimiser.states),
                scratch=self.space.matrix(self.b, *shapes[name]),
            )
            update_weights(self.program, self.model.optimiser, weights, self.step)

    def _load(self, name: str, bank: int) -> Rows:
        """Add the load of a matrix; return where it goes."""
        matrix = self.memory[name]
        place = self.space.matrix(bank, matrix.rows, matrix.columns)
        self.program.load(matrix.element, matrix.place, place, rows=matrix.rows, columns=matrix.columns)
        return place

    def _copy(self, source: Rows, bank: int, rows: int, columns: int) -> Rows:
        """Add a copy, rounded where the bank is of bf16; return where it goes."""
        place = self.space.matrix(bank, rows, columns)
        self.program.copy(source, place, (rows, columns))
        return place

    def _add_bias(self, source: Rows, name: str, function: VectorFunction) -> Rows:
        """Add a bias and a function; return where the result goes: to bank b."""
        n, (_, columns) = self.model.vertices, self.model.weights[name]
        place = self.space.matrix(self.b, n, columns)
        self.program.vector(
            VectorOperation.COMBINE,
            source,
            place,
            (n, columns),
            right=self.masters[name],
            mode=RightOperand.BY_COLUMN,
            alpha=1.0,
            beta=1.0,
            function=function,
        )
        return place

    def _drop(self, source: Rows, result: Rows) -> None:
        """Add the dropout of the hidden layer, the same draws forward and backward in a step."""
        model, key = self.model, (self.model.key + self.step) % 2**64
        self.program.dropout(source, result, (model.vertices, model.hidden), keep=model.keep, key=key)

    def _product(self, kind: ProductKind, left: Rows, right: Rows, bank: int, sizes: tuple[int, int, int]) -> Rows:
        """Add all tiles of a product of M, K and N; return where the result goes."""
        config, (m, k, n) = self.config, sizes
        lanes, tile_rows = config.lanes, config.accumulator_rows // config.lanes * config.lanes
        place = self.space.matrix(bank, m, n)
        for row in range(0, m, tile_rows):
            across = row // lanes if kind == ProductKind.XTDY else row * left.pitch
            for column in range(0, n, config.columns):
                beat, part = column // lanes, column % lanes // config.columns
                if kind == ProductKind.DYWT:
                    stationary = replace(right, address=right.address + column * right.pitch)
                else:
                    stationary = replace(right, address=right.address + beat, part=part)
                self.program.product(
                    kind,
                    replace(left, address=left.address + across),
                    stationary,
                    replace(place, address=place.address + row * place.pitch + beat, part=part),
                    rows=min(tile_rows, m - row),
                    depth=k,
                    columns=min(config.columns, n - column),
                )
        return place
