"""Reads of eight-byte words of the SSD's DRAM, several under way, answers in order with what they were asked for."""

from amaranth.hdl import Module, Mux, ShapeLike, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from hdl.stream.queue import StreamQueue
from hdl.stream.ring import after
from sim.program.ssd_streams import PAGE_BITS

WORD_BITS = 64
"""Width of a word; two are a beat of the DRAM."""

ANSWERS_WAITING = 2
"""Answers that the queue at the input holds; they never wait there."""


def word_wanted(key: ShapeLike) -> data.StructLayout:
    """Return what a reader is asked for.

    Parameters
    ----------
    key : shape-like
        What comes back with the word.

    Returns
    -------
    data.StructLayout
        ``address`` (beat of the DRAM), ``upper`` (which half of it) and ``key``.
    """
    return data.StructLayout({"address": PAGE_BITS, "upper": 1, "key": key})


class DramWords(wiring.Component):
    """Asks for the beats of words, one a cycle, and gives the words in order.

    At most `reads` words are asked for or not yet taken, so that an answer always finds its place. A word is offered
    two cycles after the one in which its beat came.

    Parameters
    ----------
    key : shape-like
        What comes back with a word.
    reads : int
        Reads under way, 1 to 64.

    Attributes
    ----------
    wanted : In(stream of `word_wanted`)
        Words; from a queue of the caller.
    request : Out(stream of 40 bits)
        Beats of the DRAM, 16 bytes each.
    answer : In(stream of 128 bits)
        Their contents, in order; always taken at once.
    words : Out(stream of struct)
        ``key`` and ``word``.
    """

    def __init__(self, key: ShapeLike, reads: int) -> None:
        self._key, self._reads = key, reads
        super().__init__(
            {
                "wanted": In(stream.Signature(word_wanted(key))),
                "request": Out(stream.Signature(PAGE_BITS)),
                "answer": In(stream.Signature(2 * WORD_BITS)),
                "words": Out(stream.Signature(data.StructLayout({"key": key, "word": WORD_BITS}))),
            }
        )

    def elaborate(self, _platform: object) -> Module:
        """Build two rings of the same places: of what was asked, and of what came."""
        m = Module()
        reads = self._reads
        depth = max(2, reads)
        m.submodules.answers = answers = StreamQueue(2 * WORD_BITS, ANSWERS_WAITING)
        wiring.connect(m, wiring.flipped(self.answer), answers.beats)
        m.submodules.keys = keys = Memory(shape=data.StructLayout({"key": self._key, "upper": 1}), depth=depth, init=[])
        m.submodules.came = came = Memory(shape=WORD_BITS, depth=depth, init=[])
        put_key, put_word = keys.write_port(), came.write_port()
        key_of_answer, key_of_word = keys.read_port(domain="comb"), keys.read_port(domain="comb")
        word = came.read_port(domain="comb")

        # Places go round: those from `head` on have their words, those from `middle` on wait, `tail` is the next.
        head, middle, tail = (Signal(range(depth), name=name) for name in ("head", "middle", "tail"))
        used, here = Signal(range(reads + 1)), Signal(range(reads + 1))
        asks, comes, goes = Signal(), Signal(), Signal()
        wanted = self.wanted.payload
        m.d.comb += [
            self.request.valid.eq(self.wanted.valid & (used != reads)),
            self.request.payload.eq(wanted.address),
            asks.eq(self.request.valid & self.request.ready),
            self.wanted.ready.eq((used != reads) & self.request.ready),
            answers.held.ready.eq(1),
            comes.eq(answers.held.valid),
            self.words.valid.eq(here != 0),
            goes.eq(self.words.valid & self.words.ready),
            put_key.en.eq(asks),
            put_key.addr.eq(tail),
            put_key.data.key.eq(wanted.key),
            put_key.data.upper.eq(wanted.upper),
            key_of_answer.addr.eq(middle),
            put_word.en.eq(comes),
            put_word.addr.eq(middle),
            put_word.data.eq(
                Mux(key_of_answer.data.upper, answers.held.payload[WORD_BITS:], answers.held.payload[:WORD_BITS])
            ),
            key_of_word.addr.eq(head),
            word.addr.eq(head),
            self.words.payload.key.eq(key_of_word.data.key),
            self.words.payload.word.eq(word.data),
        ]
        m.d.sync += [used.eq(used + asks - goes), here.eq(here + comes - goes)]
        for position, moves in ((tail, asks), (middle, comes), (head, goes)):
            with m.If(moves):
                m.d.sync += position.eq(after(position, reads))
        return m
