"""Synthesizable RTL, a folder per engine; `hdl.designs` lists what can be generated."""
