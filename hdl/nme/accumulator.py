"""Output buffers of two shards with the pipeline that reads, adds and writes them."""

from amaranth.hdl import Array, Cat, Module, Mux, Signal
from amaranth.lib import data, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out
from amaranth.utils import ceil_log2

from hdl.nme.lane import Lane
from sim.config import NmeConfig


class Accumulator(wiring.Component):
    """fp32 sums in two banks, one place in each for every (destination slot, beat), added to at one beat per cycle.

    Edges add to one bank while the other is read out. Each bank is a memory with one read and one write port.

    Parameters
    ----------
    config : NmeConfig
        Lanes, element, interval, beats and arithmetic latencies.

    Attributes
    ----------
    bank, place : In
        Bank to add to, and in it the beat (low bits) and destination slot (high bits).
    hazard : Out(1)
        An addition to that place is still under way: do not issue now. High for ``config.hazard_cycles - 1`` cycles.
    issue : In(1)
        Adds ``weight * vector`` to the place.
    fresh : In(1)
        With `issue`: the place starts from +0, or from the product, instead of what it holds.
    compare, minimum : In(1)
        With `issue`: take the greater number instead of adding; with `minimum` the lesser one.
    weight : In
        With `issue`: the edge's weight in the element's format.
    vector : In
        Source elements, **one cycle after** `issue`.
    drain_bank, drain_place : In
        Bank and place to read out.
    busy : Out(1)
        Some addition to `drain_bank` is not yet written, ``config.pipeline_cycles`` cycles after its issue.
    read : In(1)
        Reads `drain_place`; only while not `busy`, and while nothing is issued to `drain_bank`.
    sums : Out
        What was read, from one cycle after `read` on, until the next or until `drain_bank` changes.
    """

    def __init__(self, config: NmeConfig) -> None:
        self.config = config
        element_bits = 8 * config.element_bytes
        # Even a single place has an address of one bit: a net without any is not Verilog.
        place_bits = max(1, ceil_log2(config.interval) + ceil_log2(config.max_beats))
        # What goes down the pipeline with each beat.
        self._step = data.StructLayout({"place": place_bits, "bank": 1, "fresh": 1, "compare": 1, "minimum": 1})
        super().__init__(
            {
                "bank": In(1),
                "place": In(place_bits),
                "hazard": Out(1),
                "issue": In(1),
                "fresh": In(1),
                "compare": In(1),
                "minimum": In(1),
                "weight": In(element_bits),
                "vector": In(data.ArrayLayout(element_bits, config.lanes)),
                "drain_bank": In(1),
                "drain_place": In(place_bits),
                "busy": Out(1),
                "read": In(1),
                "sums": Out(data.ArrayLayout(32, config.lanes)),
            }
        )

    def elaborate(self, _platform: object) -> Module:
        """Build the pipeline, the banks and the lanes."""
        m = Module()
        config = self.config
        depth = config.pipeline_cycles
        active, step = self._pipeline(m)
        results = Signal.like(self.sums)
        sums = Array(self._bank(m, bank, active, step, results) for bank in range(2))
        m.d.comb += self.sums.eq(sums[self.drain_bank])

        weight = Signal.like(self.weight, reset_less=True)
        m.d.sync += weight.eq(self.weight)
        adding = step[1 + config.mul_latency]
        totals = Signal.like(self.sums)
        m.d.comb += totals.eq(sums[adding.bank])
        for index in range(config.lanes):
            m.submodules[f"lane_{index}"] = lane = Lane(config)
            m.d.comb += [
                lane.element.eq(self.vector[index]),
                lane.weight.eq(weight),
                lane.total.eq(totals[index]),
                lane.fresh.eq(adding.fresh),
                lane.minimum.eq(adding.minimum),
                lane.compare.eq(step[depth].compare),
                results[index].eq(lane.result),
            ]
        return m

    def _pipeline(self, m: Module) -> tuple[list[Signal], list[data.View]]:
        """Build the stages and the interlock; stage i holds what was issued i cycles ago, stage 0 the issue itself."""
        depth = self.config.pipeline_cycles
        active = [self.issue, *(Signal(name=f"active_{stage}") for stage in range(1, depth + 1))]
        step = [Signal(self._step, name="step_0")]
        m.d.comb += [step[0][name].eq(getattr(self, name)) for name in ("place", "bank", "fresh", "compare", "minimum")]
        for stage in range(1, depth + 1):
            step.append(Signal(self._step, name=f"step_{stage}", reset_less=True))
            m.d.sync += [held[stage].eq(held[stage - 1]) for held in (active, step)]

        def same_place(stage: int):
            return (step[stage].place == self.place) & (step[stage].bank == self.bank)

        m.d.comb += [
            self.busy.eq(Cat(active[i] & (step[i].bank == self.drain_bank) for i in range(1, depth + 1)).any()),
            self.hazard.eq(Cat(active[i] & same_place(i) for i in range(1, self.config.hazard_cycles)).any()),
        ]
        return active, step

    def _bank(self, m: Module, bank: int, active: list[Signal], step: list[data.View], results: data.View) -> data.View:
        """Build one bank, to which results are written; return what its read port gives."""
        fetch, store = self.config.mul_latency, self.config.pipeline_cycles
        depth = 1 << len(self.place)
        m.submodules[f"memory_{bank}"] = memory = Memory(shape=self.sums.shape(), depth=depth, init=[])
        write, read = memory.write_port(), memory.read_port()
        adding = Signal(name=f"adding_{bank}")
        m.d.comb += [
            adding.eq(active[fetch] & (step[fetch].bank == bank)),
            read.en.eq(adding | (self.read & (self.drain_bank == bank))),
            read.addr.eq(Mux(adding, step[fetch].place, self.drain_place)),
            write.en.eq(active[store] & (step[store].bank == bank)),
            write.addr.eq(step[store].place),
            write.data.eq(results),
        ]
        return read.data
