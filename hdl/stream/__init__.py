"""Parts of streams: what stands between two engines or two clocks."""
