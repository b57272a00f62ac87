"""Room in the banks of the Centralized Acceleration Engine, handed out from address 0 up."""

from dataclasses import dataclass, field

from sim.config import CaeConfig
from sim.program.cae_program import Rows


class SpaceError(ValueError):
    """A bank is full; the message says which, and what was asked of it."""


@dataclass
class BankSpace:
    """What is taken of each bank.

    Attributes
    ----------
    config : CaeConfig
        The engine.
    taken : dict of int to int
        Beats, by bank.
    """

    config: CaeConfig
    taken: dict[int, int] = field(default_factory=dict)

    def matrix(self, bank: int, rows: int, columns: int) -> Rows:
        """Take room for a matrix.

        Parameters
        ----------
        bank : int
            The bank.
        rows, columns : int
            Size.

        Returns
        -------
        Rows
            Where it stands, row behind row.

        Raises
        ------
        SpaceError
            The bank has not so many beats left.
        """
        pitch, address = -(-columns // self.config.lanes), self.taken.get(bank, 0)
        self.taken[bank] = address + rows * pitch
        size = self.config.bank_beats(bank)
        if self.taken[bank] > size:
            raise SpaceError(
                f"bank {bank} has {size} beats, of which {address} are taken: "
                f"a matrix of {rows} x {columns} needs {rows * pitch}"
            )
        return Rows(bank, address, pitch)

    def row_numbers(self, bank: int, rows: int) -> Rows:
        """Take room for one number for each row, as a row reduction leaves it: a beat each.

        Parameters
        ----------
        bank : int
            The bank.
        rows : int
            How many.

        Returns
        -------
        Rows
            Where they stand.
        """
        return self.matrix(bank, rows, self.config.lanes)
