"""Tests of the timing models of the Centralized Acceleration Engine's units."""
