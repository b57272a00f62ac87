"""Draws samples of targets: random edges of their lists, and where the edges' ids lie."""

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from hdl.arith.threefry import Threefry
from hdl.counters import share_out
from hdl.layout import struct_layout
from hdl.ssd.bounded import BOUND_BITS, WORD_BITS, Bounded
from hdl.ssd.chosen import Chosen
from hdl.ssd.place import FirstHalf, IdPlace, half_bits
from hdl.stream.queue import StreamQueue
from sim.config import SsdConfig
from sim.program.counters import COUNTER_BITS
from sim.program.ssd import NODE_BITS
from sim.program.ssd_counters import DRAW_COUNTERS
from sim.program.ssd_streams import DRAW_JOB, SAMPLE

CREDIT_CYCLES = 2
"""Cycles from a word's leaving the generator to the next draw that may be asked for in its place."""


class DrawUnit(wiring.Component):
    """Makes the samples of one target after the other, one a cycle.

    A target's words are asked of the generator without a break, also from target to target; each finds a place behind
    it. Samples in order, without draws, go the same way. A word that is rejected is drawn again while those behind it
    wait. The targets of a hop begin when the draws of the hop before are made and the generator has drawn their key.

    Parameters
    ----------
    config : SsdConfig
        The engine.

    Attributes
    ----------
    jobs : In(stream of `DRAW_JOB`)
        Hops, and targets with at least one sample.
    samples : Out(stream of `SAMPLE`)
        The first one `draw_latency` + 6 cycles after its target was taken in, if nothing is in its way.
    cycles_* : Out(48)
        Counters by the names of `DRAW_COUNTERS`.
    """

    def __init__(self, config: SsdConfig) -> None:
        self._config = config
        super().__init__(
            {
                "jobs": In(stream.Signature(struct_layout(DRAW_JOB))),
                "samples": Out(stream.Signature(struct_layout(SAMPLE))),
                **{f"cycles_{name}": Out(COUNTER_BITS) for name in DRAW_COUNTERS},
            }
        )

    def elaborate(self, _platform: object) -> Module:
        """Build the generator's front, and the steps behind it."""
        m = Module()
        config = self._config
        places = config.draw_latency + CREDIT_CYCLES
        target_layout = data.StructLayout(
            {"node": NODE_BITS, "first": half_bits(config), "degree": BOUND_BITS, "count": BOUND_BITS}
        )
        m.submodules.jobs = jobs = StreamQueue(struct_layout(DRAW_JOB), 2)
        m.submodules.generator = generator = Threefry(latency=config.draw_latency)
        m.submodules.words = words = StreamQueue(WORD_BITS, places)
        m.submodules.targets = targets = StreamQueue(target_layout, places)
        m.submodules.bounded = bounded = Bounded()
        m.submodules.chosen = chosen = Chosen(config.max_fanout)
        m.submodules.first = first = FirstHalf(config)
        m.submodules.place = place = IdPlace(config)
        wiring.connect(m, wiring.flipped(self.jobs), jobs.beats)
        job = jobs.held.payload
        wide, replace, key = Signal(), Signal(), Signal(64, reset_less=True)
        edges_address = Signal(64, reset_less=True)

        # What the generator is asked for: the key of a hop, a draw again, or the next draw.
        quiet, redraws = Signal(), Signal()
        asks_key, asks, key_asked = Signal(), Signal(), Signal()
        outstanding, index = Signal(range(places + 1)), Signal(BOUND_BITS)
        again_node, again_index, attempt = Signal(NODE_BITS), Signal(8), Signal(8)
        m.d.comb += [
            asks_key.eq(jobs.held.valid & job.begins_hop & quiet & ~key_asked),
            asks.eq(jobs.held.valid & ~job.begins_hop & ~redraws & (outstanding != places)),
        ]
        node, number, tried = Signal(NODE_BITS), Signal(8), Signal(8)
        m.d.comb += [
            node.eq(Mux(redraws, again_node, job.target_node)),
            number.eq(Mux(redraws, again_index, index)),
            tried.eq(Mux(redraws, attempt + 1, 0)),
            Cat(generator.key_0, generator.key_1).eq(Mux(asks_key, job.hop_seed, key)),
            generator.counter_0.eq(Mux(asks_key, job.hop_batch, node)),
            generator.counter_1.eq(Mux(asks_key, job.hop_hop, Cat(node[32:], number, tried))),
        ]
        comes, comes_again, comes_key = (
            self._later(m, value, name) for value, name in ((asks, "draw"), (redraws, "again"), (asks_key, "key"))
        )
        ends = Signal()
        m.d.comb += [
            ends.eq(asks & (index + 1 == job.target_count)),
            jobs.held.ready.eq(ends | comes_key),
            first.edges_address.eq(edges_address),
            first.offset.eq(job.target_offset),
            first.wide.eq(wide),
            words.beats.valid.eq(comes),
            words.beats.payload.eq(generator.draw_0),
            targets.beats.valid.eq(asks & (index == 0)),
            targets.beats.payload.node.eq(job.target_node),
            targets.beats.payload.first.eq(first.half),
            targets.beats.payload.degree.eq(job.target_degree),
            targets.beats.payload.count.eq(job.target_count),
        ]
        with m.If(asks):
            m.d.sync += index.eq(Mux(ends, 0, index + 1))
        with m.If(asks_key):
            m.d.sync += key_asked.eq(1)
        with m.If(comes_key):
            m.d.sync += [
                key_asked.eq(0),
                key.eq(Cat(generator.draw_0, generator.draw_1)),
                wide.eq(job.hop_wide),
                replace.eq(job.hop_replace),
                edges_address.eq(job.hop_edges_address),
            ]

        # Step 1: a word with its target. Step 2: their product, judged. Step 3: the edge. Step 4: its place.
        valid = {step: Signal(name=f"valid_{step}") for step in range(1, 5)}
        free = {step: Signal(name=f"free_{step}") for step in range(1, 5)}
        got = Signal()
        m.d.comb += [got.eq(words.held.valid & free[1]), words.held.ready.eq(free[1])]
        m.d.sync += outstanding.eq(outstanding + asks - got)
        target, done = targets.held.payload, Signal(BOUND_BITS)
        draw = data.StructLayout(
            {
                "node": NODE_BITS, "first": half_bits(config), "last": BOUND_BITS, "index": 8, "drawn": 1, "begins": 1,
            }
        )  # fmt: skip
        taken, judged = (Signal(draw, name=name, reset_less=True) for name in ("taken", "judged"))
        word = Signal(WORD_BITS, reset_less=True)
        bound, again_bound = (Signal(BOUND_BITS, name=name, reset_less=True) for name in ("bound", "again_bound"))
        last, is_last = Signal(BOUND_BITS), Signal()
        m.d.comb += [
            last.eq(target.degree - target.count + done),
            is_last.eq(done + 1 == target.count),
            targets.held.ready.eq(got & is_last),
        ]
        with m.If(got):
            m.d.sync += [
                done.eq(Mux(is_last, 0, done + 1)),
                word.eq(words.held.payload),
                bound.eq(Mux(replace, target.degree, last + 1)),
                taken.node.eq(target.node),
                taken.first.eq(target.first),
                taken.last.eq(last),
                taken.index.eq(done),
                taken.drawn.eq(target.count != target.degree),
                taken.begins.eq(done == 0),
            ]
        decided, enters = Signal(), Signal()
        redrawing = Signal()
        m.d.comb += [
            decided.eq(~judged.drawn | (bounded.good & ~redrawing)),
            enters.eq(valid[1] & free[2]),
            bounded.load.eq(enters | comes_again),
            bounded.word.eq(Mux(comes_again, generator.draw_0, word)),
            bounded.bound.eq(Mux(comes_again, again_bound, bound)),
            bounded.judges.eq(valid[2] & judged.drawn & ~redrawing),
            redraws.eq(valid[2] & judged.drawn & bounded.rejected & ~redrawing),
            again_node.eq(judged.node),
            again_index.eq(judged.index),
        ]
        with m.If(enters):
            m.d.sync += [judged.eq(taken), again_bound.eq(bound), attempt.eq(0)]
        with m.If(redraws):
            m.d.sync += [redrawing.eq(1), attempt.eq(attempt + 1)]
        with m.If(comes_again):
            m.d.sync += redrawing.eq(0)
        goes = Signal()
        edge = Signal(BOUND_BITS, reset_less=True)
        edge_first = Signal(half_bits(config), reset_less=True)
        edge_wide, sample = Signal(reset_less=True), Signal(struct_layout(SAMPLE), reset_less=True)
        m.d.comb += [
            goes.eq(valid[2] & decided & free[3]),
            chosen.number.eq(bounded.number),
            chosen.last.eq(judged.last),
            chosen.begins.eq(judged.begins),
            chosen.index.eq(judged.index),
            chosen.add.eq(goes),
        ]
        with m.If(goes):
            m.d.sync += [
                edge.eq(Mux(judged.drawn, Mux(replace, bounded.number, chosen.edge), judged.last)),
                edge_first.eq(judged.first),
                edge_wide.eq(wide),
            ]
        m.d.comb += [place.first.eq(edge_first), place.edge.eq(edge), place.wide.eq(edge_wide)]
        with m.If(valid[3] & free[4]):
            m.d.sync += [
                sample.page.eq(place.page),
                sample.beat.eq(place.beat),
                sample.half.eq(place.half),
                sample.wide.eq(edge_wide),
            ]
        m.d.comb += [
            self.samples.valid.eq(valid[4]),
            self.samples.payload.eq(sample),
            free[4].eq(~valid[4] | self.samples.ready),
            free[3].eq(~valid[3] | free[4]),
            free[2].eq(~valid[2] | (decided & free[3])),
            free[1].eq(~valid[1] | free[2]),
            quiet.eq((outstanding == 0) & ~valid[1] & ~valid[2]),
        ]
        for step, arrives in ((1, got), (2, enters), (3, goes), (4, valid[3])):
            with m.If(free[step]):
                m.d.sync += valid[step].eq(arrives)
        share_out(
            m,
            {name: getattr(self, f"cycles_{name}") for name in DRAW_COUNTERS},
            {
                "busy": valid[4] & self.samples.ready,
                "wait_window": valid[4],
                "reject": valid[2] & ~decided,
                "fill": jobs.held.valid | (outstanding != 0) | valid[1] | valid[2] | valid[3],
            },
        )
        return m

    def _later(self, m: Module, asked: Value, name: str) -> Value:
        """Return the bit that travels through the generator with what was asked for."""
        chain = Signal(self._config.draw_latency, name=f"{name}_under_way")
        m.d.sync += chain.eq(Cat(asked, chain))
        return chain[-1]
