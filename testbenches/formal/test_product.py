"""The product unit never loses an update of a sum: looked at from reset on, for so many cycles."""

import pytest

from hdl.cae.product import ProductUnit
from sim.config import CaeConfig, load_config
from testbenches.formal.control import check, report
from testbenches.formal.sum_claims import CountedSums
from testbenches.planted import Bug, plant

pytestmark = pytest.mark.formal


def array(rows: int, columns: int, accumulator_rows: int, mul_latency: int = 0, add_latency: int = 1) -> CaeConfig:
    return load_config("tiny").cae.replace(
        rows=rows, columns=columns, accumulator_rows=accumulator_rows, mul_latency=mul_latency, add_latency=add_latency
    )


def holds(config: CaeConfig, unit, cycles: int) -> bool:
    claims = CountedSums(config, unit)
    verdict = check(claims, cycles=cycles)
    report(claims, verdict)
    return verdict.broken is None


@pytest.mark.parametrize(
    ("sizes", "cycles"), [((1, 1, 2), 15), ((1, 2, 2), 15), ((2, 1, 2), 16), ((1, 1, 3, 1, 2), 15)], ids=str
)
def test_no_update_is_lost(sizes, cycles):
    config = array(*sizes)
    assert holds(config, ProductUnit(config), cycles)


BUGS = {
    "interlock a cycle short": ("run", "(in_flight < tile.rows)", "(in_flight <= tile.rows)"),
    "bank kept": ("run", "self.bank.eq(~self.bank)", "self.bank.eq(self.bank)"),
    "bank left with the sums": ("run", "with m.If(leave & ~tile.silent):", "with m.If(leave):"),
    "kept sums start from zero": ("run", "self.fresh.eq(~self.tile.payload.continued)", "self.fresh.eq(1)"),
    "drained too early": ("run", "Mux(self.issue, config.pipeline_cycles,", "Mux(self.issue, 1,"),
    "sums of any rows": ("load", "& (rows != kept)", "& (rows > kept)"),
    "taken before the report": (
        "drain", "alone.eq((untold == 0) | ((untold == 1) & reported))", "alone.eq(untold != MATRIX_REPORTS)",
    ),
    "rows counted on": ("accumulator", "Mux(last[store], 0, row + 1)", "row + 1"),
}  # fmt: skip


@pytest.mark.parametrize("name", BUGS, ids=lambda name: name.replace(" ", "-"))
def test_planted_bugs_are_found(name):
    module, old, new = BUGS[name]
    bug = Bug(name=name, module=f"hdl.cae.{module}", old=old, new=new)
    config = array(1, 1, 3)
    assert not holds(config, plant(bug, "hdl.cae.product", "ProductUnit", config), 16)
