"""In-SSD sampling engine: commands in, sub-graphs out, flash behind."""

from amaranth.hdl import Module, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from hdl.ssd.channel import flash_pins
from hdl.ssd.channels import COUNTS, Channels
from hdl.ssd.coalesce import Coalescer
from hdl.ssd.collect import Collector
from hdl.ssd.draws import DrawUnit
from hdl.ssd.frontier import Frontier
from hdl.ssd.hot import HotReader
from hdl.ssd.loader import Loader
from hdl.ssd.matcher import Matcher
from hdl.ssd.packer import Packer
from hdl.ssd.queue_pair import QueuePair
from hdl.ssd.read_share import ReadShare
from hdl.ssd.targets import Targets
from hdl.ssd.translate import Translate
from sim.config import SsdConfig
from sim.program.counters import COUNTER_BITS
from sim.program.ssd import LINE_BYTES
from sim.program.ssd_counters import DRAW_COUNTERS
from sim.program.ssd_streams import PAGE_BITS

INPUTS = {
    "sq_address": 64,
    "cq_address": 64,
    "sq_entries": 16,
    "cq_entries": 16,
    "pages": PAGE_BITS,
    "records_base": PAGE_BITS,
    "map_base": PAGE_BITS,
}
"""Plain inputs, with their widths: constant from reset on."""

FOUND = ("found_valid", "found_node", "found_end_of_hop", "found_reset")


def clearing_cycles(config: SsdConfig) -> int:
    """Return the cycles after reset in which memories are emptied, before the first doorbell is taken.

    Parameters
    ----------
    config : SsdConfig
        The engine.

    Returns
    -------
    int
        Words of the deepest memory that must be empty.
    """
    return max(config.window_samples, config.table_entries, config.flash.page_beats)


class SamplingEngine(wiring.Component):
    """The whole engine.

    After reset it empties its memories for `clearing_cycles`; then doorbells are taken.

    Parameters
    ----------
    config : SsdConfig
        The engine.

    Attributes
    ----------
    doorbell : In(stream of struct)
        Which queue (0: submissions, 1: completions), and its new tail or head.
    sq_address, cq_address, sq_entries, cq_entries : In
        Where the queues lie in the host's memory, and their sizes; constant from reset on.
    pages : In(40)
        Logical pages of the SSD; constant.
    records_base, map_base : In(40)
        Beats of the SSD's DRAM at which the nodes' records and the page map begin; constant.
    host_request : Out(stream of 64 bits)
        Lines of the host's memory to read.
    host_line : In(stream of 512 bits)
        The lines, in order; always taken.
    host_write : Out(stream of struct)
        Lines to write: results and completions.
    dram_request : Out(stream of 40 bits)
        Beats of the SSD's DRAM to read.
    dram_beat : In(stream of 128 bits)
        The beats, in order; always taken.
    flash_<c> : Out(`flash_pins`)
        The flash.
    doorbell_error : Out(1)
        A doorbell was out of range, and ignored.
    draw_cycles_<name> : Out(48)
        Counters of the draw unit, by the names of `DRAW_COUNTERS`.
    channel_<c>_<name> : Out(48)
        Counters of each channel: ``cycles_<name>`` by the names of `CHANNEL_COUNTERS`, ``count_pages``,
        ``count_beats``.
    count_samples, count_opened, count_ids : Out(48)
        Samples drawn, pages asked for, ids found.
    """

    def __init__(self, config: SsdConfig) -> None:
        self._config = config
        self._pair, self._packer = QueuePair(config), Packer(config)
        channels = range(config.flash.channels)
        super().__init__(
            {
                "doorbell": self._pair.signature.members["doorbell"],
                **{name: In(bits) for name, bits in INPUTS.items()},
                "host_request": Out(stream.Signature(64)),
                "host_line": In(stream.Signature(8 * LINE_BYTES)),
                "host_write": self._packer.signature.members["lines"],
                "dram_request": Out(stream.Signature(PAGE_BITS)),
                "dram_beat": In(stream.Signature(128)),
                **{f"flash_{c}": Out(flash_pins(config)) for c in channels},
                "doorbell_error": Out(1),
                **{f"draw_cycles_{name}": Out(COUNTER_BITS) for name in DRAW_COUNTERS},
                **{f"channel_{c}_{name}": Out(COUNTER_BITS) for c in channels for name in COUNTS},
                "count_samples": Out(COUNTER_BITS),
                "count_opened": Out(COUNTER_BITS),
                "count_ids": Out(COUNTER_BITS),
            }
        )

    def elaborate(self, _platform: object) -> Module:
        """Connect the units."""
        m = Module()
        config = self._config
        m.submodules.queues = pair = self._pair
        m.submodules.packer = packer = self._packer
        m.submodules.target_walk = targets = Targets(config)
        m.submodules.frontier = frontier = Frontier(config)
        m.submodules.draws = draws = DrawUnit(config)
        m.submodules.coalescer = coalescer = Coalescer(config)
        m.submodules.translate = translate = Translate(config)
        m.submodules.channels = channels = Channels(config)
        m.submodules.loader = loader = Loader(config)
        m.submodules.hot = hot = HotReader(config)
        m.submodules.collector = collector = Collector(config)

        clearing = self._clear(m, coalescer, collector)
        m.submodules.host_port = host_port = ReadShare(
            users=2, address_bits=64, data_bits=8 * LINE_BYTES, depth=config.host_lines_in_flight + 1
        )
        m.submodules.dram_port = dram_port = ReadShare(
            users=3, address_bits=PAGE_BITS, data_bits=128, depth=3 * config.dram_reads_in_flight
        )
        for port, request, response, users in (
            (host_port, self.host_request, self.host_line,
             ((pair.lines_request, pair.lines), (targets.lines_request, targets.lines))),
            (dram_port, self.dram_request, self.dram_beat,
             ((targets.records_request, targets.records), (translate.map_request, translate.map_data),
              (hot.request, hot.answer))),
        ):  # fmt: skip
            wiring.connect(m, port.request, wiring.flipped(request))
            # Answers that were asked for before a reset mean nothing now.
            m.d.comb += [
                port.response.valid.eq(response.valid & ~clearing),
                port.response.payload.eq(response.payload),
                response.ready.eq(1),
            ]
            for i, (asks, answers) in enumerate(users):
                wiring.connect(m, asks, getattr(port, f"request_{i}"))
                wiring.connect(m, getattr(port, f"response_{i}"), answers)

        for giver, taker in (
            (pair.jobs, targets.jobs),
            (pair.contexts, packer.contexts),
            (targets.draws, draws.jobs),
            (targets.descriptors, packer.descriptors),
            (draws.samples, coalescer.samples),
            (coalescer.opened, translate.opened),
            (coalescer.heads, loader.heads),
            (loader.close, coalescer.close),
            (translate.placed, channels.placed),
            (channels.ready, loader.ready),
            (loader.hot, hot.reads),
            (hot.matches, getattr(collector, f"matches_{config.flash.channels}")),
            (packer.lines, wiring.flipped(self.host_write)),
        ):
            wiring.connect(m, giver, taker)
        for c in range(config.flash.channels):
            m.submodules[f"matcher_{c}"] = matcher = Matcher(config)
            wiring.connect(m, getattr(loader, f"load_{c}"), matcher.load)
            wiring.connect(m, getattr(loader, f"loaded_{c}"), getattr(channels, f"loaded_{c}"))
            wiring.connect(m, getattr(channels, f"beats_{c}"), matcher.beats)
            wiring.connect(m, matcher.matches, getattr(collector, f"matches_{c}"))
            wiring.connect(m, getattr(channels, f"flash_{c}"), wiring.flipped(getattr(self, f"flash_{c}")))
            m.d.comb += [matcher.clearing.eq(coalescer.clearing), matcher.clear_address.eq(coalescer.clear_address)]
            m.d.comb += [getattr(self, f"channel_{c}_{name}").eq(getattr(channels, f"{name}_{c}")) for name in COUNTS]
        m.d.comb += [
            pair.doorbell.valid.eq(self.doorbell.valid & ~clearing),
            pair.doorbell.payload.eq(self.doorbell.payload),
            self.doorbell.ready.eq(pair.doorbell.ready & ~clearing),
            *(
                getattr(pair, name).eq(getattr(self, name))
                for name in ("sq_address", "sq_entries", "cq_entries", "pages")
            ),
            *(getattr(packer, name).eq(getattr(self, name)) for name in ("cq_address", "cq_entries")),
            pair.completed.eq(packer.completed),
            targets.records_base.eq(self.records_base),
            translate.map_base.eq(self.map_base),
            self.doorbell_error.eq(pair.doorbell_error),
            coalescer.retired.eq(packer.retired),
            coalescer.links_read.eq(loader.links_read),
            coalescer.links_address.eq(loader.links_address),
            loader.links_data.eq(coalescer.links_data),
            collector.twin_write.eq(loader.twin_write),
            collector.twin_address.eq(loader.twin_address),
            collector.twin_data.eq(loader.twin_data),
            collector.ids_address.eq(packer.ids_address),
            packer.ids_data.eq(collector.ids_data),
            *(getattr(self, f"draw_cycles_{name}").eq(getattr(draws, f"cycles_{name}")) for name in DRAW_COUNTERS),
            self.count_samples.eq(coalescer.count_samples),
            self.count_opened.eq(coalescer.count_opened),
            self.count_ids.eq(collector.count_ids),
        ]
        self._connect_frontier(m, targets, packer, frontier)
        return m

    def _clear(self, m: Module, *units: wiring.Component) -> Signal:
        """Empty the units' memories after reset; return whether that is still being done."""
        cycles = clearing_cycles(self._config)
        clearing, address = Signal(init=1), Signal(range(cycles))
        with m.If(clearing):
            m.d.sync += [address.eq(address + 1), clearing.eq(address != cycles - 1)]
        for unit in units:
            m.d.comb += [unit.clearing.eq(clearing), unit.clear_address.eq(address)]
        return clearing

    def _connect_frontier(self, m: Module, targets: Targets, packer: Packer, frontier: Frontier) -> None:
        """Let samples of a hop become targets of the next."""
        m.d.comb += [
            targets.frontier_written.eq(frontier.written),
            targets.frontier_node.eq(frontier.node),
            frontier.read.eq(targets.frontier_read),
            frontier.index.eq(targets.frontier_index),
            frontier.release.eq(targets.frontier_release),
            frontier.reset.eq(targets.frontier_reset),
            *(getattr(frontier, name).eq(getattr(packer, name)) for name in FOUND),
        ]
