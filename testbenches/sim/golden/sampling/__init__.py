"""Tests of the golden models."""
