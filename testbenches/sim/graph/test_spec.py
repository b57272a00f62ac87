"""One line for any graph: what is understood, and what is refused with the nearest known name."""

import numpy as np
import pytest
import scipy.sparse

from sim.graph import Graph, GraphError, graph_sources, load_graph, spec


def test_paths_with_colons_commas_and_names_of_graphs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("a:b.txt", "a,b=c.txt", "a:k=v.txt", "karate", "planetoid"):
        (tmp_path / name).write_text("0 1\n")
    for written in ("a:b.txt", "a:b.txt:undirected=true", "a,b=c.txt", "a:k=v.txt", "./karate", "./planetoid"):
        assert load_graph(written).n_nodes == 2
    assert load_graph("a:b.txt:undirected=true,self_loops=drop").n_edges == 2
    assert load_graph(f"{tmp_path}/karate:undirected=TRUE").n_edges == 2


def test_kinds_of_files_are_told_apart_by_contents(tmp_path):
    path = tmp_path / "graph"
    path.write_text("%%MatrixMarket matrix coordinate pattern general\n9 9 1\n1 2\n")
    assert load_graph(str(path)).n_nodes == 9
    path.write_text("%MatrixMarket, but not really\n0 1\n")
    assert load_graph(str(path)).n_nodes == 2
    with path.open("wb") as file:
        scipy.sparse.save_npz(file, scipy.sparse.csr_array(np.eye(4)))
    assert load_graph(str(path)).n_nodes == 4
    with pytest.raises(GraphError, match=r"unknown option of .*graph: 'nodes'.*Known: repeats, self_loops, undirected"):
        load_graph(f"{path}:nodes=9")


@pytest.mark.parametrize(
    ("written", "message"),
    [
        ("karat", r"'karat'\. Did you mean 'karate'\? Known: clustered, complete, empty, karate, planetoid"),
        ("rmatt:scale=3", "Did you mean 'rmat'"),
        ("planetoids:cora", "Did you mean 'planetoid'"),
        ("", "unknown graph"),
        ("rmat:16", "rmat: '16' is no option; options are key=value"),
        ("rmat:16:seed=1", "unknown option of rmat: '16:seed'"),
        ("karat:a", "Did you mean 'karate'"),
        ("none.txt", r"none\.txt: no such file"),
        ("folder/none", "folder/none: no such file"),
        ("planetoid", "planetoid needs the name of a graph"),
        ("planetoid:", "planetoid needs the name of a graph"),
        ("planetoid:../x", "planetoid needs the name of a graph"),
        ("karate:n=3", "unknown option of karate: 'n'. Known: none"),
        ("rmat:scal=3", "unknown option of rmat: 'scal'. Did you mean 'scale'.*Known: a, b, c, edge_factor"),
        ("ring:m=3", "unknown option of ring: 'm'"),
        ("rmat", r"rmat: needs scale: rmat:scale=\.\.\."),
        ("uniform:seed=1", "uniform: needs nodes and edges"),
        ("ring:n=3,n=4", "n is given twice"),
        ("ring:n=3,", "'' is no option"),
        ("ring:n=", "'n=' is no option"),
        ("ring:n=3,x", "'x' is no option"),
        ("ring:n=three", "n=three: must be a whole number"),
        ("ring:n=3.0", r"n=3\.0: must be a whole number"),
        ("rmat:scale=3,a=x", "a=x: must be a number"),
        ("rmat:scale=3,permute=yes", "permute=yes: must be true or false"),
        ("rmat:scale=3,repeats=marge", "unknown value of rmat: repeats: 'marge'. Did you mean 'merge'"),
        ("rmat:scale=3,self_loops=dorp", "Did you mean 'drop'"),
    ],
)
def test_what_is_not_understood_is_refused(written, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(GraphError, match=message):
        load_graph(written)


def test_too_little_memory_is_an_error_of_the_specification(monkeypatch):
    def greedy(*, n: int) -> Graph:
        raise MemoryError(f"{n} nodes")

    monkeypatch.setitem(spec._NAMED, "greedy", greedy)
    with pytest.raises(GraphError, match="greedy: the graph does not fit into memory: 7 nodes"):
        load_graph("greedy:n=7")


def test_sources_list_every_option():
    sources = graph_sources()
    assert sources["karate"] == "karate"
    assert sources["ring"] == "ring:n=..."
    assert sources["planetoid"] == "planetoid:NAME:root=...,self_loops=drop,repeats=merge,undirected=true"
    assert "nodes=...,extra_columns=refuse" in sources["edge list"]
    assert sources["rmat"].startswith("rmat:scale=...,edge_factor=16,seed=0,a=0.57")
