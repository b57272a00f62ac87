"""Constants of Threefry-2x32, the counter-based generator of all random draws.

J. K. Salmon, M. A. Moraes, R. O. Dror, D. E. Shaw: "Parallel random numbers: as easy as 1, 2, 3", SC 2011; the values
are those of its library Random123.
"""

ROUNDS = 20
"""Rounds; each adds, rotates and exclusive-ors."""

ROTATIONS = (13, 15, 26, 6, 17, 29, 16, 24)
"""Bits that the second word is rotated by to the left, in turn."""

INJECTION_ROUNDS = 4
"""After so many rounds each, and before the first, words of the key are added."""

PARITY = 0x1BD11BDA
"""Exclusive or of the three words of the extended key."""
