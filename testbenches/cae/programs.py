"""Programs of the Centralized Acceleration Engine for tests: drawn at random, good and bad instructions mixed."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sim.config import CaeConfig, load_config
from sim.program.cae_check import check_instructions, rows_of
from sim.program.instructions import (
    CAE_INSTRUCTION,
    NEEDS_RIGHT,
    CaeCode,
    CaeOpcode,
    ElementType,
    ProductKind,
    ProductPart,
    RightOperand,
    VectorFunction,
    VectorOperation,
    VectorReduction,
    partial_beat,
)

FIELDS = {field.name: field.bits for field in CAE_INSTRUCTION.fields if field.name}
OPCODES = tuple(CaeOpcode)


def small_engine(**changes: int) -> CaeConfig:
    """Return an engine small enough that programs meet all its ends."""
    sizes = {
        "vector_units": 2, "operand_bank_beats": 64, "vector_bank_beats": 48, "memory_beats": 512, "merge_sources": 3,
        "merge_ports": 2, "window_instructions": 6, "accumulator_rows": 16, "operand_banks": 4, "vector_banks": 4,
        "rows": 4, "columns": 4, "mul_latency": 1, "add_latency": 3, "vector_mul_latency": 2,
    }  # fmt: skip
    return load_config("tiny").cae.replace(**(sizes | changes))


@dataclass(frozen=True, kw_only=True)
class Program:
    """What a run of the engine needs.

    Attributes
    ----------
    instructions : ndarray of uint8, shape [n, CAE_INSTRUCTION.bytes]
        Instructions.
    memory : ndarray of uint16, shape [beats, lanes]
        The memory at first.
    partials : list of ndarray of uint8
        What each source of MERGE sends.
    """

    instructions: NDArray[np.uint8]
    memory: NDArray[np.uint16]
    partials: list[NDArray[np.uint8]]


def encode(instructions: Sequence[Mapping[str, int]]) -> NDArray[np.uint8]:
    """Encode instructions; fields that are missing are 0, tags count."""
    full = [{"tag": i % 65536} | dict(instruction) for i, instruction in enumerate(instructions)]
    values = {name: np.array([one.get(name, 0) for one in full], np.uint64) for name in FIELDS}
    return CAE_INSTRUCTION.encode(len(full), values)


def program_of(
    instructions: Sequence[Mapping[str, int]], config: CaeConfig, seed: int = 0, *, spoiled: float = 0.0
) -> Program:
    """Make a program of instructions: memory and partial sums are drawn.

    Parameters
    ----------
    instructions : sequence of mapping of str to int
        Fields.
    config : CaeConfig
        The engine.
    seed : int
        Any number.
    spoiled : float
        Share of the partial sums' vectors that are not what is expected.

    Returns
    -------
    Program
        The program.
    """
    rng = np.random.default_rng(seed)
    encoded = encode(instructions)
    decoded = rows_of(CAE_INSTRUCTION.decode(encoded))
    sent: list[list[dict[str, object]]] = [[] for _ in range(config.merge_ports)]
    for code, one in zip(check_instructions(decoded, config).tolist(), decoded, strict=True):
        if code == CaeCode.OK and one["opcode"] == CaeOpcode.MERGE:
            for source in range(config.merge_sources):
                if one["depth"] >> source & 1:
                    sent[config.merge_port(source)] += _vectors(rng, one, config.lanes, spoiled)
    layout = partial_beat(config.lanes)
    partials = []
    for beats in sent:
        values = {
            name: np.array([beat[name] for beat in beats], np.uint64) for name in ("index", "first", "last", "end")
        }
        words = _numbers(rng, (len(beats), config.lanes))
        partials.append(layout.encode(len(beats), {**values, "data": words}))
    memory = (_numbers(rng, (config.memory_beats, config.lanes)) >> np.uint32(16)).astype(np.uint16)
    return Program(instructions=encoded, memory=memory, partials=partials)


def _numbers(rng: np.random.Generator, shape: tuple[int, int]) -> NDArray[np.uint32]:
    """Draw fp32 numbers: most of them near 1, some zeros, some of any bits."""
    plain = rng.standard_normal(shape).astype(np.float32).view(np.uint32)
    zeros = rng.integers(0, 2, shape, np.uint32) << np.uint32(31)
    wild = rng.integers(0, 1 << 32, shape, np.uint32)
    kind = rng.random(shape)
    return np.where(kind < 0.85, plain, np.where(kind < 0.93, zeros, wild))


def _vectors(rng: np.random.Generator, one: Mapping[str, int], lanes: int, spoiled: float) -> list[dict[str, object]]:
    """Draw what a source sends for one MERGE."""
    beats = -(-one["columns"] // lanes)
    sent: list[dict[str, object]] = []
    for slot in np.flatnonzero(rng.random(one["rows"]) < rng.choice([0.1, 0.6, 1.0])):
        vector = [
            {"index": int(slot), "first": int(b == 0), "last": int(b == beats - 1), "end": 0} for b in range(beats)
        ]
        if rng.random() < spoiled:
            beat = vector[rng.integers(beats)]
            match rng.integers(5):
                case 0:
                    beat["index"] = int(rng.integers(0, one["rows"] + 3))
                case 1:
                    beat["first"] = 1 - beat["first"]
                case 2:
                    beat["last"] = 1 - beat["last"]
                case 3:
                    vector.remove(beat)
                case _:
                    vector.append(dict(beat))
        sent += vector
    return [*sent, {"index": int(rng.integers(1 << 16)), "first": 1, "last": 0, "end": 1}]


@dataclass
class _Drawer:
    rng: np.random.Generator
    config: CaeConfig
    most_rows: int
    kept: tuple[int, int] = (0, 0)

    def draw(self, low: int, high: int) -> int:
        return int(self.rng.integers(low, high + 1))

    def place(self, name: str, bank: int, rows: int, beats: int, *, apart: bool = False) -> dict[str, int]:
        """Place rows of beats somewhere in a bank, mostly dense."""
        size = self.config.bank_beats(bank)
        most = (size - beats) // max(1, rows - 1)
        pitch = beats if self.rng.random() < 0.6 else self.draw(beats if apart else 0, beats + 2)
        pitch = min(pitch, most)
        reach = (rows - 1) * pitch + beats
        address = self.draw(0, size - reach) if self.rng.random() < 0.7 else 0
        return {f"{name}_bank": bank, f"{name}_address": address, f"{name}_pitch": pitch}

    def banks(self, count: int, *, operand: bool = False) -> list[int]:
        of = self.config.operand_banks if operand else self.config.banks
        return [int(b) for b in self.rng.choice(of, count, replace=False)]

    def transfer(self, opcode: CaeOpcode) -> dict[str, int]:
        rows, columns = self.draw(1, self.most_rows), self.draw(1, 3 * self.config.lanes)
        kind = self.draw(1, 2)
        beats = -(-columns // self.config.lanes)
        wide = beats * (2 if kind == ElementType.FP32 else 1)
        pitch = wide if self.rng.random() < 0.5 else self.draw(0, wide + 3)
        address = self.draw(0, self.config.memory_beats - (rows - 1) * pitch - wide)
        name = "result" if opcode == CaeOpcode.LOAD else "left"
        return {
            "operation": kind, "rows": rows, "columns": columns, "memory_address": address, "memory_pitch": pitch,
            **self.place(name, self.draw(0, self.config.banks - 1), rows, beats),
        }  # fmt: skip

    def merge(self) -> dict[str, int]:
        rows, columns = self.draw(1, self.most_rows), self.draw(1, 3 * self.config.lanes)
        bank = self.draw(0, self.config.banks - 1)
        return {
            "rows": rows, "columns": columns, "depth": self.draw(1, (1 << self.config.merge_sources) - 1),
            **self.place("result", bank, rows, -(-columns // self.config.lanes)),
        }  # fmt: skip

    def vector(self) -> dict[str, int]:
        rng, lanes = self.rng, self.config.lanes
        rows, columns = self.draw(1, self.most_rows), self.draw(1, 3 * lanes)
        beats = -(-columns // lanes)
        operation = int(rng.choice(list(VectorOperation)))
        reduction = int(rng.choice(list(VectorReduction))) if rng.random() < 0.6 else 0
        right = self.draw(1, 4) if operation in NEEDS_RIGHT else 0
        left_bank, right_bank, result_bank = self.banks(3)
        fields = {
            "operation": operation, "function": int(rng.choice(list(VectorFunction))), "reduction": reduction,
            "right_operand": right, "unit": self.draw(0, self.config.vector_units - 1), "rows": rows,
            "columns": columns, "alpha": int(_numbers(rng, (1, 1))[0, 0]), "beta": int(_numbers(rng, (1, 1))[0, 0]),
            "depth": self.draw(0, 1 << 31), "key": int(rng.integers(1 << 63)),
            **self.place("left", left_bank, rows, beats, apart=True),
        }  # fmt: skip
        shapes = {RightOperand.FULL: (rows, beats), RightOperand.BY_ROW: (rows, 1), RightOperand.BY_COLUMN: (1, beats)}
        if right in shapes:
            fields |= self.place("right", right_bank, *shapes[RightOperand(right)])
        if reduction == VectorReduction.NONE and rng.random() < 0.3:
            return fields | {f"result_{part}": fields[f"left_{part}"] for part in ("bank", "address", "pitch")}
        shape = {VectorReduction.NONE: (rows, beats), VectorReduction.COLUMN_SUM: (1, beats)}
        return fields | self.place("result", result_bank, *shape.get(VectorReduction(reduction), (rows, 1)))

    def product(self) -> dict[str, int]:
        config, lanes = self.config, self.config.lanes
        high, wide = config.rows, config.columns
        part = ProductPart(int(self.rng.choice(4, p=(0.5, 0.2, 0.15, 0.15))))
        goes_on = part in (ProductPart.LAST, ProductPart.MIDDLE)
        if goes_on and not self.kept[0] and self.rng.random() < 0.9:
            part, goes_on = ProductPart.FIRST, False
        rows, columns = self.draw(1, min(config.accumulator_rows, 2 * self.most_rows)), self.draw(1, wide)
        if goes_on and self.kept[0] and self.rng.random() < 0.9:
            rows, columns = self.kept
        self.kept = (rows, columns) if part in (ProductPart.FIRST, ProductPart.MIDDLE) else (0, 0)
        kind, depth = self.draw(1, 3), self.draw(1, 3 * high)
        left_bank, right_bank = self.banks(2, operand=True)
        result_bank = int(self.rng.choice([b for b in range(config.banks) if b not in (left_bank, right_bank)]))
        fields = {"operation": kind, "function": int(part), "rows": rows, "columns": columns, "depth": depth}
        shapes = {
            "left": (left_bank, depth, rows, high) if kind == ProductKind.XTDY else (left_bank, rows, depth, high),
            "right": (right_bank, columns, depth, high)
            if kind == ProductKind.DYWT
            else (right_bank, depth, columns, wide),
            "result": (result_bank, rows, columns, wide),
        }
        for name, (bank, count, elements, width) in shapes.items():
            place = self.draw(0, lanes // width - 1)
            fields |= {f"{name}_part": place}
            fields |= self.place(name, bank, count, -(-(place * width + elements) // lanes))
        return fields

    def instruction(self, opcode: CaeOpcode) -> dict[str, int]:
        make = {
            CaeOpcode.LOAD: lambda: self.transfer(opcode),
            CaeOpcode.STORE: lambda: self.transfer(opcode),
            CaeOpcode.MERGE: self.merge,
            CaeOpcode.VECTOR: self.vector,
            CaeOpcode.PRODUCT: self.product,
            CaeOpcode.SYNCHRONISE: dict,
        }[opcode]
        return {"opcode": int(opcode), **make()}


def random_program(
    seed: int,
    config: CaeConfig,
    count: int,
    *,
    opcodes: Sequence[CaeOpcode] = OPCODES,
    bad: float = 0.15,
    most_rows: int = 7,
) -> Program:
    """Draw a program; it ends with a STORE of every bank.

    Parameters
    ----------
    seed : int
        Any number.
    config : CaeConfig
        The engine.
    count : int
        Instructions.
    opcodes : sequence of CaeOpcode
        What they may be; SYNCHRONISE is rare.
    bad : float
        Share of the instructions in which one field has another value; most of them are refused.
    most_rows : int
        Most rows of an operand.

    Returns
    -------
    Program
        The program, with what all the memory and the sources hold.
    """
    rng = np.random.default_rng(seed)
    drawer = _Drawer(rng, config, most_rows)
    weights = np.array([0.2 if opcode == CaeOpcode.SYNCHRONISE else 1.0 for opcode in opcodes])
    instructions = []
    for _ in range(count):
        one = drawer.instruction(CaeOpcode(int(rng.choice(list(opcodes), p=weights / weights.sum()))))
        spoiled = _spoil(rng, one) if rng.random() < bad else one
        # Rows that lie on each other may be many: such an instruction is good, but long.
        long = max(spoiled.get("rows", 0), spoiled.get("columns", 0), spoiled.get("depth", 0) & 0xFFFF) > 1000
        refused = check_instructions(rows_of(CAE_INSTRUCTION.decode(encode([spoiled]))), config)[0] != CaeCode.OK
        instructions.append(one if long and not refused else spoiled)
    # What the banks hold at the end is seen only by storing it, all of it over one beat of memory.
    for bank in range(config.banks):
        whole = {"left_bank": bank, "left_pitch": 1, "rows": config.bank_beats(bank), "columns": config.lanes}
        instructions.append({"opcode": CaeOpcode.STORE, "operation": ElementType.FP32} | whole)
    return program_of(instructions, config, seed, spoiled=0.05 if bad else 0.0)


def _spoil(rng: np.random.Generator, one: Mapping[str, int]) -> dict[str, int]:
    """Give one field another value: the least, the most, a little more, or any."""
    name = str(rng.choice([field for field in one if field not in ("tag", "key", "alpha", "beta")]))
    top, value = (1 << FIELDS[name]) - 1, one.get(name, 0)
    choice = (0, top, min(top, value + 1), max(0, value - 1), int(rng.integers(min(top, 1 << 62))), value ^ 1, 40)
    return dict(one) | {name: min(top, choice[rng.integers(len(choice))])}
