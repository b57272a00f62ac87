"""Tests of the timing models."""
