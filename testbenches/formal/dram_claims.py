"""Claims about the DRAM scheduler and its parts: components whose outputs must never rise."""

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import ceil_log2

from hdl.layout import struct_layout
from sim.config import DramConfig
from sim.program.memory import DRAM_COMMAND, DRAM_REQUEST, DramCommand
from testbenches.models.dram_rules import DramRules


class RefreshDebt(wiring.Component):
    """Counts what falls due and what is given, per rank."""

    def __init__(self, config: DramConfig) -> None:
        self.config = config
        super().__init__({"command": In(struct_layout(DRAM_COMMAND)), "early": Out(1), "late": Out(1)})

    def elaborate(self, _platform: object) -> Module:
        """Build the claims."""
        m = Module()
        interval, ranks = self.config.timing.trefi, self.config.ranks_per_dimm
        early, late = [], []
        for rank in range(ranks):
            waited = Signal(range(2 * interval), name=f"waited_{rank}")
            started, due, debt = (
                Signal(n, name=f"{name}_{rank}") for name, n in (("started", 1), ("due", 1), ("debt", 4))
            )
            given = (self.command.command == DramCommand.REFRESH) & (self.command.rank == rank)
            m.d.comb += due.eq(waited == interval - 1 + Mux(started, 0, rank * interval // ranks))
            m.d.sync += [waited.eq(Mux(due, 0, waited + 1)), started.eq(started | due), debt.eq(debt + due - given)]
            early.append(given & (debt == 0))
            late.append(debt > self.config.postponed_refreshes + 1)
        m.d.comb += [self.early.eq(Cat(early).any()), self.late.eq(Cat(late).any())]
        return m


class StampedRules(wiring.Component):
    """The checker of the devices, as one claim: no rule is broken."""

    def __init__(self, config: DramConfig) -> None:
        self.config = config
        super().__init__({"command": In(struct_layout(DRAM_COMMAND)), "broken": Out(1)})

    def elaborate(self, _platform: object) -> Module:
        """Build the claims."""
        m = Module()
        m.submodules.rules = rules = DramRules(self.config)
        m.d.comb += [rules.command.eq(self.command), self.broken.eq(rules.broken != 0)]
        return m


class Watched(wiring.Component):
    """A scheduler with free requests, and a watcher of its commands."""

    def __init__(self, config: DramConfig, scheduler: wiring.Component, watcher: wiring.Component) -> None:
        self._scheduler, self._watcher = scheduler, watcher
        sizes = {
            "rank": config.ranks_per_dimm,
            "bank_group": config.bank_groups,
            "bank": config.banks_per_group,
            "row": config.rows,
            "more_bursts": 2,
        }
        self._fields = {"write": 1, **{n: ceil_log2(size) for n, size in sizes.items() if size > 1}}
        self._claims = [n for n, member in watcher.signature.members.items() if member.flow == Out]
        super().__init__(
            {"valid": In(1), **{n: In(bits) for n, bits in self._fields.items()}, **{n: Out(1) for n in self._claims}}
        )

    def elaborate(self, _platform: object) -> Module:
        """Build the claims."""
        m = Module()
        m.submodules.scheduler, m.submodules.watcher = scheduler, watcher = self._scheduler, self._watcher
        request = scheduler.requests
        m.d.comb += [
            request.valid.eq(self.valid),
            request.payload.bursts.eq(1 + self.more_bursts),
            watcher.command.eq(scheduler.command),
        ]
        m.d.comb += [request.payload[n].eq(getattr(self, n)) for n in self._fields if n != "more_bursts"]
        m.d.comb += [getattr(self, n).eq(getattr(watcher, n)) for n in self._claims]
        return m


class TrackedRequest(wiring.Component):
    """A request window from which any entry moves on, and any one request that is followed through it."""

    def __init__(self, config: DramConfig, window: wiring.Component) -> None:
        self._window, self._depth = window, config.window_requests
        layout = struct_layout(DRAM_REQUEST)
        super().__init__(
            {
                "valid": In(1), "payload": In(layout), "follow": In(1), "place": In(range(self._depth + 1)),
                "refused": Out(1), "gap": Out(1), "lost": Out(1), "overtaken": Out(1), "held_back": Out(1),
            }
        )  # fmt: skip

    def elaborate(self, _platform: object) -> Module:
        """Build the claims."""
        m = Module()
        depth = self._depth
        m.submodules.window = window = self._window
        taken = window.requests.valid & window.requests.ready
        entry = window.entries[self.place]
        m.d.comb += [
            window.requests.valid.eq(self.valid),
            window.requests.payload.eq(self.payload),
            window.requests.payload.bursts.eq(Mux(self.payload.bursts == 0, 1, self.payload.bursts)),
            window.advance.eq((1 << self.place) & window.valid),
        ]
        leaves = Signal()
        m.d.comb += leaves.eq(window.advance.any() & (window.burst[self.place] + 1 == entry.bursts))

        count, ahead, given = Signal(range(depth + 1)), Signal(range(depth + 1)), Signal(8)
        followed, request = Signal(), Signal.like(window.requests.payload)
        m.d.sync += count.eq(count + taken - leaves)
        with m.If(~followed & taken & self.follow):
            m.d.sync += [followed.eq(1), request.eq(window.requests.payload), ahead.eq(count - leaves), given.eq(0)]
        with m.If(followed & leaves & (self.place < ahead)):
            m.d.sync += ahead.eq(ahead - 1)
        with m.If(followed & window.advance.any() & (self.place == ahead)):
            m.d.sync += given.eq(given + 1)
            with m.If(given + 1 == request.bursts):
                m.d.sync += followed.eq(0)

        same = [Value.cast(1) for _ in range(depth)]
        for i in range(depth):
            same[i] = Cat(window.entries[i][field] == request[field] for field in ("rank", "bank_group", "bank")).all()
        older = Cat(same[i] & (i < ahead) for i in range(depth)).any()
        held = window.valid.bit_select(ahead, 1) & (window.entries[ahead] == request) & (window.burst[ahead] == given)
        m.d.comb += [
            self.refused.eq(window.requests.ready != (count != depth)),
            self.gap.eq(window.valid != (1 << count) - 1),
            self.lost.eq(followed & ~held),
            self.overtaken.eq(followed & Cat(window.head[i] & same[i] & (i > ahead) for i in range(depth)).any()),
            self.held_back.eq(followed & (window.head.bit_select(ahead, 1) == older)),
        ]
        return m


class PatientTimer(wiring.Component):
    """A refresh timer whose refreshes are given within an interval, with a count of its own beside it."""

    def __init__(self, config: DramConfig, rank: int, timer: wiring.Component) -> None:
        self._config, self._rank, self._timer = config, rank, timer
        super().__init__(
            {
                "waiting": In(1),
                "grant": In(1),
                "late": Out(1),
                "needless": Out(1),
                "unheeded": Out(1),
                "unfinished": Out(1),
            }
        )

    def elaborate(self, _platform: object) -> Module:
        """Build the claims."""
        m = Module()
        config, interval = self._config, self._config.timing.trefi
        m.submodules.timer = timer = self._timer
        patience = Signal(range(interval), init=interval - 1)
        started, due, bound = Signal(), Signal(), Signal()
        waited, debt = Signal(range(2 * interval)), Signal(8)
        m.d.comb += [
            timer.waiting.eq(self.waiting),
            timer.refresh.eq(timer.active & (self.grant | (patience == 0))),
            due.eq(waited == interval - 1 + Mux(started, 0, self._rank * interval // config.ranks_per_dimm)),
        ]
        m.d.sync += [
            patience.eq(Mux(timer.active & ~timer.refresh, patience - 1, interval - 1)),
            waited.eq(Mux(due, 0, waited + 1)),
            started.eq(started | due),
            debt.eq(debt + due - timer.refresh),
            bound.eq(timer.active & ~(timer.refresh & (debt == 1))),
        ]
        m.d.comb += [
            self.late.eq(debt > config.postponed_refreshes + 1),
            self.needless.eq(timer.active & (debt == 0)),
            self.unheeded.eq(~timer.active & ((debt > config.postponed_refreshes) | ((debt != 0) & ~self.waiting))),
            self.unfinished.eq(bound & ~timer.active),
        ]
        return m
