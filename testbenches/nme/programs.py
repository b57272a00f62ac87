"""Programs for the engines of a channel from a graph: its Reduce in any form."""

from dataclasses import replace

import numpy as np

from sim.config import SystemConfig
from sim.golden.execute import stored
from sim.graph import Graph, adjacency
from sim.graph.normalize import Normalization
from sim.program.commands import ReduceOpcode
from sim.program.dimm import DimmProgram, reduce_program
from sim.program.gcn import shard_adjacency
from sim.program.partition import Shards
from sim.program.reduce_trace import ranges
from testbenches.nme.traces import random_bits


def reduce_programs(
    graph: Graph,
    config: SystemConfig,
    features: int,
    *,
    opcode: ReduceOpcode = ReduceOpcode.MULTIPLY_ADD,
    normalization: Normalization = "gcn",
    transposed: bool = False,
    block: int | None = None,
    seed: int = 0,
) -> list[DimmProgram]:
    """Make the programs of all DIMMs for the Reduce of random vectors.

    Parameters
    ----------
    graph : Graph
        The graph.
    config : SystemConfig
        The hardware.
    features : int
        Width of the vectors.
    opcode : ReduceOpcode
        What is done with each edge.
    normalization : {"gcn", "mean", "none"}
        The edges' weights.
    transposed : bool
        Reduce against the edges, as the backward pass does.
    block : int, optional
        Only this destination interval.
    seed : int
        Seed of the vectors; special values are among them.

    Returns
    -------
    list of DimmProgram
        One for each DIMM.
    """
    weighted = adjacency(graph, normalization)
    shards = shard_adjacency(weighted.transposed() if transposed else weighted, config)
    if block is not None:
        shards = only_interval(shards, block)
    values = random_bits(np.random.default_rng(seed), (graph.n_nodes, features), config.nme.element, 0.01)
    weights = stored(shards.edge_weight.view(np.uint32), config.nme) if opcode == ReduceOpcode.MULTIPLY_ADD else None
    return [
        reduce_program(shards, dimm, values, config, opcode=opcode, weights=weights)
        for dimm in range(config.dram.dimms)
    ]


def only_interval(shards: Shards, interval: int) -> Shards:
    """Keep the shards of one destination interval.

    Parameters
    ----------
    shards : Shards
        A sharded graph.
    interval : int
        The interval.

    Returns
    -------
    Shards
        Those of its shards.
    """
    kept = np.flatnonzero(shards.interval_index == interval)
    n_sources, n_edges = np.diff(shards.source_start)[kept], np.diff(shards.edge_start)[kept]
    edges = ranges(shards.edge_start[kept], n_edges)
    return replace(
        shards,
        dimm=shards.dimm[kept],
        interval_index=shards.interval_index[kept],
        slot=shards.slot[kept],
        source_start=np.concatenate([[0], np.cumsum(n_sources)]),
        edge_start=np.concatenate([[0], np.cumsum(n_edges)]),
        sources=shards.sources[ranges(shards.source_start[kept], n_sources)],
        edge_destination=shards.edge_destination[edges],
        edge_last=shards.edge_last[edges],
        edge_weight=shards.edge_weight[edges],
    )
