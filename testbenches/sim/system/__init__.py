"""Tests of the system model."""
