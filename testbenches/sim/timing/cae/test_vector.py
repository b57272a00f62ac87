"""The vector unit's cycles against a walk through its loops, cycle by cycle; against RTL in `cae/vector/test_unit`."""

from itertools import product

import pytest

from sim.config import load_config
from sim.program.counters import VECTOR_COUNTERS
from sim.program.instructions import VectorReduction
from sim.timing.cae.vector import VectorTiming

TINY = load_config("tiny").cae
ROWS = (VectorReduction.ROW_SUM, VectorReduction.ROW_MAXIMUM)


def walk(rows, beats, reduction, turns):
    """List which (row, beat) is read in each cycle, None where none is, by plain loops."""
    if reduction == VectorReduction.COLUMN_SUM:
        return [(row, beat) for beat in range(beats) for row in range(rows)]
    group_rows = turns if reduction in ROWS else 1
    reads = [
        (row, beat) if row < rows else None
        for first in range(0, rows, group_rows)
        for beat in range(beats)
        for row in range(first, first + group_rows)
    ]
    while reads[-1] is None:  # after the last beat nothing is waited for
        reads.pop()
    return reads


def completes(read, rows, beats, reduction):
    """Tell whether something is written once a beat was read."""
    if reduction == VectorReduction.NONE:
        return True
    return read[0] == rows - 1 if reduction == VectorReduction.COLUMN_SUM else read[1] == beats - 1


def job(rows, columns, reduction):
    return {"rows": rows, "columns": columns, "reduction": int(reduction)}


@pytest.mark.parametrize("reduction", VectorReduction)
@pytest.mark.parametrize("turns", [1, 2, 3, 4])
def test_reads_and_writes(reduction, turns):
    config = TINY.replace(add_latency=turns)
    for rows, columns in product(range(1, 13), range(1, 14)):
        beats = -(-columns // config.lanes)
        timing = VectorTiming(config)
        instruction = job(rows, columns, reduction)
        timed = timing.start(10, instruction)
        reads = walk(rows, beats, reduction, turns)
        written = [11 + cycle for cycle, read in enumerate(reads) if read and completes(read, rows, beats, reduction)]
        latency = timed.done - timed.read
        assert timed.started == 10
        assert timed.read == 10 + len(reads)
        assert (timing.writes(timed, instruction) - latency).tolist() == written
        assert timed.done == written[-1] + latency
        counters = timing.counters(timed.done + 5)
        assert list(counters) == list(VECTOR_COUNTERS)
        assert counters["busy"] == rows * beats
        assert counters["pace"] == reads.count(None)
        assert counters["flush"] == latency
        assert sum(counters.values()) == timed.done + 5


def test_rows_of_one_beat_take_a_cycle_each():
    for reduction in VectorReduction:
        timed = VectorTiming(TINY).start(0, job(50, TINY.lanes, reduction))
        assert timed.read == 50


def test_chains_are_as_far_apart_as_the_adder_needs():
    """Two beats of one row are never closer than the adder's latency, two rows of a chain never closer than four."""
    for turns in (1, 2, 3, 4):
        for rows in range(1, 10):
            at = {read: cycle for cycle, read in enumerate(walk(rows, 3, VectorReduction.ROW_SUM, turns)) if read}
            assert all(at[row, beat + 1] - at[row, beat] == turns for row in range(rows) for beat in (0, 1))


def test_one_job_at_a_time():
    timing = VectorTiming(TINY)
    first = timing.start(3, job(4, 4, 0))
    second = timing.start(4, job(4, 4, 1))
    third = timing.start(second.done + 7, job(4, 4, 3))
    assert first.started == 3
    assert second.started == first.done + 1
    assert third.started == second.done + 7
    with pytest.raises(ValueError, match=f"from cycle {third.done + 1} on, not in {third.done}"):
        timing.counters(third.done)
    assert timing.counters(third.done + 1)["idle"] == 4 + 1 + 7  # the cycles before a job, and that of its handover


def test_latencies():
    config = TINY.replace(vector_mul_latency=2, add_latency=3)
    assert config.lanes == 4
    assert config.vector_element_cycles == 13  # 2 read, 1 select, 2 multiply, 3 add, 4 function, 1 mask
    assert config.vector_row_cycles == 9
    assert config.vector_column_cycles == 9
    assert TINY.replace(rows=1, columns=1).vector_row_cycles == TINY.add_latency
    assert TINY.replace(rows=2, columns=3).vector_row_cycles == 4 * TINY.add_latency
