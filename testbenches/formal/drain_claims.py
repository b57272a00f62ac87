"""Claims about the drain stage: each touched place is handed over once, and no other."""

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import ceil_log2

from sim.config import NmeConfig
from testbenches.formal.watch import rigid, unsteady


class PartialOrder(wiring.Component):
    """Follows the partial sums of one shard: which place each is of, and whether they rise.

    Attributes
    ----------
    start : In(1)
        The next partial sum is the first of a shard.
    moves : In(1)
        A partial sum is handed over.
    """

    def __init__(self, config: NmeConfig) -> None:
        self._interval = config.interval
        beats = range(config.max_beats + 1)
        super().__init__(
            {
                "start": In(1), "moves": In(1), "index": In(16), "first": In(1), "last": In(1), "beats": In(beats),
                "beat": Out(beats), "broken": Out(1),
            }
        )  # fmt: skip

    def elaborate(self, _platform: object) -> Module:
        """Build the claims."""
        m = Module()
        # The least slot that may come next.
        least = Signal(range(self._interval + 1))
        begun = self.beat != 0
        m.d.comb += self.broken.eq(
            (self.first == begun)
            | (self.last != (self.beat + 1 == self.beats))
            | (self.index >= self._interval)
            | Mux(begun, self.index != least, self.index < least)
        )
        with m.If(self.start):
            m.d.sync += [least.eq(0), self.beat.eq(0)]
        with m.Elif(self.moves):
            m.d.sync += [least.eq(self.index + self.last), self.beat.eq(Mux(self.last, 0, self.beat + 1))]
        return m


class DrainedOnce(wiring.Component):
    """A drain stage with any shards, and a buffer of which one place is watched."""

    def __init__(self, config: NmeConfig, drain: wiring.Component) -> None:
        self._config, self._drain = config, drain
        claims = ("early", "disordered", "needless", "doubled", "missing", "wrong", "misreported", "unsteady")
        super().__init__(
            {
                "valid": In(1), "touched": In(config.interval), "beats": In(range(config.max_beats + 1)),
                "tag": In(1), "bank": In(1), "unwritten": In(1), "noise": In(1), "partials_ready": In(1),
                "status_ready": In(1), "slot": In(len(drain.place)), "beat": In(range(max(2, config.max_beats))),
                "value": In(1), **{n: Out(1) for n in claims},
            }
        )  # fmt: skip

    def elaborate(self, _platform: object) -> Module:
        """Build the claims."""
        m = Module()
        config = self._config
        m.submodules.drain = drain = self._drain
        m.submodules.order = order = PartialOrder(config)
        slot_bits = max(1, ceil_log2(config.interval))
        slot, beat = rigid(m, self.slot[:slot_bits], "slot"), rigid(m, self.beat, "beat")
        value = rigid(m, self.value, "value")
        place = Cat(beat[: ceil_log2(config.max_beats)], slot)[: len(drain.place)]
        ended, partial = drain.ended.payload, drain.partials.payload
        legal = (self.touched == 0) | ((self.beats != 0) & (self.beats <= config.max_beats))
        # Nothing is added to a bank that drains: once written, it stays so.
        read_watched, written = Signal(), Signal()
        m.d.comb += [
            drain.ended.valid.eq(self.valid & legal),
            *(ended[n].eq(getattr(self, n)) for n in ("touched", "beats", "tag", "bank")),
            drain.unwritten.eq(self.unwritten & ~written),
            drain.partials.ready.eq(self.partials_ready),
            drain.status.ready.eq(self.status_ready),
            drain.sums[0].eq(Mux(read_watched, value, rigid_until(m, drain.read, self.noise))),
        ]
        with m.If(drain.read):
            m.d.sync += read_watched.eq(drain.place == place)

        taken = drain.ended.valid & drain.ended.ready
        moves = drain.partials.valid & drain.partials.ready
        open_, due, given, tag, beats = Signal(), Signal(), Signal(), Signal(), Signal.like(self.beats)
        bank, this = Signal(), Signal()
        m.d.sync += written.eq(~taken & (written | ~self.unwritten))
        m.d.comb += [
            order.start.eq(taken),
            order.moves.eq(moves),
            order.beats.eq(beats),
            *(getattr(order, n).eq(partial[n]) for n in ("index", "first", "last")),
            this.eq((partial.index == slot) & (order.beat == beat)),
        ]
        with m.If(moves & this):
            m.d.sync += given.eq(1)
        with m.If(drain.status.valid & drain.status.ready):
            m.d.sync += open_.eq(0)
        with m.If(taken):
            touched = self.touched.bit_select(slot, 1)
            m.d.sync += [open_.eq(1), due.eq(touched & (beat < self.beats)), given.eq(0), tag.eq(self.tag)]
            m.d.sync += [beats.eq(self.beats), bank.eq(self.bank)]
        offered = drain.partials.valid
        m.d.comb += [
            self.early.eq(drain.read & (drain.unwritten | (drain.bank != bank))),
            self.disordered.eq(offered & order.broken),
            self.needless.eq(offered & (~open_ | (this & ~due))),
            self.doubled.eq(offered & this & given),
            self.missing.eq(drain.status.valid & ((due & ~given) | offered)),
            self.wrong.eq(offered & this & (partial.data[0] != value)),
            self.misreported.eq(drain.status.valid & (~open_ | (drain.status.payload.tag != tag))),
            self.unsteady.eq(
                unsteady(m, drain.partials, "partials")
                | unsteady(m, drain.status, "status")
                | (taken & open_ & ~drain.status.valid)
            ),
        ]
        return m


def rigid_until(m: Module, event: Value, choice: Value) -> Value:
    """Return a free input's value in the cycle after an event, until the next."""
    fresh, held = Signal(name="fresh_noise"), Signal.like(choice, name="held_noise")
    m.d.sync += fresh.eq(event)
    with m.If(fresh):
        m.d.sync += held.eq(choice)
    return Mux(fresh, choice, held)
