"""The `nearsage` command line; it computes nothing itself."""
