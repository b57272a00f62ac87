# amaranth: UnusedElaboratable=no
"""A Centralized Acceleration Engine with its memory, as a design that a bench can drive and watch."""

from amaranth.hdl import Module, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from hdl.cae.engine import CentralEngine, counters_of
from hdl.layout import struct_layout
from sim.config import CaeConfig
from sim.program.counters import COUNTER_BITS
from sim.program.instructions import memory_request
from testbenches.models.beat_memory import BeatMemory, memory_image


class Machine(wiring.Component):
    """The engine, its memory, and a look at what goes between them.

    Parameters
    ----------
    config : CaeConfig
        The engine.
    memory_latency : int
        Cycles from a request to read to its answer.
    memory_beats : int
        Beats of the memory that there are; those beyond, up to the configuration's, must not be asked for.
    engine : type of wiring.Component
        The engine's class, or one with a planted bug.

    Attributes
    ----------
    load : In(stream of `memory_image`)
        Back door into the memory.
    loads : In(32)
        So many beats come through it before the engine sees its first instruction.
    instruction, status, partials_<i>
        As the engine has them.
    memory : Out(stream of `memory_request`)
        The requests; one is taken by the memory when it is taken from here.
    <unit>_cycles_<name> : Out(48)
        The engine's counters.
    """

    def __init__(
        self,
        config: CaeConfig,
        memory_latency: int,
        memory_beats: int,
        engine: type[wiring.Component] = CentralEngine,
    ) -> None:
        self._engine, self._counters = engine(config), counters_of(config)
        self._memory = BeatMemory(lanes=config.lanes, beats=memory_beats, latency=memory_latency)
        members = self._engine.signature.members
        streams = ("instruction", "status", *(f"partials_{i}" for i in range(config.merge_ports)))
        self._plain = [name for name in streams if name != "instruction"]
        super().__init__(
            {
                "load": In(stream.Signature(struct_layout(memory_image(config.lanes)))),
                "loads": In(32),
                **{name: members[name] for name in streams},
                "memory": Out(stream.Signature(struct_layout(memory_request(config.lanes)))),
                **{name: Out(COUNTER_BITS) for name in self._counters},
            }
        )

    def elaborate(self, _platform: object) -> Module:
        """Connect engine and memory."""
        m = Module()
        m.submodules.engine = engine = self._engine
        m.submodules.memory = memory = self._memory
        loaded, whole = Signal(32), Signal()
        m.d.comb += whole.eq(loaded == self.loads)
        m.d.sync += loaded.eq(loaded + self.load.valid)
        wiring.connect(m, wiring.flipped(self.load), memory.load)
        m.d.comb += [
            engine.instruction.valid.eq(self.instruction.valid & whole),
            engine.instruction.payload.eq(self.instruction.payload),
            self.instruction.ready.eq(engine.instruction.ready & whole),
            self.memory.valid.eq(engine.request.valid),
            self.memory.payload.eq(engine.request.payload),
            memory.request.valid.eq(engine.request.valid & self.memory.ready),
            memory.request.payload.eq(engine.request.payload),
            engine.request.ready.eq(self.memory.ready),
            *(getattr(self, name).eq(getattr(engine, name)) for name in self._counters),
        ]
        wiring.connect(m, memory.response, engine.response)
        for name in self._plain:
            wiring.connect(m, wiring.flipped(getattr(self, name)), getattr(engine, name))
        return m
