"""Output buffer of one shard with the multiply-and-add pipeline that reads, adds and writes it."""

from amaranth.hdl import Array, Cat, Const, Module, Mux, Signal
from amaranth.lib import data, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out
from amaranth.utils import ceil_log2

from hdl.arith.add import Fp32Add
from hdl.arith.mul import Bf16Mul, Fp32Mul
from sim.config import NmeConfig


class Accumulator(wiring.Component):
    """fp32 sums, one place for each (destination slot, beat), added to at one beat per cycle.

    Parameters
    ----------
    config : NmeConfig
        Lanes, element, interval, beats and arithmetic latencies.

    Attributes
    ----------
    place : In
        Beat (low bits) and destination slot (high bits) to add to, or to read.
    hazard : Out(1)
        An addition to `place` is still under way: do not issue now. High for ``config.hazard_cycles - 1`` cycles.
    issue : In(1)
        Adds ``weight * vector`` to `place`.
    fresh : In(1)
        With `issue`: the place starts from +0 instead of what it holds.
    weight : In
        With `issue`: the edge's weight in the element's format.
    vector : In
        Source elements, **one cycle after** `issue`.
    busy : Out(1)
        Some addition is not yet written, ``config.pipeline_cycles`` cycles after its issue.
    read : In(1)
        Reads `place`; only while not `busy`.
    sums : Out
        What was read, from one cycle after `read` on, until the next.
    """

    def __init__(self, config: NmeConfig) -> None:
        self.config = config
        element_bits = 8 * config.element_bytes
        # Even a single place has an address of one bit: a net without any is not Verilog.
        place_bits = max(1, ceil_log2(config.interval) + ceil_log2(config.max_beats))
        super().__init__(
            {
                "place": In(place_bits),
                "hazard": Out(1),
                "issue": In(1),
                "fresh": In(1),
                "weight": In(element_bits),
                "vector": In(data.ArrayLayout(element_bits, config.lanes)),
                "busy": Out(1),
                "read": In(1),
                "sums": Out(data.ArrayLayout(32, config.lanes)),
            }
        )

    def elaborate(self, _platform: object) -> Module:
        """Build the buffer, the lanes and the interlock."""
        m = Module()
        config = self.config
        depth = config.pipeline_cycles

        # Stage i of these holds what was issued i cycles ago; stage 0 is the issue itself.
        active, place, fresh = [self.issue], [self.place], [self.fresh]
        for stage in range(1, depth + 1):
            active.append(Signal(name=f"active_{stage}"))
            place.append(Signal.like(self.place, name=f"place_{stage}", reset_less=True))
            fresh.append(Signal(name=f"fresh_{stage}", reset_less=True))
            m.d.sync += [held[stage].eq(held[stage - 1]) for held in (active, place, fresh)]
        m.d.comb += [
            self.busy.eq(Cat(active[1:]).any()),
            self.hazard.eq(Cat(active[i] & (place[i] == self.place) for i in range(1, config.hazard_cycles)).any()),
        ]

        m.submodules.memory = memory = Memory(shape=32 * config.lanes, depth=1 << len(self.place), init=[])
        write, read = memory.write_port(), memory.read_port()
        sums = data.View(data.ArrayLayout(32, config.lanes), read.data)
        m.d.comb += [
            read.en.eq(active[config.mul_latency] | self.read),
            read.addr.eq(Mux(active[config.mul_latency], place[config.mul_latency], self.place)),
            write.en.eq(active[depth]),
            write.addr.eq(place[depth]),
            self.sums.eq(sums),
        ]

        weight = Signal.like(self.weight, reset_less=True)
        m.d.sync += weight.eq(self.weight)
        results = Array(data.View(data.ArrayLayout(32, config.lanes), write.data))
        for lane in range(config.lanes):
            multiply = (Bf16Mul if config.element == "bf16" else Fp32Mul)(latency=config.mul_latency)
            add = Fp32Add(latency=config.add_latency)
            m.submodules[f"multiply_{lane}"] = multiply
            m.submodules[f"add_{lane}"] = add
            m.d.comb += [
                multiply.a.eq(self.vector[lane]),
                multiply.b.eq(weight),
                add.a.eq(Mux(fresh[1 + config.mul_latency], Const(0, 32), sums[lane])),
                add.b.eq(multiply.o),
                results[lane].eq(add.o),
            ]
        return m
