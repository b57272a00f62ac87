"""Benches of the vector unit."""
