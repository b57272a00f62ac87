"""Tests of the configurations."""
