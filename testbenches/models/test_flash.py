# amaranth: UnusedElaboratable=no
"""Every rule of the flash binds in exactly its cycle; its times and contents are right, in both kinds of simulators."""

import functools
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from amaranth.hdl import Module, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.sim import Simulator

from hdl.layout import struct_layout
from hdl.ssd.channel import FLASH_BEAT
from sim.config import SsdConfig
from sim.program.flash import FLASH_COMMAND
from sim.program.layout import Field, Layout
from sim.program.ssd_storage import formula_storage
from testbenches.bench import Bench, Sink, Source, run
from testbenches.models.flash import FlashDevice
from testbenches.models.flash_rules import FlashRule
from testbenches.models.flash_storage import MOST_BAD, MOST_IMAGE_BYTES, FlashDesign, flash_files
from testbenches.ssd.configs import SMALL

CONFIG = SMALL.replace(**{"flash.page_bytes": 1024})
COMMAND, TR, COLUMN, BEAT = CONFIG.command_cycles, CONFIG.read_cycles, CONFIG.column_cycles, CONFIG.beat_cycles
SECTOR, PAGE = CONFIG.flash.sector_beats, CONFIG.flash.page_beats
UNITS, ROWS = CONFIG.flash.units, CONFIG.flash.pages // (CONFIG.flash.channels * CONFIG.flash.units)
READY = COMMAND + TR
"""Cycles from a read to the first in which the die is ready."""

MOVED = COLUMN + SECTOR * BEAT
"""Cycles from a transfer of a sector to that of its last beat."""


class Step(NamedTuple):
    """A command on a channel's bus in a cycle."""

    cycle: int
    transfer: int = 0
    unit: int = 0
    page: int = 0
    first_sector: int = 0
    sectors: int = 0
    channel: int = 0


class Seen(NamedTuple):
    """What the device shows at the end, and of each beat its cycle and word; of each die when it got ready."""

    rule: FlashRule
    violation_cycle: int
    beats: list[tuple[int, int]]
    ready: list[tuple[int, int]]


class PysimDevice:
    """A device in Amaranth's simulator, built once and reset for each run."""

    def __init__(self) -> None:
        self._device = FlashDevice(CONFIG, node_bits=20)
        self._used = False
        self._simulator = Simulator(self._device)
        self._simulator.add_clock(1e-9)
        self._simulator.add_testbench(self._testbench)

    def play(self, *steps: Step, cycles: int = 0, held: range = range(0)) -> Seen:
        """Give these commands; the beats of channel 0 are not taken in the cycles `held`."""
        self._steps = {step.cycle: step for step in steps}
        self._cycles, self._held = max(cycles, *self._steps) + 2, held
        if self._used:
            self._simulator.reset()
        self._used = True
        self._simulator.run()
        return self._seen

    async def _testbench(self, ctx: Any) -> None:
        device = self._device
        beats, ready, before = [], [], 0
        for cycle in range(self._cycles):
            step = self._steps.get(cycle)
            for c in range(CONFIG.flash.channels):
                pins = getattr(device, f"flash_{c}")
                mine = step is not None and step.channel == c
                given = {name: getattr(step, name) for name in step._fields[1:-1]} if mine else {}
                ctx.set(pins.command, given | {"valid": int(mine)})
                ctx.set(pins.beats.ready, int(c != 0 or cycle not in self._held))
            pins = device.flash_0
            if ctx.get(pins.beats.valid) and ctx.get(pins.beats.ready):
                beats.append((cycle, ctx.get(pins.beats.payload.data)))
            now = ctx.get(pins.ready)
            ready += [(cycle, unit) for unit in range(UNITS) if (now & ~before) >> unit & 1]
            before = now
            await ctx.tick()
        self._seen = Seen(FlashRule(ctx.get(device.violation)), ctx.get(device.violation_cycle), beats, ready)


@functools.cache
def device() -> PysimDevice:
    return PysimDevice()


MOVE = Step(READY, 1)
LEGAL = {
    "read and move": [Step(0), MOVE],
    "read behind a read": [Step(0), Step(COMMAND, unit=1)],
    "read behind a page": [Step(0), MOVE, Step(READY + MOVED + 1)],
    "another die while one reads": [Step(0), Step(COMMAND + 1, unit=3), MOVE],
    "other channel": [Step(0), Step(1, channel=1)],
    "last of all": [Step(0, unit=UNITS - 1, page=ROWS - 1), Step(READY, 1, UNITS - 1, 0, PAGE // SECTOR - 1)],
    "whole page": [Step(0), Step(READY, 1, sectors=PAGE // SECTOR - 1)],
    "page field of a transfer": [Step(0), Step(READY, 1, page=ROWS)],
}
BROKEN = {
    "read during a read's command": (FlashRule.BUS_TAKEN, [Step(0), Step(COMMAND - 1, unit=1)]),
    "move during a read's command": (FlashRule.BUS_TAKEN, [Step(0), Step(READY - 1, unit=1), MOVE]),
    "read during a column": (FlashRule.BUS_TAKEN, [Step(0), MOVE, Step(READY + 1, unit=1)]),
    "read during a page": (FlashRule.BUS_TAKEN, [Step(0), MOVE, Step(READY + MOVED, unit=1)]),
    "die that is not there": (FlashRule.BAD_UNIT, [Step(0, unit=UNITS)]),
    "move of a die that is not there": (FlashRule.BAD_UNIT, [Step(0), Step(READY, 1, unit=UNITS)]),
    "page that is not there": (FlashRule.BAD_PAGE, [Step(0, page=ROWS)]),
    "sector that is not there": (FlashRule.BAD_SECTORS, [Step(0), Step(READY, 1, first_sector=PAGE // SECTOR)]),
    "sector too many": (FlashRule.BAD_SECTORS, [Step(0), Step(READY, 1, first_sector=1, sectors=PAGE // SECTOR - 1)]),
    "read of a die that reads": (FlashRule.UNIT_BUSY, [Step(0), Step(COMMAND)]),
    "read at the end of tR": (FlashRule.UNIT_BUSY, [Step(0), Step(READY - 1)]),
    "read of a die with a page": (FlashRule.UNIT_BUSY, [Step(0), Step(READY)]),
    "move of a die that reads": (FlashRule.UNIT_NOT_READY, [Step(0), Step(READY - 1, 1)]),
    "move of an idle die": (FlashRule.UNIT_NOT_READY, [Step(0, 1)]),
    "move of another die": (FlashRule.UNIT_NOT_READY, [Step(0), Step(READY, 1, unit=1)]),
    "moved twice": (FlashRule.UNIT_NOT_READY, [Step(0), MOVE, Step(READY + MOVED + 1, 1)]),
    "on the other channel": (FlashRule.UNIT_NOT_READY, [Step(0), Step(READY, 1, channel=1)]),
    "first of two": (FlashRule.UNIT_BUSY, [Step(0), Step(COMMAND), Step(COMMAND + 1, unit=UNITS)]),
}


@pytest.mark.parametrize("name", LEGAL)
def test_legal_commands_break_nothing(name: str) -> None:
    assert device().play(*LEGAL[name]).rule is FlashRule.NONE


@pytest.mark.parametrize("name", BROKEN)
def test_rule(name: str) -> None:
    rule, steps = BROKEN[name]
    seen = device().play(*steps)
    assert (seen.rule, seen.violation_cycle) == (rule, steps[1 if name in FIRST else -1].cycle)


FIRST = ("first of two",)


def test_a_held_page_holds_the_bus() -> None:
    last = READY + MOVED
    steps = [Step(0), MOVE, Step(last + 6, unit=1)]
    assert device().play(*steps).rule is FlashRule.NONE
    assert device().play(*steps, held=range(last, last + 6)).rule is FlashRule.BUS_TAKEN
    assert device().play(*steps, held=range(last, last + 5)).rule is FlashRule.NONE


def test_times() -> None:
    steps = [Step(0, unit=2, page=3), Step(COMMAND, unit=1), Step(READY + 9, 1, unit=2, first_sector=1)]
    start = READY + 9 + COLUMN + BEAT
    seen = device().play(*steps, cycles=start + SECTOR * BEAT + 20, held=range(start + 2 * BEAT, start + 2 * BEAT + 7))
    assert seen.rule is FlashRule.NONE
    assert seen.ready == [(READY, 2), (READY + COMMAND, 1)]
    due = [start, start + BEAT] + [start + number * BEAT + 7 for number in range(2, SECTOR)]
    assert [cycle for cycle, _ in seen.beats] == due
    page = (3 * UNITS + 2) * CONFIG.flash.channels
    words = page * PAGE + SECTOR + np.arange(SECTOR)
    expected = formula_storage(node_bits=20, degree=1).ids(8 * words, 8)
    assert [word for _, word in seen.beats] == expected.tolist()


STEP = Layout("Step", (Field(name="at", bits=32), Field(name="", bits=32), *FLASH_COMMAND.fields))


class FlashPlayer(wiring.Component):
    """A device of one channel with a stream for its commands, each with its cycle."""

    def __init__(self, config: SsdConfig, **contents: Any) -> None:
        self._device = FlashDevice(config, **contents)
        super().__init__(
            {
                "steps": In(stream.Signature(struct_layout(STEP))),
                "beats": Out(stream.Signature(FLASH_BEAT)),
                "violation": Out(8),
            }
        )

    def elaborate(self, _platform: object) -> Module:
        """Give each command in its cycle."""
        m = Module()
        m.submodules.device = device = self._device
        cycle = Signal(32)
        m.d.sync += cycle.eq(cycle + 1)
        m.d.comb += [self.steps.ready.eq(self.steps.payload.at == cycle), self.violation.eq(device.violation)]
        with m.If(self.steps.valid & self.steps.ready):
            m.d.comb += device.flash_0.command.as_value().eq(self.steps.payload.as_value()[64:])
        wiring.connect(m, device.flash_0.beats, wiring.flipped(self.beats))
        return m


@pytest.mark.parametrize("backend", ["trace", "pysim"])
@pytest.mark.parametrize("bad", [(), (5, 0)])
def test_contents_come_from_the_image(tmp_path: Path, backend: str, bad: tuple[int, ...]) -> None:
    config = CONFIG.replace(**{"flash.channels": 1, "flash.ways": 1})
    rng = np.random.default_rng(0)
    image = rng.integers(0, 256, 6 * 1024 - 24, np.uint8)  # its last page is not whole
    pages = [0, 5, 4, 7, 1]
    steps, cycle = [], 0
    for page in pages:
        first = page % 2
        steps += [{"at": cycle, "unit": page % 2, "page": page // 2}]
        steps += [{"at": cycle + READY, "unit": page % 2, "transfer": 1, "first_sector": first, "sectors": 1 - first}]
        cycle += READY + COLUMN + PAGE * BEAT + 10
    names = ("at", "unit", "page", "transfer", "first_sector", "sectors")
    values = {name: [step.get(name, 0) for step in steps] for name in names} | {"valid": [1] * len(steps)}
    contents = {} if backend == "trace" else {"words": _words(image), "bad_pages": bad}
    count = sum(PAGE if page % 2 == 0 else SECTOR for page in pages)
    seen = run(
        FlashDesign(FlashPlayer, config, **contents),
        Bench(
            sources={"steps": Source(payloads=STEP.encode(len(steps), values))},
            sinks={"beats": Sink(count=count)},
            files=flash_files(tmp_path, image, bad),
        ),
        backend=backend,
    )
    assert seen.outputs["violation"] == FlashRule.NONE
    whole = np.zeros(8 * 1024, np.uint8)
    whole[: len(image)] = image
    beats, at = seen.payloads["beats"], 0
    for page in pages:
        begin, end = 1024 * page + 512 * (page % 2), 1024 * (page + 1)
        mine = beats[at : at + (end - begin) // 8]
        at += len(mine)
        np.testing.assert_array_equal(mine[:, :8].reshape(-1), whole[begin:end])
        flags = mine[:, 8]
        assert (flags & 1 == (page in bad)).all()
        assert (flags >> 1).tolist() == [0] * (len(mine) - 1) + [1]


def _words(image: np.ndarray) -> list[int]:
    return image.view("<u8").tolist()


def test_contents_that_do_not_fit_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="4096 pages cannot be read; there may be 4095"):
        flash_files(tmp_path, np.zeros(8, np.uint8), range(MOST_BAD + 1))
    with pytest.raises(ValueError, match=r"the image has \d+ bytes; there may be"):
        flash_files(tmp_path, np.broadcast_to(np.uint8(0), MOST_IMAGE_BYTES + 8))
