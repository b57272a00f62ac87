"""Benches of the Centralized Acceleration Engine."""
