"""One port of a memory that is only read, for several users."""

from amaranth.hdl import Array, Cat, Module, Mux, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from hdl.ssd.round_robin import number_of, turn
from hdl.stream.queue import StreamQueue
from hdl.stream.ring import after


class ReadShare(wiring.Component):
    """Users take turns with their requests, one a cycle; answers, in order, go back to who asked.

    A request is offered in the cycle after it was taken; an answer is given in the cycle in which it comes.

    Parameters
    ----------
    users : int
        Users, 1 or more.
    address_bits : int
        Width of an address.
    data_bits : int
        Width of an answer.
    depth : int
        Reads under way at most; while there are so many, none is offered.

    Attributes
    ----------
    request_<i> : In(stream of address)
        Requests of user i; two wait here.
    request : Out(stream of address)
        Requests.
    response : In(stream)
        Answers in order, from the cycle after the request on; always taken at once.
    response_<i> : Out(stream)
        Those of user i, who must take them at once.
    """

    def __init__(self, users: int, address_bits: int, data_bits: int, depth: int) -> None:
        self._users, self._address, self._depth = users, address_bits, depth
        address, answer = stream.Signature(address_bits), stream.Signature(data_bits)
        super().__init__(
            {
                **{f"request_{i}": In(address) for i in range(users)},
                **{f"response_{i}": Out(answer) for i in range(users)},
                "request": Out(address),
                "response": In(answer),
            }
        )

    def elaborate(self, _platform: object) -> Module:
        """Build the users' queues, whose turn it is, and who gets the answers."""
        m = Module()
        users, depth = range(self._users), self._depth
        number = range(max(2, self._users))
        queues = []
        for i in users:
            m.submodules[f"queue_{i}"] = queue = StreamQueue(self._address, 2)
            wiring.connect(m, wiring.flipped(getattr(self, f"request_{i}")), queue.beats)
            queues.append(queue.held)
        last, user = Signal(number, init=self._users - 1), Signal(number)
        # A request that is offered stays, whoever comes.
        waits, waiting = Signal(), Signal(number)
        level = Signal(range(depth + 1))
        asks, answered = Signal(), Signal()
        wanted = Cat(queue.valid for queue in queues)
        m.d.comb += [
            user.eq(Mux(waits, waiting, number_of(turn(wanted, last)))),
            self.request.valid.eq(wanted.any() & (level != depth)),
            self.request.payload.eq(Array(queue.payload for queue in queues)[user]),
            asks.eq(self.request.valid & self.request.ready),
        ]
        m.d.sync += [waits.eq(self.request.valid & ~self.request.ready), waiting.eq(user)]
        with m.If(asks):
            m.d.sync += last.eq(user)

        order = Array(Signal(number, name=f"order_{i}", reset_less=True) for i in range(depth))
        oldest, newest = Signal(range(max(2, depth))), Signal(range(max(2, depth)))
        m.d.comb += [self.response.ready.eq(1), answered.eq(self.response.valid)]
        m.d.sync += level.eq(level + asks - answered)
        with m.If(asks):
            m.d.sync += [order[newest].eq(user), newest.eq(after(newest, depth))]
        with m.If(answered):
            m.d.sync += oldest.eq(after(oldest, depth))
        for i, queue in enumerate(queues):
            answer = getattr(self, f"response_{i}")
            m.d.comb += [
                queue.ready.eq(asks & (user == i)),
                answer.valid.eq(answered & (order[oldest] == i)),
                answer.payload.eq(self.response.payload),
            ]
        return m
