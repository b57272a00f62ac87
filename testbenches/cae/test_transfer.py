"""The transfer unit, within the engine: every request, and what it leaves in banks stored back."""

import itertools

import numpy as np
import pytest

from sim.program.instructions import CaeOpcode, ElementType
from sim.timing.stalls import STALL_KINDS
from testbenches.cae.programs import program_of, random_program, small_engine
from testbenches.cae.simulate_engine import MEMORY_LATENCY, cae_stalls, simulate_program

CONFIG = small_engine()
TRANSFERS = (CaeOpcode.LOAD, CaeOpcode.STORE)


def load(rows, columns, kind=ElementType.BF16, *, bank=4, address=0, memory=0, pitch=None, apart=0):
    beats = -(-columns // CONFIG.lanes)
    return {
        "opcode": CaeOpcode.LOAD, "operation": kind, "rows": rows, "columns": columns, "result_bank": bank,
        "result_address": address, "result_pitch": beats if pitch is None else pitch, "memory_address": memory,
        "memory_pitch": beats * kind + apart,
    }  # fmt: skip


def store(rows, columns, kind=ElementType.BF16, *, bank=4, address=0, memory=256, pitch=None, apart=0):
    fields = load(rows, columns, kind, bank=bank, address=address, memory=memory, pitch=pitch, apart=apart)
    return {name.replace("result", "left"): value for name, value in fields.items()} | {"opcode": CaeOpcode.STORE}


def play(instructions, stalls="none", seed=0, config=CONFIG):
    program = program_of(instructions, config, seed)
    return simulate_program(
        program.instructions, config, memory=program.memory, stalls=cae_stalls(stalls, seed, config)
    )


def test_every_width_in_both_formats_into_both_kinds_of_bank():
    instructions = []
    for columns, kind, back, bank in itertools.product(range(1, 10), ElementType, ElementType, (0, 7)):
        instructions += [load(3, columns, kind, bank=bank, apart=1), store(3, columns, back, bank=bank, apart=2)]
        # What lies beyond the columns was cleared by the LOAD.
        instructions += [store(3, -(-columns // 4) * 4, back, bank=bank)]
    simulation = play(instructions)
    assert simulation.equal, simulation.first_difference


@pytest.mark.parametrize("stalls", STALL_KINDS)
@pytest.mark.parametrize("seed", range(3))
def test_random_transfers(stalls, seed):
    program = random_program(seed, CONFIG, 150, opcodes=TRANSFERS, bad=0.1)
    simulation = simulate_program(
        program.instructions, CONFIG, memory=program.memory, stalls=cae_stalls(stalls, seed, CONFIG)
    )
    assert simulation.equal, simulation.first_difference


@pytest.mark.parametrize("kind", ElementType)
@pytest.mark.parametrize("make", [load, store])
def test_a_request_in_every_cycle(make, kind):
    """From the first request of a row of jobs to its last, none of them short."""
    instructions = [make(12, 8, kind, bank=4 + i % 2) for i in range(6)]
    simulation = play(instructions)
    assert simulation.equal, simulation.first_difference
    requests = simulation.timing.requests
    assert len(requests) == 6 * 24 * kind
    assert requests[-1] - requests[0] == len(requests) - 1


def test_what_is_stored_is_loaded_again():
    """A LOAD behind a STORE gets what the STORE wrote, though it never waits for it."""
    instructions = [load(4, 8), store(4, 8, memory=100), load(4, 8, bank=5, memory=100), store(4, 8, bank=5)]
    simulation = play(instructions)
    assert simulation.equal, simulation.first_difference
    requests = simulation.timing.requests
    assert requests[16] == requests[15] + 1
    memory = simulation.golden.memory
    np.testing.assert_array_equal(memory[100:108], memory[256:264])


def test_few_loads_wait_at_a_time():
    """Of short LOADs, four are on their way: the fifth asks when the first is answered."""
    simulation = play([load(1, 1, bank=4 + i % 3) for i in range(20)])
    assert simulation.equal, simulation.first_difference
    starts = np.array([job.started for job in simulation.timing.jobs])
    done = np.array([job.done for job in simulation.timing.jobs])
    assert (starts[4:] >= done[:-4]).all()
    assert (starts[4:] == done[:-4]).sum() > 5


def test_counters_tell_where_the_cycles_went():
    instructions = [load(6, 8), store(6, 8), store(1, 1)]
    simulation = play(instructions, stalls="stop_and_go", seed=3)
    assert simulation.equal, simulation.first_difference
    counters = simulation.counters
    assert counters["transfer_cycles_busy"] == 25
    assert counters["transfer_cycles_wait_response"] >= MEMORY_LATENCY - 3
    assert counters["transfer_cycles_wait_memory"] > 0
