"""The window of the sequencer: instructions between their verdict and their status, and what each waits for."""

from amaranth.hdl import Array, Cat, Module, Mux, Signal, Value
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from hdl.cae.judge import units_of, verdict_layout
from hdl.cae.ports import job_layout, report
from hdl.layout import struct_layout
from hdl.stream.ring import after
from sim.config import CaeConfig
from sim.program.instructions import CAE_STATUS, CaeCode, CaeOpcode


def readers_of(config: CaeConfig) -> tuple[str, ...]:
    """Return who reports that an instruction reads no more: all that read banks.

    Parameters
    ----------
    config : CaeConfig
        The engine.

    Returns
    -------
    tuple of str
        Names.
    """
    _, *units = units_of(config)
    return ("store", *units)


class InstructionWindow(wiring.Component):
    """Slots in the order of the program, a ring; each waits for those before it that it must not overtake.

    An instruction waits for

    - the issue of those before it of its own unit;
    - the end of one that writes a bank that it uses, the last read of one that reads a bank that it uses: of another
      unit in any case, of its own unit only where the data or the ports need it, as a unit runs its jobs in order;
    - the end of all before it, if it is a SYNCHRONISE; the end of a SYNCHRONISE before it.

    What happens in a cycle is seen by those that wait from the next cycle on, and by an instruction that enters in that
    very cycle as well.

    Parameters
    ----------
    config : CaeConfig
        The engine.

    Attributes
    ----------
    verdict : In(stream of `verdict_layout`)
        Instructions; one is taken while the next slot is free, which it is from the cycle after its status was taken.
    status : Out(stream of `CAE_STATUS`)
        In the order of the instructions.
    job_<unit> : Out(stream of `job_layout`)
        What may start; from the cycle after its slot was filled.
    read_<name>, done_<name> : In(`report`)
        How far the units are, by the names of `readers_of`; ``done_load`` too.
    """

    def __init__(self, config: CaeConfig) -> None:
        self._config = config
        readers = readers_of(config)
        super().__init__(
            {
                "verdict": In(stream.Signature(verdict_layout(config))),
                "status": Out(stream.Signature(struct_layout(CAE_STATUS))),
                **{f"job_{unit}": Out(stream.Signature(job_layout(config))) for unit in units_of(config)},
                **{f"read_{name}": In(report(config)) for name in readers},
                **{f"done_{name}": In(report(config)) for name in ("load", *readers)},
            }
        )

    def elaborate(self, _platform: object) -> Module:
        """Build the slots."""
        m = Module()
        size = self._config.window_instructions
        layout = verdict_layout(self._config)
        slots = [Signal(layout, name=f"slot_{i}", reset_less=True) for i in range(size)]
        codes = [Signal(8, name=f"code_{i}") for i in range(size)]
        held, issued, read, done = (Signal(size, name=name) for name in ("held", "issued", "read", "done"))
        head, tail = Signal(range(max(2, size))), Signal(range(max(2, size)))
        until_done, until_read, until_issue = (
            [Signal(size, name=f"{name}_{i}") for i in range(size)] for name in ("until_done", "until_read", "until")
        )
        ready, issues, reads, ends, synchronises = (
            Signal(size, name=name) for name in ("ready", "issues", "reads", "ends", "synchronises")
        )
        is_synchronise = [slot.instruction.opcode == CaeOpcode.SYNCHRONISE for slot in slots]
        readers = readers_of(self._config)
        m.d.comb += [
            ready.eq(
                Cat(
                    h & ~(d | r | i).any() for h, d, r, i in zip(held, until_done, until_read, until_issue, strict=True)
                )
                & ~issued
            ),
            synchronises.eq(ready & Cat(is_synchronise)),
            reads.eq(self._told(m, [f"read_{name}" for name in readers])),
            ends.eq(self._told(m, [f"done_{name}" for name in ("load", *readers)]) | synchronises),
        ]
        self._issue(m, slots, ready, issues)

        # One after the other: the clearing of what an event frees, then the filling of a slot.
        for i in range(size):
            m.d.sync += [
                until_done[i].eq(until_done[i] & ~ends),
                until_read[i].eq(until_read[i] & ~(reads | ends)),
                until_issue[i].eq(until_issue[i] & ~issues),
            ]
        for name in ("load", *readers):
            told = getattr(self, f"done_{name}")
            for i in range(size):
                with m.If(told.valid & (told.slot == i)):
                    m.d.sync += codes[i].eq(told.code)
        told_now, enters = self.status.valid & self.status.ready, self.verdict.valid & self.verdict.ready
        m.d.comb += [
            self.verdict.ready.eq(~Array(held)[tail]),
            self.status.valid.eq(Array(held & done)[head]),
            self.status.payload.tag.eq(Array(slot.instruction.tag for slot in slots)[head]),
            self.status.payload.opcode.eq(Array(slot.instruction.opcode for slot in slots)[head]),
            self.status.payload.code.eq(Array(codes)[head]),
        ]
        placed, freed = Signal(size), Signal(size)
        m.d.comb += [placed.eq(enters << tail), freed.eq(told_now << head)]
        new, opcode = self.verdict.payload, self.verdict.payload.instruction.opcode
        refused = new.code != CaeCode.OK
        m.d.sync += [
            held.eq((held | placed) & ~freed),
            issued.eq(((issued | issues | synchronises) & ~placed) | Mux(refused, placed, 0)),
            read.eq((read | reads) & ~placed),
            done.eq(((done | ends) & ~placed) | Mux(refused, placed, 0)),
        ]
        with m.If(told_now):
            m.d.sync += head.eq(after(head, size))
        before = held & ~(done | ends)
        waits = [self._waits(new, opcode == CaeOpcode.SYNCHRONISE, slots[j], is_synchronise[j]) for j in range(size)]
        for i in range(size):
            with m.If(placed[i]):
                m.d.sync += [
                    slots[i].eq(new),
                    codes[i].eq(new.code),
                    until_done[i].eq(Cat(d for d, _, _ in waits) & before & ~refused.replicate(size)),
                    until_read[i].eq(Cat(r for _, r, _ in waits) & before & ~(read | reads)),
                    until_issue[i].eq(Cat(u for _, _, u in waits) & held & ~(issued | issues)),
                ]
        with m.If(enters):
            m.d.sync += tail.eq(after(tail, size))
        return m

    def _told(self, m: Module, names: list[str]) -> Value:
        """Return the slots that reports of this cycle are about."""
        told: Value = Value.cast(0)
        for name in names:
            port = getattr(self, name)
            slot = Signal(self._config.window_instructions, name=f"{name}_of")
            m.d.comb += slot.eq(port.valid << port.slot)
            told |= slot
        return told

    def _issue(self, m: Module, slots: list[Signal], ready: Signal, issues: Signal) -> None:
        """Offer each unit the one instruction that it may start, if there is one."""
        issued = []
        for u, unit in enumerate(units_of(self._config)):
            job = getattr(self, f"job_{unit}")
            offers = Signal(len(slots), name=f"{unit}_offers")
            m.d.comb += [offers.eq(ready & Cat(slot.unit[u] for slot in slots)), job.valid.eq(offers.any())]
            for i, slot in enumerate(slots):
                with m.If(offers[i]):
                    m.d.comb += [job.payload.slot.eq(i), job.payload.instruction.eq(slot.instruction)]
            issued.append(Mux(job.ready, offers, 0))
        m.d.comb += issues.eq(Cat(Cat(of_unit[i] for of_unit in issued).any() for i in range(len(slots))))

    @staticmethod
    def _waits(new, new_synchronises: Value, old, old_synchronises: Value) -> tuple[Value, Value, Value]:
        """Return whether an instruction waits for the end, the last read, the issue of one before it."""
        same_unit = (new.unit & old.unit).any()
        new_reads, old_reads = new.left | new.right, old.left | old.right
        # Between units: any bank in common. Within one: only what it has written it reads again, ..
        done = Mux(same_unit, old.result & new_reads, old.result & (new_reads | new.result)).any()
        # .. and what it reads it writes, or it would read a bank through both of its ports.
        crossed = (old.left & new.right) | (old.right & new.left)
        read = Mux(same_unit, (old_reads & new.result) | crossed, old_reads & (new_reads | new.result)).any()
        return done | new_synchronises | old_synchronises, read, same_unit
