"""Vector unit: element by element, then a reduction if wanted."""

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from hdl.cae.ports import bank_read, bank_write, job_layout, report
from hdl.cae.vector.columns import ColumnSum
from hdl.cae.vector.dropout import DropoutPair
from hdl.cae.vector.front import VectorFront
from hdl.cae.vector.lane import MINUS_ZERO, VectorLane
from hdl.cae.vector.rows import MINUS_INFINITY, RowReduction
from hdl.cae.vector.walk import BeatWalk
from hdl.counters import share_out
from hdl.delay import delayed
from sim.config import CaeConfig
from sim.program.counters import COUNTER_BITS, VECTOR_COUNTERS
from sim.program.instructions import CaeCode, RightOperand, VectorReduction


class VectorUnit(wiring.Component):
    """Runs one VECTOR instruction at a time, a beat a cycle.

    A beat that is read in cycle t is written in cycle t + ``config.vector_element_cycles``, or its row's result
    ``config.vector_row_cycles`` after that, or its column's ``config.vector_column_cycles`` after that. The first beat
    is read in the cycle after the job was taken. Every bit is that of `sim.golden.vector`, every cycle that of
    `sim.timing.cae.vector`.

    Parameters
    ----------
    config : CaeConfig
        The engine.

    Attributes
    ----------
    job : In(stream of `job_layout`)
        Jobs, judged good; taken only while none is under way.
    read, done : Out(report)
        `read` in the cycle of the last read, `done` in that of the last write. The next job may be taken in the cycle
        after `done`.
    left, right : Out(bank_read)
        Reads of the operands.
    result : Out(bank_write)
        Writes of the result, whole beats.
    cycles_<name> : Out(48)
        Counters, by the names of `VECTOR_COUNTERS`.
    """

    def __init__(self, config: CaeConfig) -> None:
        self.config = config
        super().__init__(
            {
                "job": In(stream.Signature(job_layout(config))),
                "read": Out(report(config)),
                "done": Out(report(config)),
                "left": Out(bank_read(config)),
                "right": Out(bank_read(config)),
                "result": Out(bank_write(config)),
                **{f"cycles_{name}": Out(COUNTER_BITS) for name in VECTOR_COUNTERS},
            }
        )

    def elaborate(self, _platform: object) -> Module:
        """Connect front, lanes, reductions and write."""
        m = Module()
        config = self.config
        m.submodules.front = front = VectorFront(config)
        wiring.connect(m, wiring.flipped(self.job), front.job)
        for mine, port in ((self.left, front.left), (self.right, front.right)):
            m.d.comb += [mine.en.eq(port.en), mine.bank.eq(port.bank), mine.address.eq(port.address)]

        ways = config.vector_element_cycles + max(config.vector_row_cycles, config.vector_column_cycles)
        beat = delayed(m, front.beat, ways, name="beat")

        job = front.held.instruction
        is_row = Signal()
        maximum, column_sum = job.reduction == VectorReduction.ROW_MAXIMUM, job.reduction == VectorReduction.COLUMN_SUM
        m.d.comb += is_row.eq((job.reduction == VectorReduction.ROW_SUM) | maximum)
        neutral = Signal(32)
        # Lanes beyond the columns add up to +0 in a sum of columns, as each lane's sum is its own.
        m.d.comb += neutral.eq(Mux(maximum, MINUS_INFINITY, Mux(is_row, MINUS_ZERO, 0)))
        elements = self._lanes(m, front, beat, neutral)

        m.submodules.rows = rows = RowReduction(config)
        at = config.vector_element_cycles
        m.d.comb += [
            rows.maximum.eq(maximum),
            rows.neutral.eq(neutral),
            rows.elements.eq(elements),
            rows.first.eq(beat[at].fresh),
        ]
        columns = self._columns(m, elements, beat, job.rows)
        self._write(m, front, beat, (is_row, rows.result), (column_sum, columns), elements)
        m.d.comb += [self.read.valid.eq(front.last), self.read.slot.eq(front.held.slot), self.read.code.eq(CaeCode.OK)]
        counters = {name: getattr(self, f"cycles_{name}") for name in VECTOR_COUNTERS}
        share_out(m, counters, {"busy": front.valid, "pace": front.reading, "flush": front.running})
        return m

    def _lanes(self, m: Module, front: VectorFront, beat: list[Value], neutral: Value) -> Signal:
        """Build the lanes, and the draws of each two of them; return the elements behind the mask."""
        config = self.config
        job = front.held.instruction
        kept = self._draws(m, front)
        elements = Signal(data.ArrayLayout(32, config.lanes))
        present = beat[config.vector_element_cycles - 1].present
        for number in range(config.lanes):
            m.submodules[f"lane_{number}"] = lane = VectorLane(config)
            m.d.comb += [
                lane.operation.eq(job.operation),
                lane.function.eq(job.function),
                lane.same.eq(job.right_operand == RightOperand.SAME),
                lane.alpha.eq(job.alpha),
                lane.beta.eq(job.beta),
                lane.left.eq(self.left.data[number]),
                lane.right.eq(self.right.data[number]),
                lane.kept.eq(kept[number]),
                lane.active.eq(present > number),
                lane.neutral.eq(neutral),
                elements[number].eq(lane.result),
            ]
        return elements

    def _draws(self, m: Module, front: VectorFront) -> list[Value]:
        """Build the draws; return for each lane whether its element is kept."""
        job, lanes = front.held.instruction, self.config.lanes
        kept: list[Value] = []
        for number in range(-(-lanes // 2)):
            m.submodules[f"draws_{number}"] = draws = DropoutPair(self.config)
            m.d.comb += [
                draws.key_0.eq(job.key[:32]),
                draws.key_1.eq(job.key[32:]),
                draws.below.eq(job.beta),
                draws.row.eq(front.row),
                draws.pair.eq((front.column >> 1) + number),
            ]
            kept.extend(draws.kept)
        if lanes % 2 == 0:
            return kept
        # Every other beat of an odd number of lanes begins with the second column of a pair.
        odd = delayed(m, front.column[0], draws.draw_cycles + 1, name="odd_column")[-1]
        return [Mux(odd, kept[lane + 1], kept[lane]) for lane in range(lanes)]

    def _columns(self, m: Module, elements: Signal, beat: list[Value], n_rows: Value) -> Value:
        """Build the sums of columns."""
        element, pair = (beat[self.config.vector_element_cycles + n] for n in (0, self.config.add_latency))
        one_pair = Signal()
        m.d.comb += one_pair.eq(n_rows <= 2)
        sums = []
        for number in range(self.config.lanes):
            m.submodules[f"column_{number}"] = column = ColumnSum(self.config)
            m.d.comb += [
                column.element.eq(elements[number]),
                column.fresh.eq(element.fresh),
                column.pair_odd.eq(pair.odd),
                column.pair_fresh.eq(pair.fresh),
                column.one_pair.eq(one_pair),
                column.odd_rows.eq(n_rows[0]),
            ]
            sums.append(column.result)
        return Cat(*sums)

    def _write(
        self,
        m: Module,
        front: VectorFront,
        beat: list[Value],
        of_rows: tuple[Value, Value],
        of_columns: tuple[Value, Value],
        elements: Signal,
    ) -> None:
        """Write what the reduction asks for; with the job's last beat and row it is done."""
        config, job = self.config, front.held.instruction
        at = config.vector_element_cycles
        by_row, by_column = at + config.vector_row_cycles, at + config.vector_column_cycles
        (is_row, row), (is_column, column) = of_rows, of_columns
        valid = delayed(m, front.valid, at, name="valid", reset_less=False)[-1]
        # Ways of their own: a job is done before what it does not reduce has come to their ends.
        row_valid = delayed(m, valid & is_row, by_row - at, name="row_valid", reset_less=False)[-1]
        column_valid = delayed(m, valid & is_column, by_column - at, name="column_valid", reset_less=False)[-1]
        write, new_row, last = Signal(), Signal(), Signal()
        m.submodules.walk = walk = BeatWalk(len(self.result.address))
        with m.If(is_row):
            m.d.comb += [
                write.eq(row_valid & beat[by_row].last_beat),
                last.eq(beat[by_row].last_row),
                new_row.eq(1),
                self.result.data.eq(row.replicate(config.lanes)),
            ]
        with m.Elif(is_column):
            m.d.comb += [
                write.eq(column_valid & beat[by_column].last_row),
                last.eq(beat[by_column].last_beat),
                self.result.data.eq(column),
            ]
        with m.Else():
            m.d.comb += [
                write.eq(valid),
                last.eq(beat[at].last_row & beat[at].last_beat),
                new_row.eq(beat[at].last_beat),
                self.result.data.eq(elements),
            ]
        m.d.comb += [
            walk.start.eq(self.job.valid & self.job.ready),
            walk.first_address.eq(self.job.payload.instruction.result_address),
            walk.row_step.eq(job.result_pitch),
            walk.beat_step.eq(1),
            walk.step.eq(write),
            walk.next_beat.eq(~new_row),
            walk.next_group.eq(new_row),
            self.result.en.eq(write),
            self.result.bank.eq(job.result_bank),
            self.result.address.eq(walk.address),
            self.result.parts.eq(~0),
            front.finished.eq(write & last),
            self.done.valid.eq(front.finished),
            self.done.slot.eq(front.held.slot),
            self.done.code.eq(CaeCode.OK),
        ]
