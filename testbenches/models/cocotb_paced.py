"""The cocotb test of the ``cocotb`` backend: Python agents drive and sample the design at every clock edge.

Runs inside the simulator, in the job's folder. One sampling rule: what is read right after a rising edge, before
anything is driven, is what the design's registers saw at that edge.
"""

from pathlib import Path

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import RisingEdge

from testbenches.models.agents import Players
from testbenches.models.exchange import CLOCK_NS, RESET_CYCLES, payload_bytes, read_description


@cocotb.test()
async def play(bench):
    """Run the agents, and leave the same files as the compiled players do."""
    description = read_description()
    beats = {
        name: _read_beats(Path(f"{name}.beats"), payload_bytes(width)) for name, width in description.sources.items()
    }
    stalled = {name: Path(f"{name}.stalls").read_bytes() for name in description.beats}
    players = Players(description, beats, stalled)
    handles = {name: bench[name] for name in players.signals}

    def read(name: str) -> int:
        return int(handles[name].value)

    for name, value in description.inputs.items():
        bench[name].value = value
    bench.rst.value = 1
    Clock(bench.clk, CLOCK_NS, unit="ns").start()
    edge = RisingEdge(bench.clk)
    for _ in range(RESET_CYCLES):
        await edge
    bench.rst.value = 0
    over = False
    while not over:
        for name, value in players.changes():
            handles[name].value = value
        await edge
        over = players.step(read)
    for name, value in players.changes():
        handles[name].value = value
    await edge
    players.outcome(read).write()
    for source in players.sources:
        Path(f"{source.name}.handovers").write_bytes(b"".join(cycle.to_bytes(8, "little") for cycle in source.accepted))
    for sink in players.sinks:
        n_bytes = 4 * -(-description.sinks[sink.name] // 32)
        records = zip(sink.accepted, sink.payloads, strict=True)
        Path(f"{sink.name}.handovers").write_bytes(
            b"".join(cycle.to_bytes(8, "little") + payload.to_bytes(n_bytes, "little") for cycle, payload in records)
        )


def _read_beats(file: Path, n_bytes: int) -> list[int]:
    content = file.read_bytes()
    return [int.from_bytes(content[at : at + n_bytes], "big") for at in range(0, len(content), n_bytes)]
