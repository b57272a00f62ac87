"""Benches that prove RTL, golden models and timing models equal, and plain tests of the rest."""
