"""Timing models: when the hardware does it, cycle for cycle."""
