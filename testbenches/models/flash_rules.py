"""Which rule a command to the flash breaks."""

from enum import IntEnum

from amaranth.hdl import Const, Mux, Value
from amaranth.lib import data

from sim.config import FlashConfig


class FlashRule(IntEnum):
    """What a command can break; of several at once the first in this list is named."""

    NONE = 0
    BUS_TAKEN = 1
    """A command while another one is on the bus, or a page is moved: the bus is never shared."""
    BAD_UNIT = 2
    """No such die."""
    BAD_PAGE = 3
    """Read of a page that the die does not have."""
    BAD_SECTORS = 4
    """Transfer of sectors behind the last of the page."""
    UNIT_BUSY = 5
    """Read by a die that reads, whose register holds a page, or whose page is being moved."""
    UNIT_NOT_READY = 6
    """Transfer from a die whose register holds no page."""


def broken_rule(config: FlashConfig, command: data.View, *, taken: Value, idle: Value, ready: Value) -> Value:
    """Build the judge of one bus.

    Parameters
    ----------
    config : FlashConfig
        The flash.
    command : View of `FLASH_COMMAND`
        What is on the bus in this cycle.
    taken : Value
        The bus is taken by what was begun before.
    idle, ready : Value
        A bit for each die: it has nothing to do; its register holds a page.

    Returns
    -------
    Value
        The `FlashRule` that is broken in this cycle, of 8 bits.
    """
    reads, moves = command.valid & ~command.transfer, command.valid & command.transfer
    sectors = config.page_bytes // config.sector_bytes
    rows = config.pages // (config.channels * config.units)
    breaks = {
        FlashRule.BUS_TAKEN: command.valid & taken,
        FlashRule.BAD_UNIT: command.valid & (command.unit >= config.units),
        FlashRule.BAD_PAGE: reads & (command.page >= rows),
        FlashRule.BAD_SECTORS: moves & (command.first_sector + command.sectors >= sectors),
        FlashRule.UNIT_BUSY: reads & ~idle.bit_select(command.unit, 1),
        FlashRule.UNIT_NOT_READY: moves & ~ready.bit_select(command.unit, 1),
    }
    broken: Value = Const(FlashRule.NONE, 8)
    for rule, happens in reversed(breaks.items()):
        broken = Mux(happens, rule, broken)
    return broken
