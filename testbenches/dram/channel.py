"""A scheduler with the devices behind it, as a design that a bench can drive and watch."""

from amaranth.hdl import Cat, Const, Module, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from hdl.delay import delayed
from hdl.dram.scheduler import DramScheduler
from hdl.layout import struct_layout
from sim.config import DramConfig
from sim.program.memory import DRAM_BURST, DRAM_COMMAND, DRAM_REQUEST, DramCommand
from testbenches.models.dram import DramDevice


class DramChannel(wiring.Component):
    """One channel: requests in; commands, and the bursts that were read, out.

    The sinks of `commands` and `bursts` must always be ready. A write stores, in each 32-bit word, its tag and burst.

    Parameters
    ----------
    config : DramConfig
        The channel.
    storage_bursts : int
        Written bursts that the devices can hold.
    scheduler : DramScheduler, optional
        Another scheduler in its place, such as one with a planted bug.

    Attributes
    ----------
    requests : In(stream of `DRAM_REQUEST`)
        Requests.
    expected : In(32)
        Requests in all: after the last burst of the last one, commands are no longer told.
    commands : Out(stream of `DRAM_COMMAND`)
        Commands in their cycles.
    bursts : Out(stream)
        Each burst read: `DRAM_BURST`, and the data.
    violation, violation_cycle : Out
        The first rule that was broken, see `DramDevice`.
    """

    def __init__(
        self, config: DramConfig, storage_bursts: int = 1 << 14, scheduler: wiring.Component | None = None
    ) -> None:
        self.config = config
        self._device = DramDevice(config, storage_bursts=storage_bursts)
        self._scheduler = scheduler or DramScheduler(config)
        burst = data.StructLayout({"burst": struct_layout(DRAM_BURST), "pad": 7, "data": 8 * config.burst_bytes})
        super().__init__(
            {
                "requests": In(stream.Signature(struct_layout(DRAM_REQUEST))),
                "expected": In(32),
                "commands": Out(stream.Signature(struct_layout(DRAM_COMMAND))),
                "bursts": Out(stream.Signature(burst)),
                "violation": Out(8),
                "violation_cycle": Out(32),
                "activates": Out(32),
                "refreshes": Out(32),
                "open_cycles": Out(48),
            }
        )

    def elaborate(self, _platform: object) -> Module:
        """Connect scheduler and devices."""
        m = Module()
        m.submodules.scheduler = scheduler = self._scheduler
        m.submodules.device = device = self._device
        wiring.connect(m, wiring.flipped(self.requests), scheduler.requests)
        finished = Signal(32)
        m.d.sync += finished.eq(finished + scheduler.finished)
        # The bus takes a burst's data some cycles after its command.
        written = delayed(m, scheduler.write, self.config.gates.write_to_data - 1, name="written")[-1]
        word = Cat(written.burst.tag, written.burst.burst, Const(0, 8))
        m.d.comb += [
            device.command.eq(scheduler.command),
            device.write_data.eq(Cat(word for _ in range(self.config.burst_bytes // 4))),
            self.commands.valid.eq((scheduler.command.command != DramCommand.NONE) & (finished != self.expected)),
            self.commands.payload.eq(scheduler.command),
            self.bursts.valid.eq(scheduler.read.valid),
            self.bursts.payload.burst.eq(scheduler.read.burst),
            self.bursts.payload.data.eq(device.read_data),
        ]
        for name in ("violation", "violation_cycle", "activates", "refreshes", "open_cycles"):
            m.d.comb += getattr(self, name).eq(getattr(device, name))
        return m
