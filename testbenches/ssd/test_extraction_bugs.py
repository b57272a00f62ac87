# amaranth: UnusedElaboratable=no
"""Bugs planted in the units between draws and packer are caught by the comparison of their tests."""

import numpy as np
import pytest

from testbenches.models.rules import BenchError
from testbenches.planted import Bug, plant
from testbenches.ssd.configs import SMALL
from testbenches.ssd.extraction import Extraction
from testbenches.ssd.simulate_extraction import Samples, Stalls, difference, random_samples

CONFIG = SMALL.replace(window_samples=16, page_slots=5, table_entries=4, dram_reads_in_flight=3)
CLASSES = {
    "coalesce": ("coalescer", "Coalescer"),
    "translate": ("translate", "Translate"),
    "loader": ("loader", "Loader"),
    "matcher": ("matcher", "Matcher"),
    "hot": ("hot", "HotReader"),
    "collect": ("collector", "Collector"),
}

FIRST_BUGS = [
    ("coalesce", "a sample is not seen by the next", "wrote & (wrote_place == place)", "0"),
    ("translate", "the wrong half of the map", "upper.eq(opened.page[0])", "upper.eq(0)"),
    ("loader", "a twin is lost", "again.eq(wrote & (wrote_beat == put.beat))", "again.eq(0)"),
    ("matcher", "a bank too many", "load.free.eq(used != BANKS)", "load.free.eq(1)"),
    ("hot", "the wrong half of the DRAM's beat", "upper.eq(queue.held.payload.upper)", "upper.eq(0)"),
    ("collect", "the first twin is enough", "takes | (active & twin.more)), slot", "takes), slot"),
]  # fmt: skip

MORE_BUGS = [
    ("coalesce", "a close is not seen by the next sample", "wrote & (wrote_place == place)",
     "wrote & wrote_entry.valid & (wrote_place == place)"),
    ("coalesce", "the sample before is forgotten", "linked & (linked_page == two.page_slot)", "0"),
    ("coalesce", "a sample too many in the window",
     "(level != config.window_samples)", "(level != config.window_samples + 1)"),
    ("coalesce", "a page slot too many", "(page_slots_free != 0)", "1"),
    ("coalesce", "a page too many on its way", "(opened_owed != LEAVING)", "1"),
    ("coalesce", "a displaced page's close empties the place",
     "closed.eq(one_closes & entry.valid & (entry.page_slot == one.page_slot))", "closed.eq(one_closes)"),
    ("coalesce", "a page slot is given twice", "first_lap.eq(0)", "first_lap.eq(1)"),
    ("coalesce", "a closed page is found again", "closed.eq(one_closes &", "closed.eq(0 &"),
    ("coalesce", "half a page's number counts", "(entry.tag == one.page[place_bits:])", "1"),
    ("coalesce", "the lap is lost", "one.phase.eq(~number[slot_bits])", "one.phase.eq(1)"),
    ("translate", "hot pages lie on flash", "placed.hot.eq(entry.hot)", "placed.hot.eq(0)"),
    ("translate", "the map begins at 0", "self.map_base + opened.page[1:]", "opened.page[1:]"),
    ("dram_words", "a read too many on the way", "self.wanted.valid & (used != reads)", "self.wanted.valid"),
    ("dram_words", "words in the place of the next", "put_word.addr.eq(middle)", "put_word.addr.eq(tail)"),
    ("loader", "the next page begins too early", "~walking & ~puts & ~told", "~walking & ~told"),
    ("loader", "the first beat of another page", "first_beat.eq(~0),", ""),
    ("loader", "only the first sample's beat is moved", "Mux(link.beat < first_beat, link.beat, first_beat)",
     "first_beat"),
    ("loader", "a hot sample is handed over again", "goes.eq(walking & (~in_dram | self.hot.ready))",
     "goes.eq(walking & ~in_dram | (walking & self.hot.ready & (link.beat != 5)))"),
    ("loader", "twins across pages", "wrote.eq(puts & ~in_dram)", "wrote.eq(wrote | puts)"),
    ("loader", "a page without a bank", "& bank_free & ~walking", "& ~walking"),
    ("matcher", "a table is not emptied", "clears.eq(moves & wanted &", "clears.eq(0 &"),
    ("matcher", "a match is not waited for", "moves.eq(has_beat & (~wanted | self.matches.ready))",
     "moves.eq(has_beat)"),
    ("matcher", "the other page's number",
     "Mux(its_bank, pages[1], pages[0]), held",
     "Mux(its_bank, pages[0], pages[1]), held"),
    ("matcher", "banks in the wrong order", "passing.eq(passing ^ new.last)", "passing.eq(passing)"),
    ("matcher", "a bad page's data", "Mux(held.bad, Mux", "Mux(0, Mux"),
    ("collect", "a match is taken while twins wait", "offers.any() & ~(active & twin.more)", "offers.any()"),
    ("collect", "halves swapped", "Mux(twin.half, match.value[32:], match.value[:32])",
     "Mux(twin.half, match.value[:32], match.value[32:])"),
    ("collect", "half of a page's number", "Mux(match.failed | twin.wide,", "Mux(twin.wide,"),
    ("collect", "no turns", "last.eq(number_of(grant))", "last.eq(0)"),
]  # fmt: skip


def runs():
    """Return short runs in which much meets; first, pages of one channel that wait for their last beat to be taken."""
    rng = np.random.default_rng(0)
    last = np.full(40, CONFIG.flash.page_beats - 1)
    one = {"half": np.zeros(40, np.int64), "wide": np.ones(40, np.int64)}
    yield Samples(page=2 * rng.integers(8, size=40), beat=last, **one), Stalls(words={"matches": ~(1 << 9) % (1 << 64)})
    # All sources of matches at once.
    beat = rng.choice([60, 61, 62, 63], 40)
    together = sum(1 << i for i in range(64) if i % 16)
    yield Samples(page=rng.integers(3, size=40), beat=beat, hot_low=2, **one), Stalls(words={"matches": together})
    for seed, kind in enumerate(("none", "random", "bursty", "stop_and_go", "none", "random")):
        samples = random_samples(
            seed, CONFIG, 120, pages=(3, 20)[seed % 2], beats=(4, 2, 30)[seed % 3], hot_low=1, bad_low=2
        )
        yield samples, Stalls.of(kind, seed)


def is_sound(**units):
    """Run until a run shows a difference."""
    for samples, stalls in runs():
        design = Extraction(CONFIG, **units)
        try:
            if difference(samples, CONFIG, stalls, design=design, backend="pysim", max_quiet_cycles=300):
                return False
        except BenchError:
            return False
    return True


def unit_with(module, name, old, new):
    bug = Bug(name=name, module=f"hdl.ssd.{module}", old=old, new=new)
    within = "hot" if module == "dram_words" else module
    unit, class_name = CLASSES[within]
    return {unit: lambda config: plant(bug, f"hdl.ssd.{within}", class_name, config)}


def short_name(case):
    return case[1].replace(" ", "-") if isinstance(case, tuple) else None


@pytest.mark.parametrize("bug", FIRST_BUGS, ids=short_name)
def test_bug_is_caught(bug):
    assert not is_sound(**unit_with(*bug))


@pytest.mark.soak
@pytest.mark.parametrize("bug", MORE_BUGS, ids=short_name)
def test_each_other_bug_is_caught(bug):
    assert not is_sound(**unit_with(*bug))


@pytest.mark.soak
def test_nothing_is_caught_where_nothing_is_planted():
    """The same runs with a change that changes nothing: what catches the bugs is not the planting."""
    assert is_sound(
        **unit_with(
            "matcher",
            "none",
            "wanted.eq(Mux(its_bank, found[1], found[0]))",
            "wanted.eq(Mux(~its_bank, found[0], found[1]))",
        )
    )
