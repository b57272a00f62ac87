"""Claims about engines that keep in step: none runs ahead of the window, and none waits for ever."""

from amaranth.hdl import Cat, Const, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from sim.config import SystemConfig
from sim.program.commands import ReduceOpcode
from sim.program.engine_commands import EngineOpcode
from sim.program.geometry import Geometry
from testbenches.formal.smaller import elaborated
from testbenches.formal.watch import passes

_SLOT_BITS = 4
_NONE = (1 << _SLOT_BITS) - 1
"""More than any slot."""


class TwoInStep(wiring.Component):
    """Two fronts with their tickets, whose commands come at the same time, of up to three shards each.

    Their lists of shards have any rising slots, and their passes end when they like.

    Parameters
    ----------
    config : SystemConfig
        The engines; two passes for each shard at most.
    fronts, tickets : tuple of wiring.Component
        Front and tickets of each.
    sync : WindowSync
        What keeps them in step.
    patience : int
        Cycles within which something moves if all around is willing, and within which the last engine is let on.
    """

    CLAIMS = ("beyond", "stuck", "held_back")

    def __init__(
        self,
        config: SystemConfig,
        fronts: tuple[wiring.Component, ...],
        tickets: tuple[wiring.Component, ...],
        sync: wiring.Component,
        patience: int,
    ) -> None:
        self._config, self._fronts, self._tickets, self._sync = config, fronts, tickets, sync
        self._patience = patience
        each = {"shards": 2, "listed": 1, "gap": 2, "good": 1, "two": 1, "room": 1, "ends": 1, "told": 1}
        super().__init__(
            {
                "start": In(1),
                **{f"{n}_{e}": In(bits) for e in range(2) for n, bits in each.items()},
                **{n: Out(1) for n in self.CLAIMS},
            }
        )

    def elaborate(self, _platform: object) -> Module:
        """Build the claims."""
        m = Module()
        m.submodules.sync = sync = self._sync
        both_idle, offering = Signal(), Signal(2)
        m.d.comb += both_idle.eq(~Cat(front.busy for front in self._fronts).any() & (offering == 0))
        started = self.start & both_idle
        window = self._config.partition.window_shards
        slice_beats = Geometry.of(self._config).slice_beats
        oldest, begins, begun_slots, willing, moving, waits, known = [], [], [], [], [], [], []
        for e, (front, tickets) in enumerate(zip(self._fronts, self._tickets, strict=True)):
            m.submodules[f"front_{e}"] = front
            m.submodules[f"tickets_{e}"], _ = elaborated(tickets, type(tickets), TICKETS=2)

            def own(name: str, e: int = e):
                return getattr(self, f"{name}_{e}")

            wiring.connect(m, front.tickets, tickets.tickets)
            shards, left = Signal(2, name=f"shards_{e}"), Signal(2, name=f"left_{e}")
            slot = Signal(_SLOT_BITS, name=f"slot_{e}")
            good, two = Signal(name=f"good_{e}"), Signal(name=f"two_{e}")
            shown = Signal(name=f"shown_{e}")
            unflagged, unended = Signal(3, name=f"unflagged_{e}"), Signal(3, name=f"unended_{e}")
            shard = front.descriptors.payload
            jobs = (front.source_jobs, front.edge_jobs, front.gather_jobs, front.reduce_commands)
            m.d.comb += [
                front.command.valid.eq(started | offering[e]),
                front.command.payload.opcode.eq(EngineOpcode.RUN),
                front.command.payload.count.eq(Mux(offering[e], shards, own("shards"))),
                front.descriptor_jobs.ready.eq(1),
                front.descriptors.valid.eq((left != 0) & (shown | own("listed"))),
                shard.opcode.eq(Mux(good, ReduceOpcode.ADD, 0)),
                shard.beats.eq(Mux(two, 2 * slice_beats, 1)),
                shard.destinations.eq(1),
                shard.sources.eq(1),
                shard.edges.eq(1),
                shard.slot.eq(slot),
                *(job.ready.eq(own("room")) for job in jobs),
                front.open.eq(tickets.open),
                front.oldest.eq(tickets.oldest),
                front.pending.eq(tickets.pending),
                front.horizon.eq(sync.horizon),
                sync.progress[e].eq(front.progress),
                tickets.invalid.valid.eq(unflagged != 0),
                tickets.reduced.valid.eq(own("ends") & (unended != 0)),
                tickets.status.ready.eq(own("told")),
            ]
            begins_now, taken = passes(front.reduce_commands), passes(front.descriptors)
            accepted = passes(front.command)
            m.d.sync += [
                offering[e].eq(front.command.valid & ~accepted),
                unflagged.eq(unflagged + begins_now - tickets.invalid.valid),
                unended.eq(unended + begins_now - passes(tickets.reduced)),
                shown.eq(front.descriptors.valid & ~taken),
            ]
            with m.If(started):
                m.d.sync += shards.eq(own("shards"))
            with m.If(accepted):
                m.d.sync += [left.eq(front.command.payload.count[:2]), slot.eq(own("gap")), good.eq(own("good"))]
                m.d.sync += two.eq(own("two"))
            with m.Elif(taken):
                m.d.sync += [left.eq(left - 1), slot.eq(slot + 1 + own("gap")), good.eq(own("good"))]
                m.d.sync += two.eq(own("two"))
            # Of all that a front was told and that has not ended, the least slot.
            unfinished = Mux(tickets.open, tickets.oldest[:_SLOT_BITS], Mux(left != 0, slot, Const(_NONE, _SLOT_BITS)))
            oldest.append(unfinished)
            known.append(tickets.open | ~front.busy | front.descriptors.valid)
            begins.append(begins_now)
            begun_slots.append(slot)
            willing += [(left == 0) | front.descriptors.valid, own("room"), own("ends"), own("told")]
            moving += [accepted, passes(front.descriptor_jobs), passes(front.tickets), taken]
            moving += [passes(tickets.reduced), tickets.invalid.valid, passes(tickets.status)]
            waits.append(front.held)
        least = Mux(oldest[0] < oldest[1], oldest[0], oldest[1])
        m.d.comb += self.beyond.eq(Cat(begins[e] & (begun_slots[e] >= least + window) for e in range(2)).any())

        most = self._patience
        quiet, held = Signal(range(most + 1)), [Signal(range(most + 1), name=f"held_{e}") for e in range(2)]
        busy = Cat(front.busy for front in self._fronts).any()
        m.d.sync += quiet.eq(Mux(busy & Cat(willing).all() & ~Cat(moving).any(), quiet + (quiet != most), 0))
        for e in range(2):
            last = waits[e] & (begun_slots[e] <= least) & known[1 - e]
            m.d.sync += held[e].eq(Mux(last, held[e] + (held[e] != most), 0))
        m.d.comb += [self.stuck.eq(quiet == most), self.held_back.eq(Cat(h == most for h in held).any())]
        return m
