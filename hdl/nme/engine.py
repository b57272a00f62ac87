"""The Near-Memory Engine of one DIMM: from shard descriptors in the memory to partial sums."""

from amaranth.hdl import EnableInserter, Module, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from hdl.counters import share_out
from hdl.dram.scheduler import DramScheduler
from hdl.layout import struct_layout
from hdl.nme.compute_clock import ComputeClock
from hdl.nme.fetch import LIST_JOB, UNIT_BITS, Unit
from hdl.nme.front import Front
from hdl.nme.gather import GATHER_JOB, Gather
from hdl.nme.list_reader import ListReader
from hdl.nme.reduce import ReduceUnit
from hdl.nme.requests import PIECE_BITS, RequestMaker
from hdl.nme.store import Store
from hdl.nme.tickets import Tickets
from hdl.stream.queue import StreamQueue
from hdl.stream.register import StreamRegister
from sim.config import SystemConfig
from sim.program.commands import EDGE_RECORD, REDUCE_COMMAND, REDUCE_STATUS, result_beat
from sim.program.counters import COUNTER_BITS, ENGINE_COUNTERS, REDUCE_COUNTERS
from sim.program.engine_commands import (
    ENGINE_COMMAND,
    ENGINE_STATUS,
    SHARD_DESCRIPTOR,
    SOURCE_RECORD,
    update_beat,
)
from sim.program.geometry import Geometry
from sim.program.memory import DRAM_COMMAND


class NearMemoryEngine(wiring.Component):
    """Runs commands one after the other on the memory of its DIMM.

    All but the reduce unit runs in the clock of the memory's commands, which is the domain ``sync``; the reduce unit
    runs in those of its cycles that `ComputeClock` enables.

    Parameters
    ----------
    config : SystemConfig
        The hardware.

    Attributes
    ----------
    command : In(stream of `ENGINE_COMMAND`)
        Commands.
    updates : In(stream of `update_beat`)
        Vectors to store.
    partials : Out(stream of `result_beat`)
        Sums of the touched destinations of each pass by rising slot.
    status : Out(stream of `ENGINE_STATUS`)
        The end of each shard, of a store, of a refused command.
    horizon : In(32)
        The least `progress` of all engines that run in step; its own if it runs alone.
    progress : Out(32)
        Slot of the oldest shard that has not ended.
    memory_command : Out
        `DRAM_COMMAND` for all ranks of the DIMM.
    read_line : In
        A line, ``gates.read_to_data`` cycles after its READ.
    write_line : Out
        A line, ``gates.write_to_data - 1`` cycles after its WRITE.
    cycles_* : Out(48)
        Counters by the names of `ENGINE_COUNTERS`; they add up to the cycles since reset.
    reduce_cycles_* : Out(48)
        Counters of the reduce unit by the names of `REDUCE_COUNTERS`; they add up to the compute cycles since reset.
    """

    def __init__(self, config: SystemConfig) -> None:
        self._config = config
        self._geometry = Geometry.of(config)
        nme = config.nme
        super().__init__(
            {
                "command": In(stream.Signature(struct_layout(ENGINE_COMMAND))),
                "updates": In(stream.Signature(struct_layout(update_beat(nme.lanes, 8 * nme.element_bytes)))),
                "partials": Out(stream.Signature(struct_layout(result_beat(nme.lanes)))),
                "status": Out(stream.Signature(struct_layout(ENGINE_STATUS))),
                "horizon": In(32),
                "progress": Out(32),
                "memory_command": Out(struct_layout(DRAM_COMMAND)),
                "read_line": In(8 * self._geometry.line_bytes),
                "write_line": Out(8 * self._geometry.line_bytes),
                **{f"cycles_{name}": Out(COUNTER_BITS) for name in ENGINE_COUNTERS},
                **{f"reduce_cycles_{name}": Out(COUNTER_BITS) for name in REDUCE_COUNTERS},
            }
        )

    def elaborate(self, _platform: object) -> Module:
        """Connect the units."""
        m = Module()
        config, nme, geometry = self._config, self._config.nme, self._geometry
        m.submodules.front = front = Front(config)
        m.submodules.tickets = tickets = Tickets()
        m.submodules.clock = clock = ComputeClock(config.compute_ratio)
        m.submodules.requests = requests = RequestMaker(geometry)
        m.submodules.scheduler = scheduler = DramScheduler(config.dimm_memory)
        m.submodules.gather = gather = Gather(nme, geometry)
        m.submodules.store = store = Store(nme, geometry, config.dram.gates.write_to_data - 1)
        readers = {}
        for unit, record in (
            (Unit.DESCRIPTORS, SHARD_DESCRIPTOR),
            (Unit.SOURCES, SOURCE_RECORD),
            (Unit.EDGES, EDGE_RECORD),
        ):
            readers[unit] = ListReader(record, unit, geometry, nme.list_slots)
            m.submodules[f"{unit.name.lower()}_reader"] = readers[unit]

        wiring.connect(m, wiring.flipped(self.command), front.command)
        wiring.connect(m, front.descriptor_jobs, readers[Unit.DESCRIPTORS].jobs)
        wiring.connect(m, readers[Unit.DESCRIPTORS].records, front.descriptors)
        for name, shape, made, taken in (
            ("source", LIST_JOB, front.source_jobs, readers[Unit.SOURCES].jobs),
            ("edge", LIST_JOB, front.edge_jobs, readers[Unit.EDGES].jobs),
            ("gather", GATHER_JOB, front.gather_jobs, gather.jobs),
        ):
            queue = StreamQueue(shape, nme.queued_passes)
            m.submodules[f"{name}_queue"] = queue
            wiring.connect(m, made, queue.beats)
            wiring.connect(m, queue.held, taken)
        wiring.connect(m, readers[Unit.SOURCES].records, gather.sources)
        wiring.connect(m, front.store_jobs, store.jobs)
        wiring.connect(m, wiring.flipped(self.updates), store.updates)
        wiring.connect(m, front.tickets, tickets.tickets)
        wiring.connect(m, tickets.status, wiring.flipped(self.status))
        for unit, asks in (
            *((u, r.requests) for u, r in readers.items()),
            (Unit.VECTORS, gather.requests),
            (Unit.STORE, store.requests),
        ):
            wiring.connect(m, asks, getattr(requests, unit.name.lower()))
        wiring.connect(m, requests.requests, scheduler.requests)
        m.d.comb += [
            front.stored.done.eq(store.done),
            front.stored.invalid.eq(store.invalid),
            front.stored.written.eq(store.written),
            front.open.eq(tickets.open),
            front.oldest.eq(tickets.oldest),
            front.pending.eq(tickets.pending),
            front.horizon.eq(self.horizon),
            self.progress.eq(front.progress),
            tickets.invalid.valid.eq(gather.done),
            tickets.invalid.payload.eq(gather.invalid),
            gather.enable.eq(clock.enable),
            self.memory_command.eq(scheduler.command),
            self.write_line.eq(store.line),
            gather.line.eq(self.read_line),
        ]
        take_apart(m, scheduler.read, gather.fill)
        take_apart(m, scheduler.write, store.given)
        for reader in readers.values():
            take_apart(m, scheduler.read, reader.fill)
            m.d.comb += reader.line.eq(self.read_line)
        self._compute(m, clock, front, gather, readers[Unit.EDGES], tickets)
        moving = self._moving(m, scheduler)
        share_out(
            m,
            {name: getattr(self, f"cycles_{name}") for name in ENGINE_COUNTERS},
            {
                "transfer": moving,
                "refresh": scheduler.refreshing & front.busy,
                "row": scheduler.waiting | requests.requests.valid,
                "compute": gather.blocked,
                "window": front.held,
                "fetch": front.busy,
            },
        )
        return m

    def _compute(
        self, m: Module, clock: ComputeClock, front: Front, gather: Gather, edges: ListReader, tickets: Tickets
    ) -> None:
        """Build the reduce unit, in its own clock, and the crossings."""
        nme = self._config.nme
        reduce = ReduceUnit(nme)
        command = StreamRegister(struct_layout(REDUCE_COMMAND))
        edge = StreamRegister(struct_layout(EDGE_RECORD))
        inside = EnableInserter(clock.enable)
        m.submodules.reduce = inside(reduce)
        m.submodules.command_crossing = inside(command)
        m.submodules.edge_crossing = inside(edge)
        m.submodules.command_queue = queue = StreamQueue(struct_layout(REDUCE_COMMAND), nme.queued_passes)
        wiring.connect(m, front.reduce_commands, queue.beats)
        wiring.connect(m, command.held, reduce.command)
        wiring.connect(m, edge.held, reduce.edges)
        # What enters: seen by the compute clock at its own edges, taken from the memory's side at those only.
        for outer, inner in ((queue.held, command.beats), (edges.records, edge.beats)):
            m.d.comb += [
                inner.valid.eq(outer.valid),
                inner.payload.eq(outer.payload),
                outer.ready.eq(inner.ready & clock.enable),
            ]
        wiring.connect(m, gather.vectors, reduce.vectors)
        # What leaves: a beat moves at an edge of the compute clock, into a register of the memory's clock.
        m.submodules.partial_crossing = partial = StreamRegister(struct_layout(result_beat(nme.lanes)))
        m.submodules.status_crossing = status = StreamRegister(struct_layout(REDUCE_STATUS))
        for inner, outer in ((reduce.partials, partial.beats), (reduce.status, status.beats)):
            m.d.comb += [
                outer.valid.eq(inner.valid & clock.enable),
                outer.payload.eq(inner.payload),
                inner.ready.eq(outer.ready),
            ]
        wiring.connect(m, partial.held, wiring.flipped(self.partials))
        wiring.connect(m, status.held, tickets.reduced)
        for name in REDUCE_COUNTERS:
            m.d.comb += getattr(self, f"reduce_cycles_{name}").eq(getattr(reduce, f"cycles_{name}"))

    def _moving(self, m: Module, scheduler: DramScheduler) -> Signal:
        """Return whether this is one of the cycles that a burst just commanded will take on the data bus."""
        left, moving = Signal(range(self._config.dram.gates.burst + 1)), Signal()
        given = Signal()
        m.d.comb += [given.eq(scheduler.column), moving.eq(given | (left != 0))]
        with m.If(given):
            m.d.sync += left.eq(self._config.dram.gates.burst - 1)
        with m.Elif(left != 0):
            m.d.sync += left.eq(left - 1)
        return moving


def take_apart(m: Module, transfer: data.View, fill: data.View) -> None:
    """Tell a unit of a burst that moves, with the parts of its tag."""
    tag = transfer.burst.tag
    m.d.comb += [
        fill.valid.eq(transfer.valid),
        fill.unit.eq(tag[:UNIT_BITS]),
        fill.piece.eq(tag[UNIT_BITS : UNIT_BITS + PIECE_BITS]),
        fill.slot.eq(tag[UNIT_BITS + PIECE_BITS :]),
        fill.burst.eq(transfer.burst.burst),
        fill.last.eq(transfer.burst.last),
    ]
