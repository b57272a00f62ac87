"""Walks through the targets of commands, hop after hop, and hands each with its list to the draws."""

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import data, enum, stream, wiring
from amaranth.lib.wiring import In, Out

from hdl.layout import struct_layout
from hdl.ssd.host_targets import HostTargets
from hdl.ssd.look_up import DRAM_BITS, FOUND, LookUp
from hdl.stream.queue import StreamQueue
from sim.config import SsdConfig
from sim.program.ssd import ALL_NEIGHBOURS, EDGE_BITS, LINE_BYTES, MOST_HOPS, NODE_BITS, NODE_RECORD
from sim.program.ssd_streams import DESCRIPTOR, DRAW_JOB, JOB

FRONTIER_BITS = 24
"""Width of a place in the frontier."""


class State(enum.Enum, shape=3):
    """What the unit is doing."""

    IDLE = 0
    """No command; the next one is taken."""
    HOP = 1
    """A hop is handed to the draws."""
    RUN = 2
    """So are its targets."""
    NEXT = 3
    """Its samples are counted."""
    NOTHING = 4
    """There are none: the hops behind it are ended."""


class Targets(wiring.Component):
    """Runs one command after the other, a target a cycle.

    The first hop's targets come from the host's memory, two in a line; those of the others are the samples of the hop
    before, in order, as the frontier gets them. Their lists are looked up in the SSD's DRAM, also the first hop's if
    the command says so. A hop begins when all targets of the one before are on their way.

    Parameters
    ----------
    config : SsdConfig
        The engine.

    Attributes
    ----------
    jobs : In(stream of `JOB`)
        Commands.
    draws : Out(stream of `DRAW_JOB`)
        A hop before its targets; those with samples.
    descriptors : Out(stream of `DESCRIPTOR`)
        All targets; a hop without targets has one that says so.
    lines_request : Out(stream of 64 bits)
        Addresses of lines of the host's memory.
    lines : In(stream of 512 bits)
        The lines, in order; always taken at once.
    records_request : Out(stream of 40 bits)
        Beats of the DRAM.
    records : In(stream of 128 bits)
        The beats, in order; always taken at once.
    records_base : In(40)
        Beat of node 0's record.
    frontier_written : In(24)
        Nodes in the frontier's bank that is being read.
    frontier_read, frontier_index : Out
        Reads one of them.
    frontier_node : In(48)
        The node, one cycle later and until the next read.
    frontier_release : Out(1)
        The bank was read; from the next cycle on it is the other bank's turn.
    frontier_reset : Out(1)
        The command's last target was read; from the next cycle on both banks are empty.
    """

    def __init__(self, config: SsdConfig) -> None:
        self._config = config
        super().__init__(
            {
                "jobs": In(stream.Signature(struct_layout(JOB))),
                "draws": Out(stream.Signature(struct_layout(DRAW_JOB))),
                "descriptors": Out(stream.Signature(struct_layout(DESCRIPTOR))),
                "lines_request": Out(stream.Signature(64)),
                "lines": In(stream.Signature(8 * LINE_BYTES)),
                "records_request": Out(stream.Signature(DRAM_BITS)),
                "records": In(stream.Signature(NODE_RECORD.bits)),
                "records_base": In(DRAM_BITS),
                "frontier_written": In(FRONTIER_BITS),
                "frontier_read": Out(1),
                "frontier_index": Out(FRONTIER_BITS),
                "frontier_node": In(NODE_BITS),
                "frontier_release": Out(1),
                "frontier_reset": Out(1),
            }
        )

    def elaborate(self, _platform: object) -> Module:
        """Build the walk: a node, its list, what comes of it."""
        m = Module()
        m.submodules.jobs = jobs = StreamQueue(struct_layout(JOB), 2)
        wiring.connect(m, wiring.flipped(self.jobs), jobs.beats)
        job = Signal(struct_layout(JOB), reset_less=True)
        state, hop = Signal(State), Signal(range(MOST_HOPS))
        to_finish, total = Signal(32), Signal(range(self._config.frontier_entries + 1))
        first_hop, last_hop, is_last, runs = Signal(), Signal(), Signal(), Signal()
        m.d.comb += [
            first_hop.eq(hop == 0),
            last_hop.eq(hop + 1 == job.hops),
            is_last.eq(to_finish == 1),
            runs.eq(state == State.RUN),
        ]

        listed, listed_valid, finishes = Signal(FOUND, reset_less=True), Signal(), Signal()
        self._lists(m, jobs, job, first_hop, runs, total, listed, listed_valid, finishes)

        fanout, good, whole = Signal(8), Signal(), Signal()
        count, end = Signal(32), Signal(EDGE_BITS + 1)
        with m.Switch(hop):
            for number in range(MOST_HOPS):
                with m.Case(number):
                    m.d.comb += fanout.eq(job[f"fanout_{number}"])
        fits = ~listed.offset[EDGE_BITS:].any() & ~listed.degree[31]
        m.d.comb += [
            end.eq(listed.offset[:EDGE_BITS] + listed.degree[:31]),
            good.eq(listed.known & fits & (end <= job.edges)),
            whole.eq((fanout == ALL_NEIGHBOURS) | (listed.degree <= fanout)),
            count.eq(Mux(good, Mux(whole, listed.degree, fanout), 0)),
        ]

        # What is handed on stands in a register for each stream.
        hands_draw, draw_free = Signal(), Signal()
        hands_descriptor, descriptor_free = Signal(), Signal()
        nothing = Signal()
        m.d.comb += [
            finishes.eq(listed_valid & draw_free & descriptor_free),
            nothing.eq(state == State.NOTHING),
            hands_draw.eq(Mux(state == State.HOP, draw_free, finishes & (count != 0))),
            hands_descriptor.eq(finishes | (nothing & descriptor_free)),
        ]
        shared = [f.name for f in JOB.fields if f"hop_{f.name}" in {g.name for g in DRAW_JOB.fields}]
        draw, descriptor = Signal(struct_layout(DRAW_JOB)), Signal(struct_layout(DESCRIPTOR))
        m.d.comb += [
            *(draw[f"hop_{name}"].eq(job[name]) for name in shared if name),
            draw.hop_hop.eq(hop),
            draw.target_node.eq(listed.node),
            draw.target_offset.eq(listed.offset),
            draw.target_degree.eq(listed.degree),
            draw.target_count.eq(count),
            draw.begins_hop.eq(state == State.HOP),
            descriptor.count.eq(Mux(nothing, 0, count)),
            descriptor.failed.eq(~nothing & ~good),
            descriptor.last_of_hop.eq(nothing | is_last),
            descriptor.last_of_command.eq((nothing | is_last) & last_hop),
            descriptor.last_hop.eq(last_hop),
            descriptor.nothing.eq(nothing),
        ]
        self._hand_on(m, self.draws, draw, hands_draw, draw_free)
        self._hand_on(m, self.descriptors, descriptor, hands_descriptor, descriptor_free)

        # Samples of a hop beyond the frontier's room are no targets.
        most, more = self._config.frontier_entries, Signal(34)
        m.d.comb += more.eq(total + count)
        with m.Switch(state):
            with m.Case(State.IDLE):
                m.d.comb += jobs.held.ready.eq(1)
                m.d.sync += [job.eq(jobs.held.payload), to_finish.eq(jobs.held.payload.targets), hop.eq(0)]
                with m.If(jobs.held.valid):
                    m.d.sync += state.eq(State.HOP)
            with m.Case(State.HOP), m.If(draw_free):
                m.d.sync += [state.eq(State.RUN), total.eq(0)]
            with m.Case(State.RUN), m.If(finishes):
                m.d.sync += [to_finish.eq(to_finish - 1), total.eq(Mux(more > most, most, more))]
                with m.If(is_last):
                    m.d.sync += state.eq(State.NEXT)
            with m.Case(State.NEXT):
                m.d.sync += [hop.eq(hop + 1), to_finish.eq(total)]
                with m.If(last_hop):
                    m.d.comb += self.frontier_reset.eq(1)
                    m.d.sync += state.eq(State.IDLE)
                with m.Elif(total == 0):
                    m.d.sync += state.eq(State.NOTHING)
                with m.Else():
                    m.d.comb += self.frontier_release.eq(~first_hop)
                    m.d.sync += state.eq(State.HOP)
            with m.Case(State.NOTHING), m.If(descriptor_free):
                with m.If(last_hop):
                    m.d.sync += state.eq(State.NEXT)
                with m.Else():
                    m.d.sync += hop.eq(hop + 1)
        return m

    def _lists(
        self, m: Module, jobs: StreamQueue, job: data.View, first_hop: Signal, runs: Signal, total: Signal,
        listed: data.View, listed_valid: Signal, finishes: Signal,
    ) -> None:  # fmt: skip
        """Build the way of a target to its list: from the host with it, or by its number, which is looked up."""
        m.submodules.host = host = HostTargets(self._config)
        m.submodules.look_up = look_up = LookUp(self._config)
        wiring.connect(m, host.lines_request, wiring.flipped(self.lines_request))
        wiring.connect(m, wiring.flipped(self.lines), host.lines)
        wiring.connect(m, look_up.records_request, wiring.flipped(self.records_request))
        wiring.connect(m, wiring.flipped(self.records), look_up.records)
        m.d.comb += [
            host.begins.eq(jobs.held.valid & jobs.held.ready),
            host.address.eq(jobs.held.payload.targets_address),
            host.targets.eq(jobs.held.payload.targets),
            look_up.records_base.eq(self.records_base),
        ]
        # The frontier's nodes, as they come in: one is shown, and those behind it are read when it goes.
        shown, index, to_read, reads = Signal(), Signal(FRONTIER_BITS), Signal.like(total), Signal()
        looks_up, node, is_known = Signal(), Signal(64), Signal()
        entered, takes_list = Signal(), Signal()
        m.d.comb += [
            reads.eq(runs & ~first_hop & (to_read != 0) & (index < self.frontier_written) & (~shown | entered)),
            self.frontier_read.eq(reads),
            self.frontier_index.eq(index),
            looks_up.eq(job.look_up | ~first_hop),
            node.eq(Mux(first_hop, host.held.payload.node, self.frontier_node)),
            is_known.eq(node < job.nodes),
            look_up.nodes.valid.eq(runs & looks_up & Mux(first_hop, host.held.valid, shown)),
            look_up.nodes.payload.node.eq(node),
            look_up.nodes.payload.known.eq(is_known),
            entered.eq(look_up.nodes.valid & look_up.nodes.ready),
            takes_list.eq(~listed_valid | finishes),
            host.held.ready.eq(Mux(looks_up, first_hop & entered, runs & takes_list)),
            look_up.held.ready.eq(takes_list),
        ]
        with m.If(reads):
            m.d.sync += [index.eq(index + 1), to_read.eq(to_read - 1), shown.eq(1)]
        with m.Elif(entered):
            m.d.sync += shown.eq(0)
        with m.If(~runs):
            m.d.sync += [index.eq(0), to_read.eq(total)]
        with m.If(takes_list):
            m.d.sync += [
                listed_valid.eq(look_up.held.valid | (runs & ~looks_up & host.held.valid)),
                listed.eq(look_up.held.payload),
            ]
            with m.If(~looks_up):
                m.d.sync += [
                    listed.node.eq(node),
                    listed.known.eq(is_known),
                    listed.offset.eq(host.held.payload.offset),
                    listed.degree.eq(host.held.payload.degree),
                ]

    @staticmethod
    def _hand_on(m: Module, out: stream.Interface, made: data.View, hands: Signal, free: Signal) -> None:
        """Hand what is made on; the register before the stream is free, or what is in it goes."""
        valid, payload = Signal.like(hands, name="offered"), Signal.like(made, name="handed", reset_less=True)
        m.d.comb += [out.valid.eq(valid), out.payload.eq(payload), free.eq(~valid | out.ready)]
        with m.If(hands):
            m.d.sync += [valid.eq(1), payload.eq(made)]
        with m.Elif(out.ready):
            m.d.sync += valid.eq(0)
