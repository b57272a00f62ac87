"""Fetches the targets that stand behind a command's configuration in the host's memory."""

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from hdl.layout import struct_layout
from hdl.ssd.landing import Landing
from sim.config import SsdConfig
from sim.program.ssd import LINE_BYTES, TARGET

LIST = data.StructLayout({"node": 64, "offset": 64, "degree": 32})
"""A target as the host tells it."""


class HostTargets(wiring.Component):
    """Asks for lines ahead, as many as there is room for, and gives their targets one by one, one a cycle.

    Parameters
    ----------
    config : SsdConfig
        The engine.

    Attributes
    ----------
    begins : In(1)
        A command begins; all targets of the one before were taken.
    address : In(64)
        With it: the line of the first target.
    targets : In(32)
        With it: how many there are, two in a line, at least one.
    lines_request : Out(stream of 64 bits)
        Addresses of lines.
    lines : In(stream of 512 bits)
        The lines, in order; always taken at once.
    held : Out(stream of `LIST`)
        The targets.
    """

    def __init__(self, config: SsdConfig) -> None:
        self._most = config.host_lines_in_flight
        super().__init__(
            {
                "begins": In(1),
                "address": In(64),
                "targets": In(32),
                "lines_request": Out(stream.Signature(64)),
                "lines": In(stream.Signature(8 * LINE_BYTES)),
                "held": Out(stream.Signature(LIST)),
            }
        )

    def elaborate(self, _platform: object) -> Module:
        """Build the two ends of the room for lines."""
        m = Module()
        m.submodules.landing = landing = Landing(data.ArrayLayout(LIST, 2), self._most)
        line = data.View(data.ArrayLayout(struct_layout(TARGET), 2), self.lines.payload)
        to_ask, to_give, address = Signal(32), Signal(32), Signal(64, reset_less=True)
        waiting, asks = Signal(range(self._most + 1)), Signal()
        offered, offered_address = Signal(), Signal(64, reset_less=True)
        m.d.comb += [
            landing.beats.valid.eq(self.lines.valid),
            self.lines.ready.eq(landing.beats.ready),
            *(
                landing.beats.payload[i][name].eq(line[i][name])
                for i in range(2)
                for name in ("node", "offset", "degree")
            ),
            asks.eq((to_ask != 0) & (waiting != self._most) & (~offered | self.lines_request.ready)),
            self.lines_request.valid.eq(offered),
            self.lines_request.payload.eq(offered_address),
        ]
        m.d.sync += waiting.eq(waiting + asks - landing.fetches)
        with m.If(asks):
            m.d.sync += [offered_address.eq(address), address.eq(address + LINE_BYTES), to_ask.eq(to_ask - 1)]
            m.d.sync += offered.eq(1)
        with m.Elif(self.lines_request.ready):
            m.d.sync += offered.eq(0)

        # The second target of a line is the last, and the line's end; so is the command's last.
        second, gives = Signal(), Signal()
        m.d.comb += [
            self.held.valid.eq(landing.held.valid),
            self.held.payload.eq(Mux(second, landing.held.payload[1].as_value(), landing.held.payload[0].as_value())),
            gives.eq(self.held.valid & self.held.ready),
            landing.held.ready.eq(gives & (second | (to_give == 1))),
        ]
        with m.If(gives):
            m.d.sync += [to_give.eq(to_give - 1), second.eq(~second & (to_give != 1))]
        with m.If(self.begins):
            m.d.sync += [to_ask.eq((self.targets + 1) >> 1), to_give.eq(self.targets), address.eq(self.address)]
        return m
