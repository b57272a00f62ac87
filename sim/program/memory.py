"""Requests to the DRAM scheduler, the commands it gives a device, and its responses."""

from enum import IntEnum

from sim.program.layout import Field, Layout


class DramCommand(IntEnum):
    """Commands on the command bus of a DRAM channel."""

    NONE = 0
    """No command in this cycle."""
    ACTIVATE = 1
    """Open a row of a bank."""
    READ = 2
    """Read one burst of the open row."""
    WRITE = 3
    """Write one burst of the open row."""
    PRECHARGE = 4
    """Close the open row of a bank."""
    PRECHARGE_ALL = 5
    """Close the open rows of all banks of a rank."""
    REFRESH = 6
    """Refresh a rank, all banks of which are closed."""


_BANK = (
    Field(name="rank", bits=4, meaning="rank on the channel"),
    Field(name="bank_group", bits=3, meaning="bank group of the rank"),
    Field(name="bank", bits=3, meaning="bank of the bank group"),
    Field(name="row", bits=18, meaning="row of the bank"),
    Field(name="column", bits=8, meaning="burst in the row: column address divided by the burst length"),
)

DRAM_REQUEST = Layout(
    "DramRequest",
    (
        Field(name="write", bits=1, meaning="1 to write, 0 to read"),
        *_BANK,
        Field(name="bursts", bits=8, meaning="bursts to move, 1 or more, all in this row"),
        Field(name="tag", bits=16, meaning="any number; comes back with each burst"),
    ),
)
"""A request for successive bursts of one row."""

DRAM_COMMAND = Layout("CommandBus", (Field(name="command", bits=3, meaning="`DramCommand`"), *_BANK))
"""What stands on the command bus in one cycle; fields that a command does not use are 0.

Reads and writes carry the row that the scheduler takes to be open: devices do not need it, checkers do.
"""

DRAM_BURST = Layout(
    "DramBurst",
    (
        Field(name="tag", bits=16, meaning="the request's tag"),
        Field(name="burst", bits=8, meaning="which of the request's bursts, from 0"),
        Field(name="last", bits=1, meaning="1 on the request's last burst"),
    ),
)
"""One burst of a request, given when its data moves."""
