"""Which commands of the sampling engine are refused, and why."""

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import ceil_log2

from hdl.layout import struct_layout
from sim.config import SsdConfig
from sim.program.ssd import (
    ALL_NEIGHBOURS,
    EDGE_BITS,
    LINE_BYTES,
    MODE_LOOK_UP,
    MODE_REPLACE,
    MOST_HOPS,
    NODE_BITS,
    NS_CONFIG,
    TARGET,
    SsdStatus,
)
from sim.program.ssd_streams import PAGE_BITS

JUDGE_CYCLES = 2
"""Cycles from a configuration to what is said of it: sums and comparisons of fields first, then those of the sums."""

STATUS_BITS = 11
"""Width of a status."""


class CommandJudge(wiring.Component):
    """Judges one configuration a cycle, as `sim.program.ssd_check.check_command` does.

    Parameters
    ----------
    config : SsdConfig
        The engine.

    Attributes
    ----------
    asked : In(`NS_CONFIG`)
        The configuration.
    config_bytes : In(32)
        Its length with its targets, as the submission entry has it.
    pages : In(40)
        Logical pages of the SSD.
    status : Out(11)
        `SsdStatus`: OK, or the first reason to refuse it; `JUDGE_CYCLES` later.
    """

    def __init__(self, config: SsdConfig) -> None:
        self._config = config
        super().__init__(
            {
                "asked": In(struct_layout(NS_CONFIG)),
                "config_bytes": In(32),
                "pages": In(PAGE_BITS),
                "status": Out(STATUS_BITS),
            }
        )

    def elaborate(self, _platform: object) -> Module:
        """Build the two steps."""
        m = Module()
        config, asked = self._config, self.asked
        wide = asked.id_bytes == 8
        fanouts = [asked[f"fanout_{hop}"] for hop in range(MOST_HOPS)]
        unknown = ~(MODE_REPLACE | MODE_LOOK_UP) & 0xFF
        line_bits = ceil_log2(LINE_BYTES)
        length = (asked.targets << ceil_log2(TARGET.bytes)) + NS_CONFIG.bytes
        # Sums have a bit more than what is added, and more edges than 2^48 are refused whatever their bytes are.
        edges = asked.edges[: EDGE_BITS + 1]
        end, result_end = Signal(65), Signal(65)
        limit = Signal(PAGE_BITS + ceil_log2(config.flash.page_bytes))
        m.d.sync += [
            end.eq(asked.edges_address + Mux(wide, edges << 3, edges << 2)),
            limit.eq(self.pages << ceil_log2(config.flash.page_bytes)),
            result_end.eq(asked.result_address + (asked.result_lines << line_bits)),
        ]
        single = {
            SsdStatus.NO_TARGETS: asked.targets == 0,
            SsdStatus.INVALID_FIELD: self.config_bytes != length,
            SsdStatus.BAD_ID_BYTES: ~wide & (asked.id_bytes != 4),
            SsdStatus.BAD_MODE: (asked.mode & unknown).any(),
            SsdStatus.BAD_HOPS: (asked.hops == 0) | (asked.hops > MOST_HOPS),
            SsdStatus.BAD_FANOUT: Cat(
                (asked.hops > hop) & ((f == 0) | ((f > config.max_fanout) & (f != ALL_NEIGHBOURS)))
                for hop, f in enumerate(fanouts)
            ).any(),
            SsdStatus.BAD_EDGES: (asked.edges > 1 << EDGE_BITS)
            | (asked.nodes > (1 << NODE_BITS) - 1)
            | asked.edges_address[:2].any()
            | (wide & asked.edges_address[2]),
            SsdStatus.BAD_RESULT: asked.result_address[:line_bits].any() | (asked.ids_line > asked.result_lines),
        }
        faults = {}
        for status, fault in single.items():
            faults[status] = Signal(name=status.name.lower())
            m.d.sync += faults[status].eq(fault)
        sums = {
            SsdStatus.BAD_EDGES: end > limit,
            SsdStatus.BAD_RESULT: result_end[64] & result_end[:64].any(),
        }
        # The first reason is the last word.
        said = Signal(STATUS_BITS)
        for status, fault in reversed(faults.items()):
            with m.If(fault | sums.get(status, 0)):
                m.d.comb += said.eq(status)
        m.d.sync += self.status.eq(said)
        return m
