"""First stage of a vector unit: takes a job and reads its operands, a beat a cycle."""

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from hdl.cae.ports import bank_read, job_layout
from hdl.cae.vector.walk import BeatWalk
from sim.config import CaeConfig
from sim.program.instructions import RightOperand, VectorReduction


def beat_layout(config: CaeConfig) -> data.StructLayout:
    """Return what goes along with a beat that was read.

    Parameters
    ----------
    config : CaeConfig
        The engine.

    Returns
    -------
    data.StructLayout
        ``present``, the lanes that count; ``fresh``: nothing was reduced before it (rows: its first beat; columns: one
        of the first four rows); ``odd``: lowest bit of the row's number; ``last_beat`` of its row; ``last_row``.
    """
    return data.StructLayout({"present": range(config.lanes + 1), "fresh": 1, "odd": 1, "last_beat": 1, "last_row": 1})


class VectorFront(wiring.Component):
    """Holds one job until it is finished.

    Beats are read row by row. For sums of columns all rows of the first beat come first, then all of the second one,
    and so on. For sums and maxima of rows as many rows as the adder has stages take turns, so that each beat finds the
    sum of the one before; where fewer rows are left, cycles without a read take the place of the missing ones.

    Parameters
    ----------
    config : CaeConfig
        The engine.

    Attributes
    ----------
    job : In(stream of `job_layout`)
        Jobs; taken only while none is under way. The first beat is read in the next cycle.
    finished : In(1)
        The job's last write is made.
    held : Out(`job_layout`)
        The job.
    running, reading : Out(1)
        There is a job; and there are beats left to read.
    left, right : Out(bank_read)
        Reads of the operands, in the same cycle; the data is not looked at here.
    valid, last : Out(1)
        A beat is read; the job's last one.
    beat : Out(`beat_layout`)
        With `valid`: what goes along with it.
    row, column : Out(32), Out(17)
        With `valid`: number of the row from the job's `depth` on, and of the beat's first column from 0 on.
    """

    def __init__(self, config: CaeConfig) -> None:
        self.config = config
        super().__init__(
            {
                "job": In(stream.Signature(job_layout(config))),
                "finished": In(1),
                "held": Out(job_layout(config)),
                "running": Out(1),
                "reading": Out(1),
                "left": Out(bank_read(config)),
                "right": Out(bank_read(config)),
                "valid": Out(1),
                "last": Out(1),
                "beat": Out(beat_layout(config)),
                "row": Out(32),
                "column": Out(17),
            }
        )

    def elaborate(self, _platform: object) -> Module:
        """Build the loops and the walks."""
        m = Module()
        job = self.held.instruction
        start, next_beat, next_group = (Signal(name=name) for name in ("start", "next_beat", "next_group"))
        m.d.comb += [
            self.job.ready.eq(~self.running),
            start.eq(self.job.valid & self.job.ready),
        ]
        with m.If(start):
            m.d.sync += [self.held.eq(self.job.payload), self.running.eq(1), self.reading.eq(1)]
        with m.If(self.last):
            m.d.sync += self.reading.eq(0)
        with m.If(self.finished):
            m.d.sync += self.running.eq(0)
        self._loops(m, start, next_beat, next_group)

        full, by_row, by_column = (
            job.right_operand == kind for kind in (RightOperand.FULL, RightOperand.BY_ROW, RightOperand.BY_COLUMN)
        )
        first = self.job.payload.instruction
        walks = (
            (self.left, "left", job.left_pitch, 1, 1),
            (self.right, "right", Mux(by_column, 0, job.right_pitch), ~by_row, full | by_row | by_column),
        )
        for port, name, row_step, beat_step, used in walks:
            m.submodules[name] = walk = BeatWalk(len(port.address))
            m.d.comb += [
                walk.start.eq(start),
                walk.first_address.eq(first[f"{name}_address"]),
                walk.row_step.eq(row_step),
                walk.beat_step.eq(beat_step),
                walk.step.eq(self.reading),
                walk.next_beat.eq(next_beat),
                walk.next_group.eq(next_group),
                port.en.eq(self.valid & used),
                port.bank.eq(job[f"{name}_bank"]),
                port.address.eq(walk.address),
            ]
        return m

    def _loops(self, m: Module, start: Signal, next_beat: Signal, next_group: Signal) -> None:
        """Count groups, beats and rows; a group is one row, as many as the adder has stages, or all."""
        lanes, turns = self.config.lanes, self.config.add_latency
        job, first = self.held.instruction, self.job.payload.instruction
        by_column = job.reduction == VectorReduction.COLUMN_SUM
        by_row = (job.reduction == VectorReduction.ROW_SUM) | (job.reduction == VectorReduction.ROW_MAXIMUM)
        # Rows of the last group that there are not count on beyond the job's rows.
        row, group_row = Signal(17), Signal(17)
        turn = Signal(range(max(2, turns)))
        columns_left = Signal(16)
        first_beat, group_ends = Signal(), Signal()
        m.d.comb += [
            self.beat.last_row.eq(row + 1 == job.rows),
            self.beat.last_beat.eq(columns_left <= lanes),
            self.beat.present.eq(Mux(self.beat.last_beat, columns_left, lanes)),
            self.beat.fresh.eq(Mux(by_column, row < 4, first_beat)),
            self.beat.odd.eq(row[0]),
            self.row.eq(job.depth + row),
            self.valid.eq(self.reading & (row < job.rows)),
            self.last.eq(self.reading & self.beat.last_row & self.beat.last_beat),
            group_ends.eq(Mux(by_column, self.beat.last_row, ~by_row | (turn == turns - 1))),
            next_beat.eq(group_ends & ~self.beat.last_beat),
            next_group.eq(group_ends & self.beat.last_beat),
        ]
        with m.If(self.reading):
            m.d.sync += [row.eq(row + 1), turn.eq(turn + 1)]
            with m.If(group_ends):
                m.d.sync += turn.eq(0)
            with m.If(next_beat):
                m.d.sync += [
                    row.eq(group_row),
                    columns_left.eq(columns_left - lanes),
                    self.column.eq(self.column + lanes),
                    first_beat.eq(0),
                ]
            with m.If(next_group):
                m.d.sync += [group_row.eq(row + 1), columns_left.eq(job.columns), self.column.eq(0), first_beat.eq(1)]
        with m.If(start):
            m.d.sync += [
                row.eq(0),
                group_row.eq(0),
                turn.eq(0),
                columns_left.eq(first.columns),
                self.column.eq(0),
                first_beat.eq(1),
            ]
