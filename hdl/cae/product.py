"""The Centralized Acceleration Engine's product unit: activations and weights in, a tile of their product out."""

from amaranth.hdl import Module
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from hdl.cae.accumulator import Accumulator
from hdl.cae.array import SystolicArray
from hdl.cae.drain import DrainStage
from hdl.cae.load import LoadStage
from hdl.cae.run import RunStage
from hdl.counters import share_out
from hdl.layout import struct_layout
from sim.config import CaeConfig
from sim.program.commands import MATRIX_COMMAND, MATRIX_STATUS, result_beat, vector_beat
from sim.program.counters import COUNTER_BITS, MATRIX_COUNTERS


class ProductUnit(wiring.Component):
    """Three stages with a tile in each: its first weights load, its rows stream, its results drain.

    A tile is M rows of activations times K rows of weights, N columns, all sizes free. K goes through the array in
    blocks of its rows. The sum that enters a column is what the block before left, so that each result is one chain of
    additions from +0 through K in rising order, whatever the array's size. Weights of the next block load into shadow
    registers while this block computes, across tiles too, and a tile drains from one bank of the accumulator memory
    while the next one adds to the other: with all data at hand no cycle is lost between their rows. A row waits for its
    own sum of the block before (``config.reuse_cycles``), which matters only for tiles with few rows. A bad command is
    refused with a status and takes nothing from the other streams; statuses come in the order of the commands.

    Parameters
    ----------
    config : CaeConfig
        The engine.

    Attributes
    ----------
    command : In(stream of `MATRIX_COMMAND`)
        Tiles to run.
    weights : In(stream of `vector_beat`)
        K rows of bf16 weights, one element for each column; columns beyond N are ignored.
    activations : In(stream of `vector_beat`)
        bf16 activations, one element for each row of the array: all M rows of the first block of K, then of the next.
        In the last block, elements beyond K are ignored.
    results : Out(stream of `result_beat`)
        M rows of fp32 results; columns beyond N are +0. The first leaves ``config.pipeline_cycles + 2`` cycles after
        the last row of activations was taken, or later if the tile before still drains.
    status : Out(stream of `MATRIX_STATUS`)
        One for each command, after its results.
    cycles_* : Out(48)
        Counters by the names of `MATRIX_COUNTERS`; they add up to the cycles since reset.
    """

    def __init__(self, config: CaeConfig) -> None:
        self.config = config
        super().__init__(
            {
                "command": In(stream.Signature(struct_layout(MATRIX_COMMAND))),
                "weights": In(stream.Signature(struct_layout(vector_beat(config.columns, 16)))),
                "activations": In(stream.Signature(struct_layout(vector_beat(config.rows, 16)))),
                "results": Out(stream.Signature(struct_layout(result_beat(config.columns)))),
                "status": Out(stream.Signature(struct_layout(MATRIX_STATUS))),
                **{f"cycles_{name}": Out(COUNTER_BITS) for name in MATRIX_COUNTERS},
            }
        )

    def elaborate(self, _platform: object) -> Module:
        """Connect the stages, the array and the accumulator memory."""
        m = Module()
        m.submodules.load = load = LoadStage(self.config)
        m.submodules.run = run = RunStage(self.config)
        m.submodules.drain = drain = DrainStage(self.config)
        m.submodules.array = array = SystolicArray(self.config)
        m.submodules.accumulator = accumulator = Accumulator(self.config)

        for name, stage in (("command", load), ("weights", load), ("activations", run)):
            wiring.connect(m, wiring.flipped(getattr(self, name)), getattr(stage, name))
        for name in ("results", "status"):
            wiring.connect(m, wiring.flipped(getattr(self, name)), getattr(drain, name))
        wiring.connect(m, load.tile, run.tile)
        wiring.connect(m, run.ended, drain.ended)
        m.d.comb += [
            load.swap.eq(run.swap),
            run.whole.eq(load.whole),
            array.shift.eq(load.shift),
            array.active.eq(load.active),
            array.weights.eq(self.weights.payload.data),
            array.x.eq(self.activations.payload.data),
            array.swap.eq(run.swap),
            array.sums_in.eq(accumulator.sums_in),
            accumulator.sums_out.eq(array.sums_out),
            *(getattr(accumulator, name).eq(getattr(run, name)) for name in ("issue", "bank", "row", "fresh", "last")),
            accumulator.drain_bank.eq(drain.bank),
            accumulator.drain_row.eq(drain.row),
            accumulator.read.eq(drain.read),
            drain.sums.eq(accumulator.sums),
        ]
        *reasons, _ = MATRIX_COUNTERS  # idle is what is left
        share_out(
            m,
            {name: getattr(self, f"cycles_{name}") for name in MATRIX_COUNTERS},
            {name: getattr(run if hasattr(run, name) else drain, name) for name in reasons},
        )
        return m
