"""Matrices in the memory of the Centralized Acceleration Engine: where each stands, and how it becomes beats."""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from sim.program.cae_program import MemoryRows
from sim.program.instructions import ElementType


@dataclass(frozen=True, kw_only=True)
class Matrix:
    """A row-major matrix in memory; each row begins a beat.

    Attributes
    ----------
    rows, columns : int
        Its size.
    element : ElementType
        How its elements stand there.
    place : MemoryRows
        Where it stands.
    """

    rows: int
    columns: int
    element: ElementType
    place: MemoryRows

    @property
    def beats(self) -> int:
        """Beats that it takes."""
        return self.rows * self.place.pitch


@dataclass
class MemoryMap:
    """Matrices one behind the other.

    Attributes
    ----------
    lanes : int
        Elements of a beat.
    matrices : dict of str to Matrix
        By name.
    beats : int
        Beats that all of them take.
    """

    lanes: int
    matrices: dict[str, Matrix] = field(default_factory=dict)
    beats: int = 0

    def add(self, name: str, rows: int, columns: int, element: ElementType) -> Matrix:
        """Give a matrix its place.

        Parameters
        ----------
        name : str
            Its name, not used before.
        rows, columns : int
            Its size.
        element : ElementType
            How its elements stand there.

        Returns
        -------
        Matrix
            The matrix.

        Raises
        ------
        ValueError
            The name is taken.
        """
        if name in self.matrices:
            raise ValueError(f"there is a matrix {name!r} already")
        pitch = -(-columns // self.lanes) * (2 if element == ElementType.FP32 else 1)
        matrix = Matrix(rows=rows, columns=columns, element=element, place=MemoryRows(self.beats, pitch))
        self.matrices[name] = matrix
        self.beats += matrix.beats
        return matrix

    def empty(self) -> NDArray[np.uint16]:
        """Return a memory of zeros.

        Returns
        -------
        ndarray of uint16, shape [beats, lanes]
            The memory.
        """
        return np.zeros((self.beats, self.lanes), np.uint16)

    def write(self, memory: NDArray[np.uint16], name: str, bits: NDArray[np.unsignedinteger]) -> None:
        """Put a matrix into a memory.

        Parameters
        ----------
        memory : ndarray of uint16, shape [beats or more, lanes]
            The memory; changed in place.
        name : str
            The matrix.
        bits : ndarray of uint16 (BF16) or uint32 (FP32), shape [rows, columns]
            Its elements' bits.

        Raises
        ------
        ValueError
            The shape or the type is another.
        """
        matrix = self.matrices[name]
        dtype = np.uint16 if matrix.element == ElementType.BF16 else np.uint32
        if bits.shape != (matrix.rows, matrix.columns) or bits.dtype != dtype:
            raise ValueError(
                f"{name}: got {bits.dtype} of shape {bits.shape}; it is {np.dtype(dtype)} of shape "
                f"({matrix.rows}, {matrix.columns})"
            )
        padded = np.pad(bits, ((0, 0), (0, -matrix.columns % self.lanes)))
        region = memory[matrix.place.address : matrix.place.address + matrix.beats]
        region[:] = np.ascontiguousarray(padded).view(np.uint16).reshape(-1, self.lanes)

    def read(self, memory: NDArray[np.uint16], name: str) -> NDArray[np.unsignedinteger]:
        """Take a matrix out of a memory.

        Parameters
        ----------
        memory : ndarray of uint16, shape [beats or more, lanes]
            The memory.
        name : str
            The matrix.

        Returns
        -------
        ndarray of uint16 (BF16) or uint32 (FP32), shape [rows, columns]
            Its elements' bits.
        """
        matrix = self.matrices[name]
        region = memory[matrix.place.address : matrix.place.address + matrix.beats].reshape(matrix.rows, -1)
        words = np.ascontiguousarray(region)
        elements = words if matrix.element == ElementType.BF16 else words.view(np.uint32)
        return elements[:, : matrix.columns].copy()
