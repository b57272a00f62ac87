"""Tests of the commands, a file for each."""
