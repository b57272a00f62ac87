"""Plain pytest of `sim`."""
