"""The golden merge against one that goes beat by beat with numpy's own additions."""

import numpy as np
import pytest

from sim.golden.merge import judge_source, merge
from sim.program.instructions import CaeCode, partial_beat

LANES = 4


def encode(beats):
    """Encode beats (index, first, last, end, number of all lanes)."""
    index, first, last, end, number = zip(*beats, strict=True)
    data = np.repeat(np.array(number, np.float32).view(np.uint32)[:, None], LANES, axis=1)
    fields = {"index": index, "first": first, "last": last, "end": end, "data": data}
    return partial_beat(LANES).encode(len(beats), fields)


def drawn(rng, rows, beats, share):
    sent = [
        (slot, int(b == 0), int(b == beats - 1), 0, float(rng.integers(-50, 50)))
        for slot in range(rows) if rng.random() < share for b in range(beats)
    ]  # fmt: skip
    return [*sent, (9, 0, 1, 1, 7.0)]


@pytest.mark.parametrize("columns", [1, 4, 5, 8, 11])
@pytest.mark.parametrize("seed", range(5))
def test_sums_of_drawn_sources(columns, seed):
    rng = np.random.default_rng(seed)
    rows, beats = 6, -(-columns // LANES)
    sent = [drawn(rng, rows, beats, share) for share in (0.3, 0.7, 1.0)]
    bank = rng.integers(0, 1 << 32, (40, LANES), np.uint32)
    want = bank.copy()
    totals = np.zeros((rows, beats))
    for beat in (beat for source in sent for beat in source if not beat[3]):
        totals[beat[0], 0 if beat[1] else beats - 1 if beat[2] else 1] += beat[4]
    for row in range(rows):
        for b in range(beats):
            lanes = np.arange(LANES) + b * LANES < columns
            want[3 + 5 * row + b] = np.where(lanes, np.float32(totals[row, b]), np.float32(0)).view(np.uint32)
    judged = [judge_source(encode(source), 0, rows, beats, LANES) for source in sent]
    assert merge(bank, judged, rows=rows, columns=columns, address=3, pitch=5) == CaeCode.OK
    np.testing.assert_array_equal(bank, want)
    assert [source.count for source in judged] == [len(source) for source in sent]


@pytest.mark.parametrize(
    ("beats", "good"),
    [
        ([(0, 1, 0), (0, 0, 1), (2, 1, 0), (2, 0, 1)], [1, 1, 1, 1]),
        ([(1, 1, 0), (1, 0, 1), (0, 1, 0), (0, 0, 1)], [1, 1, 0, 0]),
        ([(1, 1, 0), (1, 0, 1), (1, 1, 0), (1, 0, 1)], [1, 1, 0, 0]),
        ([(3, 1, 0), (3, 0, 1), (2, 1, 0), (2, 0, 1)], [0, 0, 1, 1]),
        ([(0, 1, 1), (0, 1, 0), (0, 0, 0), (0, 0, 1)], [0, 1, 0, 1]),
        ([(0, 1, 0), (1, 0, 1), (0, 0, 1), (1, 0, 1)], [1, 0, 1, 0]),
    ],
    ids=["good", "falls", "repeats", "too_great", "first_and_last", "another_slot"],
)
def test_which_beats_are_dropped(beats, good):
    judged = judge_source(encode([(*beat, 0, 1.0) for beat in beats] + [(0, 0, 0, 1, 0.0)]), 0, 3, 2, LANES)
    assert judged.good.tolist() == [bool(flag) for flag in good]
    assert judged.whole == all(good)


def test_a_vector_cut_off_is_not_whole():
    judged = judge_source(encode([(0, 1, 0, 0, 1.0), (0, 0, 0, 1, 0.0)]), 0, 3, 2, LANES)
    assert judged.good.all()
    assert not judged.whole
    bank = np.zeros((6, LANES), np.uint32)
    assert merge(bank, [judged], rows=3, columns=8, address=0, pitch=2) == CaeCode.PARTIAL_SLOT


def test_a_bank_of_bf16_rounds_every_sum():
    """257 is 256 in bf16; 256 + 1 and then + 1 stays 256, which one rounding at the end would not give."""
    sources = [judge_source(encode([(0, 1, 1, 0, n), (0, 0, 0, 1, 0.0)]), 0, 1, 1, LANES) for n in (256.0, 1.0, 1.0)]
    bank = np.zeros((1, LANES), np.uint32)
    merge(bank, sources, rows=1, columns=4, address=0, pitch=1, rounds=True)
    assert bank.view(np.float32).tolist() == [[256.0] * 4]


def test_an_end_must_come():
    with pytest.raises(ValueError, match="no beat with end is among the 1"):
        judge_source(encode([(0, 1, 1, 0, 1.0)]), 0, 1, 1, LANES)
