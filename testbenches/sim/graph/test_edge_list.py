"""SNAP edge lists: everything that may be in one, everything that may not, and five real ones."""

import gzip

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sim.graph import GraphError, load_graph, statistics, stream
from sim.graph.edge_list import load_edge_list, read_edges
from testbenches.sim.graph.strategies import edges, relaxed

LARGEST = 2**63 - 1


@pytest.fixture
def write(tmp_path):
    """Write text or bytes to a file and give its path."""

    def write_file(text, name="edges.txt"):
        path = tmp_path / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    return write_file


def test_separators_comments_line_ends_and_empty_lines(write):
    text = "# comment\n% other\n  # indented\n1 2\n3\t4\n5,6\n7 , 8\n\t 9   10 \n\n   \r\n11 12\r\n013 00014"
    sources, destinations, declared = read_edges(write(text))
    assert sources.tolist() == [1, 3, 5, 7, 9, 11, 13]
    assert destinations.tolist() == [2, 4, 6, 8, 10, 12, 14]
    assert declared is None


def test_direction_loops_and_repeats(write):
    path = write("0 1\n2 1\n2 2\n0 1\n")
    graph = load_edge_list(path)
    assert graph.name == "edges.txt"
    assert graph.indptr.tolist() == [0, 0, 2, 3]
    assert graph.indices.tolist() == [0, 2, 2]
    assert graph.notes == ("merged 1 repeated edges",)
    assert graph.node_ids is None
    kept = load_graph(f"{path}:repeats=keep,self_loops=drop")
    assert kept.indices.tolist() == [0, 0, 2]
    both = load_graph(f"{path}:undirected=true")
    assert both.indptr.tolist() == [0, 1, 3, 5]
    assert both.indices.tolist() == [1, 0, 2, 1, 2]


def test_gaps_are_renumbered_and_said(write):
    graph = load_edge_list(write(f"{LARGEST} 7\n7 5000000000\n"))
    assert (graph.n_nodes, graph.n_edges) == (3, 2)
    assert graph.node_ids.tolist() == [7, 5_000_000_000, LARGEST]
    assert graph.indptr.tolist() == [0, 1, 2, 2]
    assert graph.indices.tolist() == [2, 0]
    assert graph.notes == (f"renumbered 3 ids of 7..{LARGEST} to 0..2",)


def test_declared_nodes_keep_isolated_ones(write):
    graph = load_edge_list(write("# Nodes: 6 Edges: 2\n1 2\n2 4\n"))
    assert graph.n_nodes == 6
    assert graph.node_ids is None
    # Ids that count from 1 do not lie below the declared number: they are renumbered, and nothing is lost.
    graph = load_edge_list(write("# Nodes: 3 Edges: 2\n1 2\n2 3\n"))
    assert graph.n_nodes == 3
    assert graph.node_ids.tolist() == [1, 2, 3]
    graph = load_edge_list(write("# Nodes: 4 Edges: 2\n1 9\n9 3\n"))
    assert graph.n_nodes == 3
    assert graph.notes[-1] == "the file declares 4 nodes, but 3 ids occur"


def test_nodes_option(write):
    path = write("1 2\n")
    assert load_graph(f"{path}:nodes=5").n_nodes == 5
    with pytest.raises(GraphError, match=r"edges.txt: holds the id 2, but nodes=2 allows 0\.\.1"):
        load_graph(f"{path}:nodes=2")


def test_more_columns_are_refused_or_ignored(write):
    path = write("0 1 0.5\n1 2 -3 x\n")
    with pytest.raises(GraphError, match=r"edges.txt:1: more than two columns .*extra_columns=ignore.*: '0 1 0.5'"):
        load_edge_list(path)
    graph = load_graph(f"{path}:extra_columns=ignore")
    assert graph.n_edges == 2
    assert graph.notes == ("ignored the columns after the second",)
    with pytest.raises(GraphError, match="refuse or ignore"):
        read_edges(path, extra_columns="some")


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("x 1", "not a whole number.*'x 1'"),
        ("1 x", "not a whole number"),
        ("1.0 2", "not a whole number"),
        ("1 2e3", "not a whole number"),
        ("+1 2", "not a whole number"),
        ("1;2", "not a whole number"),
        ("1 -", "not a whole number"),
        ("nan 2", "not a whole number"),
        ("\ufeff1 2", "not a whole number"),
        ("1 \x00", "not a whole number"),
        ("1 2# comment", "not a whole number"),
        ("source,target", "must begin with '#'"),
        ("-1 2", "negative id"),
        ("1 -2", "negative id"),
        (f"{LARGEST + 1} 2", "above 2\\^63 - 1"),
        (f"1 {LARGEST + 1}", "above 2\\^63 - 1"),
        ("1 99999999999999999999999", "above 2\\^63 - 1"),
        ("1", "one column.*truncated"),
        ("1 ", "one column"),
        ("1 2 3", "more than two columns"),
        ("1,,2", "empty column"),
        ("1 , , 2", "empty column"),
        (",1", "empty column"),
        ("1,", "empty column"),
        ("1,2,", "empty column"),
    ],
)
@pytest.mark.parametrize("ending", ["", "\n", "\n5 6\n"])
def test_bad_lines_are_named(write, line, message, ending):
    path = write(f"# head\n0 1\n\n{line}{ending}")
    with pytest.raises(GraphError, match=f"edges.txt:4: .*{message}"):
        load_edge_list(path)


def test_long_lines_are_cut_in_messages(write):
    with pytest.raises(GraphError, match=r"'x{57}\.\.\.'$"):
        load_edge_list(write("x" * 500))


def test_largest_id_is_accepted(write):
    sources, destinations, _ = read_edges(write(f"{LARGEST} 0\n0 {LARGEST - 1}"))
    assert sources.tolist() == [LARGEST, 0]
    assert destinations.tolist() == [0, LARGEST - 1]


@pytest.mark.parametrize("text", ["", "\n\n", "# Nodes: 3 Edges: 0\n", "# only a comment"])
def test_no_edges_are_refused(write, text):
    with pytest.raises(GraphError, match=r"edges.txt: holds no edge; a graph without edges is empty:n=N"):
        load_edge_list(write(text))


def test_fewer_edges_than_declared_are_refused(write):
    with pytest.raises(GraphError, match="declares 3 edges but holds 2: truncated"):
        load_edge_list(write("# Directed graph\n# Nodes: 4 Edges: 3\n0 1\n1 2\n"))
    # Files of SNAP that list both directions declare half of what they hold.
    assert load_edge_list(write("# Nodes: 2 Edges: 1\n0 1\n1 0\n")).n_edges == 2


def test_truncated_gzip_is_refused(write):
    whole = gzip.compress(b"".join(b"%d %d\n" % (i, i + 1) for i in range(1000)))
    assert load_graph(str(write(whole, "whole.txt"))).n_edges == 1000
    with pytest.raises(GraphError, match=r"cut.txt: the gzip stream is truncated"):
        load_graph(str(write(whole[:-20], "cut.txt")))


@settings(relaxed, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(edges(), st.integers(12, 40), st.sampled_from([" ", "\t", ",", " , "]), st.booleans())
def test_any_edges_in_blocks_of_any_size(tmp_path_factory, drawn, block_bytes, separator, zipped):
    sources, destinations, _ = drawn
    lines = ["# c", *(f"{u}{separator}{v}" for u, v in zip(sources, destinations, strict=True))]
    text = "\n".join(lines).encode()
    path = tmp_path_factory.mktemp("blocks") / "edges"
    path.write_bytes(gzip.compress(text) if zipped else text)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(stream, "BLOCK_BYTES", block_bytes)
        if not sources.size:
            with pytest.raises(GraphError, match="holds no edge"):
                read_edges(path)
            return
        read = read_edges(path)
        path.write_bytes(text + b"\noops\n1 2")
        with pytest.raises(GraphError, match=f"edges:{len(lines) + 1}: "):
            read_edges(path)
    assert np.array_equal(read[0], sources)
    assert np.array_equal(read[1], destinations)


@pytest.mark.parametrize(
    ("name", "nodes", "raw_edges", "self_loops", "symmetric_edges", "max_degree"),
    [
        ("ego-twitter-undirected", 81_306, 1_342_310, 14, 2_684_592, 3_383),
        ("soc-slashdot0902-directed", 82_168, 948_464, 78_303, 1_008_460, 2_552),
        ("arxiv-cit-hep-ph", 34_546, 421_578, 44, 841_754, 846),
        ("facebook-combined", 4_039, 88_234, 0, 176_468, 1_045),
        ("as-caida20071105", 26_475, 53_381, 0, 106_762, 2_628),
    ],
)
def test_real_edge_lists(data_folder, name, nodes, raw_edges, self_loops, symmetric_edges, max_degree):
    path = data_folder / "snap" / f"{name}.txt.gz"
    raw = statistics(load_graph(str(path)))
    assert (raw.nodes, raw.edges, raw.self_loops, raw.repeated_edges) == (nodes, raw_edges, self_loops, 0)
    if name == "arxiv-cit-hep-ph":
        assert raw.nodes_without_incoming == 6_316
    graph = statistics(load_graph(f"{path}:undirected=true,self_loops=drop"))
    assert (graph.nodes, graph.edges, graph.max_in_degree) == (nodes, symmetric_edges, max_degree)
    assert graph.max_out_degree == max_degree
    assert graph.symmetric
    assert graph.self_loops == graph.repeated_edges == graph.isolated_nodes == 0
