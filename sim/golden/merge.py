"""Golden model of a MERGE: partial sums of several sources, added up by destination."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sim.golden.numbers import bf16_to_fp32, fp32_add, fp32_to_bf16
from sim.program.instructions import CaeCode, partial_beat


@dataclass(frozen=True, kw_only=True)
class SourceBeats:
    """What one source sends for one MERGE, judged.

    Attributes
    ----------
    count : int
        Beats taken, the one with ``end`` included.
    good : ndarray of bool, shape [count - 1]
        Beats that are added; the others are dropped.
    row, beat : ndarray of int64, shape [count - 1]
        Slot and beat within the vector of each good beat.
    data : ndarray of uint32, shape [count - 1, lanes]
        The partial sums.
    whole : bool
        All beats are good, and no vector is cut off.
    """

    count: int
    good: NDArray[np.bool_]
    row: NDArray[np.int64]
    beat: NDArray[np.int64]
    data: NDArray[np.uint32]
    whole: bool


def judge_source(partials: NDArray[np.uint8], first: int, rows: int, beats: int, lanes: int) -> SourceBeats:
    """Judge the beats of a source up to its next beat with ``end``.

    A beat is good if it goes on with the vector that is under way: slot the same, ``first`` 0, ``last`` 1 on the last
    of its beats only; or, if none is, begins one whose slot is below the rows and above all slots before. Any other is
    dropped, and changes nothing of what is expected next.

    Parameters
    ----------
    partials : ndarray of uint8, shape [n, bytes]
        All beats of the source, of the layout `partial_beat`.
    first : int
        The first beat of this MERGE.
    rows, beats : int
        Slots, and beats of a vector.
    lanes : int
        Elements of a beat.

    Returns
    -------
    SourceBeats
        The beats.

    Raises
    ------
    ValueError
        No beat with ``end`` follows.
    """
    fields = partial_beat(lanes).decode(partials[first:])
    ends = np.flatnonzero(fields["end"])
    if not len(ends):
        raise ValueError(f"a MERGE takes beats from {first} on, but no beat with end is among the {len(partials)}")
    count = int(ends[0])
    index, begins, closes = (fields[name][:count].astype(np.int64) for name in ("index", "first", "last"))
    good, row, beat = np.zeros(count, np.bool_), np.zeros(count, np.int64), np.zeros(count, np.int64)
    next_row, next_beat = 0, 0
    for i, (slot, opens, shuts) in enumerate(zip(index.tolist(), begins.tolist(), closes.tolist(), strict=True)):
        in_order = slot == next_row if next_beat else next_row <= slot < rows
        if in_order and opens == (next_beat == 0) and shuts == (next_beat == beats - 1):
            good[i], row[i], beat[i] = True, slot, next_beat
            next_row, next_beat = (slot + 1, 0) if shuts else (slot, next_beat + 1)
    return SourceBeats(
        count=count + 1,
        good=good,
        row=row,
        beat=beat,
        data=fields["data"][:count].astype(np.uint32),
        whole=bool(good.all()) and next_beat == 0,
    )


def merge(
    bank: NDArray[np.uint32],
    sources: Sequence[SourceBeats],
    *,
    rows: int,
    columns: int,
    address: int,
    pitch: int,
    rounds: bool = False,
) -> CaeCode:
    """Add partial sums up in a bank.

    The first source's sums are +0 plus what it sends, +0 where it sends nothing. Each later source's are added to what
    is there, in the order in which they come. Lanes beyond the columns become +0 in each beat that is written.

    Parameters
    ----------
    bank : ndarray of uint32, shape [beats, lanes]
        fp32 elements; changed in place.
    sources : sequence of SourceBeats
        By rising number.
    rows, columns : int
        Slots, and elements of a vector.
    address, pitch : int
        The first beat of the first slot's vector, and beats from one slot to the next.
    rounds : bool
        The bank holds bf16: all that is written is rounded.

    Returns
    -------
    CaeCode
        OK, or PARTIAL_SLOT if a beat was dropped or a vector was cut off.
    """
    lanes = bank.shape[1]
    beats = -(-columns // lanes)
    counts = np.arange(beats * lanes).reshape(beats, lanes) < columns

    def write(places: NDArray[np.int64], beat: NDArray[np.int64], values: NDArray[np.uint32]) -> None:
        kept = np.where(counts[beat], values, np.uint32(0))
        bank[places] = bf16_to_fp32(fp32_to_bf16(kept)) if rounds else kept

    for number, source in enumerate(sources):
        row, beat, sums = source.row[source.good], source.beat[source.good], source.data[source.good]
        places = address + row * pitch + beat
        if number == 0:
            filled = np.zeros((rows * beats, lanes), np.uint32)
            filled[row * beats + beat] = fp32_add(np.zeros_like(sums), sums)
            every, of_row = np.divmod(np.arange(rows * beats), beats)
            write(address + every * pitch + of_row, of_row, filled)
        elif len(np.unique(places)) == len(places):
            write(places, beat, fp32_add(bank[places], sums))
        else:  # rows that lie on each other: one after the other
            for i in range(len(places)):
                one = slice(i, i + 1)
                write(places[one], beat[one], fp32_add(bank[places[one]], sums[one]))
    return CaeCode.OK if all(source.whole for source in sources) else CaeCode.PARTIAL_SLOT
