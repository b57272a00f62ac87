"""Front of the Centralized Acceleration Engine's sequencer: what is refused, and what all else needs."""

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import ceil_log2

from hdl.layout import struct_layout
from sim.config import CaeConfig
from sim.program.cae_check import KEEPS, MAX_DEPTH, READ_RIGHT, STARTS_FROM_KEPT
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
)

JUDGE_CYCLES = 4
"""Cycles from the one that takes an instruction to the first that offers its verdict; then the next can be taken."""

OPERANDS = ("left", "right", "result")


def units_of(config: CaeConfig) -> tuple[str, ...]:
    """Return the names of an engine's units.

    Parameters
    ----------
    config : CaeConfig
        The engine.

    Returns
    -------
    tuple of str
        ``transfer``, ``product``, ``merge``, ``vector_0`` and so on.
    """
    return ("transfer", "product", "merge", *(f"vector_{i}" for i in range(config.vector_units)))


def verdict_layout(config: CaeConfig) -> data.StructLayout:
    """Return what is known of an instruction that was judged.

    Parameters
    ----------
    config : CaeConfig
        The engine.

    Returns
    -------
    data.StructLayout
        ``instruction``; ``code``; ``unit``, ``left``, ``right`` and ``result``: the unit that runs it and the banks it
        needs, as masks of at most one bit, empty where it needs none. A refused instruction needs nothing.
    """
    return data.StructLayout(
        {
            "instruction": struct_layout(CAE_INSTRUCTION),
            "code": 8,
            "unit": len(units_of(config)),
            **dict.fromkeys(OPERANDS, config.banks),
        }
    )


class Judge(wiring.Component):
    """Judges one instruction at a time, and keeps in mind which sums the products leave in the accumulator memory.

    Parameters
    ----------
    config : CaeConfig
        The engine.

    Attributes
    ----------
    instruction : In(stream of `CAE_INSTRUCTION`)
        Taken while none is being judged, or in the cycle in which a verdict is handed over.
    verdict : Out(stream of `verdict_layout`)
        Offered from `JUDGE_CYCLES` cycles after its instruction was taken.
    """

    def __init__(self, config: CaeConfig) -> None:
        self._config = config
        super().__init__(
            {
                "instruction": In(stream.Signature(struct_layout(CAE_INSTRUCTION))),
                "verdict": Out(stream.Signature(verdict_layout(config))),
            }
        )

    def elaborate(self, _platform: object) -> Module:
        """Build the steps: the instruction, its shapes, its ends, the comparisons."""
        m = Module()
        held = Signal(struct_layout(CAE_INSTRUCTION), reset_less=True)
        step = Signal(range(JUDGE_CYCLES + 1))
        verdict = self.verdict.payload
        m.d.comb += [
            self.verdict.valid.eq(step == JUDGE_CYCLES),
            self.instruction.ready.eq((step == 0) | (self.verdict.valid & self.verdict.ready)),
            verdict.instruction.eq(held),
        ]
        with m.If(self.instruction.ready):
            m.d.sync += [step.eq(self.instruction.valid), held.eq(self.instruction.payload)]
        with m.Elif(~self.verdict.valid):
            m.d.sync += step.eq(step + 1)

        isa = {opcode: self._is(m, held.opcode == opcode, f"is_{opcode.name.lower()}") for opcode in CaeOpcode}
        has = {
            "left": isa[CaeOpcode.STORE] | isa[CaeOpcode.PRODUCT] | isa[CaeOpcode.VECTOR],
            "right": isa[CaeOpcode.PRODUCT] | (isa[CaeOpcode.VECTOR] & _any_of(held.right_operand, READ_RIGHT)),
            "result": isa[CaeOpcode.LOAD] | isa[CaeOpcode.MERGE] | isa[CaeOpcode.PRODUCT] | isa[CaeOpcode.VECTOR],
        }
        has = {name: self._is(m, value, f"has_{name}") for name, value in has.items()}
        code = self._code(m, held, isa, has)
        good = code == CaeCode.OK
        runs = {
            "transfer": isa[CaeOpcode.LOAD] | isa[CaeOpcode.STORE],
            "product": isa[CaeOpcode.PRODUCT],
            "merge": isa[CaeOpcode.MERGE],
            **{f"vector_{i}": isa[CaeOpcode.VECTOR] & (held.unit == i) for i in range(self._config.vector_units)},
        }
        m.d.comb += [
            verdict.code.eq(code),
            verdict.unit.eq(Cat(runs[name] & good for name in units_of(self._config))),
            *(
                verdict[name].eq(Mux(has[name] & good, 1 << held[f"{name}_bank"][: ceil_log2(self._config.banks)], 0))
                for name in OPERANDS
            ),
        ]
        return m

    @staticmethod
    def _is(m: Module, value: Value, name: str) -> Signal:
        signal = Signal(name=name)
        m.d.comb += signal.eq(value)
        return signal

    def _code(self, m: Module, held: data.View, isa: dict[CaeOpcode, Signal], has: dict[str, Signal]) -> Value:
        """Return the first reason to refuse, or OK."""
        config = self._config
        product, vector, merge = isa[CaeOpcode.PRODUCT], isa[CaeOpcode.VECTOR], isa[CaeOpcode.MERGE]
        transfer = isa[CaeOpcode.LOAD] | isa[CaeOpcode.STORE]
        works = Cat(value for opcode, value in isa.items() if opcode != CaeOpcode.SYNCHRONISE).any()
        kept_rows, kept_columns = Signal(16), Signal(range(config.columns + 1))
        continues = product & _any_of(held.function, STARTS_FROM_KEPT)
        beyond, beyond_memory, apart = self._shapes(m, held, isa, has)
        code = Signal(8)
        m.d.comb += code.eq(CaeCode.OK)
        for reason, refused in (
            (CaeCode.BAD_MEMORY, transfer & beyond_memory),
            (CaeCode.BAD_ADDRESS, beyond),
            (CaeCode.BAD_BANK, self._bad_bank(m, held, isa, has, apart)),
            (
                CaeCode.BAD_DEPTH,
                (product & ((held.depth == 0) | (held.depth > MAX_DEPTH)))
                | (merge & ((held.depth == 0) | held.depth[config.merge_sources :].any())),
            ),
            (
                CaeCode.BAD_COLUMNS,
                (works & (held.columns == 0))
                | (product & (held.columns > config.columns))
                | (continues & (held.columns != kept_columns)),
            ),
            (
                CaeCode.BAD_ROWS,
                (works & (held.rows == 0))
                | (product & (held.rows > config.accumulator_rows))
                | (continues & (held.rows != kept_rows)),
            ),
            (
                CaeCode.BAD_OPERATION,
                (transfer & ~_any_of(held.operation, ElementType))
                | (product & ~(_any_of(held.operation, ProductKind) & _any_of(held.function, ProductPart)))
                | (vector & self._bad_vector(held)),
            ),
            (CaeCode.BAD_OPCODE, ~Cat(isa.values()).any()),
        ):
            with m.If(refused):
                m.d.comb += code.eq(reason)
        with m.If(self.verdict.valid & self.verdict.ready & product & (code == CaeCode.OK)):
            keeps = _any_of(held.function, KEEPS)
            m.d.sync += [kept_rows.eq(Mux(keeps, held.rows, 0)), kept_columns.eq(held.columns)]
        return code

    def _bad_vector(self, held: data.View) -> Value:
        wants = _any_of(held.operation, NEEDS_RIGHT)
        known = _any_of(held.operation, VectorOperation) & _any_of(held.function, VectorFunction)
        known &= _any_of(held.reduction, VectorReduction) & _any_of(held.right_operand, RightOperand)
        known &= held.unit < self._config.vector_units
        return ~known | (wants == (held.right_operand == RightOperand.NONE))

    def _bad_bank(
        self, m: Module, held: data.View, isa: dict[CaeOpcode, Signal], has: dict[str, Signal], apart: Value
    ) -> Value:
        config = self._config
        product, vector = isa[CaeOpcode.PRODUCT], isa[CaeOpcode.VECTOR]
        left, right, result = (held[f"{name}_bank"] for name in OPERANDS)
        missing = Cat(has[name] & (held[f"{name}_bank"] >= config.banks) for name in OPERANDS).any()
        of_fp32 = product & ((left >= config.operand_banks) | (right >= config.operand_banks))
        in_place = {
            name: apart
            & (held.reduction == VectorReduction.NONE)
            & (held.result_address == held[f"{name}_address"])
            & (held.result_pitch == held[f"{name}_pitch"])
            for name in ("left", "right")
        }
        over_left = (result == left) & (product | (vector & ~in_place["left"]))
        in_right = in_place["right"] & (held.right_operand == RightOperand.FULL)
        over_right = has["right"] & (result == right) & (product | (vector & ~in_right))
        return self._is(m, missing | of_fp32 | (has["right"] & (left == right)) | over_left | over_right, "bad_bank")

    def _shapes(
        self, m: Module, held: data.View, isa: dict[CaeOpcode, Signal], has: dict[str, Signal]
    ) -> tuple[Value, Value, Value]:
        """Return whether an operand goes beyond its bank, a transfer beyond the memory; whether rows lie apart."""
        config = self._config
        product, vector = isa[CaeOpcode.PRODUCT], isa[CaeOpcode.VECTOR]
        kind, rows, columns, depth = held.operation, held.rows, held.columns, held.depth[:16]
        by_row = vector & (held.right_operand == RightOperand.BY_ROW)
        by_column = vector & (held.right_operand == RightOperand.BY_COLUMN)
        to_column = vector & _any_of(held.reduction, (VectorReduction.ROW_SUM, VectorReduction.ROW_MAXIMUM))
        to_row = vector & (held.reduction == VectorReduction.COLUMN_SUM)
        xtdy, dywt = product & (kind == ProductKind.XTDY), product & (kind == ProductKind.DYWT)
        shapes = {
            "left": (Mux(xtdy, depth, rows), Mux(product & ~xtdy, depth, Mux(xtdy, rows, columns)), config.rows),
            "right": (
                Mux(by_column, 1, Mux(product, Mux(dywt, columns, depth), rows)),
                Mux(by_row, 1, Mux(dywt, depth, columns)),
                Mux(dywt, config.rows, config.columns),
            ),
            "result": (Mux(to_row, 1, rows), Mux(to_column, 1, columns), config.columns),
        }
        beyond = []
        for name, (count, elements, part) in shapes.items():
            skipped, behind = Signal(17, name=f"{name}_skipped"), Signal(18, name=f"{name}_behind")
            before = (held[f"{name}_part"] * part)[:16]
            m.d.sync += [skipped.eq(Mux(product, before + part, 0)), behind.eq(Mux(product, before, 0) + elements)]
            last_row = Signal(16, name=f"{name}_last_row")
            m.d.sync += last_row.eq(count - 1)
            way, beats = Signal(32, name=f"{name}_way"), Signal(18, name=f"{name}_beats")
            m.d.sync += [way.eq(last_row * held[f"{name}_pitch"]), beats.eq(beats_of(behind, config.lanes))]
            of_operand = held[f"{name}_bank"] < config.operand_banks
            capacity = Mux(of_operand, config.operand_bank_beats, config.vector_bank_beats)
            ends = held[f"{name}_address"] + way + beats
            too_far = Signal(name=f"{name}_too_far")
            m.d.sync += too_far.eq((ends > capacity) | (skipped > config.lanes))
            beyond.append(too_far & has[name])
        last_row, behind = Signal(16, name="memory_last_row"), Signal(18, name="memory_behind")
        way, beats = Signal(48, name="memory_way"), Signal(19, name="memory_beats")
        too_far = Signal(name="memory_too_far")
        count = beats_of(behind, config.lanes)
        m.d.sync += [
            last_row.eq(rows - 1),
            behind.eq(columns),
            way.eq(last_row * held.memory_pitch),
            beats.eq(Mux(kind == ElementType.FP32, count << 1, count)),
            too_far.eq(held.memory_address + way + beats > config.memory_beats),
        ]
        apart = Signal()
        m.d.sync += apart.eq((rows == 1) | (held.result_pitch >= count))
        return Cat(beyond).any(), too_far, apart


def beats_of(elements: Value, lanes: int) -> Value:
    """Divide by the lanes of a beat, rounding up, without a divider.

    Parameters
    ----------
    elements : Value
        18 bits.
    lanes : int
        Lanes.

    Returns
    -------
    Value
        Beats that hold so many elements, for elements up to 2^18 - lanes.
    """
    if lanes & (lanes - 1) == 0:
        return (elements + (lanes - 1)) >> ceil_log2(lanes)
    # With 2^s / lanes rounded up, the error is below lanes / 2^s, which 18 bits of elements do not make a whole one.
    shift = 18 + ceil_log2(lanes)
    return ((elements + (lanes - 1)) * Const(-(-(1 << shift) // lanes))) >> shift


def _any_of(value: Value, numbers: object) -> Value:
    return Cat(value == int(number) for number in numbers).any()
