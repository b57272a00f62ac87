"""What the memory of a DIMM holds: only those lines that were ever written."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sim.program.layout import LayoutError


@dataclass(frozen=True, eq=False)
class DimmImage:
    """Lines of a DIMM's memory with their addresses. It never changes: writing gives a new image.

    Attributes
    ----------
    addresses : ndarray of int64, shape [n]
        Addresses of the lines (see `sim.program.address`), rising, each once.
    lines : ndarray of uint8, shape [n, line_bytes]
        The lines.
    """

    addresses: NDArray[np.int64]
    lines: NDArray[np.uint8]

    @classmethod
    def empty(cls, line_bytes: int) -> "DimmImage":
        """Make the image of a memory in which nothing was written.

        Parameters
        ----------
        line_bytes : int
            Bytes of a line.

        Returns
        -------
        DimmImage
            The image.
        """
        return cls(np.zeros(0, np.int64), np.zeros((0, line_bytes), np.uint8))

    def write(self, addresses: NDArray[np.int64], lines: NDArray[np.uint8]) -> "DimmImage":
        """Write lines, one after the other: where an address comes more than once, the last one stays.

        Parameters
        ----------
        addresses : ndarray of int64, any shape
            Addresses.
        lines : ndarray of uint8, shape of `addresses` and [line_bytes], or flattened
            The lines.

        Returns
        -------
        DimmImage
            The memory afterwards.
        """
        if not addresses.size:
            return self
        every = np.concatenate([self.addresses, addresses.ravel()])
        # The first of equals that `unique` finds in the reversed array is the one written last.
        unique, place = np.unique(every[::-1], return_index=True)
        latest = len(every) - 1 - place
        old = latest < len(self.addresses)
        merged = np.empty((len(unique), self.lines.shape[1]), np.uint8)
        merged[old] = self.lines[latest[old]]
        merged[~old] = lines.reshape(-1, self.lines.shape[1])[latest[~old] - len(self.addresses)]
        return DimmImage(unique, merged)

    def merge(self, other: "DimmImage") -> "DimmImage":
        """Write all that another image holds.

        Parameters
        ----------
        other : DimmImage
            The other image; where both hold a line, its line stays.

        Returns
        -------
        DimmImage
            The memory afterwards.
        """
        return self.write(other.addresses, other.lines)

    def read(self, addresses: NDArray[np.int64]) -> NDArray[np.uint8]:
        """Read lines.

        Parameters
        ----------
        addresses : ndarray of int64, any shape
            Addresses.

        Returns
        -------
        ndarray of uint8, shape of `addresses` and [line_bytes]
            The lines.

        Raises
        ------
        LayoutError
            A line was never written: nobody knows what is there.
        """
        place = np.searchsorted(self.addresses, addresses)
        missing = np.ones(addresses.shape, bool)
        inside = place < len(self.addresses)
        missing[inside] = self.addresses[place[inside]] != addresses[inside]
        if missing.any():
            raise LayoutError(f"line {addresses[missing][0]} is read, but was never written")
        return self.lines[place]
