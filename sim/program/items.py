"""Work items: the steps of a program, in the order in which their results are needed.

A tensor is named; items say which tensors they read and which one they make. The three executors (golden model, RTL,
timing model) take the same items.
"""

from dataclasses import dataclass
from typing import Literal

from sim.program.partition import Shards

Direction = Literal["forward", "backward"]


@dataclass(frozen=True, kw_only=True)
class Item:
    """What all items have.

    Attributes
    ----------
    layer : int
        Layer of the model.
    direction : {"forward", "backward"}
        Pass.
    """

    layer: int
    direction: Direction

    @property
    def label(self) -> str:
        """Name for tables: layer, pass and kind."""
        return f"layer {self.layer} {self.direction}: {type(self).__name__.lower()}"


@dataclass(frozen=True, kw_only=True)
class Reduce(Item):
    """Near-Memory Engines: ``partials = sum of weight * source`` for each destination, DIMM by DIMM.

    Attributes
    ----------
    shards : Shards
        The sharded graph.
    features : int
        Width of the vectors.
    source, result : str
        Tensor [N, features] read, and the partial sums made of it.
    """

    shards: Shards
    features: int
    source: str
    result: str


@dataclass(frozen=True, kw_only=True)
class Merge(Item):
    """Vector units: add up the partial sums of each destination by rising DIMM, from +0.

    Attributes
    ----------
    shards : Shards
        The shards that made the partial sums.
    features : int
        Width of the vectors.
    source, result : str
        Partial sums read, and the tensor [N, features] made.
    """

    shards: Shards
    features: int
    source: str
    result: str


@dataclass(frozen=True, kw_only=True)
class Product(Item):
    """Systolic array: ``result = left right``, with the operands transposed as the kind says.

    Attributes
    ----------
    kind : {"xw", "dywt", "xtdy"}
        ``X W`` (forward), ``dY W^T`` (gradient of the input), ``X^T dY`` (gradient of the weights).
    rows, depth, columns : int
        M, K and N of the product as the array sees it.
    left, right, result : str
        Tensors.
    """

    kind: Literal["xw", "dywt", "xtdy"]
    rows: int
    depth: int
    columns: int
    left: str
    right: str
    result: str


@dataclass(frozen=True, kw_only=True)
class Vector(Item):
    """Vector units: an operation on each element.

    Attributes
    ----------
    operation : {"relu", "relu_gradient", "loss", "adam"}
        What is done.
    elements : int
        Elements worked on.
    source, result : str
        Tensors.
    """

    operation: Literal["relu", "relu_gradient", "loss", "adam"]
    elements: int
    source: str
    result: str


AnyItem = Reduce | Merge | Product | Vector


@dataclass(frozen=True, kw_only=True)
class Program:
    """A list of work items.

    Attributes
    ----------
    name : str
        What it computes.
    items : tuple of items
        In order.
    """

    name: str
    items: tuple[AnyItem, ...]
