"""Golden models: what the hardware computes, bit for bit."""
