# amaranth: UnusedElaboratable=no
"""Data, latencies and counters of the DRAM device are right, in all simulators."""

import numpy as np
import pytest
from amaranth.hdl import Module, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out
from numpy.typing import NDArray

from hdl.delay import delayed
from hdl.layout import struct_layout
from sim.config import DramConfig
from sim.program.layout import Field, Layout
from sim.program.memory import DRAM_COMMAND, DramCommand
from testbenches.bench import Backend, Bench, Result, Sink, Source, run
from testbenches.models.dram import DramDevice, dram_image, pattern
from testbenches.models.dram_rules import DramRule
from testbenches.models.dram_schedules import ACT, CONFIGS, GNNEAR, PRE, PREA, RD, REF, WR, Place, Schedule, Step
from testbenches.models.dram_storage import DramDesign

Rows = NDArray[np.uint8]

STORAGE_BURSTS = 1 << 13

STEP = Layout("Step", (Field(name="at", bits=24), *DRAM_COMMAND.fields))


class DramPlayer(wiring.Component):
    """A device with streams for its commands, each with its cycle, and for its data."""

    def __init__(self, config: DramConfig) -> None:
        self.device = DramDevice(config, storage_bursts=STORAGE_BURSTS)
        self.outputs = [
            path[0]
            for path, member, _ in self.device.signature.flatten(self.device)
            if member.flow is Out and len(path) == 1 and not path[0].startswith("read_")
        ]
        members = self.device.signature.members
        super().__init__(
            {
                "steps": In(stream.Signature(struct_layout(STEP))),
                "data": In(stream.Signature(8 * config.burst_bytes)),
                "load": members["load"],
                "bursts": Out(stream.Signature(8 * config.burst_bytes)),
                **{name: members[name] for name in self.outputs},
            }
        )

    def elaborate(self, _platform: object) -> Module:
        """Give each command in its cycle; take the data of writes when it is due."""
        m = Module()
        m.submodules.device = device = self.device
        wiring.connect(m, wiring.flipped(self.load), device.load)
        cycle = Signal(24)
        m.d.sync += cycle.eq(cycle + 1)
        m.d.comb += self.steps.ready.eq(self.steps.payload.at == cycle)
        with m.If(self.steps.valid & self.steps.ready):
            m.d.comb += device.command.as_value().eq(self.steps.payload.as_value()[24:])
        due = delayed(m, device.command.command == WR, device.write_data_cycles, name="due", reset_less=False)[-1]
        m.d.comb += [
            self.data.ready.eq(due),
            device.write_data.eq(self.data.payload),
            self.bursts.valid.eq(device.read_valid),
            self.bursts.payload.eq(device.read_data),
            *(getattr(self, name).eq(getattr(device, name)) for name in self.outputs),
        ]
        return m


def play(
    config: DramConfig,
    steps: list[Step],
    *,
    written: Rows | None = None,
    loaded: Rows | None = None,
    backend: Backend = "trace",
) -> Result:
    """Play commands; `written` are the bursts of the writes in order, `loaded` are beats of the back door."""
    values = {"at": [step.cycle for step in steps], "command": [step.kind for step in steps]}
    values |= {name: [getattr(step.place, name) for step in steps] for name in Place._fields}
    none = np.zeros((0, config.burst_bytes), np.uint8)
    reads = sum(step.kind == RD for step in steps)
    return run(
        DramDesign(DramPlayer, config),
        Bench(
            sources={
                "steps": Source(payloads=STEP.encode(len(steps), values)),
                "data": Source(payloads=none if written is None else written),
                "load": Source(payloads=np.zeros((0, config.burst_bytes + 5), np.uint8) if loaded is None else loaded),
            },
            sinks={"bursts": Sink(count=reads)},
            max_quiet_cycles=100_000,
        ),
        backend=backend,
    )


@pytest.mark.parametrize(
    ("name", "backend", "count"),
    [("gnnear", "trace", 1500), ("odd", "pysim", 300)],
)
def test_random_legal_commands_break_nothing_and_move_the_right_data(name: str, backend: Backend, count: int) -> None:
    config = CONFIGS[name]
    rng = np.random.default_rng(7)
    schedule = Schedule(config)
    while len(schedule.steps) < count:
        schedule.append(schedule.random_step(rng, rows=2, columns=2))
    written = rng.integers(0, 256, (sum(step.kind == WR for step in schedule.steps), config.burst_bytes), np.uint8)
    seen = play(config, schedule.steps, written=written, backend=backend)

    contents: dict[Place, Rows] = {}
    expected, due = [], []
    unused = iter(written)
    for cycle, kind, place in schedule.steps:
        if kind == WR:
            contents[place] = next(unused)
        elif kind == RD:
            expected.append(contents.get(place, pattern(*place, burst_bytes=config.burst_bytes)))
            due.append(cycle + config.timing.cl + config.burst_length // 2)
    fresh = sum(place not in contents for _, kind, place in schedule.steps if kind == RD)
    assert 0 < fresh < len(expected)
    assert seen.outputs["violation"] == DramRule.NONE
    np.testing.assert_array_equal(seen.payloads["bursts"], expected)
    assert seen.accepted["bursts"].tolist() == due
    kinds = [step.kind for step in schedule.steps]
    counted = {"activates": [ACT], "reads": [RD], "writes": [WR], "precharges": [PRE, PREA], "refreshes": [REF]}
    for counter, of in counted.items():
        assert seen.outputs[counter] == sum(kind in of for kind in kinds) > 0


def test_refresh_is_late_in_the_shipped_configuration() -> None:
    due = 9 * GNNEAR.timing.trefi
    seen = play(GNNEAR, [Step(due, DramCommand.NONE)]).outputs
    assert (seen["violation"], seen["violation_cycle"]) == (DramRule.REFRESH_LATE, due)
    refreshed = [Step(due - 1, REF, Place()), Step(due, REF, Place(rank=1))]
    assert play(GNNEAR, refreshed).outputs["violation"] == DramRule.NONE


@pytest.mark.parametrize("backend", ["trace", "pysim"])
def test_loaded_bursts_are_read_and_can_be_overwritten(backend: Backend) -> None:
    rng = np.random.default_rng(1)
    places = [Place(1, 3, bank, 65535, 42 * column) for bank in range(4) for column in range(4)]
    bursts = rng.integers(0, 256, (len(places), GNNEAR.burst_bytes), np.uint8)
    where = {name: [getattr(place, name) for place in places] for name in Place._fields}
    loaded = dram_image(GNNEAR.burst_bytes).encode(len(places), {**where, "data": bursts})
    new = rng.integers(0, 256, (1, GNNEAR.burst_bytes), np.uint8)
    steps = [Step(30 + 20 * bank, ACT, places[4 * bank]) for bank in range(4)]
    steps += [Step(120, WR, places[5])]
    steps += [Step(170 + 10 * at, RD, place) for at, place in enumerate(places)]
    seen = play(GNNEAR, steps, written=new, loaded=loaded, backend=backend)
    assert seen.outputs["violation"] == DramRule.NONE
    bursts[5] = new[0]
    np.testing.assert_array_equal(seen.payloads["bursts"], bursts)


def test_load_waits_while_write_data_is_stored() -> None:
    steps = [Step(0, ACT, Place()), Step(20, WR, Place())]
    loaded = dram_image(GNNEAR.burst_bytes).encode(100, {"column": range(1, 101)})
    seen = play(GNNEAR, steps, written=np.zeros((1, GNNEAR.burst_bytes), np.uint8), loaded=loaded)
    stored = 20 + GNNEAR.timing.cwl + 3
    assert seen.accepted["data"].tolist() == [stored]
    assert seen.accepted["load"].tolist() == [cycle for cycle in range(101) if cycle != stored]


@pytest.mark.parametrize("backend", ["trace", "pysim"])
def test_full_storage_is_told(backend: Backend) -> None:
    """The storage has places for two rows: row 2 takes those of row 0."""
    steps = [Step(0, ACT, Place()), Step(20, WR, Place()), Step(60, PRE, Place())]
    data = np.zeros((2, GNNEAR.burst_bytes), np.uint8)
    for row, rule, cycle in (
        (0, DramRule.NONE, 0),
        (1, DramRule.NONE, 0),
        (2, DramRule.STORAGE_FULL, 100 + GNNEAR.timing.cwl + 3),
    ):
        place = Place(row=row)
        seen = play(GNNEAR, [*steps, Step(80, ACT, place), Step(100, WR, place)], written=data, backend=backend).outputs
        assert (seen["violation"], seen["violation_cycle"]) == (rule, cycle)


def test_pattern_has_no_word_twice() -> None:
    rank, group, bank, row, column = np.meshgrid(*(np.arange(3),) * 5, indexing="ij")
    words = pattern(rank, group, bank, row << 16, column << 6, burst_bytes=64).view("<u8")
    assert words.shape == (3, 3, 3, 3, 3, 8)
    assert np.unique(words).size == words.size
    np.testing.assert_array_equal(pattern(0, 0, 0, 0, 0, burst_bytes=3), [0x15, 0x7C, 0x4A])


def test_configurations_that_fit_no_device_are_refused() -> None:
    for changes, problem in (
        ({"bank_groups": 9}, "bank_groups is 9: .* less than or equal to 8"),
        ({"columns": 4096}, "columns is 4096; a row may hold 256 bursts of 8"),
        ({"burst_length": 5}, "burst_length is 5; it must be even"),
        ({"timing.tccd_s": 3}, "tccd_s is 3; bursts take 4 cycles"),
    ):
        with pytest.raises(ValueError, match=problem):
            DramDevice(GNNEAR.replace(**changes))
    with pytest.raises(ValueError, match="storage_bursts is 12; it must be a power of two"):
        DramDevice(GNNEAR, storage_bursts=12)
