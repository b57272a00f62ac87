"""First stage of the reduce unit: takes a command, judges it, and has its vectors loaded."""

from amaranth.hdl import Const, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from hdl.layout import struct_layout
from sim.config import NmeConfig
from sim.program.commands import REDUCE_COMMAND, ReduceCode, ReduceOpcode


def shard_layout(config: NmeConfig) -> data.StructLayout:
    """Return what the run stage must know of a judged command.

    Parameters
    ----------
    config : NmeConfig
        The engine.

    Returns
    -------
    data.StructLayout
        Fields: ``weighted``, ``compare``, ``minimum``, ``beats``, ``destinations``, ``sources``, ``edges``, ``tag``,
        ``code``. A refused command has neither sources nor edges.
    """
    return data.StructLayout(
        {
            "weighted": 1,
            "compare": 1,
            "minimum": 1,
            "beats": range(config.max_beats + 1),
            "destinations": range(config.interval + 1),
            "sources": 32,
            "edges": 32,
            "tag": 16,
            "code": 8,
        }
    )


class LoadStage(wiring.Component):
    """Holds one command: until it has moved on, and until its vectors are loaded.

    Parameters
    ----------
    config : NmeConfig
        The engine.

    Attributes
    ----------
    command : In(stream of `REDUCE_COMMAND`)
        Taken when the one before has moved on and its vectors are loaded, the last beat in the same cycle.
    start : Out(1)
        A command is taken: its vectors may load from the next cycle on.
    sources, beats : Out
        With `start`: how many vectors of how many beats.
    loaded : In(1)
        No vector is left to load, but for one whose last beat comes in this cycle.
    shard : Out(stream of `shard_layout`)
        The command, judged; offered from the cycle after it was taken.
    """

    def __init__(self, config: NmeConfig) -> None:
        self.config = config
        super().__init__(
            {
                "command": In(stream.Signature(struct_layout(REDUCE_COMMAND))),
                "start": Out(1),
                "sources": Out(32),
                "beats": Out(range(config.max_beats + 1)),
                "loaded": In(1),
                "shard": Out(stream.Signature(shard_layout(config))),
            }
        )

    def _judge(self, command: Value) -> Value:
        """Return the code of a command: the first reason to refuse it, or OK."""
        code: Value = Const(ReduceCode.OK, 8)
        known = Const(0, 1)
        for opcode in ReduceOpcode:
            known = known | (command.opcode == opcode)
        for reason, refused in (
            (ReduceCode.NO_EDGES, command.edges == 0),
            (ReduceCode.NO_SOURCES, command.sources == 0),
            (
                ReduceCode.BAD_DESTINATIONS,
                (command.destinations == 0) | (command.destinations > self.config.interval),
            ),
            (ReduceCode.BAD_BEATS, (command.beats == 0) | (command.beats > self.config.max_beats)),
            (ReduceCode.BAD_OPCODE, ~known),
        ):
            code = Mux(refused, reason, code)
        return code

    def elaborate(self, _platform: object) -> Module:
        """Build the stage."""
        m = Module()
        command = self.command.payload
        shard = self.shard.payload
        held = Signal()
        code = Signal(8)
        good = code == ReduceCode.OK
        m.d.comb += [
            code.eq(self._judge(command)),
            self.command.ready.eq(~held & self.loaded),
            self.start.eq(self.command.valid & self.command.ready),
            self.sources.eq(Mux(good, command.sources, 0)),
            self.beats.eq(command.beats),
            self.shard.valid.eq(held),
        ]
        taken = Signal.like(shard, reset_less=True)
        m.d.comb += shard.eq(taken)
        with m.If(self.start):
            m.d.sync += [
                held.eq(1),
                taken.weighted.eq(command.opcode == ReduceOpcode.MULTIPLY_ADD),
                taken.compare.eq((command.opcode == ReduceOpcode.MAX) | (command.opcode == ReduceOpcode.MIN)),
                taken.minimum.eq(command.opcode == ReduceOpcode.MIN),
                taken.beats.eq(command.beats),
                taken.destinations.eq(command.destinations),
                taken.sources.eq(self.sources),
                taken.edges.eq(Mux(good, command.edges, 0)),
                taken.tag.eq(command.tag),
                taken.code.eq(code),
            ]
        with m.Elif(self.shard.ready):
            m.d.sync += held.eq(0)
        return m
