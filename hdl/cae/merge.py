"""The Centralized Acceleration Engine's merge unit: adds up what the Near-Memory Engines have reduced."""

from amaranth.hdl import Cat, Instance, Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from hdl.arith.add import Fp32Add
from hdl.cae.ports import READ_CYCLES, bank_read, bank_write, job_layout, report
from hdl.cae.row_walk import counted_lanes
from hdl.counters import share_out
from hdl.delay import delayed
from hdl.layout import struct_layout
from hdl.shared import SharedModules
from sim.config import CaeConfig
from sim.program.counters import COUNTER_BITS, MERGE_COUNTERS
from sim.program.instructions import CaeCode, partial_beat

WRITE_TO_READ = 2
"""Cycles from a write of a beat to the first read that sees it."""


class MergeLane(wiring.Component):
    """One lane: a sum, or a zero.

    Parameters
    ----------
    add_latency : int
        Of the adder.

    Attributes
    ----------
    before, partial : In(32)
        fp32 numbers to add.
    fresh : In(1)
        With them: there is nothing before, +0 counts.
    counts : In(1)
        With `total`: the lane is an element of the row; else it is +0.
    total : Out(32)
        The sum, `add_latency` cycles later.
    """

    before: In(32)
    partial: In(32)
    fresh: In(1)
    counts: In(1)
    total: Out(32)

    def __init__(self, add_latency: int) -> None:
        self._add_latency = add_latency
        super().__init__()

    def elaborate(self, platform: object) -> Module | Instance:
        """Build it, or stand in for it where all lanes share one module."""
        if isinstance(platform, SharedModules):
            return platform.instance(f"merge_lane_a{self._add_latency}", self)
        m = Module()
        m.submodules.add = add = Fp32Add(latency=self._add_latency)
        m.d.comb += [
            add.a.eq(Mux(self.fresh, 0, self.before)),
            add.b.eq(self.partial),
            self.total.eq(Mux(self.counts, add.o, 0)),
        ]
        return m


class MergeUnit(wiring.Component):
    """Runs one MERGE at a time: source after source by rising number, a beat a cycle.

    The first source's beats are added to +0, and +0 is written where it sends none, in the order of the slots. Those of
    the others are added to what is in the bank; a beat waits while what it is added to is still being written. A beat
    that does not go on with its vector, or begin one behind all before, is dropped, and the job reports it.

    Parameters
    ----------
    config : CaeConfig
        The engine.

    Attributes
    ----------
    job : In(stream of `job_layout`)
        MERGEs; taken while none is under way.
    partials_<i> : In(stream of `partial_beat`)
        The sources of port i; the beats of each are taken up to the one with ``end`` in its turn.
    left : Out(`bank_read`), result : Out(`bank_write`)
        The result's bank.
    read, done : Out(`report`)
        In the cycle of the last write, or after the last ``end`` if that comes later.
    cycles_* : Out(48)
        Counters by the names of `MERGE_COUNTERS`.
    """

    def __init__(self, config: CaeConfig) -> None:
        self._config = config
        beat = struct_layout(partial_beat(config.lanes))
        super().__init__(
            {
                "job": In(stream.Signature(job_layout(config))),
                **{f"partials_{i}": In(stream.Signature(beat)) for i in range(config.merge_ports)},
                "left": Out(bank_read(config)),
                "result": Out(bank_write(config)),
                "read": Out(report(config)),
                "done": Out(report(config)),
                **{f"cycles_{name}": Out(COUNTER_BITS) for name in MERGE_COUNTERS},
            }
        )

    def elaborate(self, _platform: object) -> Module:
        """Build the two steps, taking a beat and issuing it, and the pipeline behind them."""
        m = Module()
        config, lanes = self._config, self._config.lanes
        job = Signal(job_layout(config), reset_less=True)
        instruction = job.instruction
        active, issue, free = Signal(), Signal(), Signal()
        operation = data.StructLayout(
            {"way": 32, "beat": 16, "left": 16, "fresh": 1, "zero": 1, "data": data.ArrayLayout(32, lanes)}
        )
        taken, valid = Signal(operation, reset_less=True), Signal()
        m.d.comb += free.eq(~valid | issue)
        made, makes, over, spoiled = self._take(m, job, active, free, operation)
        with m.If(free):
            m.d.sync += valid.eq(makes)
        with m.If(makes):
            m.d.sync += taken.eq(made)

        # A beat is read in the cycle that issues it; its sum is written so much later, and can then be read again.
        depth = READ_CYCLES + config.add_latency
        address = Signal(len(self.result.address))
        m.d.comb += address.eq(instruction.result_address + taken.way + taken.beat)
        addresses = delayed(m, address, depth + WRITE_TO_READ - 1, name="address_issued")
        issued = delayed(m, issue, depth + WRITE_TO_READ - 1, name="issued", reset_less=False)
        under_way = Cat(i & (a == address) for i, a in zip(issued[1:], addresses[1:], strict=True)).any()
        m.d.comb += [
            issue.eq(valid & (taken.fresh | ~under_way)),
            self.left.en.eq(issue & ~taken.fresh),
            self.left.bank.eq(instruction.result_bank),
            self.left.address.eq(address),
            self.result.en.eq(issued[depth]),
            self.result.bank.eq(instruction.result_bank),
            self.result.address.eq(addresses[depth]),
            self.result.parts.eq(~0),
        ]
        partials = delayed(m, Mux(taken.zero, 0, taken.data.as_value()), READ_CYCLES, name="partial")[-1]
        fresh = delayed(m, taken.fresh, READ_CYCLES, name="fresh")[-1]
        counts = delayed(m, counted_lanes(m, taken.left, lanes, name="lanes"), depth, name="counts")[-1]
        for i in range(lanes):
            m.submodules[f"lane_{i}"] = lane = MergeLane(config.add_latency)
            m.d.comb += [
                lane.before.eq(self.left.data[i]),
                lane.partial.eq(partials.word_select(i, 32)),
                lane.fresh.eq(fresh),
                lane.counts.eq(counts[i]),
                self.result.data[i].eq(lane.total),
            ]

        done = Signal()
        m.d.comb += [
            self.job.ready.eq(~active),
            done.eq(over & ~valid & ~Cat(issued[1:depth]).any()),
            self.done.valid.eq(done),
            self.done.slot.eq(job.slot),
            self.done.code.eq(Mux(spoiled, CaeCode.PARTIAL_SLOT, CaeCode.OK)),
            self.read.valid.eq(done),
            self.read.slot.eq(job.slot),
        ]
        with m.If(self.job.valid & self.job.ready):
            m.d.sync += [active.eq(1), job.eq(self.job.payload)]
        with m.Elif(done):
            m.d.sync += active.eq(0)
        share_out(
            m,
            {name: getattr(self, f"cycles_{name}") for name in MERGE_COUNTERS},
            {
                "busy": issue & ~taken.zero,
                "fill": issue,
                "wait_hazard": valid,
                "wait_source": active & ~over,
                "flush": active,
            },
        )
        return m

    def _take(
        self, m: Module, job: data.View, active: Signal, free: Signal, operation: data.StructLayout
    ) -> tuple[data.View, Signal, Signal, Signal]:
        """Take the sources' beats one after the other while the next step is free.

        Return what is made of the beat or of a slot without one; whether there is such; whether all sources have ended;
        whether something was wrong.
        """
        config, lanes = self._config, self._config.lanes
        instruction = job.instruction
        streams = [getattr(self, f"partials_{i}") for i in range(config.merge_ports)]
        to_come, port = Signal(config.merge_sources), Signal(range(max(2, config.merge_ports)))
        fills, inside, over, spoiled = Signal(), Signal(), Signal(), Signal()
        row, beat, left = Signal(17), Signal(16), Signal(16)
        offered, valid = Signal(struct_layout(partial_beat(lanes))), Signal()
        m.d.comb += over.eq(active & (to_come == 0))
        for i in reversed(range(config.merge_sources)):
            with m.If(to_come[i]):
                m.d.comb += port.eq(config.merge_port(i))
        for i, partials in enumerate(streams):
            with m.If(port == i):
                m.d.comb += [offered.eq(partials.payload), valid.eq(partials.valid & active & (to_come != 0))]

        shuts, single = left <= lanes, instruction.columns <= lanes
        continues = ~offered.first & (offered.index == row) & (offered.last == shuts)
        begins = offered.first & (offered.index >= row) & (offered.index < instruction.rows) & (offered.last == single)
        fits, is_gap, takes, ends = Signal(), Signal(), Signal(), Signal()
        makes = Signal()
        m.d.comb += [
            fits.eq(~offered.end & Mux(inside, continues, begins)),
            # The first source's walk: a slot, or a rest of one, that it does not send.
            is_gap.eq(fills & Mux(offered.end, row != instruction.rows, fits & (row != offered.index))),
            takes.eq(valid & free & ~is_gap),
            ends.eq(takes & offered.end),
            makes.eq(valid & free & (is_gap | fits)),
        ]
        for i, partials in enumerate(streams):
            m.d.comb += partials.ready.eq(takes & (port == i))
        made = Signal(operation)
        slot = Mux(is_gap, row, offered.index)[:16]
        m.d.comb += [
            made.way.eq(slot * instruction.result_pitch),
            made.beat.eq(beat),
            made.left.eq(left),
            made.fresh.eq(fills),
            made.zero.eq(is_gap),
            made.data.eq(offered.data),
        ]
        with m.If(makes):
            m.d.sync += [
                inside.eq(~is_gap & ~shuts),
                row.eq(slot + shuts),
                beat.eq(Mux(shuts, 0, beat + 1)),
                left.eq(Mux(shuts, instruction.columns, left - lanes)),
            ]
        with m.If(valid & free & Mux(offered.end, inside, ~fits)):
            m.d.sync += spoiled.eq(1)
        with m.If(ends):
            m.d.sync += [
                to_come.eq(to_come & (to_come - 1)),
                fills.eq(0),
                inside.eq(0),
                row.eq(0),
                beat.eq(0),
                left.eq(instruction.columns),
            ]
        with m.If(self.job.valid & self.job.ready):
            new = self.job.payload.instruction
            m.d.sync += [
                to_come.eq(new.depth[: config.merge_sources]),
                fills.eq(1),
                inside.eq(0),
                row.eq(0),
                beat.eq(0),
                left.eq(new.columns),
                spoiled.eq(0),
            ]
        return made, makes, over, spoiled
