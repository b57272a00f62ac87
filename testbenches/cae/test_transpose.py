"""The transposer gives every group of rows as it came or turned, at full rate, for any size."""

import numpy as np
import pytest
from amaranth.sim import Simulator

from hdl.cae.transpose import Transposer

MOST_CYCLES = 4000


def play(side, slots, groups, *, gap=0.0, stall=0.0, seed=0):
    """Put groups of (rows, turned, given); return the rows that came with their cycles, and the cycles of the puts."""
    rng = np.random.default_rng(seed)
    design = Transposer(side, slots)
    got, put_in = [], []
    due = sum(given for _, _, given in groups)

    async def feed(context):
        for rows, turned, given in groups:
            while not context.get(design.room) or rng.random() < gap:
                await context.tick()
            for i, row in enumerate(rows):
                context.set(design.reserve, i == 0)
                context.set(design.put, 1)
                context.set(design.row, [int(word) for word in row])
                context.set(design.last, i == len(rows) - 1)
                context.set(design.turned, turned)
                context.set(design.given, given if i == 0 else 0)
                await context.tick()
                context.set(design.reserve, 0)
                context.set(design.put, 0)
                while turned and rng.random() < gap:
                    await context.tick()

    cycle = [0]

    async def take(context):
        while len(got) < due or cycle[0] < (got[-1][0] if got else 0) + 10:
            assert cycle[0] < MOST_CYCLES, f"{len(got)} of {due} rows came"
            context.set(design.rows.ready, rng.random() >= stall)
            await context.delay(0.4e-6)
            if context.get(design.put):
                put_in.append(cycle[0])
            if context.get(design.rows.valid) and context.get(design.rows.ready):
                payload = context.get(design.rows.payload)
                got.append((cycle[0], [payload[i] for i in range(side)]))
            await context.tick()
            cycle[0] += 1

    simulator = Simulator(design)
    simulator.add_clock(1e-6)
    simulator.add_testbench(feed, background=True)
    simulator.add_testbench(take)
    simulator.run()
    return got, put_in


def drawn_groups(side, count, seed):
    rng = np.random.default_rng(seed)
    groups = []
    for _ in range(count):
        rows = rng.integers(0, 1 << 16, (int(rng.integers(1, side + 1)), side))
        turned = bool(rng.integers(2))
        groups.append((rows, turned, int(rng.integers(1, side + 1)) if turned else len(rows)))
    return groups


def expected(side, groups):
    """List the rows due; None where an element may be anything."""
    out = []
    for rows, turned, given in groups:
        for j in range(given):
            out.append([int(row[j]) for row in rows] + [None] * (side - len(rows)) if turned else rows[j].tolist())
    return out


@pytest.mark.parametrize(("side", "slots"), [(1, 1), (1, 3), (2, 2), (3, 2), (4, 3), (5, 1), (7, 3)])
@pytest.mark.parametrize(("gap", "stall"), [(0.0, 0.0), (0.3, 0.0), (0.0, 0.5), (0.3, 0.3)])
def test_every_row_comes_once_and_in_order(side, slots, gap, stall):
    groups = drawn_groups(side, 12, seed=side)
    got, _ = play(side, slots, groups, gap=gap, stall=stall)
    due = expected(side, groups)
    assert len(got) == len(due)
    for (_, row), want in zip(got, due, strict=True):
        assert [word for word, known in zip(row, want, strict=True) if known is not None] == [
            known for known in want if known is not None
        ]


@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize("side", [4, 5, 8])
def test_a_row_a_cycle(side, turned):
    """With three slots no cycle is lost between whole slots, and the first row comes when it is stated."""
    rng = np.random.default_rng(0)
    groups = [(rng.integers(0, 1 << 16, (side, side)), turned, side) for _ in range(6)]
    got, put_in = play(side, 3, groups)
    cycles = [at for at, _ in got]
    assert (np.diff(cycles) == 1).all()
    assert cycles[0] - put_in[side - 1 if turned else 0] == 2
