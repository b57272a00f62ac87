# amaranth: UnusedElaboratable=no
"""A sampling engine with its flash, the SSD's DRAM and the host's memory, as a design that a bench can drive."""

from amaranth.hdl import Module, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from hdl.layout import struct_layout
from hdl.ssd.engine import INPUTS, SamplingEngine
from sim.config import SsdConfig
from sim.program.ssd import LINE_BYTES
from sim.program.ssd_storage import BEAT_BYTES
from sim.program.ssd_streams import PAGE_BITS
from testbenches.models.flash import FlashDevice
from testbenches.models.read_memory import ReadMemory, read_image


class SsdMachine(wiring.Component):
    """The engine, and all that stands around it.

    Parameters
    ----------
    config : SsdConfig
        The engine.
    host_latency, dram_latency : int
        Cycles from a request to its answer.
    host_lines, dram_beats : int
        Places of the two memories, powers of two (`ReadMemory`).
    node_bits : int
        Not 0: the flash's contents are a formula (`FlashDevice`).
    watch_flash : bool
        Every beat of the flash also passes a stream of the bench, which can hold it.
    engine : type of wiring.Component
        The engine's class, or one with a planted bug.

    Attributes
    ----------
    host_load, dram_load : In(stream of `read_image`)
        Back doors into the memories.
    host_loads, dram_loads : In(32)
        So many units come through them before the engine sees its first doorbell.
    doorbell, host_write
        As the engine has them.
    host_request, dram_request : Out(stream)
        The requests; one is taken by the memory when it is taken from here.
    bus_<c> : Out(stream of 1 bit)
        The beats of channel c, where they are watched: whether each is the last of its page.
    host_writes : In(32)
        Lines that are written in all.
    finished : Out(stream of 1 bit)
        One beat, when they are written and no page is on a bus: then the counters stand still but for idle ones.
    violation, violation_cycle : Out
        Of the flash.
    """

    def __init__(
        self,
        config: SsdConfig,
        host_latency: int,
        dram_latency: int,
        host_lines: int,
        dram_beats: int,
        node_bits: int = 0,
        watch_flash: bool = False,
        engine: type[wiring.Component] = SamplingEngine,
    ) -> None:
        self._engine = engine(config)
        self._flash = FlashDevice(config, node_bits=node_bits)
        self._host = ReadMemory(address_bits=64, unit_bytes=LINE_BYTES, units=host_lines, latency=host_latency, shift=6)
        self._dram = ReadMemory(address_bits=PAGE_BITS, unit_bytes=BEAT_BYTES, units=dram_beats, latency=dram_latency)
        self._channels = range(config.flash.channels)
        self._watch_flash = watch_flash
        members = self._engine.signature.members
        streams = ("doorbell", "host_write", "host_request", "dram_request")
        inner = {*streams, *INPUTS, "host_line", "dram_beat", *(f"flash_{c}" for c in self._channels)}
        self._outputs = [name for name in members if name not in inner]
        super().__init__(
            {
                "host_load": In(stream.Signature(struct_layout(read_image(LINE_BYTES)))),
                "dram_load": In(stream.Signature(struct_layout(read_image(BEAT_BYTES)))),
                "host_loads": In(32),
                "dram_loads": In(32),
                "host_writes": In(32),
                "finished": Out(stream.Signature(1)),
                **{name: members[name] for name in (*streams, *INPUTS, *self._outputs)},
                **({f"bus_{c}": Out(stream.Signature(1)) for c in self._channels} if watch_flash else {}),
                "violation": Out(8),
                "violation_cycle": Out(32),
            }
        )

    def elaborate(self, _platform: object) -> Module:
        """Connect engine, memories and flash."""
        m = Module()
        m.submodules.engine = engine = self._engine
        m.submodules.flash = flash = self._flash
        m.submodules.host = self._host
        m.submodules.dram = self._dram
        whole = Signal()
        loaded = []
        for name, memory, answer in (("host", self._host, "host_line"), ("dram", self._dram, "dram_beat")):
            load, count = getattr(self, f"{name}_load"), Signal(32, name=f"{name}_loaded")
            wiring.connect(m, wiring.flipped(load), memory.load)
            m.d.sync += count.eq(count + load.valid)
            loaded.append(count == getattr(self, f"{name}_loads"))
            watched, asked = getattr(self, f"{name}_request"), getattr(engine, f"{name}_request")
            m.d.comb += [
                watched.valid.eq(asked.valid),
                watched.payload.eq(asked.payload),
                memory.request.valid.eq(asked.valid & watched.ready),
                memory.request.payload.eq(asked.payload),
                asked.ready.eq(watched.ready),
            ]
            wiring.connect(m, memory.response, getattr(engine, answer))
        m.d.comb += [
            whole.eq(loaded[0] & loaded[1]),
            engine.doorbell.valid.eq(self.doorbell.valid & whole),
            engine.doorbell.payload.eq(self.doorbell.payload),
            self.doorbell.ready.eq(engine.doorbell.ready & whole),
            *(getattr(engine, name).eq(getattr(self, name)) for name in INPUTS),
            *(getattr(self, name).eq(getattr(engine, name)) for name in self._outputs),
            self.violation.eq(flash.violation),
            self.violation_cycle.eq(flash.violation_cycle),
        ]
        wiring.connect(m, engine.host_write, wiring.flipped(self.host_write))
        moving, written, told = Signal(len(self._channels)), Signal(32), Signal()
        for c in self._channels:
            self._connect_flash(m, c)
            pins = getattr(engine, f"flash_{c}")
            with m.If(pins.command.valid & pins.command.transfer):
                m.d.sync += moving[c].eq(1)
            with m.Elif(pins.beats.valid & pins.beats.ready & pins.beats.payload.last):
                m.d.sync += moving[c].eq(0)
        m.d.comb += self.finished.valid.eq((written == self.host_writes) & ~moving.any() & ~told)
        m.d.sync += [
            written.eq(written + (self.host_write.valid & self.host_write.ready)),
            told.eq(told | (self.finished.valid & self.finished.ready)),
        ]
        return m

    def _connect_flash(self, m: Module, c: int) -> None:
        engine, device = getattr(self._engine, f"flash_{c}"), getattr(self._flash, f"flash_{c}")
        if not self._watch_flash:
            wiring.connect(m, engine, device)
            return
        bus = getattr(self, f"bus_{c}")
        m.d.comb += [
            device.command.eq(engine.command),
            engine.ready.eq(device.ready),
            bus.valid.eq(device.beats.valid & engine.beats.ready),
            bus.payload.eq(device.beats.payload.last),
            engine.beats.valid.eq(device.beats.valid & bus.ready),
            engine.beats.payload.eq(device.beats.payload),
            device.beats.ready.eq(engine.beats.ready & bus.ready),
        ]
