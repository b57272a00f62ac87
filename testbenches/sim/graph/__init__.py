"""Tests of `sim.graph`."""
