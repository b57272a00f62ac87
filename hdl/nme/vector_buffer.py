"""Double buffer of source vectors: one is read while the next is loaded."""

from amaranth.hdl import Array, Cat, Module, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out
from amaranth.utils import ceil_log2

from hdl.layout import struct_layout
from sim.config import NmeConfig
from sim.program.commands import vector_beat


class VectorBuffer(wiring.Component):
    """Two vectors deep buffer with random read of the front vector's beats; a shard loads while one before it is read.

    Parameters
    ----------
    config : NmeConfig
        Lanes, element and beats.

    Attributes
    ----------
    vectors : In(stream)
        Beats of source vectors; taken only between `start` and the last beat of the last vector.
    start : In(1)
        Starts to load a shard's vectors, from the next cycle on; only while `loaded`.
    sources, beats : In
        Vectors of the shard and beats of each, sampled with `start`.
    loaded : Out(1)
        All vectors of the shard are loaded, the last beat in this cycle at the latest.
    full : Out(1)
        The front vector is whole.
    beat : In
        Beat of the front vector to read.
    data : Out
        That beat, one cycle later.
    release : In(1)
        Gives up the front vector; only while `full`.
    """

    def __init__(self, config: NmeConfig) -> None:
        self.config = config
        self._beat = struct_layout(vector_beat(config.lanes, 8 * config.element_bytes))
        super().__init__(
            {
                "vectors": In(stream.Signature(self._beat)),
                "start": In(1),
                "sources": In(32),
                "beats": In(range(config.max_beats + 1)),
                "loaded": Out(1),
                "full": Out(1),
                "beat": In(range(max(2, config.max_beats))),
                "data": Out(self._beat),
                "release": In(1),
            }
        )

    def elaborate(self, _platform: object) -> Module:
        """Build the buffer."""
        m = Module()
        beat_bits = ceil_log2(self.config.max_beats)
        m.submodules.memory = memory = Memory(shape=self._beat.as_shape(), depth=2 << beat_bits, init=[])
        write, read = memory.write_port(), memory.read_port()

        whole = Array(Signal(name=f"whole_{bank}") for bank in range(2))
        load_bank, read_bank = Signal(), Signal()
        load_beat = Signal.like(self.beat)
        beats = Signal.like(self.beats)
        loads_left = Signal(32)
        last_beat = Signal()

        m.d.comb += [
            self.vectors.ready.eq((loads_left != 0) & ~whole[load_bank]),
            write.en.eq(self.vectors.valid & self.vectors.ready),
            write.addr.eq(Cat(load_beat[:beat_bits], load_bank)),
            write.data.eq(self.vectors.payload),
            last_beat.eq(write.en & (load_beat + 1 == beats)),
            self.loaded.eq(loads_left == last_beat),
            read.addr.eq(Cat(self.beat[:beat_bits], read_bank)),
            self.data.eq(read.data),
            self.full.eq(whole[read_bank]),
        ]
        with m.If(write.en):
            m.d.sync += load_beat.eq(load_beat + 1)
        with m.If(last_beat):
            m.d.sync += [
                load_beat.eq(0),
                load_bank.eq(~load_bank),
                loads_left.eq(loads_left - 1),
                whole[load_bank].eq(1),
            ]
        with m.If(self.start):
            m.d.sync += [loads_left.eq(self.sources), beats.eq(self.beats)]
        with m.If(self.release):
            m.d.sync += [whole[read_bank].eq(0), read_bank.eq(~read_bank)]
        return m
