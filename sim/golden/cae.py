"""Golden model of the Centralized Acceleration Engine: what its instructions leave in banks and memory, bit for bit."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sim.config import CaeConfig
from sim.golden.merge import judge_source, merge
from sim.golden.numbers import bf16_to_fp32, fp32_to_bf16
from sim.golden.product import goes_on, keeps, product
from sim.golden.vector import vector_operation
from sim.program.cae_check import check_instructions, rows_of
from sim.program.instructions import (
    CAE_INSTRUCTION,
    CAE_STATUS,
    CaeCode,
    CaeOpcode,
    ElementType,
    ProductKind,
    RightOperand,
    VectorReduction,
    memory_request,
    partial_beat,
)

Instruction = Mapping[str, int]

MOST_MEMORY_BYTES = 1 << 33
"""Memory that the model keeps."""


@dataclass(frozen=True, kw_only=True)
class CaeResult:
    """What the engine did.

    Attributes
    ----------
    status : ndarray of uint8, shape [n_instructions, CAE_STATUS.bytes]
        One status for each instruction.
    requests : ndarray of uint8, shape [n_requests, memory_request(lanes).bytes]
        Requests to the memory, in order.
    memory : ndarray of uint16, shape [beats, lanes]
        The memory afterwards.
    banks : list of ndarray of uint32, shape [beats, lanes]
        The banks afterwards, as fp32.
    partials_taken : list of int
        Beats taken from each port.
    """

    status: NDArray[np.uint8]
    requests: NDArray[np.uint8]
    memory: NDArray[np.uint16]
    banks: list[NDArray[np.uint32]]
    partials_taken: list[int]


def run_instructions(
    instructions: NDArray[np.uint8],
    config: CaeConfig,
    memory: NDArray[np.uint16],
    partials: Sequence[NDArray[np.uint8]] = (),
) -> CaeResult:
    """Run instructions one after the other; all banks are 0 at first.

    Parameters
    ----------
    instructions : ndarray of uint8, shape [n_instructions, CAE_INSTRUCTION.bytes]
        The program.
    config : CaeConfig
        The engine.
    memory : ndarray of uint16, shape [beats, lanes]
        The first beats of the memory; those beyond are 0. It is not changed.
    partials : sequence of ndarray of uint8, shape [n_beats, partial_beat(lanes).bytes]
        What comes on each port: source after source of a MERGE, by rising number.

    Returns
    -------
    CaeResult
        All that can be seen.

    Raises
    ------
    ValueError
        The program uses more memory than the model keeps, or a source ran out of partial sums before the beat that
        ends them: the engine would wait for ever.
    """
    decoded = rows_of(CAE_INSTRUCTION.decode(instructions))
    codes = check_instructions(decoded, config).tolist()
    machine = _Machine(config, memory, partials)
    for number, instruction in enumerate(decoded):
        if codes[number] == CaeCode.OK:
            codes[number] = machine.step(instruction)
    status = {name: [instruction[name] for instruction in decoded] for name in ("tag", "opcode")}
    layout = memory_request(config.lanes)
    requests = [np.zeros((0, layout.bytes), np.uint8), *machine.requests]
    return CaeResult(
        status=CAE_STATUS.encode(len(codes), {**status, "code": codes}),
        requests=np.concatenate(requests),
        memory=machine.memory[: machine.memory_end],
        banks=machine.banks,
        partials_taken=machine.taken,
    )


def beats(elements: int, lanes: int) -> int:
    """Return the beats of so many elements.

    Parameters
    ----------
    elements : int
        How many.
    lanes : int
        Elements in a beat.

    Returns
    -------
    int
        Beats, the last perhaps not full.
    """
    return -(-elements // lanes)


@dataclass
class _Machine:
    """Banks, memory and kept sums, changed by one instruction after the other."""

    config: CaeConfig
    given: NDArray[np.uint16]
    partials: Sequence[NDArray[np.uint8]]
    kept: NDArray[np.uint32] = field(default_factory=lambda: np.zeros((0, 0), np.uint32))
    requests: list[NDArray[np.uint8]] = field(default_factory=list)

    def __post_init__(self) -> None:
        lanes = self.config.lanes
        self.memory, self.memory_end = self.given.copy(), len(self.given)
        self.banks = [np.zeros((self.config.bank_beats(b), lanes), np.uint32) for b in range(self.config.banks)]
        nothing = partial_beat(lanes).encode(0, {})
        self.partials = self.partials or [nothing] * self.config.merge_ports
        self.taken = [0] * len(self.partials)

    def step(self, one: Instruction) -> int:
        """Run an instruction that was judged good."""
        match one["opcode"]:
            case CaeOpcode.LOAD:
                self._load(one)
            case CaeOpcode.STORE:
                self._store(one)
            case CaeOpcode.PRODUCT:
                self._product(one)
            case CaeOpcode.MERGE:
                return self._merge(one)
            case CaeOpcode.VECTOR:
                self._vector(one)
        return int(CaeCode.OK)

    def _rows(self, one: Instruction, operand: str, rows: int, row_beats: int) -> NDArray[np.int64]:
        """Return the addresses of an operand's beats, shape [rows, row_beats]."""
        first = one[f"{operand}_address"] + one[f"{operand}_pitch"] * np.arange(rows)
        return first[:, None] + np.arange(row_beats)

    def _read(self, one: Instruction, operand: str, rows: int, row_beats: int) -> NDArray[np.uint32]:
        """Read an operand, shape [rows, row_beats * lanes]."""
        return self.banks[one[f"{operand}_bank"]][self._rows(one, operand, rows, row_beats)].reshape(rows, -1)

    def _write(self, one: Instruction, values: NDArray[np.uint32], *, first_lane: int = 0) -> None:
        """Write rows of results beat by beat; rows may overlap, the later one counts."""
        bank, lanes = one["result_bank"], self.config.lanes
        if bank < self.config.operand_banks:
            values = bf16_to_fp32(fp32_to_bf16(values))
        rows, width = values.shape
        addresses = self._rows(one, "result", rows, beats(width, lanes))
        if width < lanes:
            self.banks[bank][addresses[:, 0], first_lane : first_lane + width] = values
            return
        self.banks[bank][addresses] = values.reshape(*addresses.shape, lanes)

    def _padded(self, values: NDArray[np.uint32]) -> NDArray[np.uint32]:
        """Fill the last beat of each row with +0."""
        padding = -values.shape[1] % self.config.lanes
        return np.pad(values, ((0, 0), (0, padding)))

    def _memory_rows(self, one: Instruction) -> NDArray[np.int64]:
        """Return the addresses in memory, shape [rows, memory beats of a row]."""
        row_beats = beats(one["columns"], self.config.lanes) * (2 if one["operation"] == ElementType.FP32 else 1)
        first = one["memory_address"] + one["memory_pitch"] * np.arange(one["rows"], dtype=np.int64)
        addresses: NDArray[np.int64] = first[:, None] + np.arange(row_beats)
        end = int(addresses.max()) + 1
        if 2 * end * self.config.lanes > MOST_MEMORY_BYTES:
            raise ValueError(
                f"the program uses beat {end - 1} of the memory; here all beats from 0 on are kept, up to "
                f"{MOST_MEMORY_BYTES // (2 * self.config.lanes)}: use lower addresses"
            )
        if end > len(self.memory):  # half as much again, so that a row of stores does not copy it each time
            self.memory = np.pad(self.memory, ((0, end + end // 2 - len(self.memory)), (0, 0)))
        self.memory_end = max(self.memory_end, end)
        return addresses

    def _load(self, one: Instruction) -> None:
        addresses = self._memory_rows(one)
        self._request(addresses, write=0, data=0)
        words = self.memory[addresses]
        if one["operation"] == ElementType.BF16:
            values = bf16_to_fp32(words)
        else:
            values = np.ascontiguousarray(words).reshape(one["rows"], -1).view(np.uint32)
        self._write(one, self._padded(values.reshape(one["rows"], -1)[:, : one["columns"]]))

    def _store(self, one: Instruction) -> None:
        row_beats = beats(one["columns"], self.config.lanes)
        values = self._read(one, "left", one["rows"], row_beats)
        values[:, one["columns"] :] = 0
        words = fp32_to_bf16(values) if one["operation"] == ElementType.BF16 else values.view(np.uint16)
        addresses = self._memory_rows(one)
        data = words.reshape(*addresses.shape, self.config.lanes)
        self._request(addresses, write=1, data=data.reshape(-1, self.config.lanes))
        self.memory[addresses] = data

    def _request(self, addresses: NDArray[np.int64], *, write: int, data: ArrayLike) -> None:
        layout = memory_request(self.config.lanes)
        values: dict[str, ArrayLike] = {"address": addresses.ravel(), "write": write, "data": data}
        self.requests.append(layout.encode(addresses.size, values))

    def _parts(self, one: Instruction, operand: str, rows: int, elements: int, width: int) -> NDArray[np.uint32]:
        """Read rows of so many elements that begin at a part of a beat."""
        skipped = one[f"{operand}_part"] * width
        found = self._read(one, operand, rows, beats(skipped + elements, self.config.lanes))
        return found[:, skipped : skipped + elements]

    def _product(self, one: Instruction) -> None:
        config, (m, k, n) = self.config, (one["rows"], one["depth"], one["columns"])
        kind, part = one["operation"], one["function"]
        if kind == ProductKind.XTDY:
            left = self._parts(one, "left", k, m, config.rows).T
        else:
            left = self._parts(one, "left", m, k, config.rows)
        if kind == ProductKind.DYWT:
            right = self._parts(one, "right", n, k, config.rows).T
        else:
            right = self._parts(one, "right", k, n, config.columns)
        sums = self.kept if goes_on(part) else np.zeros((m, config.columns), np.uint32)
        x, w = (np.ascontiguousarray(fp32_to_bf16(operand)) for operand in (left, right))
        self.kept = np.pad(product(x, w, sums[:, :n]), ((0, 0), (0, config.columns - n)))
        if not keeps(part):
            self._write(one, self.kept, first_lane=one["result_part"] * config.columns)

    def _merge(self, one: Instruction) -> int:
        rows, row_beats = one["rows"], beats(one["columns"], self.config.lanes)
        judged = []
        for number in range(self.config.merge_sources):
            if one["depth"] >> number & 1:
                port = self.config.merge_port(number)
                source = judge_source(self.partials[port], self.taken[port], rows, row_beats, self.config.lanes)
                self.taken[port] += source.count
                judged.append(source)
        return int(
            merge(
                self.banks[one["result_bank"]],
                judged,
                rows=rows,
                columns=one["columns"],
                address=one["result_address"],
                pitch=one["result_pitch"],
                rounds=one["result_bank"] < self.config.operand_banks,
            )
        )

    def _vector(self, one: Instruction) -> None:
        lanes, rows = self.config.lanes, one["rows"]
        row_beats = beats(one["columns"], lanes)
        right_rows, right_beats = {
            RightOperand.FULL: (rows, row_beats),
            RightOperand.BY_ROW: (rows, 1),
            RightOperand.BY_COLUMN: (1, row_beats),
        }.get(RightOperand(one["right_operand"]), (0, 0))
        right = self._read(one, "right", right_rows, right_beats) if right_rows else None
        result = vector_operation(one, self._read(one, "left", rows, row_beats), right, lanes)
        if one["reduction"] == VectorReduction.COLUMN_SUM:
            result = result.reshape(1, -1)
        self._write(one, result)
