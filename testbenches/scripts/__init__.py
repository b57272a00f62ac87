"""Tests of the command line and of the structure of the code."""
