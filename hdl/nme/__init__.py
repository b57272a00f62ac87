"""RTL of the Near-Memory Engine."""
