"""The error for an unknown name."""

from sim.graph.errors import GraphError, unknown


def test_nearest_name_and_list():
    error = unknown("fruit", "aple", {"pear": 1, "apple": 2})
    assert isinstance(error, GraphError)
    assert isinstance(error, ValueError)
    assert str(error) == "unknown fruit: 'aple'. Did you mean 'apple'? Known: apple, pear."


def test_nothing_near_and_nothing_known():
    assert str(unknown("fruit", "zzz", ["apple"])) == "unknown fruit: 'zzz'. Known: apple."
    assert str(unknown("fruit", "zzz", [])) == "unknown fruit: 'zzz'. Known: none."
