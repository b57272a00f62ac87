"""Accumulator memory of the systolic array: two banks for each column, and the delays that each column needs."""

from amaranth.hdl import Array, Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from hdl.delay import delayed
from hdl.large_memory import LargeMemory
from sim.config import CaeConfig


class Accumulator(wiring.Component):
    """fp32 sums in two banks, one place in each for every (row, column) of a tile.

    Rows add to one bank while the other is read out. Each bank of each column is a memory with one read and one write
    port. Column c works c cycles behind column 0: it reads at one tap of the delay lines and writes at another.

    Parameters
    ----------
    config : CaeConfig
        Array, rows and arithmetic latencies.

    Attributes
    ----------
    issue : In(1)
        A row enters the array; not before its own sums of the block before are written.
    bank, row, fresh, last : In
        With `issue`: bank and row of its sums, whether they start from +0 instead of what is there, and whether it is
        the last row of its block. Rows of a block come in order, from 0 on.
    sums_in : Out
        Sums for the array, by column; column c ``1 + mul_latency + c`` cycles after `issue`.
    sums_out : In
        Sums from the array; column c is written ``config.pipeline_cycles - columns + 1 + c`` cycles after `issue`.
    drain_bank, drain_row : In
        Bank and row to read out.
    read : In(1)
        Reads `drain_row`; only while no row of `drain_bank` is on its way.
    sums : Out
        What was read, from one cycle after `read` on, until the next or until `drain_bank` changes.
    """

    def __init__(self, config: CaeConfig) -> None:
        self.config = config
        # Even one row has a number of one bit: a net without any is not Verilog.
        self._rows = max(2, config.accumulator_rows)
        super().__init__(
            {
                "issue": In(1),
                "bank": In(1),
                "row": In(range(self._rows)),
                "fresh": In(1),
                "last": In(1),
                "sums_in": Out(data.ArrayLayout(32, config.columns)),
                "sums_out": In(data.ArrayLayout(32, config.columns)),
                "drain_bank": In(1),
                "drain_row": In(range(self._rows)),
                "read": In(1),
                "sums": Out(data.ArrayLayout(32, config.columns)),
            }
        )

    def elaborate(self, _platform: object) -> Module:
        """Build the delay lines and the memories."""
        m = Module()
        columns = self.config.columns
        fetch = self.config.mul_latency
        store = self.config.pipeline_cycles - columns + 1
        issue = delayed(m, self.issue, store + columns - 1, name="issue", reset_less=False)
        bank = delayed(m, self.bank, store + columns - 1, name="bank")
        fresh = delayed(m, self.fresh, fetch + columns, name="fresh")
        read_row = delayed(m, self.row, fetch + columns - 1, name="row")
        write_row = delayed(m, self._write_row(m, store, issue[store]), columns - 1, name="write_row")
        for c in range(columns):
            adding = (issue[fetch + c], bank[fetch + c], read_row[fetch + c])
            writing = (issue[store + c], bank[store + c], write_row[c])
            sums = Array(self._bank(m, c, number, adding, writing) for number in range(2))
            m.d.comb += [
                self.sums_in[c].eq(Mux(fresh[fetch + c + 1], 0, sums[bank[fetch + c + 1]])),
                self.sums[c].eq(sums[self.drain_bank]),
            ]
        return m

    def _write_row(self, m: Module, store: int, storing: Value) -> Signal:
        """Count the rows where column 0 writes: a mark at each block's end is less to delay than every number."""
        last = delayed(m, self.last, store, name="last")
        row = Signal.like(self.row, name="write_row")
        with m.If(storing):
            m.d.sync += row.eq(Mux(last[store], 0, row + 1))
        return row

    def _bank(self, m: Module, column: int, number: int, adding: tuple, writing: tuple) -> Value:
        """Build one bank of a column; return what its read port gives."""
        m.submodules[f"memory_{column}_{number}"] = memory = LargeMemory(part_bits=32, parts=1, depth=self._rows)
        fetch_active, fetch_bank, fetch_row = adding
        store_active, store_bank, store_row = writing
        fetching = Signal(name=f"fetching_{column}_{number}")
        m.d.comb += [
            fetching.eq(fetch_active & (fetch_bank == number)),
            memory.read.eq(fetching | (self.read & (self.drain_bank == number))),
            memory.read_address.eq(Mux(fetching, fetch_row, self.drain_row)),
            memory.write.eq(store_active & (store_bank == number)),
            memory.write_address.eq(store_row),
            memory.write_data.eq(self.sums_out[column]),
        ]
        return memory.read_data
