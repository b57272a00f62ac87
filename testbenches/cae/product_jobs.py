"""Jobs for the product engine, what they must write and when, and the comparison with its RTL."""

import itertools
from dataclasses import dataclass

import numpy as np
from amaranth.lib import wiring

from hdl.cae.product_engine import ProductEngine
from sim.config import CaeConfig
from sim.golden.numbers import fp32_to_bf16
from sim.golden.product import goes_on, keeps, product
from sim.program.counters import PRODUCT_COUNTERS
from sim.program.instructions import CAE_INSTRUCTION, CaeOpcode, ProductKind, ProductPart
from sim.timing.cae.job import JobTiming
from sim.timing.cae.product import ProductTiming
from sim.timing.stalls import stall_pattern
from sim.timing.streams import next_free, waits_of
from testbenches.build import Design
from testbenches.cae.unit_bench import UnitBench, UnitRun, run_unit
from testbenches.models.exchange import TAIL_CYCLES
from testbenches.nme.traces import random_bits

LEFT_BANKS, RIGHT_BANKS = (0, 1), (2, 3)


@dataclass(frozen=True, kw_only=True)
class Operand:
    """How a matrix lies in a bank."""

    bank: int
    address: int
    pitch: int
    part: int

    def fields(self, name):
        """Return the instruction's fields."""
        return {f"{name}_{field}": getattr(self, field) for field in ("bank", "address", "pitch", "part")}

    def read(self, banks, rows, columns, width):
        """Take the matrix out of its bank, part by part."""
        out = np.zeros((rows, -(-columns // width) * width), np.uint32)
        for first in range(0, columns, width):
            lane = self.part * width + first
            for row in range(rows):
                beats = banks[self.bank]
                beat = self.address + row * self.pitch + lane // beats.shape[1]
                out[row, first : first + width] = beats[beat, lane % beats.shape[1] :][:width]
        return out[:, :columns]


PORTS = (("left", "right"), ("result",), tuple(PRODUCT_COUNTERS))


def design(config: CaeConfig) -> Design:
    """Return the engine with banks, to be compiled once."""
    return Design(UnitBench, config, ProductEngine, *PORTS)


def bare_design(config: CaeConfig, engine: wiring.Component) -> UnitBench:
    """Return an engine with banks, to be simulated as it is."""
    return UnitBench(config, lambda _: engine, *PORTS)


def bank_contents(config: CaeConfig, *, seed: int, special: float = 0.0) -> dict[int, np.ndarray]:
    """Fill the operand banks with fp32 numbers that bf16 holds."""
    rng = np.random.default_rng(seed)
    shape = (config.operand_bank_beats, config.lanes)
    return {
        bank: random_bits(rng, shape, "bf16", special).astype(np.uint32) << 16 for bank in (*LEFT_BANKS, *RIGHT_BANKS)
    }


def job(config: CaeConfig, rng: np.random.Generator, kind: ProductKind, sizes, part=ProductPart.WHOLE) -> dict:
    """Make a job of M, K and N at a random place."""
    m, k, n = sizes
    across, down = kind == ProductKind.XTDY, kind == ProductKind.DYWT
    results = range(config.operand_banks, config.banks)
    stored = {
        "left": (LEFT_BANKS, (k, m) if across else (m, k), config.rows),
        "right": (RIGHT_BANKS, (n, k) if down else (k, n), config.rows if down else config.columns),
        "result": (results, (m, n), config.columns),
    }
    fields = {"opcode": int(CaeOpcode.PRODUCT), "operation": int(kind), "function": int(part)}
    fields |= {"rows": m, "columns": n, "depth": k}
    for name, (banks, (rows, columns), width) in stored.items():
        bank = int(rng.choice(banks))
        first = int(rng.integers(config.lanes // width))
        beats = -(-(first + -(-columns // width)) // (config.lanes // width))
        free = config.bank_beats(bank) - beats
        pitch = int(rng.integers(min(4, free // rows) + 1))
        address = int(rng.integers(free - (rows - 1) * pitch + 1))
        fields |= Operand(bank=bank, address=address, pitch=pitch, part=first).fields(name)
    return fields


def random_jobs(config: CaeConfig, *, seed: int, count: int, max_depth: int, kept: float = 0.3) -> list[dict]:
    """Draw jobs; about so many of them are parts of K, with the rows and columns of the part before."""
    rng = np.random.default_rng(seed)
    jobs, under_way = [], None
    for _ in range(count):
        m, k, n = (int(rng.integers(1, most + 1)) for most in (config.accumulator_rows, max_depth, config.columns))
        part = ProductPart.WHOLE
        if rng.random() < kept:
            part = ProductPart(rng.choice([ProductPart.MIDDLE, ProductPart.LAST])) if under_way else ProductPart.FIRST
            m, n = under_way if goes_on(part) else (m, n)
        under_way = (m, n) if keeps(part) else None
        jobs.append(job(config, rng, ProductKind(rng.integers(1, 4)), (m, k, n), part))
    return jobs


def tiled_product(config: CaeConfig, kind: ProductKind, sizes) -> list[dict]:
    """Make the jobs of a whole product whose operands lie without gaps: tiles of rows by turns of columns.

    Tiles have whole groups of as many rows as the array has, as even as can be; so a turned operand loses no cycle.
    """
    m, k, n = sizes
    lanes, groups = config.lanes, -(-m // config.rows)
    pieces = -(-m // (config.accumulator_rows // config.rows * config.rows))
    bounds = [min(m, groups * piece // pieces * config.rows) for piece in range(pieces + 1)]
    pitch = {name: -(-width // lanes) for name, width in (("m", m), ("k", k), ("n", n))}
    jobs = []
    for column in range(0, n, config.columns):
        for first, end in itertools.pairwise(bounds):
            fields = {"operation": int(kind), "function": 0, "rows": end - first, "depth": k}
            fields |= {"opcode": int(CaeOpcode.PRODUCT), "columns": min(config.columns, n - column)}
            if kind == ProductKind.XTDY:
                left = Operand(bank=0, address=first // lanes, part=first % lanes // config.rows, pitch=pitch["m"])
            else:
                left = Operand(bank=0, address=first * pitch["k"], part=0, pitch=pitch["k"])
            if kind == ProductKind.DYWT:
                right = Operand(bank=2, address=column * pitch["k"], part=0, pitch=pitch["k"])
            else:
                part = column % lanes // config.columns
                right = Operand(bank=2, address=column // lanes, part=part, pitch=pitch["n"])
            place = first * pitch["n"] + column // lanes
            part = column % lanes // config.columns
            result = Operand(bank=config.operand_banks, address=place, part=part, pitch=pitch["n"])
            jobs.append(fields | left.fields("left") | right.fields("right") | result.fields("result"))
    return jobs


def timed(config: CaeConfig, jobs: list[dict]) -> list[JobTiming]:
    """Time jobs that are all offered from cycle 0 on."""
    timing = ProductTiming(config)
    return [timing.start(0, fields) for fields in jobs]


def encoded(jobs: list[dict]) -> np.ndarray:
    """Encode the instructions, with rubbish in all fields that a PRODUCT has no use for."""
    rng = np.random.default_rng(0)
    used = jobs[0].keys()
    rubbish = {
        field.name: rng.integers(0, 1 << min(32, field.bits), len(jobs))
        for field in CAE_INSTRUCTION.fields
        if field.name and field.name not in used
    }
    return CAE_INSTRUCTION.encode(len(jobs), rubbish | {name: [fields[name] for fields in jobs] for name in used})


def expected_writes(config: CaeConfig, jobs: list[dict], contents) -> dict[str, np.ndarray]:
    """Run the jobs one after the other on the golden product."""
    banks = {bank: fp32_to_bf16(words) for bank, words in contents.items()}
    out = {name: [np.zeros(0, np.int64)] for name in ("bank", "address", "parts")}
    data, kept = [np.zeros((0, config.columns), np.uint32)], None
    for fields in jobs:
        m, k, n, kind = (fields[name] for name in ("rows", "depth", "columns", "operation"))
        left, right, result = (
            Operand(**{field: fields[f"{name}_{field}"] for field in ("bank", "address", "pitch", "part")})
            for name in ("left", "right", "result")
        )
        across, down = kind == ProductKind.XTDY, kind == ProductKind.DYWT
        x = left.read(banks, *((k, m) if across else (m, k)), config.rows)
        w = right.read(banks, *((n, k) if down else (k, n)), config.rows if down else config.columns)
        x, w = (matrix.T if turned else matrix for matrix, turned in ((x, across), (w, down)))
        x, w = (np.ascontiguousarray(matrix.astype(np.uint16)) for matrix in (x, w))
        kept = product(x, w, kept if goes_on(fields["function"]) else None)
        if keeps(fields["function"]):
            continue
        rows = np.zeros((m, config.columns), np.uint32)
        rows[:, :n] = kept
        out["bank"].append(np.full(m, result.bank))
        out["address"].append(result.address + result.pitch * np.arange(m))
        out["parts"].append(np.full(m, 1 << result.part))
        data.append(rows)
    return {name: np.concatenate(values) for name, values in out.items()} | {"data": np.concatenate(data)}


def difference(
    config: CaeConfig, jobs: list[dict], contents, *, stalls="none", backend="trace", unit=None
) -> str | None:
    """Run jobs on the RTL; return where it differs from the models first, if it does."""
    stalled = stall_pattern(stalls, seed=3)
    want = expected_writes(config, jobs, contents)
    made = design(config) if unit is None else unit
    due = {"result": len(want["bank"])}
    got = run_unit(made, config, encoded(jobs), contents, due, stalled=stalled, backend=backend)
    waits, timing = waits_of(stalled), ProductTiming(config)
    offered, cycles = max(next_free(waits, 0), got.loads), []
    for fields in jobs:
        cycles.append(timing.start(offered, fields))
        offered = next_free(waits, cycles[-1].started + 1)
    return (
        _report_difference(config, jobs, cycles, got)
        or _write_difference(config, jobs, cycles, want, got.writes["result"])
        or _counter_difference(timing, cycles[-1].done, got.counters)
    )


def _report_difference(config: CaeConfig, jobs: list[dict], cycles: list[JobTiming], got: UnitRun) -> str | None:
    for name in JobTiming._fields:
        due, seen = np.array([getattr(job_cycles, name) for job_cycles in cycles]), getattr(got, name)
        if (due != seen).any():
            first = int((due != seen).argmax())
            return f"job {first} {jobs[first]}: {name} in {seen[first]}, the model says {due[first]}"
    slots = np.arange(len(jobs)) % config.window_instructions
    if any((told != slots).any() for told in got.slots.values()) or got.codes.any():
        return "a report names the wrong slot or code"
    return None


def _write_difference(config: CaeConfig, jobs: list[dict], cycles: list[JobTiming], want, writes) -> str | None:
    for name in ("bank", "address", "parts"):
        if (writes[name] != want[name]).any():
            return f"write {int((writes[name] != want[name]).argmax())}: wrong {name}"
    part = np.log2(want["parts"]).astype(np.int64)
    lanes = part[:, None] * config.columns + np.arange(config.columns)
    wrong = (np.take_along_axis(writes["data"], lanes, 1) != want["data"]).any(1)
    if wrong.any():
        return f"write {int(wrong.argmax())}: wrong data"
    handed = [(job, at) for job, at in zip(jobs, cycles, strict=True) if not keeps(job["function"])]
    due = [at.done - job["rows"] + row for job, at in handed for row in range(job["rows"])]
    if (writes["cycle"] != np.array(due, np.int64)).any():
        return "a write came in another cycle"
    return None


def _counter_difference(timing: ProductTiming, last: int, got: dict[str, int]) -> str | None:
    total = sum(got.values())
    if total != last + 1 + TAIL_CYCLES:
        return f"the counters add up to {total} of {last + 1 + TAIL_CYCLES} cycles"
    if (due := timing.counters(total)) != got:
        return f"counters: {got}, the model says {due}"
    return None
