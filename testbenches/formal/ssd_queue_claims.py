"""Claims about the sampling engine's queues of commands, and about its ports to the memories."""

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from hdl.layout import struct_layout
from hdl.ssd.command_judge import STATUS_BITS
from sim.program.ssd import NS_CONFIG, SsdOpcode
from sim.program.ssd_streams import PAGE_BITS
from testbenches.formal.smaller import elaborated
from testbenches.formal.watch import passes, rigid, unsteady

NUMBER_BITS = 2
"""Of entries' numbers: queues of up to 3 entries."""

SMALLER = {"ENTRY_BITS": NUMBER_BITS, "DOORBELL": data.StructLayout({"queue": 1, "value": NUMBER_BITS})}
"""What stands for names of `hdl.ssd.queue_pair`."""


def small_pair(owner, config):
    """Make a queue pair with short queues.

    Parameters
    ----------
    owner : type
        `QueuePair`, or the same class with a planted bug.
    config : SsdConfig
        The engine.

    Returns
    -------
    QueuePair
        The unit.
    """
    module = owner.elaborate.__globals__
    shipped = {name: module[name] for name in SMALLER}
    module.update(SMALLER)
    try:
        return owner(config)
    finally:
        module.update(shipped)


class AnyJudge(wiring.Component):
    """In place of the judge: the checker chooses what it says of each line."""

    asked: In(struct_layout(NS_CONFIG))
    config_bytes: In(32)
    pages: In(PAGE_BITS)
    comes: In(1)
    choice: In(1)
    status: Out(STATUS_BITS)

    def __init__(self, _config) -> None:
        super().__init__()

    def elaborate(self, _platform: object) -> Module:
        """Build it."""
        m = Module()
        with m.If(self.comes):
            m.d.sync += self.status.eq(self.choice)
        return m


class CountedCommands(wiring.Component):
    """A queue pair of any sizes up to 3, with a host that keeps the rules, a memory and a packer that take any time.

    Parameters
    ----------
    config : SsdConfig
        The engine.
    pair : QueuePair
        The unit, as `small_pair` makes it.
    patience : int
        Cycles in which the next command comes, if nothing holds it back.
    claims : tuple of str
        Some of `CLAIMS`.
    wild : bool
        The host rings as it likes, also what is out of range; only `WILD_CLAIMS` make sense then.
    """

    CLAIMS = (
        "accused", "invented", "skipped", "crowded", "overwritten", "refused_runs", "forgotten", "withdrawn", "unasked",
        "stuck",
    )  # fmt: skip
    WILD_CLAIMS = ("crowded", "refused_runs", "forgotten", "withdrawn", "unasked")

    def __init__(self, config, pair, patience=16, claims=CLAIMS, *, wild=False) -> None:
        self._config, self._pair, self._patience, self._claims, self._wild = config, pair, patience, claims, wild
        super().__init__(
            {
                "sq_entries": In(NUMBER_BITS), "cq_entries": In(NUMBER_BITS), "rings": In(1), "queue": In(1),
                "value": In(NUMBER_BITS), "asked": In(1), "comes": In(1), "known": In(1), "aligned": In(1),
                "judged": In(1), "context": In(1), "job": In(1), "completes": In(1), **{n: Out(1) for n in claims},
            }
        )  # fmt: skip

    def elaborate(self, _platform: object) -> Module:
        """Build the claims."""
        m = Module()
        pair, most = self._pair, self._config.commands_in_flight
        m.submodules.pair, inside = elaborated(pair, type(pair), CommandJudge=AnyJudge, **SMALLER)
        sq_entries, cq_entries = (rigid(m, getattr(self, n), n) for n in ("sq_entries", "cq_entries"))

        # The host: entries that it has rung for and whose context is still to come, completions that it has not read.
        tail, head = Signal(NUMBER_BITS), Signal(NUMBER_BITS)
        entries, unread = Signal(NUMBER_BITS), Signal(NUMBER_BITS + 1)
        size, place = Mux(self.queue, cq_entries, sq_entries), Mux(self.queue, head, tail)
        distance, fair, rung = Signal(NUMBER_BITS + 1), Signal(), Signal()
        m.d.comb += [
            distance.eq(Mux(self.value < place, self.value + size, self.value) - place),
            fair.eq((self.value < size) & Mux(self.queue, distance <= unread, entries + distance < size)),
            pair.sq_entries.eq(sq_entries),
            pair.cq_entries.eq(cq_entries),
            pair.doorbell.valid.eq(self.rings & (fair | self._wild)),
            pair.doorbell.payload.queue.eq(self.queue),
            pair.doorbell.payload.value.eq(self.value),
            rung.eq(passes(pair.doorbell)),
        ]
        with m.If(rung & self.queue):
            m.d.sync += head.eq(self.value)
        with m.If(rung & ~self.queue):
            m.d.sync += tail.eq(self.value)

        # The memory answers at any time, the packer completes at any time; what is told, and not yet completed.
        due, told = Signal(range(4)), Signal(range(most + 2))
        asks, told_now = passes(pair.lines_request), passes(pair.contexts)
        completed, line = Signal(), Signal()
        m.d.comb += [
            pair.lines_request.ready.eq(self.asked),
            line.eq(self.comes & (due != 0)),
            pair.lines.valid.eq(line),
            pair.lines.payload[:8].eq(Mux(self.known, SsdOpcode.SAMPLE, 0)),
            pair.lines.payload[192].eq(~self.aligned),
            inside.submodules.judge.comes.eq(line),
            inside.submodules.judge.choice.eq(self.judged),
            pair.contexts.ready.eq(self.context),
            pair.jobs.ready.eq(self.job),
            completed.eq(self.completes & (told != 0)),
            pair.completed.eq(completed),
        ]
        m.d.sync += [
            due.eq(due + asks - line),
            told.eq(told + told_now - completed),
            entries.eq(entries + Mux(rung & ~self.queue, distance, 0) - told_now),
            unread.eq(unread + completed - Mux(rung & self.queue, distance, 0)),
        ]

        # One command at a time is on its way; the head behind each is one on.
        on_its_way, following, owes_job = Signal(), Signal(NUMBER_BITS), Signal()
        begins = pair.lines_request.valid & ~on_its_way
        m.d.sync += on_its_way.eq((on_its_way | begins) & ~told_now)
        next_head = Mux(following + 1 == sq_entries, 0, following + 1)
        with m.If(told_now):
            m.d.sync += [following.eq(next_head), owes_job.eq(pair.contexts.payload.status == 0)]
        with m.Elif(passes(pair.jobs)):
            m.d.sync += owes_job.eq(0)
        streams = (pair.lines_request, pair.contexts, pair.jobs)
        waited = [Signal(name=f"waited_{i}") for i in range(len(streams))]
        m.d.sync += [was.eq(offered.valid & ~offered.ready) for was, offered in zip(waited, streams, strict=True)]
        taken_back = [was & ~offered.valid for was, offered in zip(waited, streams, strict=True)]
        status = Signal(STATUS_BITS)
        m.d.sync += status.eq(pair.contexts.payload.status)
        quiet = Signal(range(self._patience + 1))
        free = (
            (entries != 0)
            & (told + on_its_way < most)
            & (unread + told + on_its_way + 1 < cq_entries)
            & self.asked & (line | (due == 0)) & self.context & self.job & ~completed & ~rung
        )  # fmt: skip
        m.d.sync += quiet.eq(Mux(free & ~told_now, quiet + (quiet != self._patience), 0))
        claims = {
            "accused": pair.doorbell_error,
            "invented": pair.contexts.valid & (entries == 0),
            "skipped": pair.contexts.valid & (pair.contexts.payload.sq_head != next_head),
            "crowded": told + (on_its_way | begins) > most,
            "overwritten": (told + on_its_way != 0) & (unread + told + on_its_way >= cq_entries),
            "refused_runs": pair.jobs.valid & ~owes_job,
            "forgotten": told_now & owes_job,
            "withdrawn": Cat(taken_back).any() | (waited[1] & (pair.contexts.payload.status != status)),
            "unasked": (due > 1) | (line & ~pair.lines.ready),
            "stuck": quiet == self._patience,
        }
        m.d.comb += [getattr(self, name).eq(claims[name]) for name in self._claims]
        return m


class TrackedRead(wiring.Component):
    """A port with several users and a memory that answers in order at any time; one read of one user is followed.

    Parameters
    ----------
    share : ReadShare
        The port, with addresses and answers of one bit.
    users, depth : int
        Its users, and reads under way at most.
    claims : tuple of str
        Some of `CLAIMS`.
    """

    CLAIMS = ("unsteady", "changed", "astray", "invented", "crowded", "doubled", "starved", "idle")

    def __init__(self, share, users, depth, claims=CLAIMS) -> None:
        self._share, self._users, self._depth, self._claims = share, users, depth, claims
        super().__init__(
            {
                "valid": In(users), "address": In(users), "ready": In(1), "comes": In(1), "data": In(1),
                "follow": In(1), "which": In(range(max(2, users))), **{n: Out(1) for n in claims},
            }
        )  # fmt: skip

    def elaborate(self, _platform: object) -> Module:
        """Build the claims."""
        m = Module()
        share, depth, users = self._share, self._depth, range(self._users)
        m.submodules.share, inside = elaborated(share, type(share))
        which = rigid(m, self.which, "which")
        under_way, answered = Signal(range(depth + 2)), Signal()
        asks = passes(share.request)
        m.d.comb += [
            share.request.ready.eq(self.ready),
            answered.eq(self.comes & (under_way != 0)),
            share.response.valid.eq(answered),
            share.response.payload.eq(self.data),
        ]
        m.d.sync += under_way.eq(under_way + asks - answered)
        comes, goes, waits, mine = Signal(), Signal(), Signal(), Signal()
        address = Signal()
        given, wrong_data = Signal(self._users), Signal()
        for i in users:
            request, response = getattr(share, f"request_{i}"), getattr(share, f"response_{i}")
            queue = getattr(inside.submodules, f"queue_{i}").held
            m.d.comb += [
                request.valid.eq(self.valid[i]),
                request.payload.eq(self.address[i]),
                response.ready.eq(1),
                given[i].eq(response.valid),
            ]
            with m.If(which == i):
                m.d.comb += [
                    comes.eq(passes(request)),
                    address.eq(self.address[i]),
                    goes.eq(passes(queue)),
                    waits.eq(queue.valid),
                    mine.eq(response.valid),
                    wrong_data.eq(response.valid & (response.payload != self.data)),
                ]
        # Reads of this user that wait in its queue, and those before the one that is followed: in the queue, and then
        # under way.
        waiting, owed = Signal(range(4)), Signal(range(depth + 4))
        state, ahead, wanted = Signal(range(3)), Signal(range(depth + 4)), Signal()
        m.d.sync += [waiting.eq(waiting + comes - goes), owed.eq(owed + comes - mine)]
        its_turn = (state == 1) & goes & (ahead == 0)
        its_answer = (state == 2) & answered & (ahead == 0)
        with m.If((state == 0) & comes & self.follow):
            m.d.sync += [state.eq(1), ahead.eq(waiting - goes), wanted.eq(address)]
        with m.Elif(its_turn):
            m.d.sync += [state.eq(2), ahead.eq(under_way - answered)]
        with m.Elif(((state == 1) & goes) | ((state == 2) & answered & (ahead != 0))):
            m.d.sync += ahead.eq(ahead - 1)
        with m.Elif(its_answer):
            m.d.sync += state.eq(0)
        others = Signal(range(self._users + 1))
        m.d.sync += others.eq(Mux(waits & ~goes, others + (asks & (others != self._users)), 0))
        claims = {
            "unsteady": unsteady(m, share.request, "request"),
            "changed": (its_turn & (share.request.payload != wanted)) | wrong_data,
            "astray": its_answer & ~mine,
            "invented": mine & (owed == 0),
            "crowded": under_way > depth,
            "doubled": answered & ((given & (given - 1)[: self._users]).any() | ~given.any()),
            "starved": others == self._users,
            "idle": waits & (under_way != depth) & ~share.request.valid,
        }
        m.d.comb += [getattr(self, name).eq(claims[name]) for name in self._claims]
        return m
