"""Shipped configurations, one TOML file each, every value with its source beside it."""
