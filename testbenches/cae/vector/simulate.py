"""Run jobs on a vector unit with its banks, in RTL and in both models."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hdl.cae.vector.unit import VectorUnit
from sim.config import CaeConfig
from sim.golden.numbers import bf16_to_fp32, fp32_to_bf16
from sim.golden.vector import vector_operation
from sim.program.counters import VECTOR_COUNTERS
from sim.program.instructions import CAE_INSTRUCTION, CaeCode, RightOperand
from sim.timing.cae.vector import VectorTiming
from sim.timing.stalls import never_stalled
from sim.timing.streams import next_free, waits_of
from testbenches.bench import Backend
from testbenches.build import Design
from testbenches.cae.unit_bench import UnitBench, run_unit
from testbenches.models.exchange import TAIL_CYCLES

READERS, WRITERS = ("left", "right"), ("result",)
Job = Mapping[str, int]


def vector_design(config: CaeConfig) -> Design:
    """Return the unit with its banks, kept between runs."""
    return Design(UnitBench, config, VectorUnit, READERS, WRITERS, tuple(VECTOR_COUNTERS))


@dataclass(frozen=True, kw_only=True)
class Expected:
    """What the models say.

    Attributes
    ----------
    started, read, done : ndarray of int64, shape [n_jobs]
        Cycles.
    writes : dict of str to ndarray
        ``job``, ``bank``, ``address``, ``data`` and ``cycle`` of each write.
    timing : VectorTiming
        After the last job.
    """

    started: NDArray[np.int64]
    read: NDArray[np.int64]
    done: NDArray[np.int64]
    writes: dict[str, NDArray[np.generic]]
    timing: VectorTiming


def rows_of(job: Job, operand: str, rows: int, beats: int) -> NDArray[np.int64]:
    """Give the addresses of an operand's beats, of shape [rows, beats]."""
    return job[f"{operand}_address"] + np.arange(rows)[:, None] * job[f"{operand}_pitch"] + np.arange(beats)


def operand(bank: NDArray[np.uint32], addresses: NDArray[np.int64]) -> NDArray[np.uint32]:
    """Read beats; of shape [rows, beats * lanes]."""
    return bank[addresses].reshape(len(addresses), -1)


def expected(
    config: CaeConfig,
    jobs: Sequence[Job],
    contents: Mapping[int, NDArray[np.uint32]],
    stalled: NDArray[np.bool_],
    loads: int,
) -> Expected:
    """Run both models."""
    banks = {bank: _stored(config, bank, words) for bank, words in contents.items()}
    timing, waits = VectorTiming(config), waits_of(stalled)
    offered, when, writes = next_free(waits, 0), [], []
    for number, job in enumerate(jobs):
        beats = -(-job["columns"] // config.lanes)
        shape = {RightOperand.BY_ROW: (job["rows"], 1), RightOperand.BY_COLUMN: (1, beats)}
        shape_of_right = shape.get(RightOperand(job["right_operand"]), (job["rows"], beats))
        left = operand(banks[job["left_bank"]], rows_of(job, "left", job["rows"], beats))
        right = None
        if job["right_operand"] not in (RightOperand.NONE, RightOperand.SAME):
            right = operand(banks[job["right_bank"]], rows_of(job, "right", *shape_of_right))
        result = vector_operation(job, left, right, config.lanes)
        data = result.reshape(-1, config.lanes)
        addresses = rows_of(job, "result", len(result), len(data) // len(result)).ravel()
        banks[job["result_bank"]][addresses] = _stored(config, job["result_bank"], data)
        timed = timing.start(max(offered, loads), job)
        offered = next_free(waits, timed.started + 1)
        when.append(timed)
        writes.append((np.full(len(data), number), addresses, data, timing.writes(timed, job)))
    job, address, data, cycle = (np.concatenate(parts) for parts in zip(*writes, strict=True))
    started, read, done = np.array(when, np.int64).T
    bank = np.array([one["result_bank"] for one in jobs])[job]
    return Expected(
        started=started,
        read=read,
        done=done,
        writes={"cycle": cycle, "bank": bank, "address": address, "data": data, "job": job},
        timing=timing,
    )


def _stored(config: CaeConfig, bank: int, words: NDArray[np.uint32]) -> NDArray[np.uint32]:
    return bf16_to_fp32(fp32_to_bf16(words)) if bank < config.operand_banks else words.copy()


def difference(
    config: CaeConfig,
    jobs: Sequence[Job],
    contents: Mapping[int, NDArray[np.uint32]],
    *,
    stalled: NDArray[np.bool_] | None = None,
    max_quiet_cycles: int = 10_000,
    backend: Backend = "trace",
    design: UnitBench | Design | None = None,
) -> str | None:
    """Run jobs and compare every write, report and counter with the models.

    Parameters
    ----------
    config : CaeConfig
        The engine.
    jobs : sequence of mappings
        Instructions; all fields that the unit looks at.
    contents : mapping of int to ndarray of uint32, shape [beats, lanes]
        fp32 bits in the banks before the first job.
    stalled : ndarray of bool, optional
        Stall pattern of the jobs; not at all by default.
    max_quiet_cycles : int
        What is taken for a hang.
    backend : {"trace", "cocotb", "pysim"}
        How to run the RTL.
    design : UnitBench or Design, optional
        Another design, such as one with a planted bug.

    Returns
    -------
    str or None
        The first difference.

    Raises
    ------
    BenchError
        The unit hung, or wrote or reported too often.
    """
    stalled = never_stalled() if stalled is None else stalled
    loads = sum(map(len, contents.values()))
    want = expected(config, jobs, contents, stalled, loads)
    fields = {field.name: [job.get(field.name, 0) for job in jobs] for field in CAE_INSTRUCTION.fields if field.name}
    instructions = CAE_INSTRUCTION.encode(
        len(jobs), {name: np.array(values, np.uint64) for name, values in fields.items()}
    )
    due = {"result": len(want.writes["job"])}
    got = run_unit(
        design or vector_design(config),
        config,
        instructions,
        contents,
        due,
        stalled=stalled,
        max_quiet_cycles=max_quiet_cycles,
        backend=backend,
    )
    seen = got.writes["result"]
    for name in ("address", "data", "bank", "cycle"):
        wrong = np.argwhere(want.writes[name] != seen[name])
        if len(wrong):
            place = tuple(wrong[0])
            job = int(want.writes["job"][place[0]])
            first = int(np.flatnonzero(want.writes["job"] == job)[0])
            return (
                f"job {job} ({jobs[job]}), write {place[0] - first}, {name}{list(place[1:])}: "
                f"{int(seen[name][place]):#x}, not {int(want.writes[name][place]):#x}"
            )
    if (seen["parts"] != (1 << config.lanes // config.columns) - 1).any():
        return "not every part of a beat was written"
    slots = np.arange(len(jobs)) % config.window_instructions
    for name, ours, theirs in (
        ("started", want.started, got.started),
        ("read", want.read, got.read),
        ("done", want.done, got.done),
        ("slot read", slots, got.slots["read"]),
        ("slot done", slots, got.slots["done"]),
        ("code", np.full(len(jobs), CaeCode.OK), got.codes),
    ):
        wrong = np.flatnonzero(ours != theirs)
        if len(wrong):
            job = wrong[0]
            return f"job {job} ({jobs[job]}), {name}: {theirs[job]}, not {ours[job]}"
    total = sum(got.counters.values())
    if total != int(want.done[-1]) + 1 + TAIL_CYCLES:
        return f"the counters add up to {total}, {TAIL_CYCLES} cycles after {want.done[-1]}"
    counters = want.timing.counters(total)
    return None if counters == got.counters else f"counters {got.counters}, not {counters}"
