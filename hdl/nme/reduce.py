"""The Near-Memory Engine's reduce unit: source vectors and edges in, partial sums of one interval out."""

from amaranth.hdl import Module
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from hdl.counters import share_out
from hdl.layout import struct_layout
from hdl.nme.accumulator import Accumulator
from hdl.nme.drain import DrainStage
from hdl.nme.load import LoadStage
from hdl.nme.run import RunStage
from hdl.nme.vector_buffer import VectorBuffer
from sim.config import NmeConfig
from sim.program.commands import EDGE_RECORD, REDUCE_COMMAND, REDUCE_STATUS, result_beat, vector_beat
from sim.program.counters import COUNTER_BITS, REDUCE_COUNTERS


class ReduceUnit(wiring.Component):
    """Three stages with a shard in each: its sources load, its edges accumulate, its touched destinations drain.

    An edge takes one cycle per beat of its vector, except that an edge waits while an earlier addition to the same
    place is under way (``config.hazard_cycles`` apart); nothing is assumed of the order of edges. Vector i + 1 loads
    while vector i accumulates, across shards too, and a shard drains from one bank of the output buffer while the next
    accumulates in the other: with all data at hand no cycle is lost between their edges. A command is checked first: a
    refused one takes nothing from the other streams. A bad edge is dropped and reported; a shard always ends with a
    status, in the order of the commands, and the next one runs.

    Parameters
    ----------
    config : NmeConfig
        The engine.

    Attributes
    ----------
    command : In(stream of `REDUCE_COMMAND`)
        Shards to run.
    vectors : In(stream of `vector_beat`)
        Source vectors in the order of the shard's sources, all beats of each.
    edges : In(stream of `EDGE_RECORD`)
        Edges, source by source.
    partials : Out(stream of `result_beat`)
        Sums of the touched destinations by rising slot, all beats of each. The first leaves
        ``config.pipeline_cycles + 2`` cycles after the last beat was issued, or later if the shard before still drains.
    status : Out(stream of `REDUCE_STATUS`)
        One for each command, after its partial sums.
    cycles_* : Out(48)
        Counters by the names of `REDUCE_COUNTERS`; they add up to the cycles since reset.
    """

    def __init__(self, config: NmeConfig) -> None:
        self.config = config
        super().__init__(
            {
                "command": In(stream.Signature(struct_layout(REDUCE_COMMAND))),
                "vectors": In(stream.Signature(struct_layout(vector_beat(config.lanes, 8 * config.element_bytes)))),
                "edges": In(stream.Signature(struct_layout(EDGE_RECORD))),
                "partials": Out(stream.Signature(struct_layout(result_beat(config.lanes)))),
                "status": Out(stream.Signature(struct_layout(REDUCE_STATUS))),
                **{f"cycles_{name}": Out(COUNTER_BITS) for name in REDUCE_COUNTERS},
            }
        )

    def elaborate(self, _platform: object) -> Module:
        """Connect the stages, the vector buffer and the accumulator."""
        m = Module()
        m.submodules.load = load = LoadStage(self.config)
        m.submodules.run = run = RunStage(self.config)
        m.submodules.drain = drain = DrainStage(self.config)
        m.submodules.buffer = buffer = VectorBuffer(self.config)
        m.submodules.accumulator = accumulator = Accumulator(self.config)

        wiring.connect(m, wiring.flipped(self.command), load.command)
        wiring.connect(m, wiring.flipped(self.vectors), buffer.vectors)
        wiring.connect(m, wiring.flipped(self.edges), run.edges)
        wiring.connect(m, load.shard, run.shard)
        wiring.connect(m, run.ended, drain.ended)
        wiring.connect(m, wiring.flipped(self.partials), drain.partials)
        wiring.connect(m, wiring.flipped(self.status), drain.status)
        m.d.comb += [
            *(getattr(buffer, name).eq(getattr(load, name)) for name in ("start", "sources", "beats")),
            load.loaded.eq(buffer.loaded),
            *(getattr(buffer, name).eq(getattr(run, name)) for name in ("beat", "release")),
            run.full.eq(buffer.full),
            *(
                getattr(accumulator, name).eq(getattr(run, name))
                for name in ("bank", "place", "issue", "fresh", "compare", "minimum", "weight")
            ),
            run.hazard.eq(accumulator.hazard),
            accumulator.vector.eq(buffer.data.data),
            accumulator.drain_bank.eq(drain.bank),
            accumulator.drain_place.eq(drain.place),
            accumulator.read.eq(drain.read),
            drain.unwritten.eq(accumulator.busy),
            drain.sums.eq(accumulator.sums),
        ]
        *reasons, _ = REDUCE_COUNTERS  # idle is what is left
        share_out(
            m,
            {name: getattr(self, f"cycles_{name}") for name in REDUCE_COUNTERS},
            {name: getattr(run if hasattr(run, name) else drain, name) for name in reasons},
        )
        return m
