"""Latency of a block: where its registers stand."""

from types import SimpleNamespace

from amaranth.hdl import Module, Signal, Value
from amaranth.lib import wiring


def share(m: Module, name: str, value: Value) -> Signal:
    """Name an intermediate value that is used more than once; without a name it would be built once per use.

    Parameters
    ----------
    m : Module
        Where the value is built.
    name : str
        Its name in the Verilog.
    value : Value
        What it is.

    Returns
    -------
    Signal
        The value, of the same shape.
    """
    signal = Signal(Value.cast(value).shape(), name=name)
    m.d.comb += signal.eq(value)
    return signal


class Cuts:
    """The cut points of one data path, in order; registers stand at the chosen ones.

    Parameters
    ----------
    m : Module
        Where the path is built.
    registered : tuple of int
        Cut points, counted from 1, that hold registers.
    """

    def __init__(self, m: Module, registered: tuple[int, ...]) -> None:
        self._m = m
        self._registered = registered
        self._point = 0

    def __call__(self, **values: Value) -> SimpleNamespace:
        """Pass all live values through the next cut point.

        Parameters
        ----------
        **values : Value
            Everything that later steps need, by name.

        Returns
        -------
        SimpleNamespace
            The same values behind the cut, as signals called `<name>_<cut point>`.
        """
        self._point += 1
        domain = "sync" if self._point in self._registered else "comb"
        # Data needs no reset: users carry the valid bits, and those have one.
        held = {
            name: Signal(Value.cast(value).shape(), name=f"{name}_{self._point}", reset_less=True)
            for name, value in values.items()
        }
        self._m.d[domain] += [signal.eq(values[name]) for name, signal in held.items()]
        return SimpleNamespace(**held)


class Pipeline(wiring.Component):
    """A block whose results leave `latency` cycles after their operands enter.

    Parameters
    ----------
    latency : int, optional
        0 (combinational) .. `MAX_LATENCY` cycles; `DEFAULT_LATENCY` if not given.

    Attributes
    ----------
    latency : int
        Cycles from operands to result.
    CUTS : tuple of tuple of int
        For each latency, the cut points that hold registers. With any register at all the output is one, so that
        blocks can follow each other without adding up their paths; the others balance what is left.
    MAX_LATENCY, DEFAULT_LATENCY : int
        The greatest and the usual latency of the block.

    Raises
    ------
    ValueError
        If the latency is not one of the block's.
    """

    CUTS = ((),)
    MAX_LATENCY = 0
    DEFAULT_LATENCY = 0

    def __init_subclass__(cls, **options: object) -> None:
        super().__init_subclass__(**options)
        cls.MAX_LATENCY = len(cls.CUTS) - 1

    def __init__(self, *, latency: int | None = None) -> None:
        if latency is None:
            latency = self.DEFAULT_LATENCY
        if isinstance(latency, bool) or not isinstance(latency, int) or not 0 <= latency <= self.MAX_LATENCY:
            raise ValueError(
                f"{type(self).__name__} cannot have latency={latency!r}: choose a whole number of cycles "
                f"from 0 (combinational) to {self.MAX_LATENCY}"
            )
        super().__init__()
        self.latency = latency

    def cuts(self, m: Module) -> Cuts:
        """Start the data path.

        Parameters
        ----------
        m : Module
            Where the path is built.

        Returns
        -------
        Cuts
            The cut points of this block at its latency.
        """
        return Cuts(m, self.CUTS[self.latency])
