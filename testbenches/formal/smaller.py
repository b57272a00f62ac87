"""Designs made smaller or simpler than shipped, so that a proof of their control ends."""

from amaranth.hdl import Fragment, Module, Mux
from amaranth.lib import wiring

from hdl.delay import delayed
from hdl.nme.lane import Lane

COUNT_BITS = 2
"""A `CountingLane` counts modulo 4: one addition lost or doubled shows."""


class CountingLane(Lane):
    """In the place of arithmetic, a total and one more, with the lane's latency: a sum says what was added to it."""

    def elaborate(self, _platform: object) -> Module:
        """Build the counter."""
        m = Module()
        before = Mux(self.fresh, 0, self.total[:COUNT_BITS])
        after = delayed(m, (before + 1)[:COUNT_BITS], self.config.add_latency, name="count")[-1]
        m.d.comb += self.result.eq(after)
        return m


def elaborated(design: wiring.Component, owner: type[wiring.Component], **names: object) -> tuple[Fragment, Module]:
    """Elaborate a design in which other things stand for names of a module.

    Parameters
    ----------
    design : wiring.Component
        The design.
    owner : type
        Class of the design, or of a component in it, from whose module the names are.
    **names
        What stands for each.

    Returns
    -------
    tuple of Fragment and Module
        The design, elaborated; and its module, for a look at what is inside.
    """
    module, inside = owner.elaborate.__globals__, []

    def elaborate(platform: object) -> Module:
        inside.append(type(design).elaborate(design, platform))
        return inside[0]

    shipped = {name: module[name] for name in names}
    module.update(names)
    design.elaborate = elaborate
    try:
        return Fragment.get(design, None), inside[0]
    finally:
        del design.elaborate
        module.update(shipped)
