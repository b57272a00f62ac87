"""The merge unit, within the engine: every sum in every bit, every beat that it takes in its cycle."""

import numpy as np
import pytest

from sim.golden.cae import run_instructions
from sim.program.instructions import CAE_STATUS, CaeCode, CaeOpcode, ElementType, partial_beat
from sim.timing.cae.engine import cae_timing
from sim.timing.stalls import STALL_KINDS
from testbenches.cae.programs import Program, encode, program_of, random_program, small_engine
from testbenches.cae.simulate_engine import cae_stalls, simulate_program

CONFIG = small_engine()
LANES = CONFIG.lanes


def merge(rows, columns, depth, *, bank=4, address=0, pitch=None):
    return {
        "opcode": CaeOpcode.MERGE, "rows": rows, "columns": columns, "depth": depth, "result_bank": bank,
        "result_address": address, "result_pitch": -(-columns // LANES) if pitch is None else pitch,
    }  # fmt: skip


def store(beats, *, bank=4, address=0):
    """Store beats as they are, one a row."""
    return {
        "opcode": CaeOpcode.STORE, "operation": ElementType.FP32, "rows": beats, "columns": LANES, "left_bank": bank,
        "left_address": address, "left_pitch": 1, "memory_pitch": 2,
    }  # fmt: skip


def beats_of(*beats, ends=True):
    """Encode beats (slot, first, last, number), and one with end."""
    values = [*beats, *([(0, 0, 0, 0.0)] if ends else [])]
    index, first, last, number = zip(*values, strict=True)
    words = np.repeat(np.array(number, np.float32).view(np.uint32)[:, None], LANES, axis=1)
    end = [0] * len(beats) + [1] * ends
    fields = {"index": index, "first": first, "last": last, "end": end, "data": words}
    return partial_beat(LANES).encode(len(values), fields)


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


def by_hand(instructions, *sources):
    ports = [[np.zeros((0, 4 + 4 * LANES), np.uint8)] for _ in range(CONFIG.merge_ports)]
    for number, beats in enumerate(sources):
        ports[CONFIG.merge_port(number)].append(beats)
    nothing = np.zeros((0, LANES), np.uint16)
    partials = [np.concatenate(beats) for beats in ports]
    return Program(instructions=encode(instructions), memory=nothing, partials=partials)


def first_lanes(simulation, beats):
    """Return the first lane of the beats stored."""
    memory = simulation.golden.memory[: 2 * beats : 2, :2]
    return np.ascontiguousarray(memory).view(np.float32)[:, 0].tolist()


@pytest.mark.parametrize("stalls", STALL_KINDS)
@pytest.mark.parametrize("seed", range(3))
def test_random_merges(stalls, seed):
    opcodes = (CaeOpcode.MERGE, CaeOpcode.STORE, CaeOpcode.LOAD)
    play(random_program(seed, CONFIG, 80, opcodes=opcodes, bad=0.2), stalls, seed)


def test_sources_add_up_by_rising_number():
    one = beats_of((0, 1, 1, 1e8), (2, 1, 1, 3.0))
    two = beats_of((0, 1, 1, -1e8), (1, 1, 1, 5.0))
    three = beats_of((0, 1, 1, 1.0), (2, 1, 1, 4.0))
    simulation = play(by_hand([merge(4, 4, 0b111), store(4)], one, two, three))
    assert first_lanes(simulation, 4) == [1.0, 5.0, 7.0, 0.0]


def test_a_later_merge_begins_anew():
    source = np.concatenate([beats_of((0, 1, 1, 1.0), (1, 1, 1, 2.0)), beats_of((1, 1, 1, 3.0))])
    simulation = play(by_hand([merge(2, 4, 1), merge(2, 4, 1), store(2)], source))
    assert first_lanes(simulation, 2) == [0.0, 3.0]


@pytest.mark.parametrize(
    ("beats", "sums"),
    [
        (((2, 1, 1, 1.0), (1, 1, 1, 2.0)), [0.0, 0.0, 1.0]),
        (((1, 1, 1, 1.0), (1, 1, 1, 2.0)), [0.0, 1.0, 0.0]),
        (((1, 1, 1, 1.0), (3, 1, 1, 2.0), (2, 1, 1, 4.0)), [0.0, 1.0, 4.0]),
        (((0, 0, 1, 1.0), (1, 1, 0, 2.0), (2, 1, 1, 4.0)), [0.0, 0.0, 4.0]),
        (((65535, 1, 1, 1.0),), [0.0, 0.0, 0.0]),
    ],
    ids=["falls", "repeats", "too_great", "first_or_last_wrong", "greatest"],
)
def test_what_is_not_expected_is_dropped(beats, sums):
    for sources in (beats_of(*beats),), (beats_of(), beats_of(*beats)):
        simulation = play(by_hand([merge(3, 4, (1 << len(sources)) - 1), store(3)], *sources))
        assert first_lanes(simulation, 3) == sums
        assert CAE_STATUS.decode(simulation.golden.status)["code"].tolist() == [CaeCode.PARTIAL_SLOT, CaeCode.OK]


def test_a_vector_that_is_cut_off_is_told():
    source = beats_of((1, 1, 0, 1.0))
    simulation = play(by_hand([merge(2, 8, 1), store(4)], source))
    assert first_lanes(simulation, 4) == [0.0, 0.0, 1.0, 0.0]
    assert CAE_STATUS.decode(simulation.golden.status)["code"].tolist() == [CaeCode.PARTIAL_SLOT, CaeCode.OK]


def test_a_beat_in_every_cycle():
    """40 slots of three full sources: a cycle each, and one for each end."""
    rows = 40
    source = beats_of(*((slot, 1, 1, 1.0) for slot in range(rows)))
    simulation = play(by_hand([merge(rows, 4, 0b111)], source, source, source))
    taken = np.concatenate(simulation.timing.partials)
    assert np.ptp(taken) == 3 * (rows + 1) - 1
    assert simulation.counters["merge_cycles_wait_hazard"] == 0
    assert simulation.counters["merge_cycles_busy"] == 3 * rows


@pytest.mark.parametrize("rows", range(1, 9))
def test_a_sum_waits_for_the_one_before(rows):
    """With few slots, and with all slots in one place."""
    for pitch in (None, 0):
        instructions = [merge(rows, 4, 0b111, pitch=pitch), store(rows)]
        simulation = play(program_of(instructions, CONFIG, seed=rows))
        waits = simulation.counters["merge_cycles_wait_hazard"]
        assert waits > 0 if pitch == 0 and rows > 1 else True


@pytest.mark.parametrize("sources", [(), (beats_of((0, 1, 1, 1.0))[:1],)], ids=["nothing", "no end"])
def test_partial_sums_that_do_not_end_are_refused_by_the_models(sources):
    """The engine would wait for them for ever."""
    program = by_hand([merge(2, 4, 1)], *sources)
    nothing = np.zeros((0, LANES), np.uint16)
    for partials in [program.partials, *([None] if not sources else [])]:
        with pytest.raises(ValueError, match="end"):
            cae_timing(program.instructions, CONFIG, memory_latency=1, partials=partials)
        with pytest.raises(ValueError, match="end"):
            run_instructions(program.instructions, CONFIG, nothing, partials or ())
