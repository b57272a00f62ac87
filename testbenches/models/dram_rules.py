"""Which rule a DRAM command breaks: every rule looks at the times of past commands, none counts down.

A schedule is legal if `DramRules` never names a rule. The names are those of JEDEC (JESD79-4, JESD79-5), the values
those of the configuration.
"""

from dataclasses import dataclass
from enum import IntEnum

from amaranth.hdl import Array, Cat, Const, Module, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import ceil_log2

from hdl.layout import struct_layout
from sim.config import DramConfig
from sim.program.memory import DRAM_COMMAND, DramCommand

TIME_BITS = 32
"""A run of up to 2^32 cycles; words of 32 bits simulate fast."""


class DramRule(IntEnum):
    """What a command can break; of several at once the first in this list is named."""

    NONE = 0
    BAD_COMMAND = 1
    """No such command."""
    BAD_ADDRESS = 2
    """Rank, bank group, bank, row or column outside the device."""
    TRFC = 3
    """Any command to a rank that refreshes."""
    BANK_OPEN = 4
    """Activate of an open bank."""
    BANK_CLOSED = 5
    """Read or write to a closed bank, or to another row than the open one."""
    REFRESH_OPEN = 6
    """Refresh of a rank with an open bank."""
    REFRESH_EARLY = 7
    """More than `postponable_refreshes` (DDR4: 8) ahead of one per tREFI."""
    REFRESH_LATE = 8
    """More than `postponable_refreshes` behind one per tREFI; needs no command."""
    TRCD = 9
    """Activate to read or write."""
    TRC = 10
    """Activate to activate of the bank: tRAS + tRP."""
    TRP = 11
    """Precharge to activate of the bank, or to refresh of the rank."""
    TRAS = 12
    """Activate to precharge."""
    TRTP = 13
    """Read to precharge."""
    TWR = 14
    """End of the write data to precharge."""
    TFAW = 15
    """First to fifth activate of a rank."""
    TRRD_L = 16
    """Activate to activate in the bank group."""
    TRRD_S = 17
    """Activate to activate in another bank group of the rank."""
    TWTR_L = 18
    """End of the write data to read in the bank group."""
    TWTR_S = 19
    """End of the write data to read in another bank group of the rank."""
    READ_TO_WRITE = 20
    """Read to write on the channel: the bus is free for the gap between their data."""
    TRTRS = 21
    """Rank switch: the bus is free for tRTRS between data of two ranks, which moves in the order of the commands."""
    TCCD_L = 22
    """Read or write to read or write in the bank group; longer from write to write."""
    TCCD_S = 23
    """Read or write to read or write in another bank group of the rank."""
    TCMD = 24
    """Command to command on the channel."""
    STORAGE_FULL = 25
    """Not a rule of JEDEC: a write took the place of another burst in `DramDevice`, whose storage is too small."""


@dataclass(frozen=True)
class _Bank:
    open: Signal
    row: Signal
    activated: Signal
    precharged: Signal
    read: Signal
    written: Signal


@dataclass(frozen=True)
class _Group:
    activated: Signal
    moved: Signal
    written: Signal


@dataclass(frozen=True)
class _Rank:
    banks: list[_Bank]
    groups: list[_Group]
    activated: list[Signal]
    precharged: Signal
    read: Signal
    written: Signal
    refreshed: Signal
    deadline: Signal


class DramRules(wiring.Component):
    """Checks the commands on the bus of one channel, in simulation only.

    After the first broken rule the state, and so all later verdicts, mean nothing.

    Parameters
    ----------
    config : DramConfig
        Geometry of the channel (`ranks_per_dimm` ranks) and timing.

    Attributes
    ----------
    command : In
        What stands on the bus in this cycle.
    broken : Out(8)
        The `DramRule` broken in this cycle, in the same cycle.
    cycle : Out(32)
        Number of this cycle; 0 is the first after reset.
    ranks_open : Out
        One bit per rank: it has an open bank, before this cycle's command.

    Raises
    ------
    ValueError
        The configuration does not fit the fields of a command, or its bursts cannot follow each other.
    """

    def __init__(self, config: DramConfig) -> None:
        config.check()
        self.config = config
        super().__init__(
            {
                "command": In(struct_layout(DRAM_COMMAND)),
                "broken": Out(8),
                "cycle": Out(TIME_BITS),
                "ranks_open": Out(config.ranks_per_dimm),
            }
        )

    def elaborate(self, _platform: object) -> Module:
        """Build the stamps and the rules."""
        m = Module()
        config, timing, command = self.config, self.config.timing, self.command
        # Stamps start at 0 and time far above, so that what never happened is long past.
        longest = config.burst_length + sum(timing.model_dump(exclude={"tck_ns"}).values())
        start = 1 << longest.bit_length()
        now = Signal(TIME_BITS, init=start)
        self._commanded = commanded = Signal(TIME_BITS)
        m.d.sync += now.eq(now + 1)
        with m.If(self.command.command != DramCommand.NONE):
            m.d.sync += commanded.eq(now)
        m.d.comb += self.cycle.eq(now - start)

        ranks = [self._rank(rank) for rank in range(config.ranks_per_dimm)]
        bank = Array(bank for rank in ranks for bank in rank.banks)[self._bank_index()]
        rank_open = [Cat(bank.open for bank in rank.banks).any() for rank in ranks]
        m.d.comb += self.ranks_open.eq(Cat(rank_open))

        given = {kind: Signal(name=f"is_{kind.name.lower()}") for kind in DramCommand}
        m.d.comb += [given[kind].eq(command.command == kind) for kind in DramCommand]
        self._judge(m, now, ranks, bank, given)
        self._note(m, now, ranks, bank, given)
        return m

    def _rank(self, rank: int) -> _Rank:
        def stamp(name: str, init: int = 0) -> Signal:
            return Signal(TIME_BITS, name=f"rank_{rank}_{name}", init=init)

        config = self.config
        groups, banks = ceil_log2(config.bank_groups), ceil_log2(config.banks_per_group)
        return _Rank(
            banks=[
                _Bank(
                    Signal(name=f"rank_{rank}_bank_{at}_open"),
                    Signal(range(config.rows), name=f"rank_{rank}_bank_{at}_row"),
                    *(stamp(f"bank_{at}_{name}") for name in ("activated", "precharged", "read", "written")),
                )
                for at in range(1 << groups + banks)
            ],
            groups=[
                _Group(*(stamp(f"group_{at}_{name}") for name in ("activated", "moved", "written")))
                for at in range(config.bank_groups)
            ],
            activated=[stamp(f"activated_{at}") for at in range(4)],
            **{name: stamp(name) for name in ("precharged", "read", "written", "refreshed")},
            deadline=stamp("deadline", (config.postponable_refreshes + 1) * config.timing.trefi),
        )

    def _bank_index(self) -> Value:
        config, command = self.config, self.command
        return Cat(
            command.bank[: ceil_log2(config.banks_per_group)],
            command.bank_group[: ceil_log2(config.bank_groups)],
            command.rank[: ceil_log2(config.ranks_per_dimm)],
        )

    def _judge(self, m: Module, now: Signal, ranks: list[_Rank], bank: _Bank, given: dict[DramCommand, Signal]) -> None:
        config, timing, command = self.config, self.config.timing, self.command
        activate, refresh = given[DramCommand.ACTIVATE], given[DramCommand.REFRESH]
        read, write = given[DramCommand.READ], given[DramCommand.WRITE]
        precharge, precharge_all = given[DramCommand.PRECHARGE], given[DramCommand.PRECHARGE_ALL]
        column, addresses_bank = read | write, activate | read | write | precharge
        burst = config.burst_length // 2
        switch = burst + timing.trtrs
        broken: dict[DramRule, list[Value]] = {rule: [] for rule in DramRule if rule is not DramRule.NONE}

        def within(stamp: Value, cycles: int) -> Value:
            return (now - stamp)[:TIME_BITS] < cycles if cycles > 0 else Const(0)

        def require(rule: DramRule, *conditions: Value) -> None:
            """Tell what breaks a rule: all these conditions together."""
            broken[rule].append(Cat(conditions).all())

        require(DramRule.BAD_COMMAND, ~Cat(given.values()).any())
        require(DramRule.TCMD, ~given[DramCommand.NONE], within(self._commanded, timing.tcmd))
        require(DramRule.BAD_ADDRESS, ~given[DramCommand.NONE], command.rank >= config.ranks_per_dimm)
        require(DramRule.BAD_ADDRESS, addresses_bank, command.bank_group >= config.bank_groups)
        require(DramRule.BAD_ADDRESS, addresses_bank, command.bank >= config.banks_per_group)
        require(DramRule.BAD_ADDRESS, activate | column, command.row >= config.rows)
        require(DramRule.BAD_ADDRESS, column, command.column >= config.columns // config.burst_length)

        require(DramRule.BANK_OPEN, activate, bank.open)
        require(DramRule.BANK_CLOSED, column, ~bank.open | (bank.row != command.row))
        require(DramRule.TRCD, column, within(bank.activated, timing.trcd))
        require(DramRule.TRC, activate, within(bank.activated, timing.tras + timing.trp))
        require(DramRule.TRP, activate, within(bank.precharged, timing.trp))
        require(DramRule.TRAS, precharge, bank.open, within(bank.activated, timing.tras))
        require(DramRule.TRTP, precharge, bank.open, within(bank.read, timing.trtp))
        require(DramRule.TWR, precharge, bank.open, within(bank.written, timing.cwl + burst + timing.twr))

        latencies = {DramCommand.READ: timing.cl, DramCommand.WRITE: timing.cwl}
        for number, rank in enumerate(ranks):
            here, is_open = command.rank == number, self.ranks_open[number]
            require(DramRule.TRFC, here, ~given[DramCommand.NONE], within(rank.refreshed, timing.trfc))
            require(DramRule.REFRESH_OPEN, here, refresh, is_open)
            horizon = 2 * config.postponable_refreshes * timing.trefi
            require(DramRule.REFRESH_EARLY, here, refresh, self.cycle + horizon < rank.deadline)
            require(DramRule.REFRESH_LATE, ~(here & refresh), self.cycle >= rank.deadline)
            require(DramRule.TRP, here, refresh, within(rank.precharged, timing.trp))
            # The latest bank binds; it was closed in good time if it is closed.
            require(DramRule.TRAS, here, precharge_all, is_open, within(rank.activated[0], timing.tras))
            require(DramRule.TRTP, here, precharge_all, is_open, within(rank.read, timing.trtp))
            recovery = timing.cwl + burst + timing.twr
            require(DramRule.TWR, here, precharge_all, is_open, within(rank.written, recovery))
            require(DramRule.TFAW, here, activate, within(rank.activated[3], timing.tfaw))
            require(DramRule.READ_TO_WRITE, write, within(rank.read, timing.cl + burst + timing.trtw_gap - timing.cwl))
            for then, latency in latencies.items():
                require(DramRule.TRTRS, ~here, given[then], within(rank.read, timing.cl + switch - latency))
                require(DramRule.TRTRS, ~here, given[then], within(rank.written, timing.cwl + switch - latency))
            for index, group in enumerate(rank.groups):
                same, other = here & (command.bank_group == index), here & (command.bank_group != index)
                data = timing.cwl + burst
                require(DramRule.TRRD_L, same, activate, within(group.activated, timing.trrd_l))
                require(DramRule.TRRD_S, other, activate, within(group.activated, timing.trrd_s))
                require(DramRule.TWTR_L, same, read, within(group.written, data + timing.twtr_l))
                require(DramRule.TWTR_S, other, read, within(group.written, data + timing.twtr_s))
                require(DramRule.TCCD_L, same, column, within(group.moved, timing.tccd_l))
                require(DramRule.TCCD_L, same, write, within(group.written, timing.tccd_l_wr))
                require(DramRule.TCCD_S, other, column, within(group.moved, timing.tccd_s))

        for rule, ways in reversed(broken.items()):
            if ways:
                with m.If(Cat(ways).any()):
                    m.d.comb += self.broken.eq(rule)

    def _note(self, m: Module, now: Signal, ranks: list[_Rank], bank: _Bank, given: dict[DramCommand, Signal]) -> None:
        read, write = given[DramCommand.READ], given[DramCommand.WRITE]
        with m.If(given[DramCommand.ACTIVATE]):
            m.d.sync += [bank.open.eq(1), bank.row.eq(self.command.row), bank.activated.eq(now)]
        with m.If(given[DramCommand.PRECHARGE] & bank.open):
            m.d.sync += [bank.open.eq(0), bank.precharged.eq(now)]
        with m.If(read):
            m.d.sync += bank.read.eq(now)
        with m.If(write):
            m.d.sync += bank.written.eq(now)
        for number, rank in enumerate(ranks):
            with m.If(self.command.rank == number):
                with m.If(given[DramCommand.ACTIVATE]):
                    m.d.sync += Cat(rank.activated).eq(Cat(now, rank.activated))
                with m.If(given[DramCommand.PRECHARGE_ALL]):
                    for each in rank.banks:
                        with m.If(each.open):
                            m.d.sync += [each.open.eq(0), each.precharged.eq(now)]
                closes = given[DramCommand.PRECHARGE] & bank.open
                with m.If(closes | (given[DramCommand.PRECHARGE_ALL] & self.ranks_open[number])):
                    m.d.sync += rank.precharged.eq(now)
                with m.If(given[DramCommand.REFRESH]):
                    m.d.sync += rank.refreshed.eq(now)
                    m.d.sync += rank.deadline.eq(rank.deadline + self.config.timing.trefi)
                with m.If(read):
                    m.d.sync += rank.read.eq(now)
                with m.If(write):
                    m.d.sync += rank.written.eq(now)
                for index, group in enumerate(rank.groups):
                    with m.If(self.command.bank_group == index):
                        with m.If(given[DramCommand.ACTIVATE]):
                            m.d.sync += group.activated.eq(now)
                        with m.If(read | write):
                            m.d.sync += group.moved.eq(now)
                        with m.If(write):
                            m.d.sync += group.written.eq(now)
