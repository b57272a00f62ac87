"""The whole engine equals the golden model in every bit and the timing model in every cycle."""

import pytest

from sim.program.instructions import CAE_STATUS, CaeCode, CaeOpcode
from sim.timing.stalls import STALL_KINDS
from testbenches.cae import simulate_engine
from testbenches.cae.programs import encode, random_program, small_engine
from testbenches.cae.simulate_engine import cae_stalls, simulate_program
from testbenches.cae.test_sequencer import CONFIG, ODD

NARROW = small_engine(
    rows=2, columns=1, window_instructions=1, vector_units=3, merge_sources=1, add_latency=4, operand_banks=3,
    vector_banks=2,
)  # fmt: skip


def play(program, config, stalls="none", seed=0, **options):
    simulation = simulate_program(
        program.instructions,
        config,
        memory=program.memory,
        partials=program.partials,
        stalls=cae_stalls(stalls, seed, config),
        **options,
    )
    assert simulation.equal, simulation.first_difference
    assert simulation.cycles_rtl == simulation.cycles_model
    return simulation


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("stalls", STALL_KINDS)
@pytest.mark.parametrize("config", [CONFIG, ODD], ids=["small", "odd"])
def test_random_programs(config, stalls, seed):
    play(random_program(seed, config, 120), config, stalls, seed)


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(10, 60))
@pytest.mark.parametrize("stalls", STALL_KINDS)
@pytest.mark.parametrize("config", [CONFIG, ODD, NARROW], ids=["small", "odd", "narrow"])
def test_many_random_programs(config, stalls, seed):
    play(random_program(seed, config, 400), config, stalls, seed)


def test_all_kinds_and_codes_occur_and_all_units_overlap():
    simulation = play(random_program(0, CONFIG, 500), CONFIG)
    status = CAE_STATUS.decode(simulation.golden.status)
    assert set(status["code"].tolist()) == set(CaeCode)
    fine = status["opcode"][status["code"] == CaeCode.OK]
    assert set(fine.tolist()) == set(CaeOpcode)
    busy = []
    for unit in ("transfer", "product", "merge", "vector_0", "vector_1"):
        counters = {n: c for n, c in simulation.counters.items() if n.startswith(f"{unit}_cycles_")}
        assert sum(counters.values()) == simulation.cycles_simulated
        busy.append(simulation.cycles_simulated - counters[f"{unit}_cycles_idle"])
    assert sum(busy) > 1.2 * simulation.cycles_rtl


@pytest.mark.parametrize("backend", ["cocotb", "pysim"])
def test_backends_agree(backend):
    config = small_engine(rows=1, columns=2, vector_units=1, merge_sources=2, memory_beats=64)
    play(random_program(1, config, 30, most_rows=4), config, "random", 1, backend=backend)


def test_nothing_to_do():
    simulation = simulate_program(encode([{"opcode": CaeOpcode.SYNCHRONISE}]), CONFIG)
    assert simulation.equal, simulation.first_difference
    assert simulation.cycles_rtl == 7


@pytest.mark.parametrize("latency", [1, 77])
def test_any_memory_latency(latency):
    config = small_engine(rows=1, columns=2, vector_units=1, merge_sources=2, memory_beats=64)
    program = random_program(2, config, 30, opcodes=(CaeOpcode.LOAD, CaeOpcode.STORE), most_rows=4)
    play(program, config, "random", 2, memory_latency=latency, backend="pysim")


def test_a_difference_is_told(monkeypatch):
    """A model of a slower memory is not equal: the comparison can fail."""
    program = random_program(3, CONFIG, 30, opcodes=(CaeOpcode.LOAD, CaeOpcode.STORE), bad=0.0)
    slower = simulate_engine.cae_timing

    def wrong(*args, memory_latency, **options):
        return slower(*args, memory_latency=memory_latency + 1, **options)

    monkeypatch.setattr(simulate_engine, "cae_timing", wrong)
    simulation = simulate_program(program.instructions, CONFIG, memory=program.memory)
    assert "the model says cycle" in simulation.first_difference
