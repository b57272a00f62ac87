"""Programs of the Centralized Acceleration Engine, instruction by instruction."""

from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from sim.program.instructions import (
    CAE_INSTRUCTION,
    CaeOpcode,
    ElementType,
    ProductKind,
    ProductPart,
    RightOperand,
    VectorFunction,
    VectorOperation,
    VectorReduction,
)


@dataclass(frozen=True)
class Rows:
    """Where the rows of an operand stand in a bank.

    Attributes
    ----------
    bank : int
        The bank.
    address : int
        First beat of the first row.
    pitch : int
        Beats from one row to the next.
    part : int
        PRODUCT: part of the beat in which each row begins.
    """

    bank: int
    address: int = 0
    pitch: int = 1
    part: int = 0


@dataclass(frozen=True)
class MemoryRows:
    """Where the rows of a matrix stand in the memory.

    Attributes
    ----------
    address : int
        First beat of the first row.
    pitch : int
        Beats from one row to the next.
    """

    address: int
    pitch: int = 1


def fp32_bits(number: float) -> int:
    """Return the bits of the fp32 number nearest to a number.

    Parameters
    ----------
    number : float
        Any number.

    Returns
    -------
    int
        Its bits; infinity beyond the range of fp32.
    """
    with np.errstate(over="ignore"):
        return int(np.float32(number).view(np.uint32))


@dataclass
class CaeProgram:
    """Instructions in order; each method adds one, and the fields it does not use are 0.

    Attributes
    ----------
    instructions : list of dict of str to int
        Fields of each.
    """

    instructions: list[dict[str, int]] = field(default_factory=list)

    def encode(self) -> NDArray[np.uint8]:
        """Return the instructions, tagged with their numbers.

        Returns
        -------
        ndarray of uint8, shape [n_instructions, CAE_INSTRUCTION.bytes]
            The program.
        """
        names = [entry.name for entry in CAE_INSTRUCTION.fields if entry.name]
        values = {name: [one.get(name, 0) for one in self.instructions] for name in names}
        values["tag"] = [number % 65536 for number in range(len(self.instructions))]
        arrays = {name: np.array(column, np.uint64) for name, column in values.items()}
        return CAE_INSTRUCTION.encode(len(self.instructions), arrays)

    def load(self, element: ElementType, source: MemoryRows, result: Rows, *, rows: int, columns: int) -> None:
        """Add a LOAD of a matrix.

        Parameters
        ----------
        element : ElementType
            How elements stand in memory.
        source : MemoryRows
            Where from.
        result : Rows
            Where to.
        rows, columns : int
            Size.
        """
        self._transfer(CaeOpcode.LOAD, element, source, rows=rows, columns=columns, **_place("result", result))

    def store(self, element: ElementType, left: Rows, target: MemoryRows, *, rows: int, columns: int) -> None:
        """Add a STORE of a matrix.

        Parameters
        ----------
        element : ElementType
            How elements stand in memory.
        left : Rows
            Where from.
        target : MemoryRows
            Where to.
        rows, columns : int
            Size.
        """
        self._transfer(CaeOpcode.STORE, element, target, rows=rows, columns=columns, **_place("left", left))

    def product(
        self,
        kind: ProductKind,
        left: Rows,
        right: Rows,
        result: Rows,
        *,
        rows: int,
        depth: int,
        columns: int,
        part: ProductPart = ProductPart.WHOLE,
    ) -> None:
        """Add one tile of a product.

        Parameters
        ----------
        kind : ProductKind
            Which operand is transposed.
        left, right, result : Rows
            The operands as they lie, and the result.
        rows, depth, columns : int
            M, K and N.
        part : ProductPart
            Which part of K.
        """
        self.instructions.append(
            {
                "opcode": CaeOpcode.PRODUCT,
                "operation": kind,
                "function": part,
                "rows": rows,
                "depth": depth,
                "columns": columns,
                **_place("left", left),
                **_place("right", right),
                **_place("result", result),
            }
        )

    def merge(self, sources: Iterable[int], result: Rows, *, rows: int, columns: int) -> None:
        """Add a MERGE.

        Parameters
        ----------
        sources : iterable of int
            Numbers of the sources.
        result : Rows
            Where the sums go.
        rows, columns : int
            Destination slots, and features.
        """
        mask = sum(1 << source for source in set(sources))
        self.instructions.append(
            {"opcode": CaeOpcode.MERGE, "depth": mask, "rows": rows, "columns": columns, **_place("result", result)}
        )

    def vector(
        self,
        operation: VectorOperation,
        left: Rows,
        result: Rows,
        size: tuple[int, int],
        *,
        right: Rows | None = None,
        mode: RightOperand = RightOperand.NONE,
        alpha: float = 0.0,
        beta: float = 0.0,
        function: VectorFunction = VectorFunction.NONE,
        reduction: VectorReduction = VectorReduction.NONE,
        unit: int = 0,
    ) -> None:
        """Add a VECTOR; for a DROPOUT see `dropout`.

        Parameters
        ----------
        operation : VectorOperation
            What is done to each element.
        left, result : Rows
            Where a is, and where the result goes.
        size : tuple of int
            Rows and columns of left.
        right : Rows, optional
            Where b is, if `mode` asks for it.
        mode : RightOperand
            How b is read; FULL if `right` is given and nothing is said.
        alpha, beta : float
            fp32 numbers of the operation.
        function : VectorFunction
            What follows the operation.
        reduction : VectorReduction
            What is written.
        unit : int
            Vector unit.
        """
        if right is not None and mode == RightOperand.NONE:
            mode = RightOperand.FULL
        self.instructions.append(
            {
                "opcode": CaeOpcode.VECTOR,
                "operation": operation,
                "function": function,
                "reduction": reduction,
                "right_operand": mode,
                "unit": unit,
                "rows": size[0],
                "columns": size[1],
                "alpha": fp32_bits(alpha),
                "beta": fp32_bits(beta),
                **_place("left", left),
                **(_place("right", right) if right is not None else {}),
                **_place("result", result),
            }
        )

    def copy(
        self,
        left: Rows,
        result: Rows,
        size: tuple[int, int],
        *,
        function: VectorFunction = VectorFunction.NONE,
        reduction: VectorReduction = VectorReduction.NONE,
        unit: int = 0,
    ) -> None:
        """Add a VECTOR that changes nothing before its function: times 1, plus -0.

        Parameters
        ----------
        left, result : Rows
            Where from, and where to; a bank of bf16 rounds.
        size : tuple of int
            Rows and columns of left.
        function : VectorFunction
            What is applied.
        reduction : VectorReduction
            What is written.
        unit : int
            Vector unit.
        """
        self.vector(
            VectorOperation.AFFINE,
            left,
            result,
            size,
            alpha=1.0,
            beta=-0.0,
            function=function,
            reduction=reduction,
            unit=unit,
        )

    def dropout(
        self,
        left: Rows,
        result: Rows,
        size: tuple[int, int],
        *,
        keep: float,
        key: int,
        first_row: int = 0,
        unit: int = 0,
    ) -> None:
        """Add a VECTOR that keeps elements with a probability, divided by it, and makes +0 of the others.

        The same key and rows keep the same elements: so the gradient is masked as the activations were.

        Parameters
        ----------
        left, result : Rows
            Where the elements are, and where the result goes.
        size : tuple of int
            Rows and columns.
        keep : float
            Probability to keep an element, above 0 and up to 1 (of which 2**-32 is lost).
        key : int
            Key of the draws: seed, layer and epoch, as the program likes.
        first_row : int
            Number of the first row in the whole matrix.
        unit : int
            Vector unit.

        Raises
        ------
        ValueError
            `keep` is not a probability above 0.
        """
        if not 0 < keep <= 1:
            raise ValueError(f"keep is {keep}; it is a probability above 0 and up to 1")
        self.vector(VectorOperation.DROPOUT, left, result, size, alpha=1 / keep, unit=unit)
        threshold = min(round(keep * 2**32), 2**32 - 1)
        self.instructions[-1] |= {"beta": threshold, "key": key, "depth": first_row}

    def synchronise(self) -> None:
        """Add a SYNCHRONISE."""
        self.instructions.append({"opcode": CaeOpcode.SYNCHRONISE})

    def _transfer(self, opcode: CaeOpcode, element: ElementType, memory: MemoryRows, **fields: int) -> None:
        place = {"memory_address": memory.address, "memory_pitch": memory.pitch}
        self.instructions.append({"opcode": opcode, "operation": element, **place, **fields})


def _place(operand: str, rows: Rows) -> dict[str, int]:
    return {f"{operand}_{name}": getattr(rows, name) for name in ("bank", "address", "pitch", "part")}
