"""What a controller tells the flash of one channel."""

from sim.program.layout import Field, Layout
from sim.program.ssd_streams import PAGE_BITS, UNIT_BITS

FLASH_COMMAND = Layout(
    "FlashCommand",
    (
        Field(name="valid", bits=1, meaning="1 in the cycle of a command, with which the bus is taken"),
        Field(name="transfer", bits=1, meaning="0: read a page into its die's register; 1: move the register's page"),
        Field(name="unit", bits=UNIT_BITS, meaning="die of the channel"),
        Field(name="page", bits=PAGE_BITS, meaning="read: page of the die, over all its planes and blocks"),
        Field(name="first_sector", bits=8, meaning="transfer: first sector of the page that is moved"),
        Field(name="", bits=5),
        Field(name="sectors", bits=8, meaning="transfer: sectors that are moved, less one"),
    ),
)
"""A command on a channel's bus."""
