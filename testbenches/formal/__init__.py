"""Proofs about the RTL, for all inputs, with an SMT solver."""
