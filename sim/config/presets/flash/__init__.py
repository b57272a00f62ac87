"""Shipped memories, one TOML file each: what stands under `dram` in a configuration, every value with its source."""
