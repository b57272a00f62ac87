"""Timing models of the Centralized Acceleration Engine's units, job by job, equal to the RTL in every cycle."""
