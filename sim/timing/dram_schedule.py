"""What a DRAM scheduler does with its requests: every command, its cycle, and what it serves."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sim.program.memory import DramCommand

READ, WRITE = int(DramCommand.READ), int(DramCommand.WRITE)
ACTIVATE, PRECHARGE = int(DramCommand.ACTIVATE), int(DramCommand.PRECHARGE)
PRECHARGE_ALL, REFRESH = int(DramCommand.PRECHARGE_ALL), int(DramCommand.REFRESH)


@dataclass(frozen=True, kw_only=True)
class DramSchedule:
    """What a scheduler does with its requests; cycle 0 is the first clock edge after reset.

    Attributes
    ----------
    requests : dict of str to ndarray
        The requests, decoded.
    accepted : ndarray of int64, shape [n_requests]
        Cycle in which each request is taken.
    cycle : ndarray of int64, shape [n_commands]
        Cycle of each command, up to and with the last read or write.
    command : ndarray of int8, shape [n_commands]
        `DramCommand` of each.
    served : ndarray of int64, shape [n_commands]
        The request that each command serves; -1 for steps of a refresh.
    burst : ndarray of int16, shape [n_commands]
        For reads and writes, which of the request's bursts; 0 elsewhere.
    refreshed : ndarray of int8, shape [n_commands]
        For steps of a refresh, the rank; 0 elsewhere.
    """

    requests: dict[str, NDArray[np.unsignedinteger]]
    accepted: NDArray[np.int64]
    cycle: NDArray[np.int64]
    command: NDArray[np.int8]
    served: NDArray[np.int64]
    burst: NDArray[np.int16]
    refreshed: NDArray[np.int8]

    @property
    def moves(self) -> NDArray[np.bool_]:
        """Which commands are reads or writes."""
        return np.isin(self.command, (READ, WRITE))

    def bus(self, name: str) -> NDArray[np.int64]:
        """Return a field of the command bus.

        Parameters
        ----------
        name : {"rank", "bank_group", "bank", "row", "column"}
            A field of `DRAM_COMMAND`.

        Returns
        -------
        ndarray of int64, shape [n_commands]
            Its value with each command, 0 where the command does not use it.
        """
        if not len(self.requests[name]):
            return np.zeros(len(self.cycle), np.int64)
        value = self.requests[name].astype(np.int64)[self.served]
        if name == "rank":
            return np.where(self.served < 0, self.refreshed, value)
        if name == "row":
            return np.where(self.moves | (self.command == ACTIVATE), value, 0)
        if name == "column":
            return np.where(self.moves, value + self.burst, 0)
        return np.where(self.served < 0, 0, value)

    def count(self, command: DramCommand) -> int:
        """Return how many commands of a kind there are.

        Parameters
        ----------
        command : DramCommand
            The kind.

        Returns
        -------
        int
            Commands.
        """
        return int(np.count_nonzero(self.command == command))

    @property
    def cycles(self) -> int:
        """From the first cycle after reset to the last read or write command, inclusive."""
        return int(self.cycle[-1]) + 1 if len(self.cycle) else 0
