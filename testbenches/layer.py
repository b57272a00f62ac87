"""Run the Reduce and the product of one graph layer's program through the RTL of both engines."""

from pathlib import Path
from typing import Literal, overload

import numpy as np
from numpy.typing import NDArray

from sim.config import SystemConfig
from sim.golden.execute import Tensors, execute, reduce_traces
from sim.golden.inputs import layer_inputs
from sim.golden.numbers import fp32_to_bf16
from sim.graph import Graph, GraphError, adjacency
from sim.program.address import local_index, vector_requests
from sim.program.cae_products import TilingError
from sim.program.commands import EDGE_RECORD, REDUCE_COMMAND
from sim.program.gcn import compile_gcn_layer
from sim.program.geometry import Geometry
from sim.program.items import Product, Program, Reduce
from sim.program.matrix_trace import MatrixTrace, product_tiles, product_trace
from sim.program.reduce_trace import ReduceTrace, beats_of, ranges
from sim.timing.stalls import StallKind, stall_pattern
from testbenches.bench import Backend
from testbenches.cae.simulate import product_stalls, simulate_product
from testbenches.cae.simulate_engine import CaeSimulation
from testbenches.cae.workload import CaeWorkload, matrix_workload
from testbenches.channel import ChannelReduce
from testbenches.dram.simulate import simulate_dram
from testbenches.equivalence import Simulation
from testbenches.nme.simulate import reduce_stalls, simulate_reduce
from testbenches.nme.simulate_engine import EngineSimulation

Engine = Literal["nme", "reduce", "cae", "product", "dram", "ssd"]
Unit = Literal["reduce", "product", "dram"]


class Layer:
    """The program of one graph convolution, forward, with the values of all its tensors.

    Parameters
    ----------
    graph : Graph
        The graph; its normalised adjacency, with self-loops, is what the layer uses.
    config : SystemConfig
        The hardware.
    in_features, out_features : int
        Widths of the layer.
    seed : int
        Seed of the weights, and of the features if the graph has none.
    """

    def __init__(
        self, graph: Graph, config: SystemConfig, *, in_features: int, out_features: int, seed: int = 0
    ) -> None:
        self.config = config
        self._graph, self._widths, self._seed = graph, (in_features, out_features), seed
        self.program: Program = compile_gcn_layer(adjacency(graph, "gcn"), in_features, out_features, config)
        inputs = layer_inputs(graph, in_features, out_features, seed=seed)
        self.tensors: Tensors = execute(self.program, inputs, config)

    def reduce_trace(self) -> ReduceTrace:
        """Return the streams of all DIMMs, one after the other, for one engine."""
        item = next(item for item in self.program.items if isinstance(item, Reduce))
        traces = list(reduce_traces(item, self.tensors, self.config).values())
        empty = ReduceTrace(
            commands=np.zeros((0, REDUCE_COMMAND.bytes), np.uint8),
            edges=np.zeros((0, EDGE_RECORD.bytes), np.uint8),
            vectors=np.zeros((0, self.config.nme.lanes * self.config.nme.element_bytes), np.uint8),
        )
        return ReduceTrace(
            **{
                name: np.concatenate([getattr(trace, name) for trace in [empty, *traces]])
                for name in ("commands", "edges", "vectors")
            }
        )

    def product_trace(self, *, max_tiles: int | None = None) -> MatrixTrace | None:
        """Return the streams of the product, or of its first tiles; None where a size is zero."""
        item = next(item for item in self.program.items if isinstance(item, Product))
        x, w = (fp32_to_bf16(self.tensors[name]) for name in (item.left, item.right))
        tiles = product_tiles(item.rows, item.columns, self.config.cae)[:max_tiles]
        return product_trace(x, w, tiles, self.config.cae) if tiles else None

    def update(self) -> CaeWorkload:
        """Return the layer's product as a program of the Centralized Acceleration Engine, from memory to memory."""
        item = next(item for item in self.program.items if isinstance(item, Product))
        if not item.rows:
            raise GraphError("nothing to simulate: the graph has no nodes to update")
        x, w = (self.tensors[name] for name in (item.left, item.right))
        try:
            return matrix_workload(f"{item.left} {item.right} of {self.program.name}", x, w, self.config.cae)
        except TilingError as error:
            raise GraphError(f"the layer's product does not fit the engine: {error}") from None

    def gather_requests(self) -> NDArray[np.uint8]:
        """Return the requests that fetch the Reduce's source vectors from one rank, slice by slice, DIMM after DIMM.

        Duplicates are fetched from the places that they have at home.
        """
        item = next(item for item in self.program.items if isinstance(item, Reduce))
        orders = np.concatenate([item.shards.of_dimm(dimm) for dimm in range(self.config.dram.dimms)])
        loads = np.diff(item.shards.source_start)[orders]
        sources = item.shards.sources[ranges(item.shards.source_start[orders], loads)]
        numbers = local_index(sources, self.config.dram, self.config.partition)
        geometry, beats = Geometry.of(self.config), beats_of(item.features, self.config.nme.lanes)
        return np.concatenate(
            [vector_requests(numbers, 0, beats, geometry, slice_index=index) for index in range(geometry.slices(beats))]
        )

    def channel_reduce(self) -> ChannelReduce:
        """Return the layer's Reduce on the engines of one channel that holds the whole graph."""
        in_features, out_features = self._widths
        return ChannelReduce(
            self._graph, self.config, in_features=in_features, out_features=out_features, seed=self._seed
        )

    @overload
    def simulate(
        self,
        engine: Unit,
        *,
        stalls: StallKind = "none",
        seed: int = 0,
        backend: Backend = "trace",
        waves: Path | None = None,
    ) -> Simulation: ...

    @overload
    def simulate(
        self,
        engine: Literal["nme"],
        *,
        stalls: StallKind = "none",
        seed: int = 0,
        backend: Backend = "trace",
        waves: Path | None = None,
    ) -> EngineSimulation: ...

    @overload
    def simulate(
        self,
        engine: Literal["cae"],
        *,
        stalls: StallKind = "none",
        seed: int = 0,
        backend: Backend = "trace",
        waves: Path | None = None,
    ) -> CaeSimulation: ...

    def simulate(
        self,
        engine: Engine,
        *,
        stalls: StallKind = "none",
        seed: int = 0,
        backend: Backend = "trace",
        waves: Path | None = None,
    ) -> Simulation | EngineSimulation | CaeSimulation:
        """Run one engine's part of the program through its RTL and compare.

        Parameters
        ----------
        engine : {"nme", "reduce", "cae", "product", "dram"}
            The engine. ``nme`` is all engines of one channel with their memories, ``cae`` the whole Centralized
            Acceleration Engine with its memory; ``reduce`` and ``product`` are the units within them alone, ``dram``
            the scheduler of one rank, which fetches the source vectors of the Reduce.
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
        Simulation, EngineSimulation or CaeSimulation
            The comparison.

        Raises
        ------
        GraphError
            The graph is empty: there is nothing to run.
        """
        if engine == "nme":
            return self.channel_reduce().simulate(stalls=stalls, seed=seed, backend=backend, waves=waves)
        if engine == "cae":
            return self.update().simulate(stalls=stalls, seed=seed, backend=backend, waves=waves)
        if engine == "reduce":
            trace = self.reduce_trace()
            if not len(trace.commands):
                raise GraphError("nothing to simulate: the graph has no edges to reduce")
            return simulate_reduce(
                trace, self.config.nme, stalls=reduce_stalls(stalls, seed), backend=backend, waves=waves
            )
        if engine == "dram":
            requests = self.gather_requests()
            if not len(requests):
                raise GraphError("nothing to simulate: the graph has no edges, so there is nothing to fetch")
            rank = self.config.dram.replace(ranks_per_dimm=1)
            stalled = stall_pattern(stalls, seed=seed)
            return simulate_dram(requests, rank, stalled=stalled, backend=backend, waves=waves)
        product = self.product_trace()
        if product is None:
            raise GraphError("nothing to simulate: the graph has no nodes to update")
        return simulate_product(
            product, self.config.cae, stalls=product_stalls(stalls, seed), backend=backend, waves=waves
        )
