"""Benches of the DRAM scheduler."""
