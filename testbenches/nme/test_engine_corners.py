"""Near-Memory Engines of odd sizes and at the ends of their ranges: RTL = golden in all bits, = model in all cycles."""

import numpy as np
import pytest
from amaranth.sim import Simulator

from hdl.nme.front import VectorShape
from sim.golden.engine import engine_streams
from sim.program.engine_commands import ENGINE_STATUS, EngineCode
from sim.program.engine_work import decode_engine_work
from sim.program.geometry import Geometry
from sim.timing.nme import EngineStalls, engine, engine_timing
from sim.timing.stalls import STALL_KINDS
from testbenches.models.rules import BenchError
from testbenches.nme.engine_corners import (
    SLOT_RULES,
    last_slots,
    narrow_over_wide,
    one_shard,
    small_system,
    stored_numbers,
    unequal_programs,
    with_slots,
)
from testbenches.nme.engine_traces import random_program
from testbenches.nme.simulate_engine import engine_stalls, simulate_engines

TIGHT = small_system(
    **{
        "dram.dimms_per_channel": 4,
        "dram.window_requests": 1,
        "dram.postponed_refreshes": 0,
        "nme.interval": 1,
        "nme.vector_slots": 2,
        "nme.queued_passes": 1,
        "partition.window_shards": 1,
    }
)
"""Four engines with the least of everything, in lockstep."""
FAST = small_system(
    **{
        "dram.dimms_per_channel": 3,
        "nme.clock_hz": 2_000_000_000,
        "nme.vector_slots": 5,
        "nme.list_slots": 3,
        "nme.queued_passes": 7,
        "dram.window_requests": 2,
        "partition.window_shards": 1,
    }
)
"""A compute cycle in every cycle, and rings whose sizes are no powers of two."""
ONE_LANE = small_system(
    **{
        "dram.dimms_per_channel": 2,
        "dram.mapping": "vector_in_bank",
        "nme.lanes_per_pe": 1,
        "nme.max_beats": 32,
        "nme.add_latency": 0,
        "nme.mul_latency": 0,
    }
)
"""16 beats in a line, and no register in multiplier and adder."""
WIDE_BEATS = small_system(
    **{
        "dram.dimms_per_channel": 2,
        "nme.lanes_per_pe": 32,
        "nme.element": "fp32",
        "nme.max_beats": 2,
        "nme.interval": 5,
    }
)
"""Four lines in a beat."""
USUAL = {"tight": TIGHT, "fast": FAST, "one-lane": ONE_LANE, "wide-beats": WIDE_BEATS}

SWEEP = {
    "plain": {"dram.dimms_per_channel": 4},
    "beat-is-line-is-slice": {
        "dram.dimms_per_channel": 3,
        "nme.lanes_per_pe": 16,
        "nme.max_beats": 1,
        "nme.vector_slots": 2,
        "nme.clock_hz": 2_000_000_000,
        "partition.window_shards": 1,
    },
    "slice-is-one-wide-beat": {"nme.lanes_per_pe": 32, "nme.element": "fp32", "nme.max_beats": 1},
    "slow": {"dram.dimms_per_channel": 2, "nme.clock_hz": 1_000_000},
    "almost-1": {"dram.dimms_per_channel": 2, "nme.clock_hz": 1_181_000_000},
    "ddr4-2666": {"dram": "ddr4_2666", "dram.dimms_per_channel": 2, "dram.ranks_per_dimm": 2, "nme.queued_passes": 1},
    "ddr4-3200": {
        "dram": "ddr4_3200",
        "dram.dimms_per_channel": 2,
        "dram.ranks_per_dimm": 4,
        "nme.max_beats": 32,
        "nme.list_slots": 5,
        "dram.window_requests": 3,
    },
    "ddr5-4800": {"dram": "ddr5_4800", "dram.dimms_per_channel": 3, "dram.postponed_refreshes": 0},
    "ddr5-4800-in-bank": {"dram": "ddr5_4800", "dram.mapping": "vector_in_bank", "dram.window_requests": 64},
    "eight-groups": {"dram.bank_groups": 8, "dram.banks_per_group": 1, "nme.max_beats": 128, "nme.queued_passes": 16},
    "one-bank": {"dram.bank_groups": 1, "dram.banks_per_group": 1, "dram.rows": 512},
    "shortest-rows": {"dram.columns": 32, "dram.rows": 512, "nme.max_beats": 8},
    "many-slots": {"nme.vector_slots": 256, "nme.list_slots": 64, "dram.window_requests": 16},
    "slices-of-512-lines": {
        "dram.bank_groups": 8,
        "dram.banks_per_group": 1,
        "dram.columns": 512,
        "nme.lanes_per_pe": 32,
        "nme.element": "fp32",
        "nme.max_beats": 128,
        "nme.vector_slots": 2,
        "nme.interval": 2,
    },
}
"""Changes of `small_system`."""
LONG_ROWS = {"dram.columns": 2048, "dram.rows": 16, "dram.mapping": "vector_in_bank", "nme.max_beats": 256}


def assert_equal(programs, config, **options):
    simulation = simulate_engines(programs, config, **options)
    assert simulation.equal, simulation.first_difference
    return simulation


def assert_equal_over_seeds(config, seeds):
    for seed in seeds:
        kind = STALL_KINDS[seed // 4 % len(STALL_KINDS)]
        programs = unequal_programs(config, seed)
        try:
            assert_equal(programs, config, stalls=engine_stalls(kind, seed, len(programs)))
        except (AssertionError, BenchError) as error:
            raise AssertionError(f"seed {seed}, stalls {kind}: {error}") from error


@pytest.mark.parametrize("changes", [{}, LONG_ROWS, *SWEEP.values()], ids=["small", "longest-rows", *SWEEP.keys()])
def test_where_vectors_of_each_width_lie(changes):
    """What the front works out of a vector's beats is what `Geometry` says, for every width around every border."""
    geometry = Geometry.of(small_system(**changes))
    widest = next(beats for beats in range(1, 1 << 16) if not geometry.fits(beats))
    every = {0, 65535, *range(1, 40), *range(widest - 4, widest + 4)}
    for power in range(16):
        every |= {min((1 << power) + step, 65535) for step in (-1, 0, 1)}
    shape = VectorShape(geometry)
    wrong = []

    async def compare(ctx):
        for beats in sorted(every):
            ctx.set(shape.beats, beats)
            fits = geometry.fits(beats)
            seen = ctx.get(shape.bad) == 0, ctx.get(shape.stride_log2), ctx.get(shape.limit)
            if seen[0] != fits or (fits and seen[1:] != (geometry.stride_log2(beats), geometry.vectors(beats))):
                wrong.append((beats, *seen))

    simulator = Simulator(shape)
    simulator.add_testbench(compare)
    simulator.run()
    assert wrong == []


@pytest.mark.parametrize("name", USUAL)
def test_unequal_work(name):
    """Every rule of slots: any, rising, in no order, up to the greatest; some engines have no command."""
    assert_equal_over_seeds(USUAL[name], range(3, 15, 2) if name == "wide-beats" else range(8))


@pytest.mark.parametrize("gap", [1, 701, 6007])
def test_commands_that_come_late(gap):
    """Engines without a command hold back no other; one that begins holds back all."""
    stalled = np.ones(gap, bool)
    stalled[-1] = False
    stalls = [EngineStalls(command=np.roll(stalled, 97 * d)) for d in range(4)]
    for seed in (1, 2):
        assert_equal(unequal_programs(TIGHT, seed), TIGHT, stalls=stalls)


def test_slots_at_the_end_of_their_range_hold_nothing_back():
    """Slots up to 2^32 - 1, which an engine without a command tells too: the sum with the window does not wrap."""
    for seed in range(2):
        programs = [
            with_slots(random_program(TIGHT, 50 + 4 * seed + d, commands=3, vectors=6), TIGHT, last_slots, seed)
            for d in range(4)
        ]
        assert_equal(programs, TIGHT, stalls=engine_stalls("random", seed, 4))


def test_lines_behind_narrow_vectors_are_zeros():
    programs = [narrow_over_wide(ONE_LANE, 1), narrow_over_wide(ONE_LANE, 2)]
    assert_equal(programs, ONE_LANE)
    assert_equal(programs, ONE_LANE, stalls=engine_stalls("bursty", 1, 2))


@pytest.mark.parametrize("rule", SLOT_RULES, ids=lambda rule: rule.__name__)
def test_the_model_ends_whatever_the_slots(rule):
    """No order of slots makes engines wait for each other: the one with the least progress may always go on."""
    for seed in range(25):
        programs = [
            with_slots(
                random_program(TIGHT, 100 + 4 * seed + d, commands=4, bad=0.1, vectors=6), TIGHT, rule, 9 * seed + d
            )
            for d in range(4)
        ]
        works = [decode_engine_work(program, TIGHT) for program in programs]
        for work, timing in zip(works, engine_timing(works, TIGHT), strict=True):
            told = work.descriptors.code.size + np.count_nonzero(np.diff(work.commands.first_descriptor) == 0)
            assert len(timing.status) == told
            assert sum(timing.counters.values()) == (timing.status[-1] + 1 if len(timing.status) else 0)


@pytest.mark.parametrize("config", [TIGHT, FAST], ids=["tight", "fast"])
def test_the_model_may_look_ahead(config, monkeypatch):
    """Engines that are worked out in the order of their events, none beyond another's, give the same cycles."""
    cases = []
    for seed in range(24):
        works = [decode_engine_work(program, config) for program in unequal_programs(config, 300 + seed)]
        stalls = engine_stalls(STALL_KINDS[seed % len(STALL_KINDS)], seed, len(works))
        cases.append((works, stalls, engine_timing(works, config, stalls, with_bus=True)))
    assert any(sum(timing.counters["window"] for timing in timings) for _, _, timings in cases)
    monkeypatch.setattr(engine, "_ahead", lambda _works, _config: 0)
    for works, stalls, timings in cases:
        for want, have in zip(timings, engine_timing(works, config, stalls, with_bus=True), strict=True):
            assert (want.counters, want.reduce_counters, want.events) == (
                have.counters,
                have.reduce_counters,
                have.events,
            )
            for name in ("command", "updates", "partials", "status", "bus_cycle"):
                np.testing.assert_array_equal(getattr(want, name), getattr(have, name))


@pytest.mark.soak
@pytest.mark.parametrize("name", USUAL)
def test_unequal_work_at_length(name):
    assert_equal_over_seeds(USUAL[name], range(100, 180))


@pytest.mark.soak
@pytest.mark.parametrize("name", SWEEP)
def test_other_sizes(name):
    assert_equal_over_seeds(small_system(**SWEEP[name]), range(200, 232))


@pytest.mark.soak
def test_the_longest_vectors_of_the_longest_rows():
    """Of vectors that take more than half a row of 256 bursts, each bank row holds one: the next number is invalid."""
    config = small_system(**LONG_ROWS)
    geometry = Geometry.of(config)
    beats = 129 * geometry.line_bytes // geometry.beat_bytes
    room = geometry.vectors(beats)
    assert geometry.stride_log2(beats) == 8
    numbers = np.array([0, room - 1])
    program = stored_numbers(config, numbers, beats, 1).then(one_shard(config, np.array([room - 1, room, 0]), beats))
    simulation = assert_equal([program], config)
    assert simulation.outputs["reads_0"] > 2 * 129
    status = ENGINE_STATUS.decode(engine_streams(program, config).status)
    assert status["code"].tolist() == [EngineCode.OK, EngineCode.VECTOR_NUMBER]
