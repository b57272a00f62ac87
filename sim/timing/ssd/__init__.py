"""Timing model of the in-SSD sampling engine: each unit cycle by cycle, cycles in which nothing can happen skipped."""
