"""When a unit of the Centralized Acceleration Engine did what for a job."""

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
