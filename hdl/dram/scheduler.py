"""Command scheduler of one DRAM channel."""

from itertools import pairwise

from amaranth.hdl import Array, Cat, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from hdl.dram.gates import Gate
from hdl.dram.refresh import RefreshTimer
from hdl.dram.window import RequestWindow
from hdl.layout import struct_layout
from sim.config import DramConfig
from sim.program.memory import DRAM_BURST, DRAM_COMMAND, DRAM_REQUEST, DramCommand

TRANSFER = data.StructLayout({"valid": 1, "burst": struct_layout(DRAM_BURST)})
"""A burst that moves in this cycle, or none."""


def first_of(bits: Value) -> Value:
    """Return the lowest set bit alone, 0 for none."""
    return bits & -bits


class DramScheduler(wiring.Component):
    """Gives the devices of one channel at most one command a cycle, none before its time.

    In each cycle the first of these that is allowed: a step of a refresh (close all banks, refresh); a read or write,
    an activate, a precharge, of the oldest request that can have it. Requests to one bank are served in their order,
    those to different banks in any: so none starves. Rows stay open. A rank that is being refreshed serves nothing
    else.

    Parameters
    ----------
    config : DramConfig
        Ranks, banks, timings, window.

    Attributes
    ----------
    requests : In(stream of `DRAM_REQUEST`)
        Requests; the fields must lie within the configuration's sizes.
    command : Out
        `DRAM_COMMAND` on the command bus in this cycle.
    read : Out
        The burst whose data the devices give in this cycle, ``gates.read_to_data`` cycles after its READ.
    write : Out
        The burst whose WRITE is given in this cycle: its data is due ``gates.write_to_data - 1`` cycles later.
    finished : Out(1)
        The last burst of a request was commanded.
    column : Out(1)
        A burst is commanded in this cycle.
    waiting : Out(1)
        Some request has bursts to be commanded.
    refreshing : Out(1)
        Some rank turns to its refreshes.
    """

    def __init__(self, config: DramConfig) -> None:
        self.config = config
        super().__init__(
            {
                "requests": In(stream.Signature(struct_layout(DRAM_REQUEST))),
                "command": Out(struct_layout(DRAM_COMMAND)),
                "read": Out(TRANSFER),
                "write": Out(TRANSFER),
                "finished": Out(1),
                "column": Out(1),
                "waiting": Out(1),
                "refreshing": Out(1),
            }
        )

    def elaborate(self, _platform: object) -> Module:
        """Build the window, the state of the banks, and the choice of the command."""
        m = Module()
        config, gates = self.config, self.config.gates
        n_ranks, n_groups, n_banks = config.ranks_per_dimm, config.bank_groups, config.banks_per_group
        m.submodules.window = window = RequestWindow(config)
        wiring.connect(m, wiring.flipped(self.requests), window.requests)

        # What happens in this cycle.
        refreshes = [Signal(name=f"refresh_{r}") for r in range(n_ranks)]
        closes = [Signal(name=f"close_{r}") for r in range(n_ranks)]
        serves = Signal(config.window_requests)
        chosen = Signal(struct_layout(DRAM_REQUEST))
        burst = Signal(8)
        activates, precharges, reads, writes = Signal(), Signal(), Signal(), Signal()
        columns = reads | writes

        # Gates. State of every bank, in the order of (rank, bank group, bank).
        opened, rows = [], []
        can_activate, can_precharge, can_column = [], [], []
        built: list[Gate] = []

        def gate(name: str, closings: list[tuple[Value, int]]) -> Value:
            made = Gate(m, name, max(cycles for _, cycles in closings))
            for event, cycles in closings:
                made.close(event, cycles)
            built.append(made)
            return made.open

        given = serves.any() | Cat(refreshes).any() | Cat(closes).any()
        can_command = gate("command", [(given, gates.command_to_command)])
        for r in range(n_ranks):
            for g in range(n_groups):
                for b in range(n_banks):
                    name = f"{r}_{g}_{b}"
                    here = (chosen.rank == r) & (chosen.bank_group == g) & (chosen.bank == b)
                    is_open, row = Signal(name=f"open_{name}"), Signal(18, name=f"row_{name}", reset_less=True)
                    with m.If(activates & here):
                        m.d.sync += [is_open.eq(1), row.eq(chosen.row)]
                    with m.Elif((precharges & here) | closes[r]):
                        m.d.sync += is_open.eq(0)
                    opened.append(is_open)
                    rows.append(row)
                    can_activate.append(
                        gate(
                            f"activate_{name}",
                            [
                                (activates & here, gates.activate_to_activate),
                                ((precharges & here) | (closes[r] & is_open), gates.precharge_to_activate),
                                (refreshes[r], gates.refresh_to_activate),
                            ],
                        )
                    )
                    can_precharge.append(
                        gate(
                            f"precharge_{name}",
                            [
                                (activates & here, gates.activate_to_precharge),
                                (reads & here, gates.read_to_precharge),
                                (writes & here, gates.write_to_precharge),
                            ],
                        )
                    )
                    can_column.append(gate(f"column_{name}", [(activates & here, gates.activate_to_column)]))

        # Gates that all banks of a bank group share, in the order of (rank, bank group).
        group_can_activate, group_can_read, group_can_write = [], [], []
        for r in range(n_ranks):
            for g in range(n_groups):
                name = f"{r}_{g}"
                here = chosen.rank == r
                same, near = here & (chosen.bank_group == g), here & (chosen.bank_group != g)
                group_can_activate.append(
                    gate(
                        f"group_activate_{name}",
                        [
                            (activates & same, gates.activate_to_activate_l),
                            (activates & near, gates.activate_to_activate_s),
                        ],
                    )
                )
                group_can_read.append(
                    gate(
                        f"group_read_{name}",
                        [
                            (reads & same, gates.read_to_read_l),
                            (reads & near, gates.read_to_read_s),
                            (reads & ~here, gates.read_to_read_other),
                            (writes & same, gates.write_to_read_l),
                            (writes & near, gates.write_to_read_s),
                            (writes & ~here, gates.write_to_read_other),
                        ],
                    )
                )
                group_can_write.append(
                    gate(
                        f"group_write_{name}",
                        [
                            (reads & here, gates.read_to_write),
                            (reads & ~here, gates.read_to_write_other),
                            (writes & same, gates.write_to_write_l),
                            (writes & near, gates.write_to_write_s),
                            (writes & ~here, gates.write_to_write_other),
                        ],
                    )
                )
        rank_can_activate = []
        for r in range(n_ranks):
            turn = Signal(2, name=f"turn_{r}")
            event = activates & (chosen.rank == r)
            with m.If(event):
                m.d.sync += turn.eq(turn + 1)
            four = [gate(f"four_{r}_{k}", [(event & (turn == k), gates.four_activates)]) for k in range(4)]
            rank_can_activate.append(Array(four)[turn])
        for made in built:
            made.build()

        # Refreshes.
        n = n_groups * n_banks
        active, refresh_ready, close_ready = [], [], []
        for r in range(n_ranks):
            timer = RefreshTimer(config, r)
            m.submodules[f"refresh_timer_{r}"] = timer
            waits = Cat(window.valid[i] & (window.entries[i].rank == r) for i in range(config.window_requests))
            m.d.comb += [timer.waiting.eq(waits.any()), timer.refresh.eq(refreshes[r])]
            banks = slice(r * n, (r + 1) * n)
            any_open = Cat(opened[banks]).any()
            all_closable = Cat(
                ~is_open | ready for is_open, ready in zip(opened[banks], can_precharge[banks], strict=True)
            )
            active.append(timer.active)
            close_ready.append(timer.active & any_open & all_closable.all())
            refresh_ready.append(timer.active & ~any_open & Cat(can_activate[banks]).all())
        ready = Cat(close | refresh for close, refresh in zip(close_ready, refresh_ready, strict=True))
        maintain = Mux(can_command, first_of(ready), 0)
        m.d.comb += [closes[r].eq(maintain[r] & close_ready[r]) for r in range(n_ranks)]
        m.d.comb += [refreshes[r].eq(maintain[r] & refresh_ready[r]) for r in range(n_ranks)]

        # What each entry could have now.
        columns_ready, activates_ready, precharges_ready = [], [], []
        for i in range(config.window_requests):
            entry = window.entries[i]
            group_index = entry.rank * n_groups + entry.bank_group
            bank_index = group_index * n_banks + entry.bank
            free = window.head[i] & ~Array(active)[entry.rank]
            is_open, hit = Array(opened)[bank_index], Array(rows)[bank_index] == entry.row
            bus = Mux(entry.write, Array(group_can_write)[group_index], Array(group_can_read)[group_index])
            columns_ready.append(free & is_open & hit & Array(can_column)[bank_index] & bus)
            activates_ready.append(
                free
                & ~is_open
                & Array(can_activate)[bank_index]
                & Array(group_can_activate)[group_index]
                & Array(rank_can_activate)[entry.rank]
            )
            precharges_ready.append(free & is_open & ~hit & Array(can_precharge)[bank_index])
        column, activate, precharge = (Cat(ready) for ready in (columns_ready, activates_ready, precharges_ready))
        with m.If(can_command & ~maintain.any()):
            with m.If(column.any()):
                m.d.comb += [serves.eq(first_of(column)), reads.eq(~chosen.write), writes.eq(chosen.write)]
            with m.Elif(activate.any()):
                m.d.comb += [serves.eq(first_of(activate)), activates.eq(1)]
            with m.Elif(precharge.any()):
                m.d.comb += [serves.eq(first_of(precharge)), precharges.eq(1)]
        for i in range(config.window_requests):
            with m.If(serves[i]):
                m.d.comb += [chosen.eq(window.entries[i]), burst.eq(window.burst[i])]
        last = burst + 1 == chosen.bursts
        m.d.comb += [
            window.advance.eq(Mux(columns, serves, 0)),
            self.finished.eq(columns & last),
            self.column.eq(columns),
            self.waiting.eq(window.valid.any()),
            self.refreshing.eq(Cat(active).any()),
        ]

        # The command bus.
        command = self.command
        with m.If(serves.any()):
            m.d.comb += [
                command.rank.eq(chosen.rank),
                command.bank_group.eq(chosen.bank_group),
                command.bank.eq(chosen.bank),
            ]
        for r in range(n_ranks):
            with m.If(closes[r]):
                m.d.comb += [command.command.eq(DramCommand.PRECHARGE_ALL), command.rank.eq(r)]
            with m.If(refreshes[r]):
                m.d.comb += [command.command.eq(DramCommand.REFRESH), command.rank.eq(r)]
        with m.If(activates):
            m.d.comb += [command.command.eq(DramCommand.ACTIVATE), command.row.eq(chosen.row)]
        with m.If(precharges):
            m.d.comb += command.command.eq(DramCommand.PRECHARGE)
        with m.If(columns):
            m.d.comb += [
                command.command.eq(Mux(chosen.write, DramCommand.WRITE, DramCommand.READ)),
                command.row.eq(chosen.row),
                command.column.eq(chosen.column + burst),
            ]

        # What moves with the data.
        moving = Signal(TRANSFER)
        m.d.comb += [
            moving.burst.tag.eq(chosen.tag),
            moving.burst.burst.eq(burst),
            moving.burst.last.eq(last),
            self.write.eq(moving),
            self.write.valid.eq(writes),
        ]
        line = [Signal(TRANSFER, name=f"reading_{k}") for k in range(gates.read_to_data)]
        m.d.sync += [line[0].eq(moving), line[0].valid.eq(reads)]
        m.d.sync += [after.eq(before) for before, after in pairwise(line)]
        m.d.comb += self.read.eq(line[-1])
        return m
