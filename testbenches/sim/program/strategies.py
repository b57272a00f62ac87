"""Sharded graphs that nobody would think of, and a memory to shard them for."""

import numpy as np
from hypothesis import settings
from hypothesis import strategies as st

from sim.config import load_config
from sim.program.partition import shard_graph

# The first example compiles the kernels, which no deadline should count.
relaxed = settings(deadline=None, max_examples=80)


def machine(channels=2, dimms_per_channel=2, block_vertices=2, duplicated_share=0.35):
    """Return (DramConfig, PartitionConfig) of a small system."""
    config = load_config("tiny").replace(
        **{
            "dram.channels": channels,
            "dram.dimms_per_channel": dimms_per_channel,
            "partition.block_vertices": block_vertices,
            "partition.duplicated_share": duplicated_share,
        }
    )
    return config.dram, config.partition


def csr(edges, n_nodes):
    """Return (indptr, indices, weights, triples) of incoming edges; every edge has a weight of its own."""
    rows = [[] for _ in range(n_nodes)]
    for source, destination in edges:
        rows[destination].append(source)
    flat = [(source, v) for v, row in enumerate(rows) for source in sorted(row)]
    indptr = np.cumsum([0, *map(len, rows)]).astype(np.int64)
    indices = np.array([source for source, _ in flat], np.int64)
    weights = np.arange(1, len(flat) + 1, dtype=np.float32)
    triples = [(source, v, float(weight)) for (source, v), weight in zip(flat, weights, strict=True)]
    return indptr, indices, weights, triples


@st.composite
def edge_lists(draw, most_nodes=20, most_edges=40):
    """Draw (edges, n_nodes): loops, repeats, isolated vertices, no vertices at all."""
    n_nodes = draw(st.integers(0, most_nodes))
    node = st.integers(0, max(n_nodes - 1, 0))
    return draw(st.lists(st.tuples(node, node), max_size=most_edges if n_nodes else 0)), n_nodes


@st.composite
def machines(draw):
    """Draw (DramConfig, PartitionConfig, interval)."""
    dram, partition = machine(
        draw(st.integers(1, 3)),
        draw(st.integers(1, 4)),
        draw(st.integers(1, 5)),
        draw(st.sampled_from([0.0, 0.35, 0.5, 1.0])),
    )
    return dram, partition, draw(st.integers(1, 9))


def sharded(edges, n_nodes, dram, partition, interval):
    """Return (Shards, triples) of an edge list."""
    indptr, indices, weights, triples = csr(edges, n_nodes)
    return shard_graph(indptr, indices, weights, interval=interval, dram=dram, partition=partition), triples
