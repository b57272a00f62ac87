# amaranth: UnusedElaboratable=no
"""Turns, against a loop over all that may have them."""

import pytest
from amaranth.hdl import Module, Signal
from amaranth.sim import Simulator

from hdl.ssd.round_robin import lowest, number_of, turn


@pytest.mark.parametrize("size", [1, 2, 3, 5])
def test_all_requests_after_all_turns(size):
    requests, last = Signal(size), Signal(range(max(2, size)))
    got, first, number = Signal(size), Signal(size), Signal(8)
    m = Module()
    m.d.comb += [got.eq(turn(requests, last)), first.eq(lowest(requests)), number.eq(number_of(got))]

    async def play(context):
        for wanted in range(1 << size):
            for before in range(size):
                context.set(requests, wanted)
                context.set(last, before)
                order = [(before + 1 + i) % size for i in range(size)]
                chosen = [i for i in order if wanted >> i & 1][:1]
                assert context.get(got) == sum(1 << i for i in chosen)
                assert context.get(number) == sum(chosen)
                assert context.get(first) == wanted & -wanted

    simulator = Simulator(m)
    simulator.add_testbench(play)
    simulator.run()
