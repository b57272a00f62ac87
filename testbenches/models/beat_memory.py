"""The memory of a Centralized Acceleration Engine in simulation: each answer a fixed time after its request."""

from amaranth.hdl import Module, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from hdl.delay import delayed
from hdl.large_memory import LargeMemory
from hdl.layout import struct_layout
from sim.program.instructions import memory_request
from sim.program.layout import Field, Layout


def memory_image(lanes: int) -> Layout:
    """Return the record of a beat and where it goes, the payload of `BeatMemory.load`.

    Parameters
    ----------
    lanes : int
        Elements in a beat.

    Returns
    -------
    Layout
        Fields: ``address``, ``data``.
    """
    return Layout(
        "MemoryImage",
        (
            Field(name="address", bits=32, meaning="beat in the memory"),
            Field(name="data", bits=16, count=lanes, meaning="the beat"),
        ),
    )


class BeatMemory(wiring.Component):
    """Takes every request at once and answers reads in order, each after `latency` cycles.

    Parameters
    ----------
    lanes : int
        Elements in a beat.
    beats : int
        Size; addresses beyond wrap around. Beats are 0 at first.
    latency : int
        Cycles from a read's request to its answer, 1 or more.

    Attributes
    ----------
    request : In(stream of `memory_request`)
        Reads and writes.
    response : Out(stream of a beat of 16-bit lanes)
        Answers; whoever takes them is always ready.
    load : In(stream of `memory_image`)
        Back door: beats that are put in; not in the cycle of a write.
    """

    def __init__(self, *, lanes: int, beats: int, latency: int) -> None:
        self._lanes, self._latency = lanes, latency
        self._places = max(2, 1 << (beats - 1).bit_length())
        super().__init__(
            {
                "request": In(stream.Signature(struct_layout(memory_request(lanes)))),
                "response": Out(stream.Signature(data.ArrayLayout(16, lanes))),
                "load": In(stream.Signature(struct_layout(memory_image(lanes)))),
            }
        )

    def elaborate(self, _platform: object) -> Module:
        """Build the storage and the delay."""
        m = Module()
        m.submodules.storage = storage = LargeMemory(part_bits=16 * self._lanes, parts=1, depth=self._places)
        request, load = self.request.payload, self.load.payload
        write, read = Signal(), Signal()
        m.d.comb += [
            self.request.ready.eq(1),
            self.load.ready.eq(1),
            write.eq(self.request.valid & request.write),
            read.eq(self.request.valid & ~request.write),
            storage.read.eq(read),
            storage.read_address.eq(request.address),
            storage.write.eq(write | self.load.valid),
            storage.write_address.eq(load.address),
            storage.write_data.eq(load.data),
            self.response.valid.eq(delayed(m, read, self._latency, name="answers", reset_less=False)[-1]),
            self.response.payload.eq(delayed(m, storage.read_data, self._latency - 1, name="answer")[-1]),
        ]
        with m.If(write):
            m.d.comb += [storage.write_address.eq(request.address), storage.write_data.eq(request.data)]
        return m
