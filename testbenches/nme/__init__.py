"""Benches of the Near-Memory Engine."""
