"""The steps of the reduce unit's timing may be called in any order that their conditions allow; the answer is one."""

from functools import partial

import numpy as np
import pytest

from sim.program.counters import REDUCE_COUNTERS
from sim.program.reduce_trace import decode_work
from sim.timing import reduce_steps as steps
from sim.timing.reduce import reduce_timing
from sim.timing.stalls import STALL_KINDS
from sim.timing.streams import hand_over, next_free, waits_of
from testbenches.sim.golden.test_reduce import CONFIGS, random_streams, trace_of
from testbenches.sim.timing.test_reduce import stalls_of

NME = CONFIGS["bf16"]


class Driver:
    """Calls any step that may come next, picked by `choose`, until every shard has reported."""

    def __init__(self, trace, stalls):
        self.work = decode_work(trace, NME)
        self.n = len(self.work.code)
        self.state = steps.ReduceState.after_reset(NME, self.work.result_room)
        self.waits = {name: waits_of(getattr(stalls, name)) for name in ("command", "vectors", "edges", "partials",
                                                                        "status")}  # fmt: skip
        self.taken = {name: [] for name in ("command", "edges", "status")}
        self.vectors = np.zeros(len(trace.vectors), np.int64)
        self.next_beat = self.entered = self.left = self.drained = 0
        self.report_offer = 0

    def _offer(self, stream):
        cycles = self.taken[stream]
        return next_free(self.waits[stream], cycles[-1] + 1 if cycles else 0)

    def _allowed(self):
        run, load = self.state.run, self.state.load
        accepted, reported = len(self.taken["command"]), len(self.taken["status"])
        running = self.entered > self.left
        known = running and steps.front_known(self.state)
        conditions = {
            self._accept: accepted < self.n and accepted == self.entered and load[steps.LOADS_LEFT] == 0,
            self._load: steps.can_load(self.state),
            self._enter: accepted > self.entered and not running,
            self._issue: known and run[steps.EDGES_LEFT] > 0,
            self._give_up: known and run[steps.EDGES_LEFT] == 0 and run[steps.SOURCES_LEFT] > 0,
            self._leave: running and run[steps.EDGES_LEFT] == run[steps.SOURCES_LEFT] == 0 and reported == self.left,
            self._drain: self.left > self.drained,
            self._report: self.drained > reported,
        }
        return [step for step, holds in conditions.items() if holds]

    def _accept(self):
        c, work = len(self.taken["command"]), self.work
        fields = (int(getattr(work, name)[c]) for name in ("beats", "sources", "edges", "destinations"))
        self.taken["command"].append(steps.accept(self.state, self._offer("command"), *fields, bool(work.code[c] != 0)))

    def _load(self):
        before = self.vectors[self.next_beat - 1] + 1 if self.next_beat else 0
        waits = self.waits["vectors"]
        steps.load_vector(self.state, next_free(waits, before), waits, self.vectors, self.next_beat)
        self.next_beat += int(self.state.load[steps.LOAD_BEATS])

    def _enter(self):
        steps.enter(self.state)
        self.entered += 1

    def _issue(self):
        e, work = len(self.taken["edges"]), self.work
        self.taken["edges"].append(
            steps.issue_edge(self.state, self._offer("edges"), int(work.edge_destination[e]), bool(work.edge_last[e]))
        )

    def _give_up(self):
        steps.give_up(self.state)

    def _leave(self):
        steps.leave(self.state)
        self.left += 1

    def _drain(self):
        drain = self.state.drain
        first, count = int(drain[steps.FIRST_PARTIAL]), int(drain[steps.N_PARTIALS])
        before = int(drain[steps.FIRST_READ])
        last = hand_over(self.waits["partials"], before, count, self.state.partials, first)
        self.report_offer = steps.end_drain(self.state, last)
        self.drained += 1

    def _report(self):
        self.taken["status"].append(next_free(self.waits["status"], self.report_offer))
        steps.report(self.state, self.taken["status"][-1])

    def run(self, choose):
        """Call steps until none is left."""
        while ready := self._allowed():
            choose(ready)()
        steps.finish(self.state, self.taken["status"][-1] + 1)


def pick(rng, ready):
    return ready[rng.integers(len(ready))]


ORDERS = {
    "first": lambda _: lambda ready: ready[0],
    "last": lambda _: lambda ready: ready[-1],
    "random": lambda seed: partial(pick, np.random.default_rng(seed)),
}


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("kind", STALL_KINDS)
@pytest.mark.parametrize("seed", range(4))
def test_any_order_gives_the_same_cycles(order, kind, seed):
    trace = trace_of(*random_streams(np.random.default_rng(seed), NME, 20, 0.4), NME)
    stalls = stalls_of(kind, seed)
    driver = Driver(trace, stalls)
    driver.run(ORDERS[order](seed))
    timing = reduce_timing(trace, NME, stalls)
    assert driver.taken == {name: getattr(timing, name).tolist() for name in driver.taken}
    assert driver.vectors.tolist() == timing.vectors.tolist()
    assert driver.state.partials[: len(timing.partials)].tolist() == timing.partials.tolist()
    assert dict(zip(REDUCE_COUNTERS, driver.state.counters.tolist(), strict=True)) == timing.counters


def test_the_orders_differ():
    """The steps do interleave: a shard loads while the one before runs, and runs while the one before drains."""
    trace = trace_of(*random_streams(np.random.default_rng(0), NME, 20, 0.0), NME)
    seen = {}
    for name, order in ORDERS.items():
        driver, called = Driver(trace, stalls_of("none", 0)), []
        choose = order(1)

        def noted(ready, choose=choose, called=called):
            called.append(choose(ready).__name__)
            return next(step for step in ready if step.__name__ == called[-1])

        driver.run(noted)
        seen[name] = tuple(called)
    assert len(set(seen.values())) == len(ORDERS)


def test_counters_up_to_any_later_cycle():
    trace = trace_of(*random_streams(np.random.default_rng(1), NME, 3, 0.0), NME)
    driver = Driver(trace, stalls_of("none", 0))
    while ready := driver._allowed():
        ready[0]()
    end = driver.taken["status"][-1] + 1
    steps.finish(driver.state, end + 100)
    assert driver.state.counters.sum() == end + 100
    assert driver.state.counters[steps.IDLE] == reduce_timing(trace, NME).counters["idle"] + 100
