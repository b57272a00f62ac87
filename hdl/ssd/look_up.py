"""Looks the lists of nodes up in the SSD's DRAM."""

from amaranth.hdl import Module, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from hdl.layout import struct_layout
from hdl.ssd.landing import Landing
from sim.config import SsdConfig
from sim.program.ssd import NODE_BITS, NODE_RECORD

DRAM_BITS = 40
"""Width of a beat's address in the SSD's DRAM."""

NODE = data.StructLayout({"node": NODE_BITS, "known": 1})
"""A node; one that is not known has no record."""

FOUND = data.StructLayout({"node": NODE_BITS, "known": 1, "offset": 64, "degree": 32})
"""A node with its record, whose fields are any if it is not known."""


class LookUp(wiring.Component):
    """Reads the record of each node, ahead as far as there is room, and gives them in order, one a cycle.

    Parameters
    ----------
    config : SsdConfig
        The engine.

    Attributes
    ----------
    nodes : In(stream of `NODE`)
        Nodes.
    records_base : In(40)
        Beat of node 0's record.
    records_request : Out(stream of 40 bits)
        Beats of the DRAM, of the nodes that are known.
    records : In(stream of 128 bits)
        The beats, in order; always taken at once.
    held : Out(stream of `FOUND`)
        All nodes.
    """

    def __init__(self, config: SsdConfig) -> None:
        self._most = config.dram_reads_in_flight
        super().__init__(
            {
                "nodes": In(stream.Signature(NODE)),
                "records_base": In(DRAM_BITS),
                "records_request": Out(stream.Signature(DRAM_BITS)),
                "records": In(stream.Signature(NODE_RECORD.bits)),
                "held": Out(stream.Signature(FOUND)),
            }
        )

    def elaborate(self, _platform: object) -> Module:
        """Build the queue of nodes and that of their records."""
        m = Module()
        m.submodules.asked = asked = Landing(NODE, self._most)
        m.submodules.landing = landing = Landing(data.StructLayout({"offset": 64, "degree": 32}), self._most)
        record = data.View(struct_layout(NODE_RECORD), self.records.payload)
        node, waiting = self.nodes.payload, Signal(range(self._most + 1))
        offered, address = Signal(), Signal(DRAM_BITS, reset_less=True)
        enters, gives = Signal(), Signal()
        m.d.comb += [
            self.nodes.ready.eq((waiting != self._most) & (~node.known | ~offered | self.records_request.ready)),
            enters.eq(self.nodes.valid & self.nodes.ready),
            asked.beats.valid.eq(enters),
            asked.beats.payload.eq(node),
            self.records_request.valid.eq(offered),
            self.records_request.payload.eq(address),
            landing.beats.valid.eq(self.records.valid),
            landing.beats.payload.offset.eq(record.offset),
            landing.beats.payload.degree.eq(record.degree),
            self.records.ready.eq(landing.beats.ready),
            self.held.valid.eq(asked.held.valid & (~asked.held.payload.known | landing.held.valid)),
            self.held.payload.node.eq(asked.held.payload.node),
            self.held.payload.known.eq(asked.held.payload.known),
            self.held.payload.offset.eq(landing.held.payload.offset),
            self.held.payload.degree.eq(landing.held.payload.degree),
            gives.eq(self.held.valid & self.held.ready),
            asked.held.ready.eq(gives),
            landing.held.ready.eq(gives & asked.held.payload.known),
        ]
        m.d.sync += waiting.eq(waiting + enters - gives)
        with m.If(enters & node.known):
            m.d.sync += [offered.eq(1), address.eq(self.records_base + node.node)]
        with m.Elif(self.records_request.ready):
            m.d.sync += offered.eq(0)
        return m
