"""DRAM commands for tests, judged by the distances of pairs of commands: a second opinion on `DramRules`."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from sim.config import DramConfig, DramTiming, dram_preset_names, load_config
from sim.program.memory import DramCommand
from testbenches.models.dram_rules import DramRule

ACT, RD, WR = DramCommand.ACTIVATE, DramCommand.READ, DramCommand.WRITE
PRE, PREA, REF = DramCommand.PRECHARGE, DramCommand.PRECHARGE_ALL, DramCommand.REFRESH

GNNEAR = load_config("gnnear").dram
ODD = GNNEAR.replace(
    ranks_per_dimm=3,
    bank_groups=2,
    banks_per_group=3,
    rows=100,
    columns=48,
    postponable_refreshes=7,
    timing=DramTiming(
        tck_ns=1.0,
        tcmd=1,
        cl=14,
        cwl=11,
        trcd=15,
        trp=17,
        tras=43,
        trfc=53,
        trefi=251,
        trrd_s=5,
        trrd_l=9,
        twtr_s=7,
        twtr_l=10,
        tfaw=37,
        twr=19,
        trtp=12,
        tccd_s=6,
        tccd_l=8,
        tccd_l_wr=13,
        trtw_gap=2,
        trtrs=3,
    ).model_dump(),
)
"""No two timings alike, no power of two."""
MEMORIES = {
    name: load_config("gnnear", dram=name).dram.replace(ranks_per_dimm=2)
    for name in dram_preset_names()
    if name != "ddr4_2400"
}
"""Two ranks of every shipped memory but GNNear's own."""
CONFIGS = {"gnnear": GNNEAR, "odd": ODD, **MEMORIES}


class Place(NamedTuple):
    """Where a command goes."""

    rank: int = 0
    bank_group: int = 0
    bank: int = 0
    row: int = 0
    column: int = 0


class Step(NamedTuple):
    """A command in its cycle; bad commands have numbers that are no `DramCommand`."""

    cycle: int
    kind: int
    place: Place = Place()


class Schedule:
    """A legal sequence of commands.

    Parameters
    ----------
    config : DramConfig
        Geometry and timing.

    Attributes
    ----------
    steps : list of Step
        The commands so far.
    rows : dict
        Open rows by (rank, bank group, bank).
    refreshes : ndarray of int64, shape [ranks]
        Refreshes so far.
    """

    def __init__(self, config: DramConfig) -> None:
        self.config = config
        self.steps: list[Step] = []
        self.rows: dict[tuple[int, ...], int] = {}
        self.refreshes = np.zeros(config.ranks_per_dimm, np.int64)
        self._events: list[tuple[int, int, tuple[int, ...]]] = []

    def judge(self, step: Step) -> DramRule:
        """Return the rule that a next command would break; knows neither bad addresses nor refresh debts."""
        cycle, kind, place = step
        here = place[:3]
        broken = []
        if self.steps and cycle - self.steps[-1].cycle < self.config.timing.tcmd:
            broken.append(DramRule.TCMD)
        if kind == ACT:
            acts = [at for at, what, where in self._events if what == ACT and where[0] == place.rank]
            broken += [DramRule.BANK_OPEN] * (here in self.rows)
            broken += [DramRule.TFAW] * (len(acts) >= 4 and cycle - acts[-4] < self.config.timing.tfaw)
        if kind in (RD, WR):
            broken += [DramRule.BANK_CLOSED] * (self.rows.get(here) != place.row)
        if kind == REF:
            broken += [DramRule.REFRESH_OPEN] * any(at[0] == place.rank for at in self.rows)
        for then, what, where in self._events:
            if what == REF and where[0] == place.rank and cycle - then < self.config.timing.trfc:
                broken.append(DramRule.TRFC)
            for now, target in self._effects(step):
                broken += [rule for rule, least in self._least(what, where, now, target) if cycle - then < least]
        return min(broken, default=DramRule.NONE)

    def append(self, step: Step) -> None:
        """Take a legal command in."""
        effects = self._effects(step)
        self.steps.append(step)
        self._events = [event for event in self._events if step.cycle - event[0] < 2000]
        self._events += [(step.cycle, kind, at) for kind, at in effects]
        for kind, at in effects:
            if kind == ACT:
                self.rows[at] = step.place.row
            elif kind == REF:
                self.refreshes[step.place.rank] += 1
            elif kind == PRE:
                del self.rows[at]

    def random_step(self, rng: np.random.Generator, *, rows: int, columns: int) -> Step:
        """Choose any next command, mostly in the first cycle in which it is legal; keeps the refreshes in time."""
        sizes = (self.config.ranks_per_dimm, self.config.bank_groups, self.config.banks_per_group, rows, columns)
        place = Place(*(int(rng.integers(size)) for size in sizes))
        cycle = self.steps[-1].cycle + 1 if self.steps else 0
        cycle += int(rng.integers(20)) * int(rng.random() < 0.2)
        kind = rng.choice([ACT, RD, WR, PRE, PREA, REF], p=[0.25, 0.3, 0.3, 0.1, 0.03, 0.02])
        debts = cycle // self.config.timing.trefi - self.refreshes
        if debts.max() >= self.config.postponable_refreshes // 2:
            kind, place = REF, Place(rank=int(debts.argmax()))
        elif kind == REF and debts[place.rank] <= -self.config.postponable_refreshes:
            kind = PRE
        if kind in (RD, WR) and self.rows:
            at = list(self.rows)[rng.integers(len(self.rows))]
            place = Place(*at, self.rows[at], place.column)
        elif (kind == ACT and place[:3] in self.rows) or kind in (RD, WR):
            kind = PRE
        elif kind == REF and any(at[0] == place.rank for at in self.rows):
            kind = PREA
        while self.judge(Step(cycle, int(kind), place)) != DramRule.NONE:
            cycle += 1
        return Step(cycle, int(kind), place)

    def _effects(self, step: Step) -> list[tuple[int, tuple[int, ...]]]:
        """Split a command into what it does to single banks; a precharge does nothing to a closed one."""
        if step.kind in (PRE, PREA):
            size = 3 if step.kind == PRE else 1
            return [(PRE, at) for at in self.rows if at[:size] == step.place[:size]]
        return [(step.kind, step.place[:3])]

    def _least(self, first: int, at: tuple[int, ...], then: int, to: tuple[int, ...]) -> Iterator[tuple[DramRule, int]]:
        """Give the least distances of two effects."""
        t, burst = self.config.timing, self.config.burst_length // 2
        latency = {RD: t.cl, WR: t.cwl}
        same_rank, same_group = at[0] == to[0], at[:2] == to[:2]
        in_bank = {
            (ACT, RD): (DramRule.TRCD, t.trcd),
            (ACT, WR): (DramRule.TRCD, t.trcd),
            (ACT, PRE): (DramRule.TRAS, t.tras),
            (ACT, ACT): (DramRule.TRC, t.tras + t.trp),
            (RD, PRE): (DramRule.TRTP, t.trtp),
            (WR, PRE): (DramRule.TWR, t.cwl + burst + t.twr),
            (PRE, ACT): (DramRule.TRP, t.trp),
        }
        if at == to and (first, then) in in_bank:
            yield in_bank[first, then]
        if (first, then) == (PRE, REF) and same_rank:
            yield DramRule.TRP, t.trp
        if (first, then) == (ACT, ACT) and same_rank:
            yield (DramRule.TRRD_L, t.trrd_l) if same_group else (DramRule.TRRD_S, t.trrd_s)
        if (first, then) == (RD, WR):
            yield DramRule.READ_TO_WRITE, t.cl + burst + t.trtw_gap - t.cwl
        if first in latency and then in latency and not same_rank:
            yield DramRule.TRTRS, latency[first] + burst + t.trtrs - latency[then]
        if first in latency and then in latency and same_rank:
            in_group = max(t.tccd_l, t.tccd_l_wr) if first == then == WR else t.tccd_l
            yield (DramRule.TCCD_L, in_group) if same_group else (DramRule.TCCD_S, t.tccd_s)
            if (first, then) == (WR, RD):
                data = t.cwl + burst
                yield (DramRule.TWTR_L, data + t.twtr_l) if same_group else (DramRule.TWTR_S, data + t.twtr_s)
