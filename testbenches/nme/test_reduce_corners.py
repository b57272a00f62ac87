"""Corners of the reduce unit that long random traces do not reach, on Amaranth's own simulator: nothing to compile."""

import numpy as np
import pytest
from amaranth.hdl import ClockDomain, Module
from amaranth.sim import Simulator

from hdl.nme.reduce import ReduceUnit
from sim.config import load_config
from sim.golden.reduce import reduce_streams
from sim.program.commands import EDGE_RECORD, REDUCE_COMMAND, REDUCE_STATUS
from sim.program.reduce_trace import ReduceTrace
from sim.timing.reduce import ReduceStalls, reduce_timing
from testbenches.bench import Bench, Sink, Source, run
from testbenches.models.agents import Players
from testbenches.models.exchange import TAIL_CYCLES, Description
from testbenches.models.ports import discover, port_values
from testbenches.nme.simulate import reduce_stalls, simulate_reduce
from testbenches.nme.traces import random_trace

SMALL = load_config("tiny").nme.replace(pes=1, lanes_per_pe=1, interval=4, max_beats=2)
MOMENTS = range(2, 100, 4)
"""Cycles after which a run is cut off by a reset: some in each state of the units' controls."""


def played_after_resets(unit, beats, counts, stalled):
    """Play the streams, cut them off by a reset after so many cycles, play them anew to the end; for each moment.

    Parameters are beats by stream into the unit, beats due by stream out of it, and stall patterns. Returns, for each
    moment, the players of the second run and the signals in its last cycle.
    """
    ports = discover(unit)
    description = Description(
        sources=ports.sources,
        sinks=ports.sinks,
        beats={name: len(rows) for name, rows in beats.items()} | counts,
        inputs={},
        outputs=list(ports.outputs),
        max_quiet_cycles=200,
        ready_after_valid=[],
    )
    numbers = {name: [int.from_bytes(row.tobytes(), "little") for row in rows] for name, rows in beats.items()}
    patterns = {name: pattern.tolist() for name, pattern in stalled.items()}
    top = Module()
    top.domains.sync = domain = ClockDomain("sync")
    top.submodules.unit = unit
    signals = port_values(unit)
    runs = {}

    async def testbench(ctx):
        for moment in MOMENTS:
            for cycles in (moment, 10_000):
                ctx.set(domain.rst, 1)
                await ctx.tick()
                ctx.set(domain.rst, 0)
                players = Players(description, numbers, patterns)
                for _ in range(cycles):
                    for name, value in players.changes():
                        ctx.set(signals[name], value)
                    _, _, *values = await ctx.tick().sample(*(signals[name] for name in players.signals))
                    seen = dict(zip(players.signals, values, strict=True))
                    if players.step(seen.__getitem__):
                        break
            runs[moment] = players, seen

    simulator = Simulator(top)
    simulator.add_clock(2e-9)
    simulator.add_testbench(testbench)
    simulator.run()
    return runs


def assert_clean_after_resets(unit, beats, expected, timing, stalls):
    """Check that a run after a reset is the same, in each bit and cycle, as one on a unit that never ran."""
    counts = {name: len(rows) for name, rows in expected.items()}
    stalled = {name: getattr(stalls, name) for name in (*beats, *expected)}
    for moment, (players, seen) in played_after_resets(unit, beats, counts, stalled).items():
        outcome = players.outcome(seen.__getitem__)
        assert outcome.fault is None, f"reset after {moment} cycles: {outcome.report()}"
        for sink in players.sinks:
            numbers = [int.from_bytes(row.tobytes(), "little") for row in expected[sink.name]]
            assert sink.payloads == numbers, f"reset after {moment} cycles: {sink.name}"
        for agent in (*players.sources, *players.sinks):
            assert agent.accepted == getattr(timing, agent.name).tolist(), f"reset after {moment} cycles: {agent.name}"
        for name, cycles in timing.counters.items():
            # The counters were seen in the last cycle of the tail, in all of which the unit is idle.
            idle = TAIL_CYCLES - 1 if name == "idle" else 0
            assert seen[f"cycles_{name}"] == cycles + idle, f"reset after {moment} cycles: {name}"


def assert_sound(trace, config, **options):
    simulation = simulate_reduce(trace, config, backend="pysim", **options)
    assert simulation.equal, simulation.first_difference
    # What the bench ran on after the last status is known: no cycle went uncounted, none counted twice.
    assert (
        simulation.cycles_simulated == reduce_timing(trace, config, options.get("stalls")).status[-1] + 1 + TAIL_CYCLES
    )


def with_rubbish(trace, config, seed):
    """Fill reserved bits, tags, and the half of the weight that bf16 does not use."""
    rng = np.random.default_rng(seed)
    commands, edges = trace.commands.copy(), trace.edges.copy()
    commands[:, [1, 6, 7]] = rng.integers(0, 256, (len(commands), 3))
    edges[:, 2] |= rng.integers(0, 128, len(edges)).astype(np.uint8) << 1
    edges[:, 3] = rng.integers(0, 256, len(edges))
    if config.element == "bf16":
        edges[:, 6:] = rng.integers(0, 256, (len(edges), 2))
    return ReduceTrace(commands=commands, edges=edges, vectors=trace.vectors)


@pytest.mark.parametrize(
    "changes",
    [
        {"mul_latency": 0, "add_latency": 4},
        {"mul_latency": 4, "add_latency": 0, "element": "fp32"},
        {"mul_latency": 0, "add_latency": 1, "interval": 1},
        {"mul_latency": 3, "add_latency": 2, "interval": 9, "max_beats": 1},
        {"mul_latency": 1, "add_latency": 0, "interval": 2, "max_beats": 5},
        {"mul_latency": 0, "add_latency": 0, "lanes_per_pe": 3, "element": "fp32"},
    ],
    ids=str,
)
def test_uneven_latencies_and_sizes(changes):
    config = SMALL.replace(**changes)
    trace = with_rubbish(random_trace(config, seed=1, commands=12, bad=0.2, special=0.1), config, 2)
    assert_sound(trace, config, stalls=reduce_stalls("random", 3))


def test_bounds_of_every_field_one_by_one():
    """The least and greatest values pass, those just outside are refused, with everything else good."""
    good = {"opcode": 2, "beats": 2, "destinations": 2, "sources": 1, "edges": 1}
    wrong = {
        "opcode": (0, 5, 8, 129),
        "beats": (0, 3, 258),
        "destinations": (0, 5, 258),
        "sources": (0,),
        "edges": (0,),
    }
    right = {"opcode": (1, 2, 3, 4), "beats": (1, 2), "destinations": (1, 4)}
    refused = [good | {name: value} for name, values in wrong.items() for value in values]
    done = [good | {name: value} for name, values in right.items() for value in values]
    commands = [command for pair in zip(refused, done * 3, strict=False) for command in pair]
    taken = [command for command in commands if command in done]
    n_beats = sum(command["beats"] for command in taken)
    trace = ReduceTrace(
        commands=REDUCE_COMMAND.encode(
            len(commands),
            {name: [command[name] for command in commands] for name in good} | {"tag": range(len(commands))},
        ),
        edges=EDGE_RECORD.encode(
            len(taken),
            {"destination": [c["destinations"] - 1 for c in taken], "last_of_source": 1, "weight": 0x4000},
        ),
        vectors=np.arange(2 * n_beats, dtype=np.uint8).reshape(n_beats, 2),
    )
    codes = REDUCE_STATUS.decode(reduce_streams(trace, SMALL).status)["code"]
    assert [code != 0 for code in codes] == [command in refused for command in commands]
    assert_sound(trace, SMALL)


@pytest.mark.parametrize("late", ["vectors", "edges"])
def test_sources_that_no_edge_closes(late):
    """They are given up one by one though no sum is under way, whether they came before the last edge or come after."""
    sources = list(range(1, 6)) * 4
    n = len(sources)
    rng = np.random.default_rng(8)
    trace = ReduceTrace(
        commands=REDUCE_COMMAND.encode(
            n, {"opcode": 1, "beats": 1, "destinations": 2, "sources": sources, "edges": 2, "tag": range(n)}
        ),
        # Of each shard's two edges the last is dropped; the first closes a source, or is dropped too.
        edges=EDGE_RECORD.encode(
            2 * n,
            {"destination": [[0, 9, 9, 9][i % 4] for i in range(2 * n)], "last_of_source": rng.random(2 * n) < 0.4},
        ),
        vectors=rng.integers(0, 256, (sum(sources), 2), np.uint8),
    )
    assert_sound(trace, SMALL, stalls=ReduceStalls(**{late: np.arange(24) > 1}))


def test_valid_does_not_wait_for_ready():
    trace = random_trace(SMALL, seed=4, commands=8)
    golden, stalls = reduce_streams(trace, SMALL), reduce_stalls("random", 5)
    sources = {"command": trace.commands, "vectors": trace.vectors, "edges": trace.edges}
    counts = {"partials": len(golden.partials), "status": len(golden.status)}
    bench = Bench(
        sources={name: Source(payloads=beats) for name, beats in sources.items()},
        sinks={
            name: Sink(count=n, stalled=getattr(stalls, name), ready_after_valid=True) for name, n in counts.items()
        },
        max_quiet_cycles=200,
    )
    assert (run(ReduceUnit(SMALL), bench, backend="pysim").payloads["partials"] == golden.partials).all()


@pytest.mark.parametrize("field", ["sources", "edges"])
def test_counts_use_all_32_bits(field):
    """A shard of 2**31 + 2 sources or edges is not over after two of them, nor has it edges without a source."""
    command = {"opcode": 1, "beats": 1, "destinations": 4, "sources": 3, "edges": 3} | {field: (1 << 31) + 2}
    given = 3 if field == "edges" else 5  # two vectors more than edges: given up, and yet more are due
    bench = Bench(
        sources={
            "command": Source(payloads=REDUCE_COMMAND.encode(1, command)),
            "edges": Source(payloads=EDGE_RECORD.encode(3, {"destination": [0, 1, 2], "last_of_source": 1})),
            "vectors": Source(payloads=np.zeros((given, 2), np.uint8), stalled=np.arange(8) > 0),
        },
        sinks={"partials": Sink(count=0), "status": Sink(count=0)},
        max_quiet_cycles=200,
    )
    accepted = run(ReduceUnit(SMALL), bench, backend="pysim").accepted
    assert (accepted["edges"] > accepted["vectors"][:3]).all()


def test_reset_in_the_middle_of_a_run():
    trace, stalls = random_trace(SMALL, seed=6, commands=3), reduce_stalls("random", 7)
    golden = reduce_streams(trace, SMALL)
    assert_clean_after_resets(
        ReduceUnit(SMALL),
        {"command": trace.commands, "vectors": trace.vectors, "edges": trace.edges},
        {"partials": golden.partials, "status": golden.status},
        reduce_timing(trace, SMALL, stalls),
        stalls,
    )
