"""Claims about draws: numbers below their bound, no edge twice, nothing lost on the way, and the places of ids."""

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from hdl.ssd.chosen import Chosen
from hdl.ssd.place import FirstHalf, IdPlace
from sim.config import SsdConfig
from testbenches.formal.smaller import elaborated
from testbenches.formal.watch import passes


class PlacedId(wiring.Component):
    """The two halves of the way from an edge list's address to an id's place, together.

    Parameters
    ----------
    config : SsdConfig
        Its pages.
    place : wiring.Component, optional
        In place of `IdPlace`.
    """

    def __init__(self, config: SsdConfig, place: wiring.Component | None = None) -> None:
        self._first, self._place = FirstHalf(config), IdPlace(config) if place is None else place
        first, place = self._first.signature.members, self._place.signature.members
        super().__init__(
            {
                **{name: first[name] for name in ("edges_address", "offset", "wide")},
                **{name: place[name] for name in ("edge", "page", "beat", "half")},
            }
        )

    def elaborate(self, _platform: object) -> Module:
        """Connect them."""
        m = Module()
        m.submodules.first, m.submodules.place = first, place = self._first, self._place
        m.d.comb += [
            *(getattr(first, name).eq(getattr(self, name)) for name in ("edges_address", "offset", "wide")),
            place.first.eq(first.half),
            *(getattr(place, name).eq(getattr(self, name)) for name in ("edge", "wide")),
            *(getattr(self, name).eq(getattr(place, name)) for name in ("page", "beat", "half")),
        ]
        return m


class JudgedWords(wiring.Component):
    """A `Bounded` of few bits; each word is judged until there is a verdict, which is compared with a modulo.

    Parameters
    ----------
    bounded : Bounded
        The unit.
    word_bits, bound_bits : int
        Its widths.
    claims : tuple of str
        Some of `CLAIMS`.
    """

    CLAIMS = ("beyond", "favoured", "wasted", "both", "late")

    def __init__(
        self, bounded: wiring.Component, word_bits: int, bound_bits: int, claims: tuple[str, ...] = CLAIMS
    ) -> None:
        self._bounded, self._word_bits, self._bound_bits, self._claims = bounded, word_bits, bound_bits, claims
        super().__init__(
            {"word": In(word_bits), "bound": In(bound_bits), "load": In(1), **{name: Out(1) for name in claims}}
        )

    def elaborate(self, _platform: object) -> Module:
        """Build the claims."""
        m = Module()
        bounded, words = self._bounded, 1 << self._word_bits
        names = {"WORD_BITS": self._word_bits, "BOUND_BITS": self._bound_bits, "STEPS": self._word_bits + 1}
        m.submodules.bounded, _ = elaborated(bounded, type(bounded), **names)
        active, told, loads = Signal(), Signal(), Signal()
        word, bound = Signal(self._word_bits), Signal(self._bound_bits)
        waits = Signal(range(self._word_bits + 3))
        m.d.comb += [
            told.eq(bounded.good | bounded.rejected),
            loads.eq(self.load & (self.bound != 0) & (~active | told)),
            bounded.load.eq(loads),
            bounded.word.eq(self.word),
            bounded.bound.eq(self.bound),
            bounded.judges.eq(active),
        ]
        with m.If(loads):
            m.d.sync += [active.eq(1), word.eq(self.word), bound.eq(self.bound), waits.eq(0)]
        with m.Elif(active & ~told):
            m.d.sync += waits.eq(waits + 1)
        product, remainder, even = Signal(self._word_bits + self._bound_bits), Signal.like(bound), Signal()
        m.d.comb += [
            product.eq(word * bound),
            remainder.eq(words % Mux(bound == 0, 1, bound)),
            even.eq(product[: self._word_bits] >= remainder),
        ]
        claims = {
            "beyond": active & bounded.good & (bounded.number >= bound),
            "favoured": active & bounded.good & ~even,
            "wasted": active & bounded.rejected & even,
            "both": active & bounded.good & bounded.rejected,
            "late": waits > self._word_bits + 1,
        }
        m.d.comb += [getattr(self, name).eq(claims[name]) for name in self._claims]
        return m


class ChosenOnce(wiring.Component):
    """Floyd's draws of one target after the other, any number of any list; one edge of each target is followed.

    Parameters
    ----------
    chosen : Chosen
        The unit.
    places : int
        Draws of a target at most.
    bits : int
        Width of an edge.
    """

    CLAIMS = ("twice", "beyond")

    def __init__(self, chosen: wiring.Component, places: int, bits: int) -> None:
        self._chosen, self._places, self._bits = chosen, places, bits
        super().__init__(
            {
                "degree": In(bits), "count": In(range(places + 1)), "number": In(bits), "draws": In(1), "follow": In(1),
                **{name: Out(1) for name in self.CLAIMS},
            }
        )  # fmt: skip

    def elaborate(self, _platform: object) -> Module:
        """Build the claims."""
        m = Module()
        m.submodules.chosen, _ = elaborated(self._chosen, Chosen, BOUND_BITS=self._bits)
        chosen = self._chosen
        done, degree, count = Signal(range(self._places + 1)), Signal(self._bits), Signal(range(self._places + 1))
        begins, this_degree, this_count, last = Signal(), Signal.like(degree), Signal.like(count), Signal(self._bits)
        followed, edge, adds = Signal(), Signal(self._bits), Signal()
        m.d.comb += [
            begins.eq(done == 0),
            this_degree.eq(Mux(begins, self.degree, degree)),
            this_count.eq(Mux(begins, self.count, count)),
            last.eq(this_degree - this_count + done),
            adds.eq(
                self.draws
                & (this_count != 0)
                & (this_count <= self._places)
                & (this_count <= this_degree)
                & (self.number <= last)
            ),
            chosen.number.eq(self.number),
            chosen.last.eq(last),
            chosen.begins.eq(begins),
            chosen.index.eq(done),
            chosen.add.eq(adds),
        ]
        with m.If(adds):
            m.d.sync += [
                degree.eq(this_degree), count.eq(this_count), done.eq(Mux(done + 1 == this_count, 0, done + 1)),
            ]  # fmt: skip
            with m.If(begins | ~followed):
                m.d.sync += [followed.eq(self.follow), edge.eq(chosen.edge)]
        m.d.comb += [
            self.twice.eq(adds & ~begins & followed & (chosen.edge == edge)),
            self.beyond.eq(adds & (chosen.edge > last)),
        ]
        return m


class AnyVerdict(wiring.Component):
    """In place of `Bounded`: the checker chooses the verdict."""

    load: In(1)
    word: In(32)
    bound: In(31)
    judges: In(1)
    choice: In(2)
    good: Out(1)
    rejected: Out(1)
    number: Out(31)

    def elaborate(self, _platform: object) -> Module:
        """Build it."""
        m = Module()
        m.d.comb += [self.good.eq(self.choice == 1), self.rejected.eq(self.choice == 2)]
        return m


class NoWords(wiring.Component):
    """In place of the generator, whose words do not matter."""

    key_0: In(32)
    key_1: In(32)
    counter_0: In(32)
    counter_1: In(32)
    draw_0: Out(32)
    draw_1: Out(32)

    def __init__(self, **_latency: int) -> None:
        super().__init__()

    def elaborate(self, _platform: object) -> Module:
        """Build nothing."""
        return Module()


class CountedSamples(wiring.Component):
    """A draw unit with short lists; words are good, rejected or divided as the checker likes.

    Parameters
    ----------
    config : SsdConfig
        The engine.
    unit : DrawUnit
        The unit.
    count_bits : int
        Width of degrees and counts.
    claims : tuple of str
        Some of `CLAIMS`.
    """

    CLAIMS = ("words_lost", "targets_lost", "orphaned", "invented", "withdrawn", "stuck")

    def __init__(
        self, config: SsdConfig, unit: wiring.Component, count_bits: int, claims: tuple[str, ...] = CLAIMS
    ) -> None:
        self._config, self._unit, self._bits, self._claims = config, unit, count_bits, claims
        super().__init__(
            {
                "offers": In(1), "begins_hop": In(1), "degree": In(count_bits), "count": In(count_bits),
                "verdict": In(2), "ready": In(1), **{name: Out(1) for name in claims},
            }
        )  # fmt: skip

    def elaborate(self, _platform: object) -> Module:
        """Build the claims."""
        m = Module()
        unit = self._unit
        names = {"Threefry": NoWords, "Bounded": AnyVerdict, "BOUND_BITS": self._bits}
        m.submodules.unit, inside = elaborated(unit, type(unit), **names)
        words, targets = inside.submodules.words, inside.submodules.targets
        m.d.comb += inside.submodules.bounded.choice.eq(self.verdict)
        # What is offered stays; targets have samples, and not more than edges.
        waits, held = Signal(), Signal(1 + 2 * self._bits)
        fresh, chosen = Signal.like(held), Signal.like(held)
        begins_hop, degree, count = chosen[0], chosen[1 : 1 + self._bits], chosen[1 + self._bits :]
        m.d.comb += [
            fresh.eq(self.begins_hop | self.degree << 1 | self.count << (1 + self._bits)),
            chosen.eq(Mux(waits, held, fresh)),
            unit.jobs.valid.eq(waits | (self.offers & (begins_hop | ((count != 0) & (count <= degree))))),
            unit.jobs.payload.begins_hop.eq(begins_hop),
            unit.jobs.payload.target_degree.eq(degree),
            unit.jobs.payload.target_count.eq(count),
            unit.samples.ready.eq(self.ready),
        ]
        m.d.sync += [waits.eq(unit.jobs.valid & ~unit.jobs.ready), held.eq(chosen)]
        places = self._config.draw_latency + 2
        owed = Signal(range((places + 8) << self._bits))
        taken, given = passes(unit.jobs) & ~begins_hop, passes(unit.samples)
        m.d.sync += owed.eq(owed + Mux(taken, count, 0) - given)
        # A hop's key and a draw each take a pass, the steps four cycles.
        patience = 3 * self._config.draw_latency + 12
        quiet = Signal(range(patience + 1))
        still = (owed != 0) & self.ready & (self.verdict == 1) & ~given & ~passes(unit.jobs)
        m.d.sync += quiet.eq(Mux(still, quiet + (quiet != patience), 0))
        offered = Signal()
        m.d.sync += offered.eq(unit.samples.valid & ~unit.samples.ready)
        claims = {
            "words_lost": words.beats.valid & ~words.beats.ready,
            "targets_lost": targets.beats.valid & ~targets.beats.ready,
            "orphaned": words.held.valid & ~targets.held.valid,
            "invented": unit.samples.valid & (owed == 0),
            "withdrawn": offered & ~unit.samples.valid,
            "stuck": quiet == patience,
        }
        m.d.comb += [getattr(self, name).eq(claims[name]) for name in self._claims]
        return m
