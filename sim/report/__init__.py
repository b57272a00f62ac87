"""Tables of results for people."""
