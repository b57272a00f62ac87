"""A memory that is only read, in simulation: the host's memory, or an SSD's DRAM, as the sampling engine sees it."""

from amaranth.hdl import Module
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import ceil_log2

from hdl.delay import delayed
from hdl.large_memory import LargeMemory
from hdl.layout import struct_layout
from sim.program.layout import Field, Layout


def read_image(unit_bytes: int) -> Layout:
    """Return the record of one unit and where it goes, the payload of `ReadMemory.load`.

    Parameters
    ----------
    unit_bytes : int
        Bytes of a unit.

    Returns
    -------
    Layout
        ``address`` and ``data``.
    """
    return Layout(
        "ReadImage",
        (
            Field(name="address", bits=64, meaning="of the unit, in the requests' own measure"),
            Field(name="data", bits=8, count=unit_bytes, meaning="the unit"),
        ),
    )


class ReadMemory(wiring.Component):
    """Answers requests in order, each `latency` cycles after it was taken; takes one in every cycle.

    Addresses may be far apart: a unit's place is the low bits of its address behind the first `shift`, so two units
    whose addresses are alike there share one. Never loaded, it reads as 0.

    Parameters
    ----------
    address_bits : int
        Width of an address.
    unit_bytes : int
        Bytes of a unit.
    units : int
        Places, a power of two.
    latency : int
        Cycles from a request to its answer, 2 or more.
    shift : int
        Low bits of an address that are 0.

    Attributes
    ----------
    request : In(stream of address)
        Reads.
    response : Out(stream)
        Answers; they do not wait.
    load : In(stream of `read_image`)
        Back door, one unit a cycle.
    """

    def __init__(self, *, address_bits: int, unit_bytes: int, units: int, latency: int, shift: int = 0) -> None:
        if latency < 2 or units & (units - 1):
            raise ValueError(f"latency is {latency}, units {units}: they must be 2 or more, and a power of two")
        self._unit_bytes, self._units, self._latency, self._shift = unit_bytes, units, latency, shift
        super().__init__(
            {
                "request": In(stream.Signature(address_bits)),
                "response": Out(stream.Signature(8 * unit_bytes)),
                "load": In(stream.Signature(struct_layout(read_image(unit_bytes)))),
            }
        )

    def elaborate(self, _platform: object) -> Module:
        """Build the storage and the delay."""
        m = Module()
        bits = ceil_log2(self._units)
        m.submodules.storage = storage = LargeMemory(part_bits=8 * self._unit_bytes, parts=1, depth=self._units)
        asked = self.request.valid
        m.d.comb += [
            self.request.ready.eq(1),
            self.load.ready.eq(1),
            storage.read.eq(asked),
            storage.read_address.eq(self.request.payload[self._shift :][:bits]),
            storage.write.eq(self.load.valid),
            storage.write_address.eq(self.load.payload.address[self._shift :][:bits]),
            storage.write_data.eq(self.load.payload.data.as_value()),
            self.response.valid.eq(delayed(m, asked, self._latency, name="answers", reset_less=False)[-1]),
            self.response.payload.eq(delayed(m, storage.read_data, self._latency - 1, name="answer")[-1]),
        ]
        return m
