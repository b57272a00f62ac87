"""Counter-based random numbers: Threefry-2x32-20."""

from amaranth.hdl import Module, Value
from amaranth.lib.wiring import In, Out

from hdl.arith.pipeline import Pipeline, share
from sim.program.threefry import INJECTION_ROUNDS, PARITY, ROTATIONS, ROUNDS


class Threefry(Pipeline):
    """Two random words from a counter of two words, under a key of two words.

    Equals `sim.golden.threefry.threefry_2x32` bit for bit.

    Parameters
    ----------
    latency : int, optional
        0 .. 20 cycles; 10 if not given. The rounds are shared out evenly.
    key_held : bool, optional
        The key does not change while a draw is on its way. Then it does not travel along, which saves 64 registers a
        cycle of latency. False by default: each counter has a key of its own.

    Attributes
    ----------
    key_0, key_1 : In(32)
        Key, first and second word.
    counter_0, counter_1 : In(32)
        Counter, first and second word.
    draw_0, draw_1 : Out(32)
        First and second random word, `latency` cycles later.
    """

    # A cut point after each round.
    CUTS = tuple(
        tuple(-(-ROUNDS * stage // latency) for stage in range(1, latency + 1)) for latency in range(ROUNDS + 1)
    )
    DEFAULT_LATENCY = 10

    key_0: In(32)
    key_1: In(32)
    counter_0: In(32)
    counter_1: In(32)
    draw_0: Out(32)
    draw_1: Out(32)

    def __init__(self, *, latency: int | None = None, key_held: bool = False) -> None:
        super().__init__(latency=latency)
        self.key_held = key_held

    def elaborate(self, _platform: object) -> Module:
        """Build the rounds."""
        m = Module()
        cut = self.cuts(m)
        key: dict[str, Value] = {"key_0": self.key_0, "key_1": self.key_1}
        first = share(m, "first", (self.counter_0 + self.key_0)[:32])
        second = share(m, "second", (self.counter_1 + self.key_1)[:32])
        for done in range(1, ROUNDS + 1):
            first = share(m, f"sum_{done}", (first + second)[:32])
            second = first ^ second.rotate_left(ROTATIONS[(done - 1) % len(ROTATIONS)])
            if done % INJECTION_ROUNDS == 0:
                injection = done // INJECTION_ROUNDS
                words = (*key.values(), key["key_0"] ^ key["key_1"] ^ PARITY)
                first = (first + words[injection % 3])[:32]
                second = (second + words[(injection + 1) % 3] + injection)[:32]
            x = cut(first=first, second=second, **({} if self.key_held else key))
            first, second = x.first, x.second
            if not self.key_held:
                key = {"key_0": x.key_0, "key_1": x.key_1}
        m.d.comb += [self.draw_0.eq(first), self.draw_1.eq(second)]
        return m
