# amaranth: UnusedElaboratable=no
"""Near-Memory Engines in step, each with the memory of its DIMM, as a design that a bench can drive and watch."""

from amaranth.hdl import Module, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from hdl.layout import struct_layout
from hdl.nme.engine import NearMemoryEngine
from hdl.nme.window import WindowSync
from hdl.shared import SharedModules
from sim.config import SystemConfig
from sim.program.counters import COUNTER_BITS, ENGINE_COUNTERS, REDUCE_COUNTERS
from sim.program.layout import Field, Layout
from sim.program.memory import DRAM_COMMAND, DramCommand
from testbenches.models.dram import DramDevice, dram_image

COUNTERS = (
    *(f"cycles_{name}" for name in ENGINE_COUNTERS),
    *(f"reduce_cycles_{name}" for name in REDUCE_COUNTERS),
)
DEVICE_OUTPUTS = {
    "violation": 8,
    "violation_cycle": 32,
    "activates": 32,
    "reads": 32,
    "writes": 32,
    "precharges": 32,
    "refreshes": 32,
    "open_cycles": 48,
}


def dimm_image(line_bytes: int) -> Layout:
    """Return the record of one line and where it goes, the payload of `Dimms.load`.

    Parameters
    ----------
    line_bytes : int
        Bytes of a line.

    Returns
    -------
    Layout
        The fields of `testbenches.models.dram.dram_image`, and ``dimm``.
    """
    *address, line = dram_image(line_bytes).fields
    return Layout("DimmImage", (*address, Field(name="dimm", bits=24, meaning="which DIMM"), line))


class Dimms(wiring.Component):
    """Engines of some DIMMs with their devices. The sinks of `bus_*` must always be ready.

    Parameters
    ----------
    config : SystemConfig
        The hardware.
    engines : int
        DIMMs.
    storage_lines : int
        Written lines that the devices of a DIMM can hold, a power of two.
    engine : type of wiring.Component, optional
        Another engine in its place, such as one with a planted bug.

    Attributes
    ----------
    load : In(stream of `dimm_image`)
        Back door: lines that are put into the memories.
    loads : In(32)
        So many of them are to be loaded before the engines see their first command.
    command_*, updates_*, partials_*, status_*
        The engines' streams, by DIMM.
    bus_* : Out(stream of `DRAM_COMMAND`)
        The commands on each DIMM's bus in their cycles, ...
    told_* : In(32)
        ... the first so many of them.
    """

    def __init__(
        self,
        config: SystemConfig,
        engines: int,
        storage_lines: int = 1 << 14,
        engine: type[wiring.Component] = NearMemoryEngine,
    ) -> None:
        self._engines = [engine(config) for _ in range(engines)]
        self._config = config
        self._name = f"{engine.__name__}_{config.content_hash()}"
        self._devices = [DramDevice(config.dimm_memory, storage_bursts=storage_lines) for _ in range(engines)]
        self._image = struct_layout(dimm_image(config.dimm_memory.burst_bytes))
        ports: dict[str, In | Out] = {"load": In(stream.Signature(self._image)), "loads": In(32)}
        for d, one in enumerate(self._engines):
            for name in ("command", "updates", "partials", "status"):
                ports[f"{name}_{d}"] = one.signature.members[name]
            ports[f"bus_{d}"] = Out(stream.Signature(struct_layout(DRAM_COMMAND)))
            ports[f"told_{d}"] = In(32)
            ports |= {f"{name}_{d}": Out(COUNTER_BITS) for name in COUNTERS}
            ports |= {f"{name}_{d}": Out(bits) for name, bits in DEVICE_OUTPUTS.items()}
        super().__init__(ports)

    def elaborate(self, platform: object) -> Module:
        """Connect engines and memories."""
        m = Module()
        m.submodules.window = window = WindowSync(len(self._engines))
        loaded = Signal(32)
        whole = Signal()
        m.d.comb += [whole.eq(loaded == self.loads), self.load.ready.eq(1)]
        m.d.sync += loaded.eq(loaded + self.load.valid)
        for d, (engine, device) in enumerate(zip(self._engines, self._devices, strict=True)):
            if isinstance(platform, SharedModules):
                m.submodules[f"engine_{d}"] = platform.instance(self._name, engine)
            else:
                m.submodules[f"engine_{d}"] = engine
            m.submodules[f"device_{d}"] = device
            command, outer = engine.command, getattr(self, f"command_{d}")
            m.d.comb += [
                command.valid.eq(outer.valid & whole),
                command.payload.eq(outer.payload),
                outer.ready.eq(command.ready & whole),
                window.progress[d].eq(engine.progress),
                engine.horizon.eq(window.horizon),
                device.command.eq(engine.memory_command),
                device.write_data.eq(engine.write_line),
                engine.read_line.eq(device.read_data),
                device.load.valid.eq(self.load.valid & (self.load.payload.dimm == d)),
                *(
                    device.load.payload[field].eq(self.load.payload[field])
                    for field in ("rank", "bank_group", "bank", "row", "column", "data")
                ),
            ]
            wiring.connect(m, wiring.flipped(getattr(self, f"updates_{d}")), engine.updates)
            wiring.connect(m, engine.partials, wiring.flipped(getattr(self, f"partials_{d}")))
            wiring.connect(m, engine.status, wiring.flipped(getattr(self, f"status_{d}")))
            self._tell(m, d, engine.memory_command)
            for name in COUNTERS:
                m.d.comb += getattr(self, f"{name}_{d}").eq(getattr(engine, name))
            for name in DEVICE_OUTPUTS:
                m.d.comb += getattr(self, f"{name}_{d}").eq(getattr(device, name))
        return m

    def _tell(self, m: Module, d: int, command: data.View) -> None:
        """Build the stream of the commands on a bus."""
        told, bus = Signal(32, name=f"so_far_{d}"), getattr(self, f"bus_{d}")
        m.d.comb += [
            bus.valid.eq((command.command != DramCommand.NONE) & (told != getattr(self, f"told_{d}"))),
            bus.payload.eq(command),
        ]
        m.d.sync += told.eq(told + bus.valid)
