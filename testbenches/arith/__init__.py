"""Tests of the number contract: its golden model and its hardware."""
