"""All banks of the Centralized Acceleration Engine, and the ways from its units to them."""

from collections.abc import Sequence
from functools import reduce
from operator import or_

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In

from hdl.cae.bank import Bank
from hdl.cae.ports import READ_CYCLES, bank_read, bank_write
from hdl.delay import delayed
from sim.config import CaeConfig


class Banks(wiring.Component):
    """Banks that each serve one reader and one writer at a time; who that is the sequencer sees to.

    Parameters
    ----------
    config : CaeConfig
        The engine.
    readers, writers : sequence of str
        Names of the ports; two of them that use a bank at once get each other's beats.

    Attributes
    ----------
    read_<name> : In(`bank_read`)
        Reads.
    write_<name> : In(`bank_write`)
        Writes.
    """

    def __init__(self, config: CaeConfig, *, readers: Sequence[str], writers: Sequence[str]) -> None:
        self.config = config
        self._readers, self._writers = tuple(readers), tuple(writers)
        super().__init__(
            {
                **{f"read_{name}": In(bank_read(config)) for name in readers},
                **{f"write_{name}": In(bank_write(config)) for name in writers},
            }
        )

    def elaborate(self, _platform: object) -> Module:
        """Connect each bank to whoever names it, and each reader to the bank that it named."""
        m = Module()
        banks = []
        for number in range(self.config.banks):
            bank = Bank(self.config, is_operand=number < self.config.operand_banks)
            m.submodules[f"bank_{number}"] = bank
            banks.append(bank)
            reads = [(port, self._picks(m, port, number, f"read_{i}")) for i, port in enumerate(self._read_ports())]
            writes = [(port, self._picks(m, port, number, f"write_{i}")) for i, port in enumerate(self._write_ports())]
            m.d.comb += [
                bank.read.eq(reduce(or_, (picks for _, picks in reads))),
                bank.read_address.eq(_chosen((port.address, picks) for port, picks in reads)),
                bank.write.eq(reduce(or_, (picks for _, picks in writes))),
                bank.write_address.eq(_chosen((port.address, picks) for port, picks in writes)),
                bank.parts.eq(_chosen((port.parts, picks) for port, picks in writes)),
                bank.write_data.eq(_chosen((Value.cast(port.data), picks) for port, picks in writes)),
            ]
        for i, port in enumerate(self._read_ports()):
            named = delayed(m, port.bank, READ_CYCLES - 1, name=f"bank_of_{i}")[-1]
            m.d.sync += port.data.as_value().eq(self._beat(m, banks, named, i))
        return m

    def _read_ports(self) -> list[wiring.PureInterface]:
        return [getattr(self, f"read_{name}") for name in self._readers]

    def _write_ports(self) -> list[wiring.PureInterface]:
        return [getattr(self, f"write_{name}") for name in self._writers]

    def _picks(self, m: Module, port: wiring.PureInterface, number: int, name: str) -> Signal:
        picks = Signal(name=f"bank_{number}_{name}")
        m.d.comb += picks.eq(port.en & (port.bank == number))
        return picks

    def _beat(self, m: Module, banks: Sequence[Bank], named: Value, reader: int) -> Signal:
        """Choose what a reader gets, as fp32."""
        words = []
        for number, bank in enumerate(banks):
            read = Value.cast(bank.read_data)
            if number < self.config.operand_banks:  # bf16 is the high half of fp32
                read = Cat(Cat(Const(0, 16), read.word_select(lane, 16)) for lane in range(self.config.lanes))
            words.append((read, named == number))
        beat = Signal(32 * self.config.lanes, name=f"beat_{reader}")
        m.d.comb += beat.eq(_chosen(words))
        return beat


def _chosen(choices: Sequence[tuple[Value, Value]]) -> Value:
    """Join values of which at most one is picked."""
    return reduce(or_, (Mux(picks, value, 0) for value, picks in choices))
