"""Submission and completion queue of the sampling engine, as NVM Express has them: commands in, judged."""

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import data, enum, stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import ceil_log2

from hdl.layout import struct_layout
from hdl.ssd.command_judge import JUDGE_CYCLES, STATUS_BITS, CommandJudge
from hdl.stream.queue import StreamQueue
from sim.config import SsdConfig
from sim.program.ssd import LINE_BYTES, MODE_LOOK_UP, MODE_REPLACE, NS_CONFIG, SUBMISSION, SsdOpcode, SsdStatus
from sim.program.ssd_streams import CONTEXT, JOB, PAGE_BITS

ENTRY_BITS = 16
"""Width of an entry's number in its queue."""

DOORBELL = data.StructLayout({"queue": 1, "value": ENTRY_BITS})
"""Which queue (0: submissions, 1: completions), and its new tail or head."""

LINE_BITS = ceil_log2(LINE_BYTES)


class State(enum.Enum, shape=3):
    """What the unit is doing."""

    IDLE = 0
    """The next entry is taken."""
    ASK_ENTRY = 1
    """Its line is asked for."""
    ENTRY = 2
    """It comes."""
    ASK_CONFIG = 3
    """The configuration's line is asked for."""
    CONFIG = 4
    """It comes."""
    JUDGE = 5
    """It is judged."""
    CONTEXT = 6
    """The packer is told."""
    JOB = 7
    """And so are the targets, if the command is not refused."""


class QueuePair(wiring.Component):
    """Takes one command after the other, while others run.

    An entry is taken when one of `SsdConfig.commands_in_flight` places for commands is free, and a place in the
    completion queue that no other completion is to have: one entry of that queue always stays free. A command keeps
    the first until its completion is written, the second until the host says that it has read it.

    Where nothing waits a command takes eight cycles, and twice the time from a request for a line to the line; one that
    is refused by its opcode or PRP1 takes four and one such time.

    A doorbell with a number that its queue does not have, or one that frees completions that were not written, is
    ignored.

    Parameters
    ----------
    config : SsdConfig
        The engine.

    Attributes
    ----------
    doorbell : In(stream of `DOORBELL`)
        New tail of the submission queue, or head of the completion queue; one a cycle.
    sq_address : In(64)
        Byte of the host's memory at which the submission queue begins, a multiple of 64; constant from reset on.
    sq_entries, cq_entries : In(16)
        Entries of the queues; constant.
    pages : In(40)
        Logical pages of the SSD; constant.
    lines_request : Out(stream of 64 bits)
        Addresses of lines of the host's memory; one at a time.
    lines : In(stream of 512 bits)
        The line; always taken at once.
    contexts : Out(stream of `CONTEXT`)
        Every command, in order; of one that is refused only ``cid``, ``sq_head`` and ``status`` count.
    jobs : Out(stream of `JOB`)
        Those that are not refused, each after its context.
    completed : In(1)
        A completion is written.
    doorbell_error : Out(1)
        A doorbell was ignored.
    """

    def __init__(self, config: SsdConfig) -> None:
        self._config = config
        super().__init__(
            {
                "doorbell": In(stream.Signature(DOORBELL)),
                "sq_address": In(64),
                "sq_entries": In(ENTRY_BITS),
                "cq_entries": In(ENTRY_BITS),
                "pages": In(PAGE_BITS),
                "lines_request": Out(stream.Signature(64)),
                "lines": In(stream.Signature(8 * LINE_BYTES)),
                "contexts": Out(stream.Signature(struct_layout(CONTEXT))),
                "jobs": Out(stream.Signature(struct_layout(JOB))),
                "completed": In(1),
                "doorbell_error": Out(1),
            }
        )

    def elaborate(self, _platform: object) -> Module:
        """Build the queues' places, and the way of one command."""
        m = Module()
        state, takes = Signal(State), Signal()
        head, may_take = self._places(m, takes)
        m.submodules.line = line = StreamQueue(8 * LINE_BYTES, 1)
        wiring.connect(m, wiring.flipped(self.lines), line.beats)
        entry = data.View(struct_layout(SUBMISSION), line.held.payload)
        asked = data.View(struct_layout(NS_CONFIG), line.held.payload)
        m.submodules.judge = judge = CommandJudge(self._config)

        address, targets_address = Signal(64, reset_less=True), Signal(64, reset_less=True)
        cid, config_bytes, early = Signal(16, reset_less=True), Signal(32, reset_less=True), Signal(STATUS_BITS)
        status, refused, ends = Signal(STATUS_BITS), Signal(), Signal()
        m.d.comb += [
            judge.asked.eq(asked),
            judge.config_bytes.eq(config_bytes),
            judge.pages.eq(self.pages),
            status.eq(Mux(early == SsdStatus.OK, judge.status, early)),
            refused.eq(status != SsdStatus.OK),
            self.lines_request.payload.eq(address),
            self.lines_request.valid.eq((state == State.ASK_ENTRY) | (state == State.ASK_CONFIG)),
            self.contexts.valid.eq(state == State.CONTEXT),
            self.jobs.valid.eq(state == State.JOB),
            # The configuration stays where it came in until all of it is handed on.
            line.held.ready.eq((state == State.ENTRY) | ends),
        ]
        context, job = self.contexts.payload, self.jobs.payload
        shared = {f.name for f in NS_CONFIG.fields if f.name}
        m.d.comb += [
            *(context[f.name].eq(asked[f.name]) for f in CONTEXT.fields if f.name in shared),
            *(job[f.name].eq(asked[f.name]) for f in JOB.fields if f.name in shared),
            context.cid.eq(cid),
            context.sq_head.eq(head),
            context.status.eq(status),
            context.wide.eq(asked.id_bytes == 8),
            job.targets_address.eq(targets_address),
            job.wide.eq(asked.id_bytes == 8),
            job.replace.eq((asked.mode & MODE_REPLACE).any()),
            job.look_up.eq((asked.mode & MODE_LOOK_UP).any()),
        ]
        with m.Switch(state):
            with m.Case(State.IDLE):
                m.d.comb += takes.eq(may_take)
                m.d.sync += [address.eq(self.sq_address + (head << LINE_BITS)), early.eq(SsdStatus.OK)]
                with m.If(takes):
                    m.d.sync += state.eq(State.ASK_ENTRY)
            with m.Case(State.ASK_ENTRY), m.If(self.lines_request.ready):
                m.d.sync += state.eq(State.ENTRY)
            with m.Case(State.ENTRY):
                m.d.sync += [
                    cid.eq(entry.cid),
                    config_bytes.eq(entry.config_bytes),
                    address.eq(entry.prp1),
                    targets_address.eq(entry.prp1 + NS_CONFIG.bytes),
                ]
                with m.If(line.held.valid):
                    with m.If(entry.opcode != SsdOpcode.SAMPLE):
                        m.d.sync += [early.eq(SsdStatus.INVALID_OPCODE), state.eq(State.CONTEXT)]
                    with m.Elif(entry.prp1[:LINE_BITS].any()):
                        m.d.sync += [early.eq(SsdStatus.PRP_OFFSET), state.eq(State.CONTEXT)]
                    with m.Else():
                        m.d.sync += state.eq(State.ASK_CONFIG)
            with m.Case(State.ASK_CONFIG), m.If(self.lines_request.ready):
                m.d.sync += state.eq(State.CONFIG)
            with m.Case(State.CONFIG), m.If(line.held.valid):
                m.d.sync += state.eq(State.JUDGE)
            with m.Case(State.JUDGE):
                assert JUDGE_CYCLES == 2  # the second ends as the context is offered
                m.d.sync += state.eq(State.CONTEXT)
            with m.Case(State.CONTEXT), m.If(self.contexts.ready):
                m.d.comb += ends.eq(refused)
                m.d.sync += state.eq(Mux(refused, State.IDLE, State.JOB))
            with m.Case(State.JOB), m.If(self.jobs.ready):
                m.d.comb += ends.eq(1)
                m.d.sync += state.eq(State.IDLE)
        return m

    def _places(self, m: Module, takes: Signal) -> tuple[Signal, Signal]:
        """Keep account of both queues and of the commands; return the next entry, and whether it may be taken."""
        m.submodules.doorbells = doorbells = StreamQueue(DOORBELL, 2)
        wiring.connect(m, wiring.flipped(self.doorbell), doorbells.beats)
        rung, value = doorbells.held.valid, doorbells.held.payload.value
        head, tail, may_take = Signal(ENTRY_BITS), Signal(ENTRY_BITS), Signal()
        running = Signal(range(self._config.commands_in_flight + 1))
        # Of the completion queue: entries that are reserved, written or not, and those of them that are written.
        cq_head, reserved, written = Signal(ENTRY_BITS), Signal(ENTRY_BITS), Signal(ENTRY_BITS)
        freed, frees = Signal(ENTRY_BITS + 1), Signal()
        is_completion, known = doorbells.held.payload.queue, Signal()
        m.d.comb += [
            doorbells.held.ready.eq(1),
            freed.eq(Mux(value < cq_head, value + self.cq_entries, value) - cq_head),
            known.eq(Mux(is_completion, (value < self.cq_entries) & (freed <= written), value < self.sq_entries)),
            frees.eq(rung & is_completion & known),
            may_take.eq(
                (head != tail) & (running != self._config.commands_in_flight) & (reserved + 1 < self.cq_entries)
            ),
        ]
        with m.If(rung & ~known):
            m.d.sync += self.doorbell_error.eq(1)
        with m.If(rung & ~is_completion & known):
            m.d.sync += tail.eq(value)
        with m.If(frees):
            m.d.sync += cq_head.eq(value)
        with m.If(takes):
            m.d.sync += head.eq(Mux(head + 1 == self.sq_entries, 0, head + 1))
        m.d.sync += [
            running.eq(running + takes - self.completed),
            reserved.eq(reserved + takes - Mux(frees, freed, 0)),
            written.eq(written + self.completed - Mux(frees, freed, 0)),
        ]
        return head, may_take
