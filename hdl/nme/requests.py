"""From what the units of an engine want to requests for the DRAM scheduler: one at a time, with their addresses."""

from amaranth.hdl import Cat, Const, Module, Signal, Value
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import ceil_log2

from hdl.layout import struct_layout
from hdl.nme.fetch import CHUNK_REQUEST, UNIT_BITS, VECTOR_REQUEST, Unit
from hdl.stream.register import StreamRegister
from sim.program.geometry import CHUNK_LINES, KINDS, LIST_KIND, Geometry
from sim.program.memory import DRAM_REQUEST

PIECE_BITS = 3


class RequestMaker(wiring.Component):
    """Takes in each cycle the first request of the units in the order of `Unit`, and works out its place.

    Parameters
    ----------
    geometry : Geometry
        The memory.

    Attributes
    ----------
    descriptors, sources, edges : In(stream of CHUNK_REQUEST)
        What the list readers want.
    vectors, store : In(stream of VECTOR_REQUEST)
        What the gather wants, and what is to be written.
    requests : Out(stream of `DRAM_REQUEST`)
        The same for the scheduler, one cycle later; tags name unit, piece and slot.
    """

    def __init__(self, geometry: Geometry) -> None:
        self._geometry = geometry
        chunks, vectors = stream.Signature(CHUNK_REQUEST), stream.Signature(VECTOR_REQUEST)
        super().__init__(
            {
                "descriptors": In(chunks),
                "sources": In(chunks),
                "edges": In(chunks),
                "vectors": In(vectors),
                "store": In(vectors),
                "requests": Out(stream.Signature(struct_layout(DRAM_REQUEST))),
            }
        )

    def elaborate(self, _platform: object) -> Module:
        """Build the choice and the addresses."""
        m = Module()
        layout = struct_layout(DRAM_REQUEST)
        m.submodules.register = register = StreamRegister(layout)
        wiring.connect(m, register.held, wiring.flipped(self.requests))
        chosen: Value = Const(0, 1)
        for unit in Unit:
            wanted = getattr(self, unit.name.lower())
            request = wanted.payload
            made = Signal(layout, name=f"made_{unit.name.lower()}")
            if unit in (Unit.VECTORS, Unit.STORE):
                groups, kind, stride, first = (
                    self._geometry.groups,
                    request.kind,
                    request.stride_log2,
                    request.first_burst,
                )
                number, piece = request.number, request.piece
            else:
                groups, kind, stride, first = 1, Const(LIST_KIND, 3), Const(ceil_log2(CHUNK_LINES), 4), Const(0, 8)
                number, piece = request.chunk, Const(0, PIECE_BITS)
            self._place(m, made, number, groups, kind, stride, first, piece)
            m.d.comb += [
                made.write.eq(unit == Unit.STORE),
                made.bursts.eq(request.bursts),
                made.tag.eq(Cat(Const(unit, UNIT_BITS), piece, request.slot)),
                wanted.ready.eq(register.beats.ready & ~chosen),
            ]
            with m.If(wanted.valid & ~chosen):
                m.d.comb += register.beats.payload.eq(made)
            chosen |= wanted.valid
        m.d.comb += register.beats.valid.eq(chosen)
        return m

    def _place(
        self, m: Module, made: Value, number: Value, groups: int, kind: Value, stride: Value, first: Value, piece: Value
    ) -> None:
        """Build what `sim.program.address` says of where a vector or chunk lies."""
        geometry = self._geometry
        group_bits, bank_bits = ceil_log2(geometry.bank_groups), ceil_log2(geometry.banks)
        column_bits = ceil_log2(geometry.bursts)
        if groups == 1:
            m.d.comb += made.bank_group.eq(number[:group_bits])
            number = number[group_bits:]
        else:
            m.d.comb += made.bank_group.eq(piece)
        place = number[bank_bits:] << stride[: ceil_log2(column_bits + 1)]
        m.d.comb += [
            made.bank.eq(number[:bank_bits]),
            made.column.eq(place[:column_bits] + first),
            made.row.eq(Cat(kind[: ceil_log2(KINDS)], place[column_bits:])),
        ]
