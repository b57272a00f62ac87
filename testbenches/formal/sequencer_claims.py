"""Claims about the window of the sequencer: nothing starts before what it waits for, and all that is accepted ends."""

from amaranth.hdl import Array, Cat, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from hdl.cae.judge import units_of
from sim.config import CaeConfig
from sim.program.instructions import CaeCode, CaeOpcode
from testbenches.formal.watch import passes, unsteady

_COUNT_BITS = 4


class TrackedPair(wiring.Component):
    """Any instructions, of any units and banks, whose units read and end them when they like; two are followed.

    Parameters
    ----------
    config : CaeConfig
        The engine.
    window : InstructionWindow
        Its window.
    claims : tuple of str
        Which of the claims.
    """

    CLAIMS = ("early", "twice", "disorder", "wrong_code", "unsteady", "stuck")

    def __init__(self, config: CaeConfig, window: wiring.Component, claims: tuple[str, ...] = CLAIMS) -> None:
        self._config, self._window, self._claims = config, window, claims
        slots, banks = range(max(2, config.window_instructions)), range(config.banks + 1)
        units = units_of(config)
        super().__init__(
            {
                "offers": In(1), "unit": In(range(len(units) + 1)), "refused": In(1),
                **{f"{name}_bank": In(banks) for name in ("left", "right", "result")},
                "told": In(1), "first": In(1), "second": In(1), "spoils": In(1),
                **{f"room_{unit}": In(1) for unit in units},
                **{f"{event}_{unit}": In(1) for event in ("reads", "ends") for unit in units},
                **{f"{event}_slot_{unit}": In(slots) for event in ("reads", "ends") for unit in units},
                **{name: Out(1) for name in claims},
            }
        )  # fmt: skip

    def elaborate(self, _platform: object) -> Module:
        """Build the claims."""
        m = Module()
        m.submodules.window = window = self._window
        size, units = self._config.window_instructions, units_of(self._config)
        entered, reported = Signal(_COUNT_BITS), Signal(_COUNT_BITS)
        verdict = window.verdict.payload
        waits = Signal()
        # What is offered stays: a new instruction is chosen when the one before was taken.
        fresh = {name: Signal.like(getattr(self, name), name=f"held_{name}") for name in self._choices()}
        chosen = {name: Mux(waits, held, getattr(self, name)) for name, held in fresh.items()}
        m.d.sync += [waits.eq(window.verdict.valid & ~window.verdict.ready)]
        m.d.sync += [held.eq(chosen[name]) for name, held in fresh.items()]
        runs = ~chosen["refused"] & (chosen["unit"] < len(units))
        is_synchronise = ~chosen["refused"] & (chosen["unit"] >= len(units))
        m.d.comb += [
            window.verdict.valid.eq(self.offers | waits),
            verdict.unit.eq(Mux(runs, 1 << chosen["unit"], 0)),
            verdict.code.eq(Mux(chosen["refused"], CaeCode.BAD_ROWS, CaeCode.OK)),
            verdict.instruction.opcode.eq(Mux(is_synchronise, CaeOpcode.SYNCHRONISE, CaeOpcode.LOAD)),
            verdict.instruction.tag.eq(entered),
            *(
                verdict[name].eq(Mux(runs, (1 << chosen[f"{name}_bank"])[: self._config.banks], 0))
                for name in ("left", "right", "result")
            ),
            window.status.ready.eq(self.told),
        ]
        enters, tells = passes(window.verdict), passes(window.status)
        m.d.sync += [entered.eq(entered + enters), reported.eq(reported + tells)]
        running, unread = Signal(size), Signal(size)
        of_unit = Array(Signal(range(len(units)), name=f"unit_of_{i}") for i in range(size))
        started, read, ended, twice = [], [], [], []
        for u, unit in enumerate(units):
            job = getattr(window, f"job_{unit}")
            m.d.comb += job.ready.eq(getattr(self, f"room_{unit}"))
            starts = Signal(size, name=f"starts_{unit}")
            m.d.comb += starts.eq(passes(job) << job.payload.slot)
            started.append(starts)
            twice.append((starts & running).any())
            for i in range(size):
                with m.If(starts[i]):
                    m.d.sync += of_unit[i].eq(u)
            name = "store" if unit == "transfer" else unit
            for event, state, told in (("reads", unread, read), ("ends", running & ~unread, ended)):
                port = getattr(window, f"{'read' if event == 'reads' else 'done'}_{name}")
                slot = getattr(self, f"{event}_slot_{unit}")
                may = (slot < size) & state.bit_select(slot, 1) & (of_unit[slot] == u)
                m.d.comb += [
                    port.valid.eq(getattr(self, f"{event}_{unit}") & may),
                    port.slot.eq(slot),
                    port.code.eq(Mux(self.spoils, CaeCode.PARTIAL_SLOT, CaeCode.OK)),
                ]
                told.append((port.valid << slot)[:size])
        all_started, all_read, all_ended = (Signal(size, name=n) for n in ("all_started", "all_read", "all_ended"))
        for total, parts in ((all_started, started), (all_read, read), (all_ended, ended)):
            m.d.comb += total.eq(Cat(Cat(part[i] for part in parts).any() for i in range(size)))
        m.d.sync += [
            running.eq((running | all_started) & ~all_ended),
            unread.eq((unread | all_started) & ~all_read),
        ]
        found = self._follow(m, enters, tells, is_synchronise, chosen["refused"], all_started, all_read, all_ended)
        found["twice"] = Cat(twice).any()
        found["disorder"] = window.status.valid & (
            (entered == reported) | (window.status.payload.tag[:_COUNT_BITS] != reported)
        )
        found["unsteady"] = unsteady(m, window.status, "status")
        for unit in units:
            found["unsteady"] |= unsteady(m, getattr(window, f"job_{unit}"), unit)
        # All units idle and with room, statuses taken: what is in the window moves within three cycles.
        quiet = Signal(2)
        rooms = Cat(getattr(self, f"room_{unit}") for unit in units).all()
        still = (entered != reported) & self.told & rooms & ~running.any() & ~all_started.any() & ~tells
        m.d.sync += quiet.eq(Mux(still, quiet + (quiet != 3), 0))
        found["stuck"] = quiet == 3
        m.d.comb += [getattr(self, name).eq(found[name]) for name in self._claims]
        return m

    @staticmethod
    def _choices() -> tuple[str, ...]:
        return ("unit", "refused", "left_bank", "right_bank", "result_bank")

    def _follow(self, m, enters, tells, is_synchronise, refused, all_started, all_read, all_ended):
        """Follow an instruction and any later one, from their entering to their statuses."""
        window, size = self._window, self._config.window_instructions
        new = window.verdict.payload
        slot, oldest = Signal(range(max(2, size))), Signal(range(max(2, size)))
        for position, moves in ((slot, enters), (oldest, tells)):
            with m.If(moves):
                m.d.sync += position.eq(Mux(position == size - 1, 0, position + 1))
        one, two = (self._record(name) for name in ("one", "two"))
        begins_one = enters & self.first & ~one["lives"] & ~two["lives"]
        begins_two = enters & self.second & one["lives"] & ~two["lives"]
        for record, begins in ((one, begins_one), (two, begins_two)):
            mine = Signal(size)
            m.d.comb += mine.eq(Mux(record["lives"], 1 << record["slot"], 0))
            for name, events in (("started", all_started), ("read", all_read), ("ended", all_ended)):
                with m.If((events & mine).any()):
                    m.d.sync += record[name].eq(1)
            with m.If((all_ended & mine).any()):
                m.d.sync += record["code"].eq(Mux(self.spoils, CaeCode.PARTIAL_SLOT, CaeCode.OK))
            record["starts"] = (all_started & mine).any()
            record["reports"] = tells & record["lives"] & (oldest == record["slot"])
            with m.If(record["reports"]):
                m.d.sync += record["lives"].eq(0)
            with m.If(begins):
                m.d.sync += [
                    record["lives"].eq(1), record["slot"].eq(slot), record["point"].eq(is_synchronise),
                    record["code"].eq(new.code), record["refused"].eq(refused),
                    *(record[name].eq(new[name]) for name in ("unit", "left", "right", "result")),
                    *(record[name].eq(0) for name in ("started", "read", "ended")),
                ]  # fmt: skip
        # Whether a SYNCHRONISE stands between the two.
        point, apart = Signal(), Signal()
        with m.If(enters & is_synchronise & one["lives"]):
            m.d.sync += point.eq(1)
        with m.If(begins_one):
            m.d.sync += point.eq(0)
        with m.If(begins_two):
            m.d.sync += apart.eq(point)
        # The older one has its status before the younger, so while it lives they are in this order.
        both = one["lives"] & two["lives"]
        same_unit = (one["unit"] & two["unit"]).any()
        shared = (one["left"] | one["right"] | one["result"]) & (two["left"] | two["right"] | two["result"])
        for_end, for_read = Signal(), Signal()
        with m.If(same_unit):
            m.d.comb += [
                for_end.eq((one["result"] & (two["left"] | two["right"])).any()),
                for_read.eq(
                    (two["result"] & (one["left"] | one["right"])).any()
                    | (one["left"] & two["right"]).any()
                    | (one["right"] & two["left"]).any()
                ),
            ]
        with m.Else():
            m.d.comb += [for_end.eq((shared & one["result"]).any()), for_read.eq(shared.any())]
        overtakes = (
            (for_end & ~one["ended"])
            | (for_read & ~one["read"])
            | (same_unit & ~one["started"])
            | (apart & ~(one["ended"] | one["refused"] | one["point"]))
        )
        shown = window.status.valid & (oldest == one["slot"]) & one["lives"]
        over = one["refused"] | one["point"] | one["ended"]
        return {
            "early": both & two["starts"] & overtakes,
            "wrong_code": shown & ((window.status.payload.code != one["code"]) | ~over),
        }

    def _record(self, name):
        layout = {
            "lives": 1, "slot": range(max(2, self._config.window_instructions)), "unit": len(units_of(self._config)),
            "left": self._config.banks, "right": self._config.banks, "result": self._config.banks, "started": 1,
            "read": 1, "ended": 1, "point": 1, "refused": 1, "code": 8,
        }  # fmt: skip
        return {field: Signal(shape, name=f"{name}_{field}") for field, shape in layout.items()}
