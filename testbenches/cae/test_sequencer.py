"""The sequencer, within the engine: it refuses what the golden judge refuses, and starts all else on time."""

import numpy as np
import pytest

from sim.program.cae_check import check_instructions, rows_of
from sim.program.instructions import CAE_INSTRUCTION, CAE_STATUS, CaeCode, CaeOpcode, ElementType, VectorOperation
from sim.timing.cae.sequencer import JUDGE_CYCLES
from testbenches.cae.programs import program_of, random_program, small_engine
from testbenches.cae.simulate_engine import cae_stalls, simulate_program

CONFIG = small_engine()
ODD = small_engine(
    rows=2, columns=3, window_instructions=3, vector_units=1, merge_sources=2, add_latency=1, mul_latency=0
)


def play(program, stalls="none", seed=0, config=CONFIG):
    simulation = simulate_program(
        program.instructions,
        config,
        memory=program.memory,
        partials=program.partials,
        stalls=cae_stalls(stalls, seed, config),
    )
    assert simulation.equal, simulation.first_difference
    return simulation


def load(bank, rows=4):
    return {
        "opcode": CaeOpcode.LOAD, "operation": ElementType.BF16, "rows": rows, "columns": 4, "result_bank": bank,
        "result_pitch": 1, "memory_pitch": 1,
    }  # fmt: skip


def store(bank, rows=4):
    return {
        "opcode": CaeOpcode.STORE, "operation": ElementType.BF16, "rows": rows, "columns": 4, "left_bank": bank,
        "left_pitch": 1, "memory_pitch": 1, "memory_address": 100,
    }  # fmt: skip


def affine(left, result, rows=4, unit=0):
    return {
        "opcode": CaeOpcode.VECTOR, "operation": VectorOperation.AFFINE, "rows": rows, "columns": 4, "unit": unit,
        "left_bank": left, "left_pitch": 1, "result_bank": result, "result_pitch": 1, "alpha": 0x40000000,
    }  # fmt: skip


SYNCHRONISE = {"opcode": CaeOpcode.SYNCHRONISE}


def jobs(*instructions):
    return play(program_of(instructions, CONFIG)).timing


@pytest.mark.parametrize("config", [CONFIG, ODD], ids=["small", "odd"])
def test_the_judge_says_what_the_golden_judge_says(config):
    """Most instructions have a field that is wrong, or just right."""
    program = random_program(11, config, 900, bad=0.9, most_rows=3)
    simulation = play(program, config=config)
    codes = CAE_STATUS.decode(simulation.golden.status)["code"]
    counts = np.bincount(codes.astype(int), minlength=len(CaeCode))
    assert (counts[: CaeCode.PARTIAL_SLOT] > 3).all(), counts
    refused = check_instructions(rows_of(CAE_INSTRUCTION.decode(program.instructions)), config) != 0
    assert all((job is None) == bad for job, bad in zip(simulation.timing.jobs, refused, strict=True))


def test_what_is_read_was_written():
    timing = jobs(load(4), affine(4, 5), affine(5, 6, unit=1), store(6))
    first, second, third, last = timing.jobs
    assert second.started == first.done + 1
    assert third.started == second.done + 1
    assert last.started == third.done + 1


def test_what_is_overwritten_was_read():
    timing = jobs(affine(4, 5, rows=20), load(4), affine(6, 4, unit=1))
    first, second, third = timing.jobs
    assert second.started == first.read + 1 < first.done
    assert third.started == second.done + 1


def test_writes_keep_their_order():
    timing = jobs(affine(4, 5, rows=20), load(5))
    first, second = timing.jobs
    assert second.started == first.done + 1


def test_a_bank_has_one_reader_at_a_time():
    timing = jobs(affine(4, 5, rows=20), store(4), affine(4, 6, unit=1))
    first, second, third = timing.jobs
    assert second.started == first.read + 1
    assert third.started == second.read + 1


def test_a_transfer_waits_within_its_unit_for_data_only():
    timing = jobs(load(4, rows=20), load(4, rows=20), store(5), store(4), load(4))
    first, second, third, fourth, last = timing.jobs
    assert second.started < first.done
    assert third.started < second.done
    assert fourth.started == second.done + 1
    assert last.started == fourth.read + 1


def test_banks_apart_overlap():
    timing = jobs(affine(4, 5, rows=40), affine(6, 7, rows=40, unit=1), load(0, rows=40))
    for one in timing.jobs:
        for other in timing.jobs:
            assert one.started < other.done


def test_synchronise_stands_between():
    timing = jobs(affine(4, 5, rows=30), load(6), SYNCHRONISE, load(7), SYNCHRONISE, SYNCHRONISE)
    before, short, point, after, second, third = timing.jobs
    assert point.done == max(before.done, short.done) + 1
    assert after.started == point.done + 1
    assert second.done == after.done + 1
    assert third.done == second.done + 1


def test_statuses_keep_the_programs_order():
    """A short instruction that ends early reports behind the long one before it."""
    timing = jobs(affine(4, 5, rows=40), load(6, rows=1), {"opcode": 77}, load(7, rows=1))
    assert timing.jobs[1].done < timing.jobs[0].done
    assert (np.diff(timing.status) == 1).all()
    assert timing.status[0] == timing.jobs[0].done + 1


def test_a_full_window_waits_for_a_status():
    """One more instruction than slots and judge hold is not taken before the first reports."""
    count = CONFIG.window_instructions + 3
    timing = jobs(affine(4, 5, rows=47), *(load(4, rows=1) for _ in range(count)))
    assert timing.instruction[CONFIG.window_instructions] < timing.status[0]
    assert timing.instruction[CONFIG.window_instructions + 1] == timing.status[0] + 1


def test_an_instruction_takes_as_many_cycles_as_its_judging():
    timing = jobs(*({"opcode": 0} for _ in range(9)))
    assert (np.diff(timing.instruction) == JUDGE_CYCLES).all()
    assert (timing.status - timing.instruction == JUDGE_CYCLES + 1).all()


def test_a_bad_instruction_in_the_middle_changes_nothing():
    good = [load(4), affine(4, 5), store(5)]
    plain = play(program_of(good, CONFIG)).golden
    bad = [good[0], affine(4, 99), good[1], load(5, rows=60), good[2]]
    mixed = play(program_of(bad, CONFIG)).golden
    np.testing.assert_array_equal(plain.memory, mixed.memory)
    codes = CAE_STATUS.decode(mixed.status)["code"].tolist()
    assert codes == [CaeCode.OK, CaeCode.BAD_BANK, CaeCode.OK, CaeCode.BAD_ADDRESS, CaeCode.OK]
