"""When a unit of the Centralized Acceleration Engine did what for a job."""

from collections.abc import Iterable
from typing import NamedTuple


class JobTiming(NamedTuple):
    """Cycles of one job; cycle 0 is the first clock edge after reset.

    Attributes
    ----------
    started : int
        The unit took the job.
    read : int
        It pulsed `read`: it reads no bank for the job any more.
    done : int
        It pulsed `done`: the job's last write is made.
    """

    started: int
    read: int
    done: int


class JobCounters:
    """Cycle counts of a unit that runs one job at a time; in the cycle that takes a job it is idle.

    Parameters
    ----------
    names : iterable of str
        Names of the counters; the last is ``idle``.
    """

    def __init__(self, names: Iterable[str]) -> None:
        self._counts = dict.fromkeys(names, 0)
        self._free = 0

    def counters(self, until: int) -> dict[str, int]:
        """Count the cycles before one.

        Parameters
        ----------
        until : int
            The cycle; after the last job was done.

        Returns
        -------
        dict of str to int
            Cycles by name; `until` together.

        Raises
        ------
        ValueError
            The last job is not done by then.
        """
        if until < self._free:
            raise ValueError(f"the counters are known from cycle {self._free} on, not in {until}: a job is under way")
        return self._counts | {"idle": until - sum(self._counts.values())}
