"""`nearsage graph`."""

from sim.graph import load_graph
from testbenches.scripts.run import checked_json, nearsage

KEYS = {"graph", "content_hash", "notes", "statistics"}


def test_table():
    result = nearsage("graph", "karate")
    assert result.exit_code == 0
    assert result.stderr == ""
    assert "156" in result.stdout


def test_json():
    result = nearsage("graph", "karate", "--json", "-")
    assert result.exit_code == 0
    values = checked_json(result.stdout, "graph", None, KEYS)
    assert values["graph"] == "karate"
    assert values["content_hash"] == load_graph("karate").content_hash()
    numbers = values["statistics"]
    assert (numbers["nodes"], numbers["edges"], numbers["max_in_degree"]) == (34, 156, 17)
    assert numbers["symmetric"] is True
    assert "graph karate" in result.stderr


def test_notes_of_the_reader_are_told(tmp_path):
    path = tmp_path / "gaps.txt"
    path.write_text("10 20\n20 10\n20 10\n")
    result = nearsage("graph", path, "--json", "-")
    values = checked_json(result.stdout, "graph", None, KEYS)
    assert values["notes"]
    for note in values["notes"]:
        assert note in " ".join(result.stderr.split())


def test_empty_graph():
    result = nearsage("graph", "empty:n=0", "--json", "-")
    assert result.exit_code == 0
    assert checked_json(result.stdout, "graph", None, KEYS)["statistics"]["nodes"] == 0
