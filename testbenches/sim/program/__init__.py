"""Tests of the programs and their binary form."""
