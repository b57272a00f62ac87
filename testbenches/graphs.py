"""Graphs for the benches: real ones where they lie on this machine, and ones that nobody would think of."""

import functools
import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from sim.graph import EdgeRules, Graph, graph_from_edges, load_graph

REAL_GRAPHS = {
    "karate": "karate",
    "cora": "planetoid/cora",
    "citeseer": "planetoid/citeseer",
    "as-caida": "snap/as-caida20071105.txt.gz",
}
"""Real graphs of the equivalence tests: the embedded one, and places in the folder that NEARSAGE_DATA names."""

AS_DRAWN = EdgeRules(repeats="keep")


def real_graph(name: str) -> Graph:
    """Load a real graph, or skip the test where it is not there."""
    place = REAL_GRAPHS[name]
    if name == "karate":
        return load_graph("karate")
    folder = os.environ.get("NEARSAGE_DATA")
    if not folder:
        pytest.skip(f"set NEARSAGE_DATA to the folder with {place} to run this test")
    if place.startswith("planetoid/"):
        return load_graph(f"planetoid:{place.removeprefix('planetoid/')}")
    return load_graph(str(Path(folder) / place))


@st.composite
def graphs(draw: st.DrawFn, max_nodes: int = 24) -> Graph:
    """Draw a graph: isolated nodes, hubs, self-loops, repeated edges, or no edges at all."""
    n_nodes = draw(st.integers(0, max_nodes))
    if not n_nodes:
        return graph_from_edges("empty", np.zeros(0, np.int64), np.zeros(0, np.int64), 0, AS_DRAWN)
    node = st.integers(0, n_nodes - 1)
    edges = draw(st.lists(st.tuples(node, node), max_size=60))
    if draw(st.booleans()):
        hub = draw(node)
        edges += [(hub, v) if draw(st.booleans()) else (v, hub) for v in range(n_nodes)]
    if edges and draw(st.booleans()):
        edges += [draw(st.sampled_from(edges))] * draw(st.integers(1, 8))
    pairs = np.array(edges, np.int64).reshape(-1, 2)
    return graph_from_edges("drawn", pairs[:, 0], pairs[:, 1], n_nodes, AS_DRAWN)


@functools.cache
def drawn_graphs(count: int) -> tuple[Graph, ...]:
    """Draw graphs once, the same ones in every run, so that one simulation can run them all."""
    found: list[Graph] = []

    @settings(
        max_examples=2 * count,
        derandomize=True,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(graphs())
    def collect(graph: Graph) -> None:
        found.append(graph)

    collect()
    assert len(found) >= count
    return tuple(found[:count])
