"""Floating-point blocks: the number contract of `sim.golden.numbers` in hardware.

Every block is a free-running pipeline without enable or valid: a result leaves exactly `latency` cycles after its
operands entered, and whoever uses the block carries a valid bit beside it.
"""
