"""Benches of the in-SSD sampling engine."""
