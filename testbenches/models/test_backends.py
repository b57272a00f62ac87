"""The three backends give the same result, and all of them find every broken rule."""

import re
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from sim.timing.stalls import STALL_KINDS, StallKind, stall_pattern
from testbenches.bench import Backend, Bench, BenchError, Result, Sink, Source, run
from testbenches.models.samples import Assortment, Sin, Sinner, Wire

BACKENDS: tuple[Backend, ...] = ("trace", "cocotb", "pysim")
WIDTHS = {"a": 32, "b": 32, "bit_in": 1, "wide_in": 600, "lanes_in__0": 13, "lanes_in__1": 13}
PARTNERS = {"bit_in": "bit_out", "wide_in": "wide_out", "lanes_in__0": "lanes_out__0", "lanes_in__1": "lanes_out__1"}


def random_beats(width: int, count: int, seed: int) -> NDArray[np.uint8]:
    beats = np.random.default_rng(seed).integers(0, 256, (count, -(-width // 8)), dtype=np.uint8)
    if width % 8:
        beats[:, -1] &= (1 << width % 8) - 1
    return beats


def assortment_bench(kind: StallKind, seed: int, *, count: int = 90, bit_count: int = 60) -> Bench:
    patterns = iter(stall_pattern(kind, seed=seed + at) for at in range(20))
    beats = {n: random_beats(w, bit_count if w == 1 else count, seed + w) for n, w in WIDTHS.items()}
    sinks = {"sum": count} | {sink: len(beats[source]) for source, sink in PARTNERS.items()}
    return Bench(
        sources={name: Source(payloads=payloads, stalled=next(patterns)) for name, payloads in beats.items()},
        sinks={name: Sink(count=due, stalled=next(patterns)) for name, due in sinks.items()},
        inputs={"bias": 0xFD},
    )


def assert_same(first: Result, second: Result) -> None:
    assert first.accepted.keys() == second.accepted.keys()
    for name, cycles in first.accepted.items():
        np.testing.assert_array_equal(cycles, second.accepted[name], err_msg=name, strict=True)
    for name, payloads in first.payloads.items():
        np.testing.assert_array_equal(payloads, second.payloads[name], err_msg=name, strict=True)
    assert first.outputs == second.outputs
    assert first.cycles == second.cycles


@pytest.mark.parametrize("seed", [0, 100])
@pytest.mark.parametrize("kind", STALL_KINDS)
def test_backends_agree(kind: StallKind, seed: int) -> None:
    bench = assortment_bench(kind, seed)
    trace, cocotb, pysim = (run(Assortment(), bench, backend=backend) for backend in BACKENDS)
    assert_same(trace, pysim)
    assert_same(cocotb, pysim)
    for source, sink in PARTNERS.items():
        np.testing.assert_array_equal(trace.payloads[sink], bench.sources[source].payloads)
    a, b = (np.ascontiguousarray(bench.sources[name].payloads).view("<u4")[:, 0].astype(np.int64) for name in "ab")
    wide = np.pad(trace.payloads["sum"], ((0, 0), (0, 3))).view("<i8")[:, 0]
    np.testing.assert_array_equal(wide, (a + b - 3) % 2**33)
    assert trace.outputs["sums"] == 90
    assert trace.outputs["idle"] == 0xFFFFFFFF
    ended = max(cycles[-1] for cycles in trace.accepted.values()) + 32
    assert trace.outputs["balance"] == -3 * (ended + 1) % 2**16
    assert (
        trace.cycles
        == max(trace.accepted[n][-1] for n in bench.sinks) - min(trace.accepted[n][0] for n in bench.sources) + 1
    )


@pytest.mark.parametrize("backend", BACKENDS)
def test_cycles_are_the_contract(backend: Backend) -> None:
    """Handovers by hand: the source offers in cycles 1, 3, 5, ..., the sink takes in cycles 0, 3, 6, ..."""
    bench = Bench(
        sources={"i": Source(payloads=random_beats(8, 3, 0), stalled=np.array([True, False]))},
        sinks={"o": Sink(count=3, stalled=np.array([False, True, True]))},
    )
    result = run(Wire(), bench, backend=backend)
    assert result.accepted["i"].tolist() == result.accepted["o"].tolist() == [3, 6, 9]
    assert result.cycles == 7


@pytest.mark.parametrize("backend", BACKENDS)
def test_streams_without_beats(backend: Backend) -> None:
    result = run(Assortment(), assortment_bench("random", 3, count=0, bit_count=0), backend=backend)
    assert result.cycles == 0
    assert result.payloads["wide_out"].shape == (0, 75)
    assert all(len(cycles) == 0 for cycles in result.accepted.values())
    assert result.outputs["balance"] == -3 * 32 % 2**16


def sinner_bench(sin: Sin, *, ready_after_valid: bool = False) -> Bench:
    return Bench(
        sources={"i": Source(payloads=random_beats(16, 40, 5), stalled=stall_pattern("random", seed=1))},
        sinks={"o": Sink(count=40, stalled=stall_pattern("random", seed=4), ready_after_valid=ready_after_valid)},
        inputs={"sin": sin},
        max_quiet_cycles=100,
    )


@pytest.mark.parametrize("backend", BACKENDS)
def test_sample_without_sin_passes(backend: Backend) -> None:
    bench = sinner_bench(Sin.NONE)
    np.testing.assert_array_equal(run(Sinner(), bench, backend=backend).payloads["o"], bench.sources["i"].payloads)


@pytest.mark.parametrize(
    ("sin", "rule", "stream"),
    [
        (Sin.DROPS_VALID, "valid_dropped", "o"),
        (Sin.CHANGES_PAYLOAD, "payload_changed", "o"),
        (Sin.REPEATS_BEAT, "spurious_beat", "o"),
        (Sin.SWALLOWS_BEAT, "no_progress", ""),
        (Sin.HANGS, "no_progress", ""),
    ],
)
def test_broken_rule_is_found_by_all(sin: Sin, rule: str, stream: str) -> None:
    messages = set()
    for backend in BACKENDS:
        with pytest.raises(BenchError, match=rule) as caught:
            run(Sinner(), sinner_bench(sin), backend=backend)
        assert caught.value.fault is not None
        assert (caught.value.fault.rule, caught.value.fault.stream) == (rule, stream)
        messages.add(str(caught.value))
    assert len(messages) == 1, messages
    message = messages.pop()
    taken = {"i": 40, "o": 40} | {
        Sin.DROPS_VALID: {"i": 6, "o": 5},
        Sin.CHANGES_PAYLOAD: {"i": 6, "o": 5},
        Sin.SWALLOWS_BEAT: {"o": 39},
        Sin.HANGS: {"i": 6, "o": 6},
    }.get(sin, {})
    for name, count in taken.items():
        assert f"{name}: {count} of 40 taken, valid=" in message


@pytest.mark.parametrize("backend", BACKENDS)
def test_waiting_for_ready_is_found_by_a_sink_that_waits_for_valid(backend: Backend) -> None:
    good, shy = run(Sinner(), sinner_bench(Sin.NONE), backend=backend), sinner_bench(Sin.NONE, ready_after_valid=True)
    assert_same(run(Sinner(), shy, backend=backend), good)
    run(Sinner(), sinner_bench(Sin.WAITS_FOR_READY), backend=backend)
    with pytest.raises(BenchError, match="no_progress") as caught:
        run(Sinner(), sinner_bench(Sin.WAITS_FOR_READY, ready_after_valid=True), backend=backend)
    assert "o: 0 of 40 taken, valid=0" in str(caught.value)


@pytest.mark.parametrize("backend", BACKENDS)
def test_assertion_in_the_design_is_told(backend: Backend) -> None:
    with pytest.raises(BenchError, match=re.compile("broke off.*assert", re.DOTALL | re.IGNORECASE)) as caught:
        run(Sinner(), sinner_bench(Sin.ASSERTS), backend=backend)
    assert caught.value.fault is None


def test_last_cycle_of_the_watchdog() -> None:
    """The source's first beat comes in cycle 99: 99 quiet cycles are allowed by 100, not by 99."""
    stalled = np.ones(200, np.bool_)
    stalled[99] = False
    for backend in BACKENDS:
        for allowed in (99, 100):
            source = Source(payloads=random_beats(8, 1, 0), stalled=stalled)
            bench = Bench(sources={"i": source}, sinks={"o": Sink(count=1)}, max_quiet_cycles=allowed)
            if allowed == 100:
                assert run(Wire(), bench, backend=backend).accepted["o"].tolist() == [99]
            else:
                with pytest.raises(BenchError, match="cycle 98: no_progress"):
                    run(Wire(), bench, backend=backend)


@pytest.mark.parametrize("backend", BACKENDS)
def test_waves_are_a_vcd_file(backend: Backend, tmp_path: Path) -> None:
    bench = Bench(sources={"i": Source(payloads=random_beats(8, 5, 0))}, sinks={"o": Sink(count=5)})
    waves = tmp_path / "made" / "run.vcd"
    run(Wire(), bench, backend=backend, waves=waves)
    text = waves.read_text()
    assert "$enddefinitions" in text
    assert re.search(r"\$var \w+ +8 \S+ \S*i__payload", text)
    assert text.count("\n#") > 5


def test_wall_clock_limit() -> None:
    bench = Bench(
        sources={"i": Source(payloads=random_beats(8, 5, 0))}, sinks={"o": Sink(count=5)}, timeout_seconds=0.01
    )
    with pytest.raises(BenchError, match=r"stopped after 0\.01 s"):
        run(Wire(), bench)
