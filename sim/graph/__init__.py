"""Graphs: readers, generators, statistics and edge weights."""

from sim.graph.errors import GraphError
from sim.graph.graph import Graph
from sim.graph.normalize import NORMALIZATIONS, Adjacency, Normalization, adjacency, row_normalized
from sim.graph.rules import EdgeRules, graph_from_edges
from sim.graph.spec import graph_sources, load_graph
from sim.graph.summary import GraphStatistics, statistics

__all__ = [
    "NORMALIZATIONS",
    "Adjacency",
    "EdgeRules",
    "Graph",
    "GraphError",
    "GraphStatistics",
    "Normalization",
    "adjacency",
    "graph_from_edges",
    "graph_sources",
    "load_graph",
    "row_normalized",
    "statistics",
]
