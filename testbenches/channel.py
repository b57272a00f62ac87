"""Run the Reduce of one graph layer through the RTL of all Near-Memory Engines of a channel, with their memories."""

from pathlib import Path
from typing import Literal

import numpy as np

from sim.config import SystemConfig
from sim.golden.execute import execute, stored
from sim.golden.inputs import layer_inputs
from sim.graph import Graph, GraphError, adjacency
from sim.graph.normalize import Normalization
from sim.program.commands import ReduceOpcode
from sim.program.dimm import reduce_program
from sim.program.engine_work import decode_engine_work
from sim.program.gcn import compile_gcn_layer, shard_adjacency
from sim.program.items import Program, Reduce
from sim.system.channel import EngineFigures, channel_figures
from sim.timing.stalls import StallKind
from testbenches.bench import Backend
from testbenches.nme.simulate_engine import EngineSimulation, engine_stalls, simulate_engines

Model = Literal["gcn", "gin", "sage", "sage-max"]

AGGREGATIONS: dict[Model, tuple[Normalization, ReduceOpcode]] = {
    "gcn": ("gcn", ReduceOpcode.MULTIPLY_ADD),
    "gin": ("none", ReduceOpcode.ADD),
    "sage": ("mean", ReduceOpcode.MULTIPLY_ADD),
    "sage-max": ("none", ReduceOpcode.MAX),
}
"""How each model weights its edges (`sim.graph.adjacency`), and what the engines do with them."""


class ChannelReduce:
    """The Reduce of a layer, forward, on one channel that holds the whole graph.

    Sums are linear: a layer wider at its input than the configuration says updates first, and the Reduce is of the
    narrow vectors (`sim.program.gcn.update_first`). A maximum is not, and is always of the layer's input.

    Parameters
    ----------
    graph : Graph
        The graph.
    config : SystemConfig
        The hardware; of its channels only one is used.
    in_features, out_features : int
        Widths of the layer.
    model : {"gcn", "gin", "sage", "sage-max"}
        Sum with GCN's weights, plain sum, mean, or maximum over the neighbours.
    dimms : int, optional
        DIMMs of the channel; those of the configuration where not given.
    seed : int
        Seed of the weights, and of the features if the graph has none.

    Attributes
    ----------
    config : SystemConfig
        The configuration with one channel.
    features : int
        Width of the vectors that are reduced.
    programs : list of DimmProgram
        What each engine does, and its memory.

    Raises
    ------
    LayoutError
        The graph does not fit in the memory, or its vectors not in a row.
    """

    def __init__(
        self,
        graph: Graph,
        config: SystemConfig,
        *,
        in_features: int,
        out_features: int,
        model: Model = "gcn",
        dimms: int | None = None,
        seed: int = 0,
    ) -> None:
        self.config = config.replace(
            **{"dram.channels": 1, "dram.dimms_per_channel": dimms or config.dram.dimms_per_channel}
        )
        normalization, opcode = AGGREGATIONS[model]
        weighted = adjacency(graph, normalization)
        tensors = layer_inputs(graph, in_features, out_features, seed=seed)
        if opcode == ReduceOpcode.MAX:
            shards, values = shard_adjacency(weighted, self.config), tensors["h0"]
        else:
            layer = compile_gcn_layer(weighted, in_features, out_features, self.config)
            before = next(number for number, item in enumerate(layer.items) if isinstance(item, Reduce))
            item = layer.items[before]
            assert isinstance(item, Reduce)
            first = Program(name=layer.name, items=layer.items[:before])
            shards, values = item.shards, execute(first, tensors, self.config)[item.source]
        self.features = values.shape[1]
        elements = stored(values, self.config.nme)
        weights = None
        if opcode == ReduceOpcode.MULTIPLY_ADD:
            weights = stored(shards.edge_weight.view(np.uint32), self.config.nme)
        self.programs = [
            reduce_program(shards, dimm, elements, self.config, opcode=opcode, weights=weights)
            for dimm in range(self.config.dram.dimms)
        ]

    def simulate(
        self,
        *,
        stalls: StallKind = "none",
        seed: int = 0,
        backend: Backend = "trace",
        waves: Path | None = None,
    ) -> EngineSimulation:
        """Run the engines' RTL and compare it with both models.

        Parameters
        ----------
        stalls : StallKind
            How all streams stall.
        seed : int
            Seed of the stalls.
        backend : {"trace", "cocotb", "pysim"}
            How to run the RTL.
        waves : Path, optional
            Write a VCD file there.

        Returns
        -------
        EngineSimulation
            The comparison.

        Raises
        ------
        GraphError
            The graph has no edges: there is nothing to run.
        """
        if not any(len(program.commands) for program in self.programs):
            raise GraphError("nothing to simulate: the graph has no edges to reduce")
        return simulate_engines(
            self.programs,
            self.config,
            stalls=engine_stalls(stalls, seed, len(self.programs)),
            backend=backend,
            waves=waves,
        )

    def figures(self, simulation: EngineSimulation) -> list[EngineFigures]:
        """Work out what each engine did.

        Parameters
        ----------
        simulation : EngineSimulation
            A run of this Reduce.

        Returns
        -------
        list of EngineFigures
            Of each engine.
        """
        works = [decode_engine_work(program, self.config) for program in self.programs]
        return channel_figures(simulation.timings, works, self.config)
