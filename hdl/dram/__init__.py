"""RTL of the DRAM command scheduler."""
