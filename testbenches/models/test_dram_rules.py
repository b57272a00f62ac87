"""Every rule of the DRAM device binds in exactly its cycle, and its counters are right."""

import functools
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
import pytest
from amaranth.sim import Simulator

from sim.config import DramConfig
from sim.program.memory import DramCommand
from testbenches.models.dram import DramDevice
from testbenches.models.dram_rules import DramRule
from testbenches.models.dram_schedules import (
    ACT,
    CONFIGS,
    MEMORIES,
    ODD,
    PRE,
    PREA,
    RD,
    REF,
    WR,
    Place,
    Schedule,
    Step,
)

STORAGE_BURSTS = 1 << 13

A, ROW_1 = Place(), Place(row=1)
SAME_BANK_GROUP, OTHER_GROUP, OTHER_RANK = Place(bank=1), Place(bank_group=1), Place(rank=1)


class Seen(NamedTuple):
    """What a device shows at the end of a run."""

    rule: DramRule
    violation_cycle: int
    counts: dict[str, int]


class PysimDevice:
    """A device in Amaranth's simulator, built once and reset for each run."""

    def __init__(self, config: DramConfig) -> None:
        self._device = DramDevice(config, storage_bursts=STORAGE_BURSTS)
        self._steps: list[Step] = []
        self._cycles = 0
        self._seen: list[Seen] = []
        self._used = False
        self._simulator = Simulator(self._device)
        self._simulator.add_clock(1e-9)
        self._simulator.add_testbench(self._testbench)

    def play(self, steps: Iterable[Step], *, cycles: int = 0) -> Seen:
        """Give these commands, and go on for at least so many cycles in all."""
        self._steps = list(steps)
        self._cycles = max(cycles, self._steps[-1].cycle + 2 if self._steps else 0)
        if self._used:
            self._simulator.reset()
        self._used = True
        self._simulator.run()
        return self._seen.pop()

    async def _testbench(self, ctx: Any) -> None:
        device, cycle = self._device, 0
        for step in self._steps:
            if step.cycle > cycle:
                await ctx.tick().repeat(step.cycle - cycle)
            ctx.set(device.command, {"command": step.kind, **step.place._asdict()})
            await ctx.tick()
            ctx.set(device.command, {"command": DramCommand.NONE})
            cycle = step.cycle + 1
        await ctx.tick().repeat(max(1, self._cycles - cycle))
        names = ("activates", "reads", "writes", "precharges", "refreshes", "open_cycles")
        counts = {name: ctx.get(getattr(device, name)) for name in names}
        self._seen.append(Seen(DramRule(ctx.get(device.violation)), ctx.get(device.violation_cycle), counts))


@functools.cache
def device(name: str) -> PysimDevice:
    return PysimDevice(CONFIGS[name])


class Gate(NamedTuple):
    """Commands, a last one, and the cycle before which a rule refuses it."""

    before: list[Step]
    kind: int
    place: Place
    cycle: int


def gates(config: DramConfig) -> dict[str, tuple[DramRule, Gate]]:
    """Return for each rule all the ways in which it alone binds."""
    t, burst = config.timing, config.burst_length // 2
    late = t.tras + t.trp + 20
    both = late + t.trfc
    opened = [Step(0, ACT, A)]
    closed = [*opened, Step(late, PRE, A)]
    pair = {place: [*opened, Step(20, ACT, place)] for place in (SAME_BANK_GROUP, OTHER_GROUP, OTHER_RANK)}
    pair[A] = opened
    spacing = max(t.trrd_s, -(-t.trrd_l // config.bank_groups))
    spread = [Place(0, at % config.bank_groups, at // config.bank_groups) for at in range(5)]
    found: dict[str, tuple[DramRule, Gate]] = {}

    def add(rule: DramRule, name: str, before: list[Step], kind: int, place: Place, cycle: int) -> None:
        found[f"{rule.name} {name}".strip()] = rule, Gate(before, kind, place, cycle)

    def after(first: int, place: Place) -> list[Step]:
        return [*pair[place], Step(both, first, A)]

    add(DramRule.TRCD, "read", opened, RD, A, t.trcd)
    add(DramRule.TRCD, "write", opened, WR, A, t.trcd)
    add(DramRule.TRC, "", [*opened, Step(t.tras, PRE, A)], ACT, ROW_1, t.tras + t.trp)
    add(DramRule.TRP, "", closed, ACT, ROW_1, late + t.trp)
    add(DramRule.TRP, "refresh", closed, REF, A, late + t.trp)
    all_closed = [*pair[OTHER_GROUP], Step(late, PREA, SAME_BANK_GROUP)]
    add(DramRule.TRP, "all", all_closed, ACT, OTHER_GROUP, late + t.trp)
    add(DramRule.TRP, "all, refresh", all_closed, REF, A, late + t.trp)
    for kind in (PRE, PREA):
        name = DramCommand(kind).name.lower()
        add(DramRule.TRAS, name, opened, kind, A, t.tras)
        add(DramRule.TRTP, name, [*opened, Step(late, RD, A)], kind, A, late + t.trtp)
        add(DramRule.TWR, name, [*opened, Step(late, WR, A)], kind, A, late + t.cwl + burst + t.twr)
    add(DramRule.TFAW, "", [Step(spacing * at, ACT, spread[at]) for at in range(4)], ACT, spread[4], t.tfaw)
    add(DramRule.TRRD_L, "", opened, ACT, SAME_BANK_GROUP, t.trrd_l)
    add(DramRule.TRRD_S, "", opened, ACT, OTHER_GROUP, t.trrd_s)
    for place, wtr, rule in (
        (A, t.twtr_l, DramRule.TWTR_L),
        (SAME_BANK_GROUP, t.twtr_l, DramRule.TWTR_L),
        (OTHER_GROUP, t.twtr_s, DramRule.TWTR_S),
    ):
        add(
            rule,
            f"bank group {place.bank_group}, bank {place.bank}",
            after(WR, place),
            RD,
            place,
            both + t.cwl + burst + wtr,
        )
    turn = t.cl + burst + t.trtw_gap - t.cwl
    for place in (A, SAME_BANK_GROUP, OTHER_GROUP):
        add(
            DramRule.READ_TO_WRITE,
            f"bank group {place.bank_group}, bank {place.bank}",
            after(RD, place),
            WR,
            place,
            both + turn,
        )
    if t.trtrs <= t.trtw_gap:
        add(DramRule.READ_TO_WRITE, "other rank", after(RD, OTHER_RANK), WR, OTHER_RANK, both + turn)
    latency = {RD: t.cl, WR: t.cwl}
    for first, then in ((RD, RD), (WR, WR), (WR, RD), (RD, WR)):
        distance = latency[first] + burst + t.trtrs - latency[then]
        if distance > t.tcmd and not ((first, then) == (RD, WR) and t.trtrs <= t.trtw_gap):
            name = f"{DramCommand(first).name.lower()} to {DramCommand(then).name.lower()}"
            add(DramRule.TRTRS, name, after(first, OTHER_RANK), then, OTHER_RANK, both + distance)
    for kind in (RD, WR):
        name = DramCommand(kind).name.lower()
        near = both + (t.tccd_l_wr if kind == WR else t.tccd_l)
        add(DramRule.TCCD_L, f"{name}, bank", after(kind, A), kind, A, near)
        add(DramRule.TCCD_L, f"{name}, group", after(kind, SAME_BANK_GROUP), kind, SAME_BANK_GROUP, near)
        add(DramRule.TCCD_S, name, after(kind, OTHER_GROUP), kind, OTHER_GROUP, both + t.tccd_s)
    if t.tcmd > 1:
        for kind in (ACT, PRE, PREA, REF):
            add(DramRule.TCMD, DramCommand(kind).name.lower(), [Step(0, kind, OTHER_RANK)], PRE, A, t.tcmd)
    for kind in (ACT, PRE, PREA, REF):
        add(DramRule.TRFC, DramCommand(kind).name.lower(), [Step(0, REF, A)], kind, A, t.trfc)
    return found


GATES = [(name, gate) for name, config in CONFIGS.items() for gate in gates(config)]


@pytest.mark.parametrize(("name", "gate"), GATES)
def test_rule_binds_in_exactly_its_cycle(name: str, gate: str) -> None:
    rule, (before, kind, place, cycle) = gates(CONFIGS[name])[gate]
    refused = device(name).play([*before, Step(cycle - 1, kind, place)])
    assert (refused.rule, refused.violation_cycle) == (rule, cycle - 1)
    accepted = device(name).play([*before, Step(cycle, kind, place)])
    assert (accepted.rule, accepted.violation_cycle) == (DramRule.NONE, 0)


def test_every_rule_has_a_test() -> None:
    timing = {rule for config in CONFIGS.values() for rule, _ in gates(config).values()}
    state = {rule for rule, _ in STATES.values()}
    others = {DramRule.NONE, DramRule.REFRESH_EARLY, DramRule.REFRESH_LATE, DramRule.STORAGE_FULL}
    assert timing | state | others == set(DramRule)


OPENED = [Step(0, ACT, A)]
STATES: dict[str, tuple[DramRule, list[Step]]] = {
    "unknown command": (DramRule.BAD_COMMAND, [Step(3, 7)]),
    "rank": (DramRule.BAD_ADDRESS, [Step(3, REF, Place(rank=3))]),
    "bank group": (DramRule.BAD_ADDRESS, [Step(3, ACT, Place(bank_group=2))]),
    "bank": (DramRule.BAD_ADDRESS, [Step(3, PRE, Place(bank=3))]),
    "row": (DramRule.BAD_ADDRESS, [Step(3, ACT, Place(row=100))]),
    "read column": (DramRule.BAD_ADDRESS, [*OPENED, Step(90, RD, Place(column=6))]),
    "write column": (DramRule.BAD_ADDRESS, [*OPENED, Step(90, WR, Place(column=6))]),
    "last of all": (
        DramRule.NONE,
        [Step(0, ACT, Place(2, 1, 2, 99)), Step(90, RD, Place(2, 1, 2, 99, 5)), Step(180, PRE, Place(2, 1, 2))],
    ),
    "unused fields": (DramRule.NONE, [Step(0, REF, Place(2, 7, 7, 999, 99)), Step(100, PREA, Place(2, 7, 7, 999, 99))]),
    "activate open bank": (DramRule.BANK_OPEN, [*OPENED, Step(90, ACT, A)]),
    "activate open bank for another row": (DramRule.BANK_OPEN, [*OPENED, Step(90, ACT, ROW_1)]),
    "read closed bank": (DramRule.BANK_CLOSED, [*OPENED, Step(90, RD, SAME_BANK_GROUP)]),
    "read closed rank": (DramRule.BANK_CLOSED, [*OPENED, Step(90, RD, OTHER_RANK)]),
    "read other row": (DramRule.BANK_CLOSED, [*OPENED, Step(90, RD, ROW_1)]),
    "write other row": (DramRule.BANK_CLOSED, [*OPENED, Step(90, WR, ROW_1)]),
    "read after precharge": (DramRule.BANK_CLOSED, [*OPENED, Step(90, PRE, A), Step(180, RD, A)]),
    "write after precharge of all": (DramRule.BANK_CLOSED, [*OPENED, Step(90, PREA, A), Step(180, WR, A)]),
    "read after precharge of other rank": (DramRule.NONE, [*OPENED, Step(90, PREA, OTHER_RANK), Step(180, RD, A)]),
    "refresh open rank": (DramRule.REFRESH_OPEN, [*OPENED, Step(90, REF, A)]),
    "refresh while the other rank is open": (DramRule.NONE, [*OPENED, Step(90, REF, OTHER_RANK)]),
    "precharge of a closed bank": (DramRule.NONE, [*OPENED, Step(1, PRE, OTHER_GROUP), Step(9, ACT, OTHER_GROUP)]),
    "precharge of all closed": (DramRule.NONE, [Step(0, PREA, A), Step(1, ACT, A), Step(2, PREA, OTHER_RANK)]),
    "precharge of all restarts no closed bank": (
        DramRule.NONE,
        [*OPENED, Step(20, ACT, OTHER_GROUP), Step(90, PRE, A), Step(105, PREA, A), Step(107, ACT, A)],
    ),
    "other rank": (DramRule.NONE, [*OPENED, Step(1, ACT, OTHER_RANK), Step(60, RD, A), Step(61, PRE, OTHER_RANK)]),
    "first of two": (DramRule.BANK_CLOSED, [Step(5, RD, A), Step(6, REF, A), Step(7, ACT, A)]),
}


@pytest.mark.parametrize("state", STATES)
def test_state(state: str) -> None:
    rule, steps = STATES[state]
    seen = device("odd").play(steps, cycles=200)
    wrong = steps[0 if state == "first of two" else -1].cycle
    assert (seen.rule, seen.violation_cycle) == (rule, wrong if rule else 0)


def test_refresh_is_late_when_one_more_is_missing_than_may_be_put_off() -> None:
    trefi, ranks = ODD.timing.trefi, ODD.ranks_per_dimm
    due = 8 * trefi
    assert ODD.postponable_refreshes == 7
    seen = device("odd").play([], cycles=due + 2)
    assert (seen.rule, seen.violation_cycle) == (DramRule.REFRESH_LATE, due)
    assert device("odd").play([], cycles=due).rule is DramRule.NONE
    for missing in range(ranks):
        steps = [Step(due - rank, REF, Place(rank=rank)) for rank in reversed(range(ranks)) if rank != missing]
        seen = device("odd").play(steps, cycles=due + 2)
        assert (seen.rule, seen.violation_cycle) == (DramRule.REFRESH_LATE, due)
    steps = [Step(due - rank, REF, Place(rank=rank)) for rank in reversed(range(ranks))]
    seen = device("odd").play(steps, cycles=due + trefi + 2)
    assert (seen.rule, seen.violation_cycle) == (DramRule.REFRESH_LATE, due + trefi)


def test_refresh_is_early_when_the_eighth_is_ahead() -> None:
    trefi, trfc = ODD.timing.trefi, ODD.timing.trfc
    steps = [Step(at * trfc, REF, OTHER_RANK) for at in range(8)]  # one of them was due
    refused = device("odd").play([*steps, Step(2 * trefi - 1, REF, OTHER_RANK)])
    assert (refused.rule, refused.violation_cycle) == (DramRule.REFRESH_EARLY, 2 * trefi - 1)
    assert device("odd").play([*steps, Step(2 * trefi, REF, OTHER_RANK)]).rule is DramRule.NONE


@pytest.mark.parametrize(
    ("name", "seed"), [(name, seed) for name in CONFIGS for seed in range(2 if name in MEMORIES else 8)]
)
def test_random_commands_are_judged_as_by_pairs(name: str, seed: int) -> None:
    """A legal random schedule breaks nothing; its last command, somewhat earlier, breaks what the pairs say."""
    rng = np.random.default_rng(seed)
    schedule = Schedule(CONFIGS[name])
    for _ in range(40):
        schedule.append(schedule.random_step(rng, rows=2, columns=2))
    _, kind, place = last = schedule.random_step(rng, rows=2, columns=2)
    assert device(name).play([*schedule.steps, last]).rule is DramRule.NONE
    for cycle in {last.cycle - 1, int(rng.integers(schedule.steps[-1].cycle, last.cycle)) + 1}:
        if cycle > schedule.steps[-1].cycle:
            moved = Step(cycle, kind, place)
            seen = device(name).play([*schedule.steps, moved])
            rule = schedule.judge(moved)
            assert (seen.rule, seen.violation_cycle) == (rule, cycle if rule else 0)


def test_single_bank() -> None:
    config = ODD.replace(ranks_per_dimm=1, bank_groups=1, banks_per_group=1)
    steps = [Step(0, ACT, A), Step(15, RD, A), Step(43, PRE, A), Step(60, REF, A)]
    assert PysimDevice(config).play(steps).rule is DramRule.NONE
    refused = PysimDevice(config).play([*steps, Step(112, ACT, A)])
    assert (refused.rule, refused.violation_cycle) == (DramRule.TRFC, 112)


def test_counters() -> None:
    steps = [
        *(Step(0, ACT, A), Step(20, ACT, OTHER_GROUP), Step(21, ACT, OTHER_RANK), Step(60, RD, A), Step(100, WR, A)),
        *(Step(110, WR, OTHER_GROUP), Step(180, PRE, A), Step(181, PRE, A), Step(190, PREA, A), Step(210, REF, A)),
    ]
    seen = device("odd").play(steps, cycles=300)
    assert seen.rule is DramRule.NONE
    assert seen.counts == {
        "activates": 3,
        "reads": 1,
        "writes": 2,
        "precharges": 3,
        "refreshes": 1,
        "open_cycles": (190 - 0) + (299 - 21),
    }
