# amaranth: UnusedElaboratable=no
"""Proofs of the sampling engine's draws: places of ids for all lists, the rest at small sizes.

* The place of an id, for every address of the edge list, offset, edge and width of ids, at every size of pages: equal
  to a division of the byte's address, as a memory has it.
* Numbers of full width are below their bound, whatever the word.
* Bounded numbers, with words of 6 bits and bounds of 5, for all time: a word is rejected if, and only if, the remainder
  of all words by the bound says so; the verdict comes in time.
* What is chosen without replacement, for all time: no edge twice, none beyond the list, for lists of up to 15 edges.
* The draw unit, with lists of up to 3 edges and verdicts at the checker's will, for all time: every word and every
  target finds a place behind the generator, and no sample is withdrawn. Within some cycles from reset: each word has a
  target, no sample is invented, and none that is owed fails to come.
"""

import sys

import pytest

from hdl.ssd.bounded import Bounded
from hdl.ssd.chosen import Chosen
from hdl.ssd.draws import DrawUnit
from testbenches.formal.control import check, report
from testbenches.formal.smt import at, solve, transition_system, unroll
from testbenches.formal.ssd_draw_claims import ChosenOnce, CountedSamples, JudgedWords, PlacedId
from testbenches.planted import Bug, plant
from testbenches.ssd.configs import SMALL

pytestmark = pytest.mark.formal

PAGES = (512, 1024, 2048, 4096, 8192, 16384)


def holds(component, cycles=None):
    verdict = check(component, cycles=cycles)
    report(component, verdict)
    return verdict.broken is None


def buggy(module, top, old, new, *args):
    return plant(Bug(name=old, module=f"hdl.ssd.{module}", old=old, new=new), f"hdl.ssd.{module}", top, *args)


def misplaced(page_bytes, place=None):
    """Look for a list and an edge whose id lies elsewhere: 80 bits are enough for every sum."""
    config = SMALL.replace(**{"flash.page_bytes": page_bytes, "flash.sector_bytes": 512})
    text = f"""
    (define-fun id_bytes () (_ BitVec 80) (ite {at("wide", 0)} (_ bv8 80) (_ bv4 80)))
    (define-fun base () (_ BitVec 80) ((_ zero_extend 16) {at("edges_address", 0)}))
    (define-fun number () (_ BitVec 80)
      (bvadd ((_ zero_extend 32) {at("offset", 0)}) ((_ zero_extend 49) {at("edge", 0)})))
    (define-fun address () (_ BitVec 80) (bvadd base (bvmul number id_bytes)))
    (define-fun bytes () (_ BitVec 80) (_ bv{page_bytes} 80))
    (define-fun page () (_ BitVec 80) (bvudiv address bytes))
    (define-fun beat () (_ BitVec 80) (bvudiv (bvurem address bytes) (_ bv8 80)))
    (define-fun half () (_ BitVec 80) (bvudiv (bvurem address (_ bv8 80)) (_ bv4 80)))
    (assert (bvult page (_ bv{1 << 40} 80)))
    (assert (not (and (= page ((_ zero_extend 40) {at("page", 0)})) (= beat ((_ zero_extend 69) {at("beat", 0)}))
      (= half (ite {at("half", 0)} (_ bv1 80) (_ bv0 80))))))
    """
    made = None if place is None else place(config)
    answer = solve("\n".join([transition_system(PlacedId(config, made)), unroll(0), text]))
    sys.stdout.write(f"pages of {page_bytes} bytes: {answer.seconds:.2f} s\n")
    return answer.satisfiable


@pytest.mark.parametrize("page_bytes", PAGES)
def test_every_id_is_where_its_edge_number_says(page_bytes):
    assert not misplaced(page_bytes)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("(self.edge << self.wide)", "self.edge"),
        ("place >> in_page", "place >> in_page - 1"),
        ("place[1:in_page]", "place[1 : in_page - 1]"),
        ("place[0]", "place[1]"),
        ("place, in_page = Signal.like(self.first)", "place, in_page = Signal(40)"),
    ],
)
def test_a_bug_misplaces_an_id(old, new):
    assert misplaced(4096, lambda config: buggy("place", "IdPlace", old, new, config))


@pytest.mark.soak
def test_numbers_of_full_width_are_below_their_bound():
    text = f"""
    (assert {at("load", 0)})
    (assert (not (= {at("bound", 0)} (_ bv0 31))))
    (assert (not (bvult {at("number", 1)} {at("bound", 0)})))
    """
    answer = solve("\n".join([transition_system(Bounded()), unroll(1), text]))
    sys.stdout.write(f"numbers below their bound: {answer.seconds:.2f} s\n")
    assert not answer.satisfiable


@pytest.mark.parametrize("claim", JudgedWords.CLAIMS)
def test_judged_words(claim):
    assert holds(JudgedWords(Bounded(), 6, 5, (claim,)))


@pytest.mark.parametrize(
    ("claim", "old", "new"),
    [
        ("favoured", "low >= remainder)", "low + 1 >= remainder)"),
        ("wasted", "low >= remainder)", "low > remainder)"),
        ("beyond", "self.number.eq(product >> WORD_BITS)", "self.number.eq((product >> WORD_BITS) + 1)"),
        ("favoured", "known.eq(step == STEPS)", "known.eq(step == STEPS - 1)"),
        ("late", "known.eq(step == STEPS)", "known.eq(step == STEPS + 1)"),
        ("favoured", "step.eq(0), remainder.eq(0)]", "step.eq(0)]"),
        ("both", "self.rejected.eq(~surely & known & ~even)", "self.rejected.eq(known & ~even | surely)"),
    ],
)
def test_a_bug_in_the_judging_breaks_the_claim(claim, old, new):
    assert not holds(JudgedWords(buggy("bounded", "Bounded", old, new), 6, 5, (claim,)))


@pytest.mark.parametrize("places", [2, 3, 4])
def test_no_edge_is_chosen_twice(places):
    assert holds(ChosenOnce(Chosen(places), places, 4))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("hits.any()", "hits[1:].any()"),
        ("taken[self.index].eq(self.edge)", "taken[self.index].eq(self.number)"),
        ("Mux(hits.any(), self.last, self.number)", "Mux(hits.any(), self.last + 1, self.number)"),
        ("held.eq(before | (1 << self.index))", "held.eq(1 << self.index)"),
    ],
)
def test_a_bug_chooses_an_edge_twice(old, new):
    assert not holds(ChosenOnce(buggy("chosen", "Chosen", old, new, 4), 4, 4))


@pytest.mark.parametrize(
    ("claim", "latency", "cycles"),
    [
        ("words_lost", 1, None),
        ("words_lost", 2, None),
        ("withdrawn", 1, None),
        ("withdrawn", 2, None),
        ("targets_lost", 1, None),
        pytest.param("orphaned", 1, None, marks=pytest.mark.soak),
        ("invented", 1, 16),
        ("stuck", 1, 30),
        ("stuck", 2, 32),
    ],
)
def test_the_way_through_the_draw_unit(claim, latency, cycles):
    config = SMALL.replace(draw_latency=latency, max_fanout=3)
    assert holds(CountedSamples(config, DrawUnit(config), 2, (claim,)), cycles)


@pytest.mark.parametrize(
    ("claim", "old", "new"),
    [
        ("words_lost", "(outstanding != places)", "1"),
        ("words_lost", "+ asks - got)", "+ asks - words.held.valid)"),
        ("targets_lost", "(outstanding != places)", "1"),
        ("orphaned", "targets.held.ready.eq(got & is_last)", "targets.held.ready.eq(got)"),
        ("invented", "(3, goes)", "(3, valid[2])"),
        ("withdrawn", "free[4].eq(~valid[4] | self.samples.ready)", "free[4].eq(1)"),
        ("stuck", "m.d.sync += redrawing.eq(0)", "m.d.sync += redrawing.eq(redrawing)"),
        ("stuck", "key_asked.eq(0),", ""),
    ],
)
def test_a_bug_in_the_draw_unit_breaks_the_claim(claim, old, new):
    config = SMALL.replace(draw_latency=1, max_fanout=3)
    unit = buggy("draws", "DrawUnit", old, new, config)
    assert not holds(CountedSamples(config, unit, 2, (claim,)), 30)
