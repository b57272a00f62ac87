# amaranth: UnusedElaboratable=no
"""A bench that does not fit its design is refused, by name of the stream; ports are found by their names."""

from pathlib import Path

import numpy as np
import pytest
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from testbenches.bench import Bench, Sink, Source, run
from testbenches.models.ports import discover
from testbenches.models.samples import Assortment, Sinner, Wire

BEATS = np.zeros((3, 1), np.uint8)


def test_ports_are_found() -> None:
    ports = discover(Assortment())
    assert ports.sources == {"a": 32, "b": 32, "bit_in": 1, "wide_in": 600, "lanes_in__0": 13, "lanes_in__1": 13}
    assert ports.sinks == {"sum": 33, "bit_out": 1, "wide_out": 600, "lanes_out__0": 13, "lanes_out__1": 13}
    assert ports.inputs == {"bias": 8}
    assert ports.outputs == {"sums": 16, "balance": 16, "idle": 32}


def test_ports_in_nested_interfaces_are_found() -> None:
    bus = wiring.Signature({"command": Out(stream.Signature(5)), "status": In(3), "address": Out(9)})
    ports = discover(wiring.Component({"host": In(bus)}))
    assert (ports.sources, ports.sinks) == ({"host__command": 5}, {})
    assert (ports.inputs, ports.outputs) == ({"host__address": 9}, {"host__status": 3})


@pytest.mark.parametrize(
    "signature", [stream.Signature(0), stream.Signature(8, always_ready=True), stream.Signature(8, always_valid=True)]
)
def test_stream_that_cannot_be_played_is_refused(signature: stream.Signature) -> None:
    with pytest.raises(ValueError, match="stream x "):
        discover(wiring.Component({"x": In(signature)}))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"sources": {}}, r"the bench has sources \[\], but the design has \['i'\]"),
        ({"sinks": {"o": Sink(count=3), "p": Sink(count=3)}}, r"sinks \['o', 'p'\], but the design has \['o'\]"),
        ({"inputs": {"gain": 1}}, r"inputs \['gain'\], but the design has \[\]"),
        ({"sources": {"i": Source(payloads=np.zeros((3, 2), np.uint8))}}, r"stream i: .*\[beats, 1\]"),
        ({"sources": {"i": Source(payloads=np.zeros((3, 1), np.int64))}}, "stream i: .*int64"),
        ({"sources": {"i": Source(payloads=BEATS, stalled=np.zeros(0, np.bool_))}}, "stream i: the stall pattern"),
        ({"sources": {"i": Source(payloads=BEATS, stalled=np.zeros(16385, np.bool_))}}, "stream i: the stall pattern"),
        ({"sinks": {"o": Sink(count=3, stalled=np.zeros(4, np.uint8))}}, "stream o: the stall pattern.*uint8"),
        ({"sinks": {"o": Sink(count=-1)}}, "stream o: count is -1"),
        ({"max_quiet_cycles": 0}, "max_quiet_cycles is 0"),
        ({"files": {"a/b": Path(__file__)}}, "file 'a/b': the name is that of a folder"),
        ({"files": {"o.stalls": Path(__file__)}}, "file 'o.stalls': the name is .*, or one that the bench needs"),
        ({"files": {"image": Path("missing")}}, "file image: there is no file missing"),
    ],
)
def test_bench_that_does_not_fit_is_refused(changes: dict[str, object], message: str) -> None:
    fitting: dict[str, object] = {"sources": {"i": Source(payloads=BEATS)}, "sinks": {"o": Sink(count=3)}}
    with pytest.raises(ValueError, match=message):
        run(Wire(), Bench(**(fitting | changes)), backend="pysim")


def test_too_many_bits_are_refused() -> None:
    sources = {name: Source(payloads=np.zeros((0, n), np.uint8)) for name, n in {"a": 4, "b": 4, "wide_in": 75}.items()}
    sources |= {f"lanes_in__{lane}": Source(payloads=np.full((1, 2), 0x20, np.uint8)) for lane in (0, 1)}
    sources["bit_in"] = Source(payloads=np.zeros((0, 1), np.uint8))
    sinks = {name: Sink(count=0) for name in ("sum", "bit_out", "wide_out", "lanes_out__0", "lanes_out__1")}
    with pytest.raises(ValueError, match="stream lanes_in__0: a payload has more than 13 bits"):
        run(Assortment(), Bench(sources=sources, sinks=sinks), backend="pysim")
    sinner = {"sources": {"i": Source(payloads=np.zeros((0, 2), np.uint8))}, "sinks": {"o": Sink(count=0)}}
    with pytest.raises(ValueError, match="input sin: 8 does not fit into 3 bits"):
        run(Sinner(), Bench(**sinner, inputs={"sin": 8}), backend="pysim")


def test_unknown_backend_is_refused() -> None:
    bench = Bench(sources={"i": Source(payloads=BEATS)}, sinks={"o": Sink(count=3)})
    with pytest.raises(ValueError, match="backend 'icarus' is not known; the backends are trace, cocotb, pysim"):
        run(Wire(), bench, backend="icarus")
