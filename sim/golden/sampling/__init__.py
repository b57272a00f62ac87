"""Golden model of the in-SSD sampling engine."""
