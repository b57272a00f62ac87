"""What stands in the pages of one channel's flash: a memory in Amaranth's simulator, a file in compiled ones."""

from collections.abc import Sequence
from pathlib import Path

from amaranth.hdl import ClockSignal, Const, Instance, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out
from numpy.typing import NDArray

from sim.program.ssd_storage import FORMULA_MULTIPLIER
from sim.program.ssd_streams import BEAT_BITS, PAGE_BITS
from testbenches.build import Design

IMAGE_FILE, BAD_FILE = "flash.image", "flash.bad"
"""Names, in the folder of a compiled run, of the pages and of the list of those that cannot be read."""

MOST_BAD = 4095
"""Pages that cannot be read, at most."""

MOST_IMAGE_BYTES = (1 << 31) - 8
"""Largest image file: Verilog's places in a file have 32 bits."""


def flash_files(folder: Path, image: NDArray, bad_pages: Sequence[int] = ()) -> dict[str, Path]:
    """Write the files of a compiled run.

    Parameters
    ----------
    folder : Path
        Where they are written; they must live as long as the run.
    image : ndarray of uint8
        All pages in order of their physical numbers, from 0 on; what is behind is 0.
    bad_pages : sequence of int
        Physical pages that cannot be read.

    Returns
    -------
    dict of str to Path
        What `testbenches.bench.Bench` takes as its ``files``.

    Raises
    ------
    ValueError
        Too much of either.
    """
    if len(bad_pages) > MOST_BAD:
        raise ValueError(f"{len(bad_pages)} pages cannot be read; there may be {MOST_BAD}")
    if image.size > MOST_IMAGE_BYTES:
        raise ValueError(f"the image has {image.size} bytes; there may be {MOST_IMAGE_BYTES}")
    files = {name: folder / name for name in (IMAGE_FILE, BAD_FILE)}
    files[IMAGE_FILE].write_bytes(image.tobytes() + bytes(-image.size % 8))
    files[BAD_FILE].write_text("".join(f"{page}\n" for page in bad_pages))
    return files


class FlashStorage(wiring.Component):
    """The beats of the page that is moved, one after the other.

    Parameters
    ----------
    page_beats : int
        Beats of a page.
    node_bits : int
        Not 0: the contents are those of `sim.program.ssd_storage.FormulaStorage`.
    words : sequence of int
        In Amaranth's simulator: the first words of all pages in order; what is behind is 0.
    bad_pages : sequence of int
        In Amaranth's simulator: physical pages that cannot be read.

    Attributes
    ----------
    start, page, beat : In
        From the next cycle on, show this beat of this physical page.
    advance : In(1)
        From the next cycle on, show the beat behind.
    word : Out(64)
        The beat.
    bad : Out(1)
        The page cannot be read.
    """

    start: In(1)
    page: In(PAGE_BITS)
    beat: In(BEAT_BITS)
    advance: In(1)
    word: Out(64)
    bad: Out(1)

    def __init__(
        self, *, page_beats: int, node_bits: int = 0, words: Sequence[int] = (), bad_pages: Sequence[int] = ()
    ) -> None:
        self._page_beats, self._node_bits = page_beats, node_bits
        self._words, self._bad_pages = list(words), list(bad_pages)
        super().__init__()

    def elaborate(self, platform: object) -> Module:
        """Build a memory, or an instance where Verilog is written."""
        m = Module()
        if platform is not None:
            m.submodules.storage = Instance(
                "flash_storage",
                p_PAGE_BEATS=self._page_beats,
                p_FORMULA_BITS=self._node_bits,
                p_MOST_BAD=MOST_BAD + 1,
                i_clk=ClockSignal(),
                **{f"i_{name}": getattr(self, name) for name in ("start", "page", "beat", "advance")},
                o_word=self.word,
                o_bad=self.bad,
            )
            return m
        place, shown = Signal(64), Signal(64)
        m.d.comb += shown.eq(Mux(self.start, self.page * self._page_beats + self.beat, place + 1))
        with m.If(self.start | self.advance):
            m.d.sync += place.eq(shown)
        with m.If(self.start):
            m.d.sync += self.bad.eq(sum((self.page == page for page in self._bad_pages), Const(0)) != 0)
        if self._node_bits:
            m.d.comb += self.word.eq((place * FORMULA_MULTIPLIER)[64 - self._node_bits : 64])
            return m
        depth = max(2, len(self._words))
        m.submodules.memory = memory = Memory(shape=64, depth=depth, init=self._words)
        read = memory.read_port(domain="comb")
        m.d.comb += [read.addr.eq(place), self.word.eq(Mux(place < depth, read.data, 0))]
        return m


class FlashDesign(Design):
    """A design that holds a `testbenches.models.flash.FlashDevice`: its Verilog comes with the storage's."""

    def verilog(self) -> str:
        """Return its Verilog text."""
        return super().verilog() + Path(__file__).with_name("flash_storage.v").read_text()
