"""The DRAM devices of one channel, in simulation only: rules, contents, and what energy is counted from."""

import numpy as np
from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out
from amaranth.utils import ceil_log2
from numpy.typing import ArrayLike, NDArray

from hdl.layout import struct_layout
from sim.config import DramConfig
from sim.program.layout import Field, Layout
from sim.program.memory import DRAM_COMMAND, DramCommand
from testbenches.models.dram_rules import DramRule, DramRules
from testbenches.models.dram_storage import DramStorage

_MULTIPLIER = 0x9E3779B97F4A7C15
"""2^64 divided by the golden ratio, odd: multiplication by it is one-to-one and stirs all high bits."""
_COMMAND_BITS = DRAM_COMMAND.fields[0].bits
_ADDRESS_BITS = DRAM_COMMAND.bits - _COMMAND_BITS


def pattern(
    rank: ArrayLike, bank_group: ArrayLike, bank: ArrayLike, row: ArrayLike, column: ArrayLike, *, burst_bytes: int
) -> NDArray[np.uint8]:
    """Return what a burst holds before it is written.

    Word w (64 bits, little-endian) is ``(w * 2^36 + address + 1) * 0x9E3779B97F4A7C15`` modulo 2^64, where the
    address is the fields of `DRAM_COMMAND` above the command. No two words of a channel are equal.

    Parameters
    ----------
    rank, bank_group, bank, row, column : array_like of int, broadcastable to one shape
        Where.
    burst_bytes : int
        Bytes of a burst.

    Returns
    -------
    ndarray of uint8, shape [..., burst_bytes]
        The bytes in the order of `DramDevice.read_data`, low end first.
    """
    fields = {"rank": rank, "bank_group": bank_group, "bank": bank, "row": row, "column": column}
    address = np.zeros(np.broadcast_shapes(*map(np.shape, fields.values())), np.uint64)
    for field, offset in DRAM_COMMAND.placed()[1:]:
        address += np.asarray(fields[field.name], np.uint64) << np.uint64(offset - _COMMAND_BITS)
    words = np.arange(-(-burst_bytes // 8), dtype=np.uint64) << np.uint64(_ADDRESS_BITS)
    mixed = (words + address[..., None] + np.uint64(1)) * np.uint64(_MULTIPLIER)
    return np.ascontiguousarray(mixed.astype("<u8")).view(np.uint8)[..., :burst_bytes]


def dram_image(burst_bytes: int) -> Layout:
    """Return the record of one burst and where it goes, the payload of `DramDevice.load`.

    Parameters
    ----------
    burst_bytes : int
        Bytes of a burst.

    Returns
    -------
    Layout
        The address fields of `DRAM_COMMAND` and ``data``, an array of `burst_bytes` bytes.
    """
    padding = Field(name="", bits=-_ADDRESS_BITS % 8)
    return Layout(
        "DramImage",
        (*DRAM_COMMAND.fields[1:], padding, Field(name="data", bits=8, count=burst_bytes, meaning="the burst")),
    )


class DramDevice(wiring.Component):
    """All ranks of one channel.

    Commands are executed whether or not they break a rule. A burst that was never written reads as `pattern`. Its place
    in the storage is the low bits of, from low to high, column, bank, bank group, rank and row, each as wide as its
    range asks for: with 2^n times the bursts of one row of all banks, any 2^n successive rows have places of their own.
    A write that needs the place of another burst breaks `DramRule.STORAGE_FULL`. Reset clears all but the storage:
    reset once. To compile a design that holds this one, wrap it in `DramDesign`.

    Parameters
    ----------
    config : DramConfig
        Geometry (`ranks_per_dimm` ranks) and timing.
    storage_bursts : int
        Written bursts that it can hold, a power of two.

    Attributes
    ----------
    command : In
        What stands on the command bus in this cycle.
    load : In(stream)
        Back door: bursts (`dram_image`) that are put into the storage at once, one per cycle, but none while
        write data is stored. Leave it alone if there is nothing to load.
    write_data : In
        A burst, ``cwl + burst_length / 2 - 1`` cycles after the cycle of its WRITE; see `write_data_cycles`.
    read_data : Out
        A burst, ``cl + burst_length / 2`` cycles after the cycle of its READ (`read_data_cycles`), else all ones.
    read_valid : Out(1)
        1 while `read_data` holds a burst.
    violation : Out(8)
        The first broken `DramRule`; stays, from the cycle after it was broken.
    violation_cycle : Out(32)
        The cycle in which it was broken; 0 is the first cycle after reset.
    activates, reads, writes, precharges, refreshes : Out(32)
        Commands so far; `precharges` are those of one or all banks, with or without effect.
    open_cycles : Out(48)
        Sum over ranks of the cycles with at least one open bank: from activate to precharge their difference.

    Raises
    ------
    ValueError
        `storage_bursts` is no power of two, or the configuration does not fit a DRAM command.
    """

    def __init__(self, config: DramConfig, *, storage_bursts: int = 1 << 14) -> None:
        if storage_bursts < 2 or storage_bursts & (storage_bursts - 1):
            raise ValueError(f"storage_bursts is {storage_bursts}; it must be a power of two, 2 or more")
        config.check()
        self.config = config
        self.storage_bursts = storage_bursts
        self.write_data_cycles = config.timing.cwl + config.burst_length // 2 - 1
        self.read_data_cycles = config.timing.cl + config.burst_length // 2
        counters = ("activates", "reads", "writes", "precharges", "refreshes")
        super().__init__(
            {
                "command": In(struct_layout(DRAM_COMMAND)),
                "load": In(stream.Signature(struct_layout(dram_image(config.burst_bytes)))),
                "write_data": In(8 * config.burst_bytes),
                "read_data": Out(8 * config.burst_bytes),
                "read_valid": Out(1),
                "violation": Out(8),
                "violation_cycle": Out(32),
                **{name: Out(32) for name in counters},
                "open_cycles": Out(48),
            }
        )

    def elaborate(self, _platform: object) -> Module:
        """Build rules, counters and storage."""
        m = Module()
        m.submodules.rules = rules = DramRules(self.config)
        m.d.comb += rules.command.eq(self.command)
        full = self._store(m)
        with m.If(self.violation == DramRule.NONE):
            m.d.sync += self.violation.eq(Mux(rules.broken != DramRule.NONE, rules.broken, full))
            with m.If((rules.broken != DramRule.NONE) | (full != DramRule.NONE)):
                m.d.sync += self.violation_cycle.eq(rules.cycle)

        counted = {
            DramCommand.ACTIVATE: self.activates,
            DramCommand.READ: self.reads,
            DramCommand.WRITE: self.writes,
            DramCommand.PRECHARGE: self.precharges,
            DramCommand.PRECHARGE_ALL: self.precharges,
            DramCommand.REFRESH: self.refreshes,
        }
        with m.Switch(self.command.command):
            for command, counter in counted.items():
                with m.Case(command):
                    m.d.sync += counter.eq(counter + 1)
        m.d.sync += self.open_cycles.eq(self.open_cycles + sum(rules.ranks_open))
        return m

    def _store(self, m: Module) -> Value:
        """Build the contents; return the rule that this cycle's write breaks."""
        config = self.config
        history_bits = max(self.write_data_cycles, self.read_data_cycles).bit_length()
        m.submodules.history = history = Memory(shape=struct_layout(DRAM_COMMAND), depth=1 << history_bits, init=[])
        now, remember = Signal(history_bits), history.write_port()
        m.d.sync += now.eq(now + 1)
        m.d.comb += [remember.addr.eq(now), remember.data.eq(self.command), remember.en.eq(1)]

        def past(cycles: int) -> data.View:
            """Return the command of so many cycles ago, at least 1."""
            recall = history.read_port(domain="comb")
            m.d.comb += recall.addr.eq(now - cycles)
            return recall.data

        m.submodules.storage = storage = DramStorage(
            width=8 * config.burst_bytes,
            place_bits=ceil_log2(self.storage_bursts),
            owner_bits=1 + _ADDRESS_BITS,
        )
        writing, load = past(self.write_data_cycles), self.load.payload
        write_place, write_owner = self._place(writing), Cat(1, writing.as_value()[_COMMAND_BITS:])
        is_write = writing.command == DramCommand.WRITE
        m.d.comb += [
            self.load.ready.eq(~is_write),
            storage.write.eq(is_write | self.load.valid),
            storage.write_place.eq(Mux(is_write, write_place, self._place(load))),
            storage.write_owner.eq(Mux(is_write, write_owner, Cat(1, load.as_value()[:_ADDRESS_BITS]))),
            storage.write_data.eq(Mux(is_write, self.write_data, load.data.as_value())),
        ]

        # The storage is read in the cycle before the data is due.
        reading = past(self.read_data_cycles - 1)
        address = Signal(_ADDRESS_BITS)
        m.d.comb += storage.read_place.eq(self._place(reading))
        m.d.sync += [
            self.read_valid.eq(reading.command == DramCommand.READ),
            address.eq(reading.as_value()[_COMMAND_BITS:]),
        ]
        words = [Signal(64, name=f"pattern_{word}") for word in range(-(-config.burst_bytes // 8))]
        for index, word in enumerate(words):
            m.d.comb += word.eq((Cat(address, Value.cast(index)) + 1) * _MULTIPLIER)
        with m.If(~self.read_valid):
            m.d.comb += self.read_data.eq(~0)
        with m.Elif(storage.read_owner == Cat(1, address)):
            m.d.comb += self.read_data.eq(storage.read_data)
        with m.Else():
            m.d.comb += self.read_data.eq(Cat(words))
        taken = storage.write & (storage.displaced != 0) & (storage.displaced != storage.write_owner)
        return Mux(taken, DramRule.STORAGE_FULL, DramRule.NONE)

    def _place(self, command: data.View) -> Value:
        config = self.config
        sizes = {
            "column": config.columns // config.burst_length,
            "bank": config.banks_per_group,
            "bank_group": config.bank_groups,
            "rank": config.ranks_per_dimm,
            "row": config.rows,
        }
        return Cat(command[field][: ceil_log2(size)] for field, size in sizes.items())[: ceil_log2(self.storage_bursts)]
